/* Attention over a paged cache in parts: among the rows of the forward, to the rows before, latent rows, and merging.
 */
#include <math.h>
#include <stdlib.h>

#include "aot/runtime/paged_layer.h"

static int is_rotated(const Layer* l) { return !is_latent(l) && number_of(l->cache, kRope) == kRopeInline; }

/* ---- among the rows of the forward ---- */

typedef struct {
  Heads keys, values;
  const Rows* rows;
  int64_t first; /* of the rows of the sequence in the tensors */
  int64_t head;
  int rotated;
} Given;

static void given_key(const Layer* l, const void* self, int64_t row, double* to) {
  const Given* g = self;
  load_head(g->keys, row, g->head, to);
  if (g->rotated)
    rldb_aot_rotate(rldb_aot_layer_rotation(l), to, g->keys.t->shape[2],
                    rldb_aot_rows_position(g->rows, row - g->first));
}

static void given_value(const Layer* l, const void* self, int64_t row, double* to) {
  const Given* g = self;
  (void)l;
  load_head(g->values, row, g->head, to);
}

static int32_t heads_of(const Args* a, int32_t i, int64_t rows, const DLTensor** out) {
  if (rldb_aot_arg_tensor(a, i, out) != kSucceeded) return kFailed;
  const DLTensor* t = *out;
  if (t->ndim == 3 && t->shape[0] == rows && t->shape[1] > 0 && is_float(t->dtype)) return kSucceeded;
  Buffer text = {0};
  rldb_aot_put_value(&text, &a->args[i]);
  rldb_aot_fail(kErrorShape, "got %s as argument %d, wanted floats of (%lld, heads, dim)", text.data ? text.data : "?",
                i, (long long)rows);
  free(text.data);
  return kFailed;
}

static int32_t not_one_attention(const Args* a) {
  Buffer text = {0};
  rldb_aot_put_value(&text, &a->args[3]);
  rldb_aot_put(&text, ", ");
  rldb_aot_put_value(&text, &a->args[4]);
  rldb_aot_put(&text, " and ");
  rldb_aot_put_value(&text, &a->args[5]);
  rldb_aot_fail(kErrorShape, "%s are not queries, keys and values of one attention", text.data ? text.data : "?");
  free(text.data);
  return kFailed;
}

static void attend_given(Layer* l, double scale, const DLTensor* q, Given g, const DLTensor* out, const DLTensor* lse) {
  const Heads queries = {q, 0}, to = {out, 0};
  const int64_t qo = q->shape[1], shared = qo / g.keys.t->shape[1], dim = q->shape[2];
  int64_t at = 0;
  for (const Rows* r = l->forward; r < l->forward + l->sequences; ++r)
    for (int64_t i = 0; i < r->count; ++i, ++at) {
      g.rows = r;
      g.first = at - i;
      rldb_aot_see_nothing(l);
      rldb_aot_see_here(l, r, i, r->begin, INT64_MAX);
      for (int64_t k = 0; k < l->seen_count; ++k) l->seen[k] += g.first - r->begin; /* as rows of the tensors */
      for (int64_t head = 0; head < qo; ++head) {
        g.head = head / shared;
        load_head(queries, at, head, l->query);
        if (g.rotated) rldb_aot_rotate(rldb_aot_layer_rotation(l), l->query, dim, rldb_aot_rows_position(r, i));
        rldb_aot_attend(l, dim, g.values.t->shape[2], scale, given_key, given_value, &g);
        store_head(to, at, head, l->out);
        rldb_aot_store_double(lse_at(lse, at, head), lse->dtype, l->lse);
      }
    }
}

/* Each row sees the rows of the forward up to itself; the cache is not used. */
static int32_t self_attention(const Args* a, Layer* l) {
  const DLTensor *q, *k, *v, *out, *lse;
  double scale;
  if (rldb_aot_arg_number(a, 2, &scale) != kSucceeded || heads_of(a, 3, l->rows, &q) != kSucceeded ||
      heads_of(a, 4, l->rows, &k) != kSucceeded || heads_of(a, 5, l->rows, &v) != kSucceeded)
    return kFailed;
  if (q->shape[2] != k->shape[2] || q->shape[1] % k->shape[1] != 0 || v->shape[1] != k->shape[1])
    return not_one_attention(a);
  const int64_t given[3] = {l->rows, q->shape[1], v->shape[2]};
  if (rldb_aot_arg_floats(a, 6, 3, given, &out) != kSucceeded ||
      rldb_aot_arg_floats(a, 7, 2, given, &lse) != kSucceeded ||
      rldb_aot_layer_reserve(l, q->shape[2] > v->shape[2] ? q->shape[2] : v->shape[2]) != kSucceeded)
    return kFailed;
  attend_given(l, scale, q, (Given){.keys = {k, 0}, .values = {v, 0}, .rotated = is_rotated(l)}, out, lse);
  return kSucceeded;
}

/* ---- to the rows before ---- */

static void attend_before(Layer* l, double scale, const DLTensor* q, const DLTensor* out, const DLTensor* lse) {
  const Cache c = l->cache;
  const int64_t qo = number_of(c, kQoHeads), shared = qo / number_of(c, kKvHeads), dim = number_of(c, kKeyDim);
  const Heads queries = {q, 0}, to = {out, 0};
  const int with_itself = rldb_aot_layer_decodes(l);
  int64_t at = 0;
  for (const Rows* r = l->forward; r < l->forward + l->sequences; ++r)
    for (int64_t i = 0; i < r->count; ++i, ++at) {
      rldb_aot_see_nothing(l);
      rldb_aot_see_before(l, r);
      if (tree_of(r->sequence).size > 0) rldb_aot_see_here(l, r, i, 0, r->begin);
      rldb_aot_see_window(l);
      if (with_itself) l->seen[l->seen_count++] = r->begin + i;
      for (int64_t head = 0; head < qo; ++head) {
        const Cached cached = {r, head / shared};
        load_head(queries, at, head, l->query);
        if (is_rotated(l)) rldb_aot_rotate(rldb_aot_layer_rotation(l), l->query, dim, rldb_aot_rows_position(r, i));
        rldb_aot_attend(l, dim, number_of(c, kValueDim), scale, rldb_aot_cached_key, rldb_aot_cached_value, &cached);
        store_head(to, at, head, l->out);
        rldb_aot_store_double(lse_at(lse, at, head), lse->dtype, l->lse);
      }
    }
}

/* Each row sees the rows that the cache had before the forward, and in a decode (one row per sequence) itself too. */
static int32_t cross_attention(const Args* a, Layer* l) {
  const Cache c = l->cache;
  const int64_t qo = number_of(c, kQoHeads), key = number_of(c, kKeyDim), value = number_of(c, kValueDim);
  const int64_t in[3] = {l->rows, qo, key}, given[3] = {l->rows, qo, value};
  const DLTensor *q, *out, *lse;
  double scale;
  if (rldb_aot_arg_number(a, 2, &scale) != kSucceeded || rldb_aot_arg_floats(a, 3, 3, in, &q) != kSucceeded ||
      rldb_aot_arg_floats(a, 4, 3, given, &out) != kSucceeded ||
      rldb_aot_arg_floats(a, 5, 2, given, &lse) != kSucceeded ||
      rldb_aot_layer_reserve(l, key > value ? key : value) != kSucceeded)
    return kFailed;
  attend_before(l, scale, q, out, lse);
  return kSucceeded;
}

/* ---- latent rows ---- */

static int32_t append_latent(const Args* a, Layer* l) {
  if (!is_latent(l)) return rldb_aot_fail(kErrorType, "the layer of the cache is not one of latent attention");
  const int64_t width = number_of(l->cache, kKeyDim), wanted[2] = {l->rows, width};
  const DLTensor* rows;
  if (rldb_aot_arg_floats(a, 2, 2, wanted, &rows) != kSucceeded || rldb_aot_layer_reserve(l, width) != kSucceeded)
    return kFailed;
  const uint8_t* from = data_of(rows);
  for (const Rows* r = l->forward; r < l->forward + l->sequences; ++r)
    for (int64_t i = 0; i < r->count; ++i, from += (uint64_t)width * element_bytes(rows->dtype)) {
      rldb_aot_load_row(from, rows->dtype, width, l->row);
      rldb_aot_append_row(l, kKeys, r, i, 0, width, l->row);
    }
  return kSucceeded;
}

int32_t rldb_aot_PagedCacheSelf(Library* library, const Any* args, int32_t count, Any* result) {
  (void)library, (void)result;
  return rldb_aot_in_layer(args, count, "cache, layer, scale, queries, keys, values, out, log of sums", self_attention);
}

int32_t rldb_aot_PagedCacheCross(Library* library, const Any* args, int32_t count, Any* result) {
  (void)library, (void)result;
  return rldb_aot_in_layer(args, count, "cache, layer, scale, queries, out, log of sums", cross_attention);
}

int32_t rldb_aot_PagedCacheLatent(Library* library, const Any* args, int32_t count, Any* result) {
  (void)library;
  if (rldb_aot_in_layer(args, count, "cache, layer, latent rows", append_latent) != kSucceeded) return kFailed;
  rldb_aot_copy(result, &args[0]);
  return kSucceeded;
}

/* ---- two attentions of the same queries, merged into one over all rows seen ---- */

static double weight(double lse, double most) { return isinf(lse) && lse < 0 ? 0.0 : exp2(lse - most); }

static void merge_head(Heads to, Heads from, const DLTensor* lse, const DLTensor* other, int64_t row, int64_t head) {
  const uint64_t bytes = element_bytes(to.t->dtype), more = element_bytes(from.t->dtype);
  const double first = rldb_aot_load_double(lse_at(lse, row, head), lse->dtype);
  const double second = rldb_aot_load_double(lse_at(other, row, head), other->dtype);
  const double most = first < second ? second : first, x = weight(first, most), y = weight(second, most);
  if (x + y == 0) return; /* neither saw any row */
  for (int64_t d = 0; d < to.t->shape[2]; ++d) {
    uint8_t* at = head_at(to, row, head) + (uint64_t)d * bytes;
    const double v = rldb_aot_load_double(at, to.t->dtype);
    const double w = rldb_aot_load_double(head_at(from, row, head) + (uint64_t)d * more, from.t->dtype);
    rldb_aot_store_double(at, to.t->dtype, (x * v + y * w) / (x + y));
  }
  rldb_aot_store_double(lse_at(lse, row, head), lse->dtype, most + log2(x + y));
}

int32_t rldb_aot_PagedCacheMerge(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache, out, log of sums, other out, other log of sums"};
  const DLTensor *out, *lse, *other, *other_lse;
  Cache c;
  (void)library;
  if (rldb_aot_arg_paged(&a, &c) != kSucceeded || rldb_aot_arg_tensor(&a, 1, &out) != kSucceeded) return kFailed;
  if (out->ndim != 3 || !is_float(out->dtype)) return rldb_aot_arg_wrong(&a, 1);
  if (rldb_aot_arg_floats(&a, 2, 2, out->shape, &lse) != kSucceeded ||
      rldb_aot_arg_floats(&a, 3, 3, out->shape, &other) != kSucceeded ||
      rldb_aot_arg_floats(&a, 4, 2, out->shape, &other_lse) != kSucceeded)
    return kFailed;
  for (int64_t row = 0; row < out->shape[0]; ++row)
    for (int64_t head = 0; head < out->shape[1]; ++head)
      merge_head((Heads){out, 0}, (Heads){other, 0}, lse, other_lse, row, head);
  return rldb_aot_tuple(2, args + 1, result);
}
