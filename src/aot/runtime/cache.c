/* The simple cache of keys and values: a tuple of reserved memory and the number of rows that are filled. */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/aot.h"

typedef struct {
  Any* data;
  int64_t* filled;
} Cache;

static int cache_of(const Any* v, Cache* c) {
  TVMFFISeqCell* t = tuple_of(v);
  if (!t || t->size != 2) return 0;
  Any* fields = t->data;
  const DLTensor* data = tensor_of(&fields[0]);
  if (!data || data->ndim == 0 || fields[1].type_index != kTVMFFIInt) return 0;
  if (fields[1].v_int64 < 0 || fields[1].v_int64 > data->shape[0]) return 0;
  *c = (Cache){&fields[0], &fields[1].v_int64};
  return 1;
}

static uint64_t row_bytes(const DLTensor* t) {
  uint64_t n = element_bytes(t->dtype);
  for (int32_t i = 1; i < t->ndim; ++i) n *= (uint64_t)t->shape[i];
  return n;
}

static int32_t reserve(const Cache* c, int64_t rows) {
  const DLTensor* t = tensor_of(c->data);
  if (rows <= t->shape[0]) return kSucceeded;
  int64_t* shape = malloc((size_t)t->ndim * sizeof(int64_t));
  if (!shape) return rldb_aot_fail(kErrorMemory, "no memory for a shape");
  memcpy(shape, t->shape, (size_t)t->ndim * sizeof(int64_t));
  shape[0] = t->shape[0] <= INT64_MAX / 2 && 2 * t->shape[0] > rows ? 2 * t->shape[0] : rows;
  Any larger = {0};
  const int32_t done = rldb_aot_tensor(t->ndim, shape, t->dtype, &larger);
  if (done == kSucceeded) {
    const uint64_t used = (uint64_t)*c->filled * row_bytes(t);
    uint8_t* to = data_of(tensor_of(&larger));
    memcpy(to, data_of(t), used);
    memset(to + used, 0, (uint64_t)shape[0] * row_bytes(t) - used);
    rldb_aot_set(c->data, &larger);
  }
  free(shape);
  return done;
}

static int32_t write(const char* name, const Any* args, int append, Any* result) {
  Cache c;
  const DLTensor* rows = tensor_of(&args[1]);
  if (!cache_of(&args[0], &c)) return rldb_aot_wrong(name, 0, "a cache of keys and values", &args[0]);
  const DLTensor* data = tensor_of(c.data);
  int good = rows && rows->ndim == data->ndim && same_dtype(rows->dtype, data->dtype);
  for (int32_t i = 1; good && i < rows->ndim; ++i) good = rows->shape[i] == data->shape[i];
  if (!good || rows->ndim == 0) return rldb_aot_wrong(name, 1, "rows that fit the cache", &args[1]);
  const int64_t at = append ? *c.filled : 0, count = rows->shape[0];
  if (count > INT64_MAX - at) return rldb_aot_fail(kErrorMemory, "%s: a cache of too many rows", name);
  if (reserve(&c, at + count) != kSucceeded) return kFailed;
  data = tensor_of(c.data);
  memmove(data_of(data) + (uint64_t)at * row_bytes(data), data_of(rows), (uint64_t)count * row_bytes(rows));
  *c.filled = at + count;
  rldb_aot_copy(result, &args[0]);
  return kSucceeded;
}

int32_t rldb_aot_CacheCreate(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(3, 3);
  const DLTensor* rows = tensor_of(&args[0]);
  const TVMFFIShapeCell* s = shape_of(&args[1]);
  if (!rows) WRONG(0, "a Tensor");
  if (!s || s->size == 0) WRONG(1, "the shape that is reserved");
  if (!is_integer(&args[2])) WRONG(2, "an integer");
  Any fields[2] = {{0}}, pair[2], ignored = {0};
  if (rldb_aot_tensor((int64_t)s->size, s->data, rows->dtype, &fields[0]) != kSucceeded) return kFailed;
  const DLTensor* t = tensor_of(&fields[0]);
  memset(data_of(t), 0, (uint64_t)t->shape[0] * row_bytes(t));
  fields[1].type_index = kTVMFFIInt;
  int32_t done = rldb_aot_tuple(2, fields, result);
  rldb_aot_release(&fields[0]);
  if (done != kSucceeded) return done;
  pair[0] = *result;
  pair[1] = args[0];
  done = write(NAME, pair, 1, &ignored);
  rldb_aot_release(&ignored);
  Cache c;
  cache_of(result, &c);
  if (done == kSucceeded && args[2].v_int64 > tensor_of(c.data)->shape[0])
    done = rldb_aot_fail(kErrorShape, "%lld rows are to be filled, but %lld are reserved", (long long)args[2].v_int64,
                         (long long)tensor_of(c.data)->shape[0]);
  if (done != kSucceeded)
    rldb_aot_release(result);
  else if (args[2].v_int64 >= 0)
    *c.filled = args[2].v_int64;
  return done;
}

int32_t rldb_aot_CacheAppend(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  return write(NAME, args, 1, result);
}

int32_t rldb_aot_CacheUpdate(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  return write(NAME, args, 0, result);
}

int32_t rldb_aot_CacheView(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  Cache c;
  const TVMFFIShapeCell* s = shape_of(&args[1]);
  if (!cache_of(&args[0], &c)) WRONG(0, "a cache of keys and values");
  const DLTensor* t = tensor_of(c.data);
  int good = s && (int64_t)s->size == t->ndim && t->ndim > 0 && s->data[0] == *c.filled;
  for (int32_t i = 1; good && i < t->ndim; ++i) good = s->data[i] == t->shape[i];
  if (!good)
    return rldb_aot_fail(kErrorShape, "the cache holds %lld rows, but another shape is requested",
                         (long long)*c.filled);
  TVMFFIObject* owner = rldb_aot_is_own_tensor(c.data) ? ((Tensor*)c.data->v_obj)->owner : c.data->v_obj;
  return rldb_aot_view(owner, data_of(t), t->ndim, s->data, t->dtype, result);
}

/* The same for each cache of a tuple; `n` rows are given up, all if it is negative. */
static int32_t each(const char* name, const Any* args, int64_t n) {
  TVMFFISeqCell* caches = tuple_of(&args[0]);
  if (!caches) return rldb_aot_wrong(name, 0, "a tuple of caches", &args[0]);
  for (int64_t i = 0; i < caches->size; ++i) {
    Cache c;
    if (!cache_of((Any*)caches->data + i, &c)) return rldb_aot_wrong(name, 0, "a tuple of caches", &args[0]);
    if (n > *c.filled)
      return rldb_aot_fail(kErrorType, "%lld rows are to be removed, but %lld are filled", (long long)n,
                           (long long)*c.filled);
    *c.filled = n < 0 ? 0 : *c.filled - n;
  }
  return kSucceeded;
}

int32_t rldb_aot_CachesClear(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  (void)result;
  return each(NAME, args, -1);
}

int32_t rldb_aot_CachesPop(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  (void)result;
  if (!is_integer(&args[1]) || args[1].v_int64 < 0) WRONG(1, "a number of rows");
  return each(NAME, args, args[1].v_int64);
}
