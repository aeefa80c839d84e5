/* Values from outside as a program takes them: arguments, and the results of functions of its host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/aot.h"

enum { kMostNested = 64 };

static int compact(const DLTensor* t) {
  int64_t stride = 1;
  if (!t->strides) return 1;
  for (int32_t i = t->ndim; i-- > 0; stride *= t->shape[i])
    if (t->shape[i] > 1 && t->strides[i] != stride) return 0;
  return 1;
}

static uint64_t alignment_of(DLDataType t) {
  const uint64_t bytes = element_bytes(t);
  return bytes > 8 ? 8 : bytes == 0 ? 1 : bytes;
}

/* Why a program cannot take a tensor; null: it can. */
static const char* refusal_of(const DLTensor* t, uint64_t* bytes) {
  if (t->device.device_type != 1) return "a tensor that is not on the CPU";
  if (t->ndim < 0 || (t->ndim > 0 && !t->shape) || !rldb_aot_bytes(t->ndim, t->shape, element_bytes(t->dtype), bytes))
    return "a tensor of impossible shape";
  for (int32_t i = 0; i < t->ndim; ++i)
    if (t->shape[i] == 0) return NULL;
  if (!compact(t)) return "a tensor that is not compact in row-major order";
  if (!t->data && *bytes > 0) return "a tensor that is without data";
  if ((uintptr_t)data_of(t) % alignment_of(t->dtype) != 0) return "a tensor that is not aligned to its elements";
  return NULL;
}

static int32_t borrow(const DLTensor* t, uint64_t bytes, Any* to) {
  Storage* s = rldb_aot_storage(0);
  if (!s) return kFailed;
  free(s->data);
  s->data = data_of(t);
  s->size = bytes;
  s->borrowed = 1;
  const int32_t done = rldb_aot_view(&s->head, s->data, t->ndim, t->shape, t->dtype, to);
  rldb_aot_unref(&s->head);
  return done;
}

static int32_t copy_tensor(const DLTensor* t, uint64_t bytes, Any* to) {
  if (rldb_aot_tensor(t->ndim, t->shape, t->dtype, to) != kSucceeded) return kFailed;
  if (bytes > 0) memcpy(data_of(tensor_of(to)), data_of(t), bytes);
  return kSucceeded;
}

static int32_t take(const Any* from, Any* to, int lent, int depth, Taken* about);

/* An array that needs no change is taken as it is. */
static int32_t take_fields(const Any* from, Any* to, int lent, int depth, Taken* about) {
  const TVMFFISeqCell* t = tuple_of(from);
  Any* fields = calloc((size_t)t->size + 1, sizeof(Any));
  if (!fields) return rldb_aot_fail(kErrorMemory, "no memory for a tuple of %lld", (long long)t->size);
  int32_t done = kSucceeded;
  int changed = 0;
  for (int64_t i = 0; i < t->size && done == kSucceeded; ++i) {
    const Any* field = (const Any*)t->data + i;
    done = take(field, &fields[i], lent, depth + 1, about);
    if (done != kSucceeded) about->field[depth] = i;
    changed |= fields[i].type_index != field->type_index || fields[i].v_obj != field->v_obj;
  }
  if (done == kSucceeded && changed)
    done = rldb_aot_tuple(t->size, fields, to);
  else if (done == kSucceeded)
    rldb_aot_copy(to, from);
  about->changed |= changed;
  rldb_aot_release_all(fields, t->size);
  free(fields);
  return done;
}

static int32_t refuse(Taken* about, int depth, const char* why) {
  about->why = why;
  about->depth = depth;
  return kFailed;
}

static int32_t take(const Any* from, Any* to, int lent, int depth, Taken* about) {
  const DLTensor* t = tensor_of(from);
  Text text;
  if (from->type_index == kTVMFFIDLTensorPtr && !t) return refuse(about, depth, "a null tensor");
  if (t && !rldb_aot_is_own_tensor(from)) {
    uint64_t bytes = 0;
    const char* why = refusal_of(t, &bytes);
    if (why) return refuse(about, depth, why);
    if (from->type_index == kTVMFFIDLTensorPtr) return lent ? borrow(t, bytes, to) : copy_tensor(t, bytes, to);
  } else if (tuple_of(from) && !rldb_aot_is_own_tuple(from)) {
    return depth < kMostNested ? take_fields(from, to, lent, depth, about)
                               : refuse(about, depth, "a tuple that is nested too deeply");
  } else if (from->type_index == kTVMFFIRawStr && rldb_aot_text(from, &text)) {
    return rldb_aot_string(text.data, text.size, to);
  }
  rldb_aot_copy(to, from);
  return kSucceeded;
}

int32_t rldb_aot_take(const Any* from, Any* to, int lent, Taken* about) {
  memset(about, 0, sizeof *about);
  return take(from, to, lent, 0, about);
}

int32_t rldb_aot_not_taken(const Taken* about, const char* what) {
  Buffer where = {0};
  if (!about->why) return kFailed;
  for (int i = 0; i < about->depth && about->depth < kMostNested; ++i)
    rldb_aot_put(&where, "field %lld: ", (long long)about->field[i]);
  rldb_aot_fail(kErrorType, "%s: %s%s", what, where.data ? where.data : "", about->why);
  free(where.data);
  return kFailed;
}

/* ---- values that whoever calls makes ---- */

static int32_t code_of(int32_t done) { return done == kSucceeded ? 0 : rldb_aot_code(); }

int32_t rldb_aot_make_shape(const int64_t* dims, int64_t rank, Any* result) {
  rldb_aot_thread.code = 0;
  if (rank < 0 || rank > INT32_MAX || (!dims && rank > 0))
    return code_of(rldb_aot_fail(kErrorType, "a shape of %lld dims%s", (long long)rank, dims ? "" : " at null"));
  return code_of(rldb_aot_shape(rank, dims, result));
}

int32_t rldb_aot_make_string(const char* text, Any* result) {
  rldb_aot_thread.code = 0;
  if (!text) return code_of(rldb_aot_fail(kErrorType, "a string at null"));
  return code_of(rldb_aot_string(text, strlen(text), result));
}

static int32_t take_all(const Any* fields, int64_t count, Any* taken) {
  Taken about;
  for (int64_t i = 0; i < count; ++i) {
    char what[32];
    snprintf(what, sizeof what, "field %lld", (long long)i);
    if (rldb_aot_take(&fields[i], &taken[i], 0, &about) != kSucceeded) return rldb_aot_not_taken(&about, what);
  }
  return kSucceeded;
}

int32_t rldb_aot_make_tuple(const Any* fields, int64_t count, Any* result) {
  rldb_aot_thread.code = 0;
  if (count < 0 || count > INT32_MAX || (!fields && count > 0))
    return code_of(rldb_aot_fail(kErrorType, "a tuple of %lld fields%s", (long long)count, fields ? "" : " at null"));
  Any* taken = calloc((size_t)count + 1, sizeof(Any));
  if (!taken) return code_of(rldb_aot_fail(kErrorMemory, "no memory for a tuple of %lld", (long long)count));
  int32_t done = take_all(fields, count, taken);
  if (done == kSucceeded) done = rldb_aot_tuple(count, taken, result);
  rldb_aot_release_all(taken, count);
  free(taken);
  return code_of(done);
}
