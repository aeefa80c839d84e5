/* The shape heap, and the checks of types. Texts are the machine's (src/vm/builtins/heap.cc). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/aot.h"

typedef struct {
  int64_t* data;
  int64_t size;
} Heap;

static int heap_of(const Any* v, Heap* heap) {
  *heap = (Heap){NULL, 0};
  if (v->type_index == kTVMFFINone) return 1;
  const DLTensor* t = tensor_of(v);
  if (!t || t->dtype.code != 0 || t->dtype.bits != 64) return 0;
  *heap = (Heap){(int64_t*)data_of(t), rldb_aot_element_count(t)};
  return 1;
}

static int64_t* slot_of(const Heap* heap, int64_t i) { return i >= 0 && i < heap->size ? heap->data + i : NULL; }

static int32_t no_slot(int64_t slot, const Heap* heap) {
  return rldb_aot_fail(kErrorBounds, "slot %lld of a shape heap of %lld slots", (long long)slot, (long long)heap->size);
}

/* TVM's context, which may end in a blank or be missing, and one blank after it. */
static Text context_of(const Any* v) {
  Text t = {"", 0};
  if (!rldb_aot_text(v, &t)) return t;
  while (t.size > 0 && t.data[t.size - 1] == ' ') --t.size;
  return t;
}
#define CONTEXT(t) (int)(t).size, (t).data, (t).size > 0 ? " " : ""

int32_t rldb_aot_AllocShapeHeap(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  if (!is_integer(&args[1])) WRONG(1, "an integer");
  const DLDataType t = {0, 64, 1};
  const int64_t size = args[1].v_int64;
  if (rldb_aot_tensor(1, &size, t, result) != kSucceeded) return kFailed;
  memset(data_of(tensor_of(result)), 0, (size_t)size * sizeof(int64_t));
  return kSucceeded;
}

enum { kEqualImm, kStore, kSkip, kEqualLoad };

static int32_t match_one(const Heap* heap, int64_t code, int64_t v, int64_t actual, int64_t dim, const Any* where) {
  int64_t* slot = code == kStore || code == kEqualLoad ? slot_of(heap, v) : NULL;
  if ((code == kStore || code == kEqualLoad) && !slot) return no_slot(v, heap);
  if (code == kStore) *slot = actual;
  if (code == kStore || code == kSkip) return kSucceeded;
  if (code != kEqualImm && code != kEqualLoad)
    return rldb_aot_fail(kErrorUnsupported, "unknown match code %lld", (long long)code);
  const int64_t wanted = code == kEqualImm ? v : *slot;
  if (actual == wanted) return kSucceeded;
  const Text context = context_of(where);
  char what[32] = "";
  if (dim >= 0) snprintf(what, sizeof what, "shape[%lld]", (long long)dim);
  rldb_aot_fail(kErrorShape, "%.*s%smatch_cast error,  %s mismatch to %s (%lld vs. %lld)", CONTEXT(context), what,
                code == kEqualImm ? "specified constant." : "a previous populated value.", (long long)actual,
                (long long)wanted);
  if (code == kEqualImm) {
    rldb_aot_note("the constant is %lld", (long long)v);
  } else {
    rldb_aot_thread.slot = v;
    rldb_aot_thread.slot_value = wanted;
  }
  return kFailed;
}

int32_t rldb_aot_MatchShape(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(4, -1);
  (void)result;
  const DLTensor* t = tensor_of(&args[0]);
  const TVMFFIShapeCell* s = shape_of(&args[0]);
  if (!t && !s) WRONG(0, "a Tensor or a Shape");
  const int64_t* dims = t ? t->shape : s->data;
  const int64_t rank = t ? t->ndim : (int64_t)s->size;
  Heap heap;
  if (!heap_of(&args[1], &heap)) WRONG(1, "the shape heap");
  if (!is_integer(&args[2])) WRONG(2, "an integer");
  const int64_t wanted = args[2].v_int64;
  if (wanted < 0 || 3 + 2 * wanted + 1 != count)
    return rldb_aot_fail(kErrorCount, "match_shape: %d arguments do not fit rank %lld", count, (long long)wanted);
  if (rank != wanted) {
    const Text context = context_of(&args[count - 1]);
    return rldb_aot_fail(kErrorType, "%.*s%smatch_cast shape ndim mismatch, %lld vs. %lld", CONTEXT(context),
                         (long long)rank, (long long)wanted);
  }
  for (int64_t i = 0; i < rank; ++i)
    if (match_one(&heap, args[3 + 2 * i].v_int64, args[4 + 2 * i].v_int64, dims[i], i, &args[count - 1]) != kSucceeded)
      return kFailed;
  return kSucceeded;
}

int32_t rldb_aot_MatchPrimValue(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(5, 5);
  (void)result;
  Heap heap;
  if (!is_integer(&args[0])) WRONG(0, "an integer");
  if (!heap_of(&args[1], &heap)) WRONG(1, "the shape heap");
  return match_one(&heap, args[2].v_int64, args[3].v_int64, args[0].v_int64, -1, &args[4]);
}

static int32_t make_one(const Heap* heap, int64_t code, int64_t v, int64_t* out) {
  *out = v;
  if (code == 0) return kSucceeded;
  const int64_t* slot = slot_of(heap, v);
  if (code != 1) return rldb_aot_fail(kErrorUnsupported, "unknown make code %lld", (long long)code);
  if (!slot) return no_slot(v, heap);
  *out = *slot;
  return kSucceeded;
}

int32_t rldb_aot_MakeShape(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, -1);
  Heap heap;
  if (!heap_of(&args[0], &heap)) WRONG(0, "the shape heap");
  if (!is_integer(&args[1])) WRONG(1, "an integer");
  const int64_t rank = args[1].v_int64;
  if (rank < 0 || 2 + 2 * rank != count)
    return rldb_aot_fail(kErrorCount, "make_shape: %d arguments do not fit rank %lld", count, (long long)rank);
  if (rldb_aot_shape(rank, NULL, result) != kSucceeded) return kFailed;
  int64_t* dims = ((Shape*)result->v_obj)->dims;
  for (int64_t i = 0; i < rank; ++i)
    if (make_one(&heap, args[2 + 2 * i].v_int64, args[3 + 2 * i].v_int64, &dims[i]) != kSucceeded) {
      rldb_aot_release(result);
      return kFailed;
    }
  return kSucceeded;
}

int32_t rldb_aot_MakePrimValue(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(3, 3);
  Heap heap;
  if (!heap_of(&args[0], &heap)) WRONG(0, "the shape heap");
  result->type_index = kTVMFFIInt;
  return make_one(&heap, args[1].v_int64, args[2].v_int64, &result->v_int64);
}

/* ---- checks ---- */

static int32_t check_failed(const Any* where, const char* wanted, const Any* found) {
  const Text context = context_of(where);
  Buffer text = {0};
  rldb_aot_put_value(&text, found);
  rldb_aot_fail(kErrorType, "%.*s%sexpect %s but get %s", CONTEXT(context), wanted, text.data ? text.data : "?");
  free(text.data);
  return kFailed;
}

static int32_t dtype_failed(const Any* where, const char* of, DLDataType wanted, const Any* found) {
  Buffer text = {0};
  rldb_aot_put(&text, "%s", of);
  rldb_aot_put_dtype(&text, wanted);
  check_failed(where, text.data ? text.data : "another dtype", found);
  free(text.data);
  return kFailed;
}

int32_t rldb_aot_CheckTensorInfo(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(3, 4);
  (void)result;
  const Any* where = &args[count - 1];
  const DLTensor* t = tensor_of(&args[0]);
  if (!t) return check_failed(where, "a Tensor", &args[0]);
  const int64_t rank = args[1].v_int64;
  const Text context = context_of(where);
  if (rank != -1 && t->ndim != rank)
    return rldb_aot_fail(kErrorType, "%.*s%sexpect Tensor with ndim %lld but get %d", CONTEXT(context), (long long)rank,
                         t->ndim);
  DLDataType wanted;
  if (count == 3 || args[2].type_index == kTVMFFINone) return kSucceeded;
  if (!rldb_aot_dtype(&args[2], &wanted)) WRONG(2, "a dtype");
  if (is_void(wanted)) return kSucceeded;
  if (same_dtype(wanted, t->dtype)) return kSucceeded;
  return dtype_failed(where, "Tensor with dtype ", wanted, &args[0]);
}

int32_t rldb_aot_CheckShapeInfo(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(3, 3);
  (void)result;
  const TVMFFIShapeCell* s = shape_of(&args[0]);
  if (!s) return check_failed(&args[2], "a Shape", &args[0]);
  if (args[1].v_int64 == -1 || (int64_t)s->size == args[1].v_int64) return kSucceeded;
  const Text context = context_of(&args[2]);
  return rldb_aot_fail(kErrorType, "%.*s%sexpect Shape with ndim %lld but get %zu", CONTEXT(context),
                       (long long)args[1].v_int64, s->size);
}

int32_t rldb_aot_CheckPrimValueInfo(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(3, 3);
  (void)result;
  DLDataType t;
  if (!rldb_aot_dtype(&args[1], &t)) WRONG(1, "a dtype");
  if (t.code == 3 || (is_float(t) ? args[0].type_index == kTVMFFIFloat : is_integer(&args[0]))) return kSucceeded;
  return dtype_failed(&args[2], "dtype ", t, &args[0]);
}

int32_t rldb_aot_CheckTupleInfo(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(3, 3);
  (void)result;
  const TVMFFISeqCell* s = tuple_of(&args[0]);
  if (!s) return check_failed(&args[2], "a Tuple", &args[0]);
  if (s->size == args[1].v_int64) return kSucceeded;
  const Text context = context_of(&args[2]);
  return rldb_aot_fail(kErrorType, "%.*s%sexpect a Tuple with %lld elements,  but get a Tuple with %lld elements.",
                       CONTEXT(context), (long long)args[1].v_int64, (long long)s->size);
}

int32_t rldb_aot_CheckFuncInfo(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  (void)result;
  return args[0].type_index == kTVMFFIFunction ? kSucceeded : check_failed(&args[1], "a Function", &args[0]);
}
