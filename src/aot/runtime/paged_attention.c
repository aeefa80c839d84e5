/* The attention of a forward over a paged cache, with queries, keys and values in one tensor. The kernels that a model
 * passes are a GPU's; here it is computed row by row, in double. */
#include "aot/runtime/paged_layer.h"

static void append_rows(Layer* l, const DLTensor* qkv) {
  const Cache c = l->cache;
  const int64_t dim = number_of(c, kKeyDim), qo = number_of(c, kQoHeads), kv = number_of(c, kKvHeads);
  const Heads keys = {qkv, qo}, values = {qkv, qo + kv};
  int64_t at = 0;
  for (const Rows* r = l->forward; r < l->forward + l->sequences; ++r)
    for (int64_t i = 0; i < r->count; ++i, ++at)
      for (int64_t head = 0; head < kv; ++head) {
        load_head(keys, at, head, l->row);
        if (number_of(c, kRope) == kRopeNormal)
          rldb_aot_rotate(rldb_aot_layer_rotation(l), l->row, dim, rldb_aot_rows_position(r, i));
        rldb_aot_append_row(l, kKeys, r, i, head, dim, l->row);
        load_head(values, at, head, l->row);
        rldb_aot_append_row(l, kValues, r, i, head, dim, l->row);
      }
}

static void attend_rows(Layer* l, double scale, const DLTensor* qkv, const DLTensor* out) {
  const Cache c = l->cache;
  const int64_t dim = number_of(c, kKeyDim), qo = number_of(c, kQoHeads), kv = number_of(c, kKvHeads);
  const Heads queries = {qkv, 0}, to = {out, 0};
  int64_t at = 0;
  for (const Rows* r = l->forward; r < l->forward + l->sequences; ++r)
    for (int64_t i = 0; i < r->count; ++i, ++at) {
      rldb_aot_see_nothing(l);
      rldb_aot_see_before(l, r);
      rldb_aot_see_window(l);
      rldb_aot_see_here(l, r, i, 0, INT64_MAX);
      for (int64_t head = 0; head < qo; ++head) {
        const Cached cached = {r, head / (qo / kv)};
        load_head(queries, at, head, l->query);
        if (number_of(c, kRope) != kRopeNone)
          rldb_aot_rotate(rldb_aot_layer_rotation(l), l->query, dim, rldb_aot_rows_position(r, i));
        rldb_aot_attend(l, dim, dim, scale, rldb_aot_cached_key, rldb_aot_cached_value, &cached);
        store_head(to, at, head, l->out);
      }
    }
}

static int32_t attention(const Args* a, Layer* l) {
  const Cache c = l->cache;
  const int64_t dim = number_of(c, kKeyDim), qo = number_of(c, kQoHeads), kv = number_of(c, kKvHeads);
  const int64_t in[3] = {l->rows, qo + 2 * kv, dim}, given[3] = {l->rows, qo, dim};
  const DLTensor *qkv, *out;
  double scale;
  if (rldb_aot_arg_number(a, 2, &scale) != kSucceeded) return kFailed;
  if (is_latent(l))
    return rldb_aot_fail(kErrorUnsupported,
                         "latent attention takes no queries, keys and values in one tensor: it is done in its parts");
  if (dim != number_of(c, kValueDim))
    return rldb_aot_fail(kErrorUnsupported,
                         "queries, keys and values in one tensor need equal dims of keys and values");
  if (rldb_aot_arg_floats(a, 3, 3, in, &qkv) != kSucceeded || rldb_aot_arg_floats(a, 4, 3, given, &out) != kSucceeded ||
      rldb_aot_layer_reserve(l, dim) != kSucceeded)
    return kFailed;
  append_rows(l, qkv);
  attend_rows(l, scale, qkv, out);
  return kSucceeded;
}

int32_t rldb_aot_PagedCacheAttention(Library* library, const Any* args, int32_t count, Any* result) {
  (void)library, (void)result;
  return rldb_aot_in_layer(args, count, "cache, layer, scale, queries and keys and values, out", attention);
}
