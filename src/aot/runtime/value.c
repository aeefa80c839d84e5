/* Copies, conditions, tuples, closures, and the values of Relay's data types and references. */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/aot.h"

int32_t rldb_aot_Copy(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  rldb_aot_copy(result, &args[0]);
  return kSucceeded;
}

static void give_int(Any* result, int64_t v) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = v;
}

int32_t rldb_aot_ReadIfCond(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  const DLTensor* t = tensor_of(&args[0]);
  const int scalar = t && t->ndim == 0 && (t->dtype.code <= 1 || t->dtype.code == 6) && t->dtype.lanes == 1;
  if (!scalar && !is_integer(&args[0])) WRONG(0, "a bool or a 0-d integer tensor");
  give_int(result, (scalar ? rldb_aot_load_int(data_of(t), t->dtype) : args[0].v_int64) != 0);
  return kSucceeded;
}

/* ---- tuples ---- */

int32_t rldb_aot_MakeTuple(Library* library, const Any* args, int32_t count, Any* result) {
  (void)library;
  return rldb_aot_tuple(count, args, result);
}

static int32_t field(const Any* args, const char* name, Any** out) {
  TVMFFISeqCell* t = tuple_of(&args[0]);
  if (!t) return rldb_aot_wrong(name, 0, "a Tuple", &args[0]);
  if (!is_integer(&args[1])) return rldb_aot_wrong(name, 1, "an integer", &args[1]);
  if (args[1].v_int64 < 0 || args[1].v_int64 >= t->size)
    return rldb_aot_fail(kErrorBounds, "%s: field %lld of a tuple of %lld", name, (long long)args[1].v_int64,
                         (long long)t->size);
  *out = (Any*)t->data + args[1].v_int64;
  return kSucceeded;
}

int32_t rldb_aot_TupleGetItem(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  Any* f = NULL;
  if (field(args, NAME, &f) != kSucceeded) return kFailed;
  rldb_aot_copy(result, f);
  return kSucceeded;
}

int32_t rldb_aot_TupleResetItem(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  (void)result;
  Any* f = NULL;
  if (field(args, NAME, &f) != kSucceeded) return kFailed;
  rldb_aot_release(f);
  return kSucceeded;
}

/* ---- closures ---- */

/* By value, or by name as TVM's first code generator wrote it. */
int32_t rldb_aot_MakeClosure(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, -1);
  Text name;
  const Any* called = &args[0];
  if (rldb_aot_text(called, &name)) {
    called = NULL;
    for (uint64_t i = 0; i < library->state->function_count && !called; ++i) {
      const Text own = library->state->functions[i].name;
      if (own.size == name.size && memcmp(own.data, name.data, name.size) == 0) called = &library->state->values[i];
    }
    if (!called) return rldb_aot_fail(kErrorUnknownFunction, "there is no function `%.*s`", (int)name.size, name.data);
  }
  if (called->type_index != kTVMFFIFunction) WRONG(0, "a Function");
  if (!rldb_aot_is_own_closure(called) || ((Closure*)called->v_obj)->function < 0)
    return rldb_aot_closure(library, -1, called, args + 1, count - 1, result);
  /* The values captured now come before those that it has. */
  const Closure* c = (const Closure*)called->v_obj;
  if (c->captured_count == 0) return rldb_aot_closure(c->library, c->function, NULL, args + 1, count - 1, result);
  return rldb_aot_closure(library, -1, called, args + 1, count - 1, result);
}

int32_t rldb_aot_InvokeClosure(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, -1);
  if (args[1].type_index != kTVMFFIFunction) WRONG(1, "a Function");
  return rldb_aot_call_value(&args[1], args + 2, count - 2, result);
}

int32_t rldb_aot_CallTirDyn(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, -1);
  const TVMFFIShapeCell* s = shape_of(&args[count - 1]);
  if (args[0].type_index != kTVMFFIFunction) WRONG(0, "a Function");
  if (!s) WRONG(count - 1, "a Shape");
  const int32_t given = count - 2, all = given + (int32_t)s->size;
  Any* rest = calloc((size_t)all + 1, sizeof(Any));
  if (!rest) return rldb_aot_fail(kErrorMemory, "no memory for %d arguments", all);
  memcpy(rest, args + 1, (size_t)given * sizeof(Any));
  for (size_t i = 0; i < s->size; ++i) give_int(&rest[(size_t)given + i], s->data[i]);
  const int32_t done = rldb_aot_call_value(&args[0], rest, all, result);
  free(rest);
  return done;
}

/* ---- data types of Relay: a tuple that begins with its constructor's name ---- */

static TVMFFISeqCell* adt_of(const Any* v) {
  TVMFFISeqCell* t = tuple_of(v);
  Text name;
  return t && t->size > 0 && rldb_aot_text(t->data, &name) ? t : NULL;
}

int32_t rldb_aot_AdtMake(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, -1);
  Text name;
  if (!rldb_aot_text(&args[0], &name)) WRONG(0, "a constructor's name");
  return rldb_aot_tuple(count, args, result);
}

int32_t rldb_aot_AdtIs(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  const TVMFFISeqCell* t = adt_of(&args[0]);
  Text own, wanted;
  if (!t) WRONG(0, "a value that a constructor made");
  if (!rldb_aot_text(&args[1], &wanted)) WRONG(1, "a constructor's name");
  rldb_aot_text(t->data, &own);
  result->type_index = kTVMFFIBool;
  result->v_int64 = own.size == wanted.size && memcmp(own.data, wanted.data, own.size) == 0;
  return kSucceeded;
}

static int32_t no_field(int64_t i, const TVMFFISeqCell* t) {
  Text name;
  rldb_aot_text(t->data, &name);
  return rldb_aot_fail(kErrorBounds, "field %lld of `%.*s`, which has %lld", (long long)i, (int)name.size, name.data,
                       (long long)t->size - 1);
}

int32_t rldb_aot_AdtField(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  const TVMFFISeqCell* t = adt_of(&args[0]);
  if (!t) WRONG(0, "a value that a constructor made");
  if (!is_integer(&args[1])) WRONG(1, "an integer");
  const int64_t i = args[1].v_int64;
  if (i < 0 || i + 1 >= t->size) return no_field(i, t);
  rldb_aot_copy(result, (Any*)t->data + i + 1);
  return kSucceeded;
}

int32_t rldb_aot_NoMatch(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  (void)result;
  Buffer text = {0};
  rldb_aot_put_value(&text, &args[0]);
  rldb_aot_fail(kErrorAssert, "no arm of the `match?` takes %s", text.data ? text.data : "the value");
  free(text.data);
  return kFailed;
}

int32_t rldb_aot_RefMake(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  return rldb_aot_tuple(1, args, result);
}

static Any* referred(const Any* v) {
  TVMFFISeqCell* t = tuple_of(v);
  return t && t->size == 1 ? t->data : NULL;
}

int32_t rldb_aot_RefRead(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  const Any* v = referred(&args[0]);
  if (!v) WRONG(0, "a reference");
  rldb_aot_copy(result, v);
  return kSucceeded;
}

int32_t rldb_aot_RefWrite(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  Any* v = referred(&args[0]);
  Any now;
  if (!v) WRONG(0, "a reference");
  rldb_aot_copy(&now, &args[1]);
  if (rldb_aot_keep(&now) != kSucceeded) { /* the reference outlives the call */
    rldb_aot_release(&now);
    return kFailed;
  }
  rldb_aot_set(v, &now);
  return rldb_aot_tuple(0, NULL, result);
}
