/* Functions over both kinds of state of sequences (vm.builtin.kv_state_*), and queries to the paged cache. */
#include <stdlib.h>

#include "aot/runtime/paged_layer.h"

/* Either one; kFailed: the first argument is neither. */
typedef struct {
  int is_paged;
  Cache paged;
  Rnn rnn;
} Kept;

static int32_t kept_of(const Args* a, Kept* k) {
  if (a->count == 0) return rldb_aot_arg_wrong(a, 0);
  k->is_paged = rldb_aot_paged_of(&a->args[0], &k->paged);
  return k->is_paged || rldb_aot_rnn_of(&a->args[0], &k->rnn) ? kSucceeded : rldb_aot_arg_wrong(a, 0);
}

int32_t rldb_aot_KvStateClear(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache or state"};
  Kept k;
  (void)library, (void)result;
  if (kept_of(&a, &k) != kSucceeded) return kFailed;
  return k.is_paged ? rldb_aot_paged_clear(k.paged) : rldb_aot_rnn_clear(k.rnn);
}

int32_t rldb_aot_KvStateAdd(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache or state, sequence"};
  int64_t id;
  Kept k;
  (void)library, (void)result;
  if (rldb_aot_arg_integer(&a, 1, &id) != kSucceeded || kept_of(&a, &k) != kSucceeded) return kFailed;
  return k.is_paged ? rldb_aot_paged_add(k.paged, id) : rldb_aot_rnn_add(k.rnn, id);
}

int32_t rldb_aot_KvStateRemove(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache or state, sequence"};
  int64_t id;
  Kept k;
  (void)library, (void)result;
  if (rldb_aot_arg_integer(&a, 1, &id) != kSucceeded || kept_of(&a, &k) != kSucceeded) return kFailed;
  return k.is_paged ? rldb_aot_paged_remove(k.paged, id) : rldb_aot_rnn_remove(k.rnn, id);
}

int32_t rldb_aot_KvStateFork(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache or state, parent, child[, position]"};
  int64_t parent, child, position = -1;
  Kept k;
  (void)library, (void)result;
  if (rldb_aot_arg_integer(&a, 1, &parent) != kSucceeded || rldb_aot_arg_integer(&a, 2, &child) != kSucceeded ||
      (count > 3 && rldb_aot_arg_integer(&a, 3, &position) != kSucceeded) || kept_of(&a, &k) != kSucceeded)
    return kFailed;
  return k.is_paged ? rldb_aot_paged_fork(k.paged, parent, child, position)
                    : rldb_aot_rnn_fork(k.rnn, parent, child, position);
}

int32_t rldb_aot_KvStatePop(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache or state, sequence, rows"};
  int64_t id, n;
  Kept k;
  (void)library, (void)result;
  if (rldb_aot_arg_integer(&a, 1, &id) != kSucceeded || rldb_aot_arg_integer(&a, 2, &n) != kSucceeded ||
      kept_of(&a, &k) != kSucceeded)
    return kFailed;
  return k.is_paged ? rldb_aot_paged_pop(k.paged, id, n) : rldb_aot_rnn_pop(k.rnn, id, n);
}

int32_t rldb_aot_KvStateBegin(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache or state, sequences, lengths[, parents of the nodes of token trees]"};
  Ints ids, lengths, nodes;
  Kept k;
  (void)library, (void)result;
  const Ints* parents = arg_is_null(&a, 3) ? NULL : &nodes;
  if (rldb_aot_arg_ints(&a, 1, &ids) != kSucceeded || rldb_aot_arg_ints(&a, 2, &lengths) != kSucceeded ||
      (parents && rldb_aot_arg_ints(&a, 3, &nodes) != kSucceeded) || kept_of(&a, &k) != kSucceeded)
    return kFailed;
  return k.is_paged ? rldb_aot_paged_begin(k.paged, ids, lengths, parents)
                    : rldb_aot_rnn_begin(k.rnn, ids, lengths, parents);
}

int32_t rldb_aot_KvStateEnd(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache or state"};
  Kept k;
  (void)library, (void)result;
  if (kept_of(&a, &k) != kSucceeded) return kFailed;
  return k.is_paged ? rldb_aot_paged_end(k.paged) : rldb_aot_rnn_end(k.rnn);
}

/* ---- the paged cache ---- */

int32_t rldb_aot_PagedCacheWindow(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache, sequence, rows of the window, first rows that it keeps"};
  int64_t id, size, sink;
  Cache c;
  (void)library, (void)result;
  if (rldb_aot_arg_paged(&a, &c) != kSucceeded || rldb_aot_arg_integer(&a, 1, &id) != kSucceeded ||
      rldb_aot_arg_integer(&a, 2, &size) != kSucceeded || rldb_aot_arg_integer(&a, 3, &sink) != kSucceeded)
    return kFailed;
  return rldb_aot_paged_enable_window(c, id, size, sink);
}

int32_t rldb_aot_PagedCacheCommit(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache, sequences, the last accepted node of each"};
  Ints ids, leaves;
  Cache c;
  (void)library, (void)result;
  if (rldb_aot_arg_paged(&a, &c) != kSucceeded || rldb_aot_arg_ints(&a, 1, &ids) != kSucceeded ||
      rldb_aot_arg_ints(&a, 2, &leaves) != kSucceeded)
    return kFailed;
  if (ids.size != leaves.size)
    return rldb_aot_fail(kErrorType, "%lld sequences, but %lld accepted nodes", (long long)ids.size,
                         (long long)leaves.size);
  for (int64_t i = 0; i < ids.size; ++i)
    if (rldb_aot_paged_commit(c, ids.data[i], leaves.data[i]) != kSucceeded) return kFailed;
  return kSucceeded;
}

int32_t rldb_aot_PagedCacheEmpty(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache"};
  Cache c;
  (void)library;
  if (rldb_aot_arg_paged(&a, &c) != kSucceeded) return kFailed;
  result->type_index = kTVMFFIBool;
  result->v_int64 = tuple_of(&c.fields[kSequences])->size == 0;
  return kSucceeded;
}

int32_t rldb_aot_PagedCachePages(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache"};
  Cache c;
  (void)library;
  if (rldb_aot_arg_paged(&a, &c) != kSucceeded) return kFailed;
  const int64_t pages = rldb_aot_paged_free_pages(c);
  if (pages < 0) return kFailed;
  result->type_index = kTVMFFIInt;
  result->v_int64 = pages;
  return kSucceeded;
}

int32_t rldb_aot_PagedCacheLength(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache"};
  Cache c;
  (void)library;
  if (rldb_aot_arg_paged(&a, &c) != kSucceeded) return kFailed;
  const TVMFFISeqCell* all = tuple_of(&c.fields[kSequences]);
  result->type_index = kTVMFFIInt;
  for (int64_t i = 0; i < all->size; ++i) result->v_int64 += length_of(fields_of((const Any*)all->data + i));
  return kSucceeded;
}

int32_t rldb_aot_PagedCachePositions(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache"};
  const DLDataType integer = {0, 32, 1};
  Cache c;
  Rows* forward;
  int64_t sequences, rows = 0;
  (void)library;
  if (rldb_aot_arg_paged(&a, &c) != kSucceeded || rldb_aot_paged_forward(c, &forward, &sequences) != kSucceeded)
    return kFailed;
  for (int64_t i = 0; i < sequences; ++i) rows += forward[i].count;
  const int32_t done = rldb_aot_tensor(1, &rows, integer, result);
  int32_t* to = done == kSucceeded ? (int32_t*)data_of(tensor_of(result)) : NULL;
  for (const Rows* r = forward; to && r < forward + sequences; ++r)
    for (int64_t i = 0; i < r->count; ++i) *to++ = (int32_t)rldb_aot_rows_position(r, i);
  free(forward);
  return done;
}

/* ---- copies for whoever looks into a cache ---- */

typedef struct {
  Sequence sequence;
  int64_t begin, end;
} Range;

/* args: cache, sequence, begin, end, ... */
static int32_t range_of(const Args* a, Cache c, Range* r) {
  int64_t id;
  if (rldb_aot_arg_integer(a, 1, &id) != kSucceeded || rldb_aot_paged_sequence(c, id, &r->sequence) != kSucceeded ||
      rldb_aot_arg_integer(a, 2, &r->begin) != kSucceeded || rldb_aot_arg_integer(a, 3, &r->end) != kSucceeded)
    return kFailed;
  if (r->begin >= 0 && r->end >= r->begin && r->end <= length_of(r->sequence)) return kSucceeded;
  return rldb_aot_fail(kErrorType, "sequence %lld has %lld rows, not [%lld, %lld)", (long long)id,
                       (long long)length_of(r->sequence), (long long)r->begin, (long long)r->end);
}

/* Rows of a sequence from one pool: (layers, rows, heads, dim), or without heads. */
static void copy_rows(Cache c, Range r, int which, const DLTensor* out) {
  const DLTensor* pool = pool_of(c, which);
  const int64_t width = out->shape[out->ndim - 1];
  uint8_t* to = data_of(out);
  for (int64_t layer = 0; layer < number_of(c, kLayers); ++layer)
    for (int64_t row = r.begin; row < r.end; ++row)
      for (int64_t head = 0; head < number_of(c, kKvHeads); ++head) {
        const uint8_t* from = rldb_aot_paged_row(c, which, layer, r.sequence, row, head);
        for (int64_t d = 0; d < width; ++d, to += element_bytes(out->dtype), from += element_bytes(pool->dtype))
          rldb_aot_store_double(to, out->dtype, rldb_aot_load_double(from, pool->dtype));
      }
}

int32_t rldb_aot_PagedCacheDebug(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache, sequence, begin, end, keys, values"};
  Cache c;
  Range r;
  (void)library, (void)result;
  if (rldb_aot_arg_paged(&a, &c) != kSucceeded || range_of(&a, c, &r) != kSucceeded) return kFailed;
  for (int which = kKeys; which <= kValues; ++which) {
    const int64_t shape[4] = {number_of(c, kLayers), r.end - r.begin, number_of(c, kKvHeads),
                              number_of(c, which == kKeys ? kKeyDim : kValueDim)};
    const DLTensor* out;
    if (rldb_aot_arg_floats(&a, which == kKeys ? 4 : 5, 4, shape, &out) != kSucceeded) return kFailed;
    copy_rows(c, r, which, out);
  }
  return kSucceeded;
}

int32_t rldb_aot_PagedCacheDebugLatent(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "cache, sequence, begin, end, latent rows"};
  Cache c;
  Range r;
  const DLTensor* out;
  (void)library, (void)result;
  if (rldb_aot_arg_paged(&a, &c) != kSucceeded || range_of(&a, c, &r) != kSucceeded) return kFailed;
  if (!rldb_aot_paged_has(c, kLatent)) return rldb_aot_fail(kErrorType, "the cache has no layers of latent attention");
  const int64_t shape[3] = {number_of(c, kLayers), r.end - r.begin, number_of(c, kKeyDim)};
  if (rldb_aot_arg_floats(&a, 4, 3, shape, &out) != kSucceeded) return kFailed;
  copy_rows(c, r, kKeys, out);
  return kSucceeded;
}
