/* Sorting along an axis, which kernels call by name (the rules of src/runtime/value/contrib_sort.cc). */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/order.h"

typedef struct {
  const DLTensor *data, *valid; /* valid: how many elements of each row take part; null: all */
  DLTensor *values, *indices;
  int64_t axis, kept; /* kept: elements of each row that are written; -1: all */
  int ascend;
} Request;

typedef struct { /* the elements of a row: base + i * stride */
  const Request* request;
  const uint8_t* data;
  uint64_t unit;
  int64_t base, stride;
} Row;

static int compare_row(const void* context, int64_t x, int64_t y) {
  const Row* r = context;
  const int c =
      rldb_aot_compare_elements(r->data + (uint64_t)(r->base + x * r->stride) * r->unit,
                                r->data + (uint64_t)(r->base + y * r->stride) * r->unit, r->request->data->dtype);
  return r->request->ascend ? c : -c;
}

static int32_t check_output(const Request* r, const DLTensor* out, int64_t kept) {
  if (!out) return kSucceeded;
  int good = out->ndim == r->data->ndim;
  for (int32_t i = 0; good && i < out->ndim; ++i) good = out->shape[i] == (i == r->axis ? kept : r->data->shape[i]);
  return good ? kSucceeded : rldb_aot_fail(kErrorShape, "the result has another shape than what is written");
}

static int32_t order_rows(const Request* r, int64_t length, int64_t kept, int64_t stride, int64_t rows) {
  int64_t* order = malloc(2 * ((size_t)length + 1) * sizeof *order);
  if (!order) return rldb_aot_fail(kErrorMemory, "no memory to order %lld elements", (long long)length);
  Row row = {r, data_of(r->data), element_bytes(r->data->dtype), 0, stride};
  for (int64_t i = 0; i < rows; ++i) {
    row.base = i / stride * stride * length + i % stride;
    int64_t part = length;
    if (r->valid)
      part = rldb_aot_load_int(data_of(r->valid) + (uint64_t)i * element_bytes(r->valid->dtype), r->valid->dtype);
    part = part < 0 ? 0 : part > length ? length : part;
    for (int64_t k = 0; k < length; ++k) order[k] = k;
    rldb_aot_order(order, order + length, part, compare_row, &row);
    const int64_t to = i / stride * stride * kept + i % stride;
    for (int64_t k = 0; k < kept; ++k) {
      const uint64_t at = (uint64_t)(to + k * stride);
      if (r->values)
        memcpy(data_of(r->values) + at * row.unit, row.data + (uint64_t)(row.base + order[k] * stride) * row.unit,
               row.unit);
      if (r->indices)
        rldb_aot_store_int(data_of(r->indices) + at * element_bytes(r->indices->dtype), r->indices->dtype, order[k]);
    }
  }
  free(order);
  return kSucceeded;
}

static int32_t sort_rows(Request* r) {
  const DLTensor* t = r->data;
  const int64_t axis = r->axis < 0 ? r->axis + t->ndim : r->axis;
  if (axis < 0 || axis >= t->ndim)
    return rldb_aot_fail(kErrorType, "there is no axis %lld in a tensor of rank %d", (long long)r->axis, t->ndim);
  r->axis = axis;
  int64_t stride = 1, outer = 1;
  const int64_t length = t->shape[axis], kept = r->kept < 0 ? length : r->kept;
  for (int64_t i = 0; i < axis; ++i) outer *= t->shape[i];
  for (int64_t i = axis + 1; i < t->ndim; ++i) stride *= t->shape[i];
  if (kept > length)
    return rldb_aot_fail(kErrorShape, "k is %lld, but the extent of the axis is %lld", (long long)kept,
                         (long long)length);
  if (check_output(r, r->values, kept) != kSucceeded || check_output(r, r->indices, kept) != kSucceeded) return kFailed;
  if (r->values && !same_dtype(r->values->dtype, t->dtype))
    return rldb_aot_fail(kErrorType, "the values have another dtype than the data");
  if (r->valid && rldb_aot_element_count(r->valid) < outer * stride)
    return rldb_aot_fail(kErrorType, "there is no count for each row");
  return rldb_aot_element_count(t) == 0 ? kSucceeded : order_rows(r, length, kept, stride, outer * stride);
}

static int can_order(const Any* v) {
  const DLTensor* t = tensor_of(v);
  return t && t->dtype.lanes == 1 && t->dtype.code != 3;
}

int32_t rldb_aot_Sort(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(4, 4);
  (void)result;
  for (int i = 0; i < 2; ++i)
    if (!can_order(&args[i])) WRONG(i, "a tensor of numbers");
  Request r = {tensor_of(&args[0]), NULL, tensor_of(&args[1]), NULL, args[2].v_int64, -1, args[3].v_int64 != 0};
  return sort_rows(&r);
}

int32_t rldb_aot_Argsort(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(4, 4);
  (void)result;
  for (int i = 0; i < 2; ++i)
    if (!can_order(&args[i])) WRONG(i, "a tensor of numbers");
  Request r = {tensor_of(&args[0]), NULL, NULL, tensor_of(&args[1]), args[2].v_int64, -1, args[3].v_int64 != 0};
  return sort_rows(&r);
}

int32_t rldb_aot_ArgsortNms(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(5, 5);
  (void)result;
  for (int i = 0; i < 3; ++i)
    if (!can_order(&args[i])) WRONG(i, "a tensor of numbers");
  Request r = {tensor_of(&args[0]), tensor_of(&args[1]), NULL, tensor_of(&args[2]), args[3].v_int64, -1,
               args[4].v_int64 != 0};
  return sort_rows(&r);
}

int32_t rldb_aot_Topk(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(6, 7);
  (void)result;
  const Any* how = args + count - 4;
  Text which;
  for (int i = 0; i < count - 4; ++i)
    if (!can_order(&args[i])) WRONG(i, "a tensor of numbers");
  if (!rldb_aot_text(&how[2], &which)) WRONG(count - 2, "\"both\", \"values\" or \"indices\"");
  const int both = which.size == 4 && memcmp(which.data, "both", 4) == 0;
  const int indices = which.size == 7 && memcmp(which.data, "indices", 7) == 0;
  if (both != (count == 7)) return rldb_aot_fail(kErrorType, "ret_type says another number of outputs than there are");
  Request r = {tensor_of(&args[0]), NULL, NULL, NULL, how[1].v_int64, how[0].v_int64, how[3].v_int64 != 0};
  if (r.kept < 1) r.kept = -1;
  *(indices ? &r.indices : &r.values) = tensor_of(&args[1]);
  if (both) r.indices = tensor_of(&args[2]);
  return sort_rows(&r);
}
