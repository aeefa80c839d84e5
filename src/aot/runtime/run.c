/* Operators that run as functions: printing, assertions, and those whose result's size depends on the data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/format.h"

static void put_plain(Buffer* b, const Any* v) {
  Text text;
  if (rldb_aot_text(v, &text))
    rldb_aot_put(b, "%.*s", (int)text.size, text.data);
  else
    rldb_aot_put_whole(b, v);
}

/* A field's index, or -1: it is none that is known. */
static int32_t field_index(Text field, int32_t next) {
  if (field.size == 0) return next;
  int32_t index = 0;
  for (uint64_t i = 0; i < field.size; ++i) {
    if (field.size > 4 || field.data[i] < '0' || field.data[i] > '9') return -1;
    index = index * 10 + (field.data[i] - '0');
  }
  return index;
}

/* Python's str.format for `{}`, `{0}`, `{{`, `}}`. */
static int32_t put_format(Buffer* b, const char* name, Text format, const Any* values, int32_t count) {
  int32_t next = 0;
  for (uint64_t i = 0; i < format.size; ++i) {
    const char c = format.data[i];
    if ((c == '{' || c == '}') && i + 1 < format.size && format.data[i + 1] == c) {
      ++i;
    } else if (c == '}') {
      return rldb_aot_fail(kErrorType, "%s: single `}` in the format string", name);
    } else if (c == '{') {
      const char* close = memchr(format.data + i, '}', format.size - i);
      if (!close) return rldb_aot_fail(kErrorType, "%s: `{` without `}` in the format string", name);
      const Text field = {format.data + i + 1, (uint64_t)(close - format.data) - i - 1};
      const int32_t index = field_index(field, next++);
      if (index < 0)
        return rldb_aot_fail(kErrorUnsupported, "%s: format field `{%.*s}`; only {} and {0} are known", name,
                             (int)field.size, field.data);
      if (index >= count)
        return rldb_aot_fail(kErrorCount, "%s: the format string needs value %d of %d", name, index, count);
      put_plain(b, &values[index]);
      i = (uint64_t)(close - format.data);
      continue;
    }
    rldb_aot_put(b, "%c", c);
  }
  return kSucceeded;
}

static int32_t put_all(Buffer* b, const char* name, Text format, const char* between, const Any* values,
                       int32_t count) {
  if (format.size > 0) return put_format(b, name, format, values, count);
  for (int32_t i = 0; i < count; ++i) {
    if (i > 0) rldb_aot_put(b, "%s", between);
    put_plain(b, &values[i]);
  }
  return kSucceeded;
}

int32_t rldb_aot_RunPrint(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, -1);
  (void)result;
  Text format;
  Buffer text = {0};
  if (!rldb_aot_text(&args[0], &format)) WRONG(0, "a format string");
  const int32_t done = put_all(&text, NAME, format, " ", args + 1, count - 1);
  if (done == kSucceeded) {
    rldb_aot_put(&text, "\n"); /* one call: threads do not print into each other's lines */
    if (text.data) fwrite(text.data, 1, text.size, stdout);
  }
  free(text.data);
  return done;
}

int32_t rldb_aot_RunAssert(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, -1);
  (void)result;
  const DLTensor* t = tensor_of(&args[0]);
  Text format;
  if (!is_integer(&args[0]) && !(t && t->ndim == 0 && t->dtype.code == 6)) WRONG(0, "a bool or a 0-d bool tensor");
  if (t ? rldb_aot_load_int(data_of(t), t->dtype) != 0 : args[0].v_int64 != 0) return kSucceeded;
  if (!rldb_aot_text(&args[1], &format)) WRONG(1, "a format string");
  Buffer text = {0};
  if (put_all(&text, NAME, format, ", ", args + 2, count - 2) != kSucceeded) {
    free(text.data);
    return kFailed;
  }
  rldb_aot_fail(kErrorAssert, "Assertion Failed%s%s", text.size > 0 ? ": " : "", text.size > 0 ? text.data : "");
  free(text.data);
  return kFailed;
}

int32_t rldb_aot_RunShapeToTensor(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  const TVMFFIShapeCell* s = shape_of(&args[0]);
  if (!s) WRONG(0, "a Shape");
  const int64_t rank = (int64_t)s->size;
  const DLDataType t = {0, 64, 1};
  if (rldb_aot_tensor(1, &rank, t, result) != kSucceeded) return kFailed;
  if (rank > 0) memcpy(data_of(tensor_of(result)), s->data, s->size * sizeof(int64_t));
  return kSucceeded;
}

int32_t rldb_aot_RunNonzero(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  const DLTensor* t = tensor_of(&args[0]);
  if (!t || t->dtype.lanes != 1) WRONG(0, "a tensor of scalars");
  const int64_t one = 1, elements = rldb_aot_element_count(t);
  const int64_t rank = t->ndim > 0 ? t->ndim : 1;
  const int64_t* shape = t->ndim > 0 ? t->shape : &one;
  const uint64_t unit = element_bytes(t->dtype);
  int64_t dims[2] = {rank, 0};
  for (int64_t i = 0; i < elements; ++i)
    dims[1] += rldb_aot_load_double(data_of(t) + (uint64_t)i * unit, t->dtype) != 0;
  const DLDataType index = {0, 64, 1};
  if (rldb_aot_tensor(2, dims, index, result) != kSucceeded) return kFailed;
  int64_t* to = (int64_t*)data_of(tensor_of(result));
  int64_t k = 0;
  for (int64_t i = 0; i < elements; ++i) {
    if (rldb_aot_load_double(data_of(t) + (uint64_t)i * unit, t->dtype) == 0) continue;
    int64_t rest = i;
    for (int64_t d = rank; d-- > 0; rest /= shape[d]) to[d * dims[1] + k] = rest % shape[d];
    ++k;
  }
  return kSucceeded;
}

int32_t rldb_aot_RunInspect(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 3);
  const DLTensor* t = tensor_of(&args[0]);
  Text name;
  if (!t) WRONG(0, "a Tensor");
  if (!rldb_aot_text(&args[1], &name)) WRONG(1, "a field of a tensor");
#define IS(text) (name.size == sizeof text - 1 && memcmp(name.data, text, name.size) == 0)
  result->type_index = kTVMFFIInt;
  int64_t* out = &result->v_int64;
  if (IS("tensor_ndim"))
    *out = t->ndim;
  else if (IS("tensor_dtype_code"))
    *out = t->dtype.code;
  else if (IS("tensor_dtype_bits"))
    *out = t->dtype.bits;
  else if (IS("tensor_dtype_lanes"))
    *out = t->dtype.lanes;
  else if (IS("tensor_byte_offset") || IS("tensor_elem_offset"))
    *out = 0;
  else if ((IS("tensor_shape_i") || IS("tensor_stride_i")) && count == 3) {
    const int64_t axis = args[2].v_int64;
    if (axis < 0 || axis >= t->ndim)
      return rldb_aot_fail(kErrorBounds, "axis %lld of a tensor of rank %d", (long long)axis, t->ndim);
    if (IS("tensor_shape_i")) {
      *out = t->shape[axis];
    } else {
      *out = 1;
      for (int64_t d = axis + 1; d < t->ndim; ++d) *out *= t->shape[d];
    }
  } else {
    WRONG(1, "a field of a tensor");
  }
#undef IS
  return kSucceeded;
}
