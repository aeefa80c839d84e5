/* Objects of the program: reference counts, and how each kind is made and ended. */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/aot.h"

enum { kDestroy = 1, kFree = 2 };
static const uint64_t kOneWeak = (uint64_t)1 << 32;

void rldb_aot_ref(TVMFFIObject* object) { __atomic_fetch_add(&object->combined_ref_count, 1, __ATOMIC_RELAXED); }

/* Objects that end while another one does wait in a list, linked by their counts, so that the end of a long list of
 * values needs no stack. */
static void end_object(TVMFFIObject* object) {
  Thread* t = &rldb_aot_thread;
  if (!object->deleter) return;
  if (t->ends) {
    object->combined_ref_count = (uintptr_t)t->waiting;
    t->waiting = object;
    return;
  }
  t->ends = 1;
  object->deleter(object, kDestroy | kFree);
  while ((object = t->waiting) != NULL) {
    t->waiting = (TVMFFIObject*)(uintptr_t)object->combined_ref_count;
    object->combined_ref_count = kOneWeak;
    object->deleter(object, kDestroy | kFree);
  }
  t->ends = 0;
}

void rldb_aot_unref(TVMFFIObject* object) {
  const uint64_t before = __atomic_fetch_sub(&object->combined_ref_count, 1, __ATOMIC_ACQ_REL);
  if ((uint32_t)before != 1) return;
  if (before == (kOneWeak | 1)) {
    end_object(object);
    return;
  }
  if (object->deleter) object->deleter(object, kDestroy);
  if (__atomic_fetch_sub(&object->combined_ref_count, kOneWeak, __ATOMIC_ACQ_REL) == kOneWeak && object->deleter)
    object->deleter(object, kFree);
}

void rldb_aot_retain(const Any* v) {
  if (v->type_index >= kTVMFFIStaticObjectBegin) rldb_aot_ref(v->v_obj);
}

void rldb_aot_release(Any* v) {
  TVMFFIObject* object = v->type_index >= kTVMFFIStaticObjectBegin ? v->v_obj : NULL;
  memset(v, 0, sizeof *v);
  if (object) rldb_aot_unref(object);
}

void rldb_aot_copy(Any* to, const Any* from) {
  *to = *from;
  rldb_aot_retain(to);
}

void rldb_aot_set(Any* to, Any* from) {
  Any old = *to;
  *to = *from;
  memset(from, 0, sizeof *from);
  rldb_aot_release(&old);
}

void rldb_aot_release_all(Any* v, int64_t count) {
  for (int64_t i = 0; i < count; ++i) rldb_aot_release(&v[i]);
}

/* Of `size` bytes and `count` parts behind them. */
static void* new_object(size_t size, int64_t count, size_t part, int32_t type_index, void (*deleter)(void*, int)) {
  if (count < 0 || count > INT32_MAX) {
    rldb_aot_fail(kErrorMemory, "an object of %lld parts", (long long)count);
    return NULL;
  }
  size += (size_t)count * part;
  const int permanent = rldb_aot_thread.opens;
  TVMFFIObject* made = permanent ? rldb_aot_permanent(size) : calloc(1, size);
  if (!made) {
    rldb_aot_fail(kErrorMemory, "no memory for an object of %zu bytes", size);
    return NULL;
  }
  made->combined_ref_count = kOneWeak | (permanent ? 2 : 1); /* nobody gives back the second one */
  made->type_index = type_index;
  made->deleter = deleter;
  return made;
}

static void give(Any* result, int32_t type_index, void* object) {
  memset(result, 0, sizeof *result);
  result->type_index = type_index;
  result->v_obj = object;
}

/* ---- storages ---- */

static void delete_storage(void* self, int flags) {
  Storage* s = self;
  if ((flags & kDestroy) && !s->borrowed) free(s->data);
  if (flags & kFree) free(s);
}

enum { kAlignment = 64 };

Storage* rldb_aot_storage(uint64_t bytes) {
  if (bytes > SIZE_MAX / 2) {
    rldb_aot_fail(kErrorMemory, "no memory for %llu bytes", (unsigned long long)bytes);
    return NULL;
  }
  Storage* s = new_object(sizeof *s, 0, 0, kTVMFFIObject, delete_storage);
  if (!s) return NULL;
  const uint64_t size = (bytes + kAlignment) / kAlignment * kAlignment; /* a whole number of vectors, never none */
  s->data = aligned_alloc(kAlignment, size);
  s->size = bytes;
  if (!s->data) {
    rldb_aot_unref(&s->head);
    rldb_aot_fail(kErrorMemory, "no memory for %llu bytes", (unsigned long long)bytes);
    return NULL;
  }
  return s;
}

int rldb_aot_is_storage(const Any* v) { return v->type_index == kTVMFFIObject && v->v_obj->deleter == delete_storage; }

/* ---- tensors ---- */

static void delete_tensor(void* self, int flags) {
  Tensor* t = self;
  if ((flags & kDestroy) && t->owner) rldb_aot_unref(t->owner);
  if (flags & kFree) free(t);
}

int rldb_aot_is_own_tensor(const Any* v) {
  return v->type_index == kTVMFFITensor && v->v_obj->deleter == delete_tensor;
}

int rldb_aot_bytes(int64_t rank, const int64_t* shape, uint64_t unit, uint64_t* bytes) {
  uint64_t total = unit;
  int empty = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (shape[i] < 0) return 0;
    empty |= shape[i] == 0;
  }
  for (int64_t i = 0; i < rank && !empty; ++i)
    if (__builtin_mul_overflow(total, (uint64_t)shape[i], &total)) return 0;
  *bytes = empty ? 0 : total;
  return *bytes <= (uint64_t)INT64_MAX;
}

int64_t rldb_aot_element_count(const DLTensor* t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t->ndim; ++i) n *= t->shape[i];
  return n;
}

int32_t rldb_aot_view(TVMFFIObject* owner, void* data, int64_t rank, const int64_t* shape, DLDataType dtype,
                      Any* result) {
  Tensor* t = new_object(sizeof *t, rank, 2 * sizeof(int64_t), kTVMFFITensor, delete_tensor);
  if (!t) return kFailed;
  t->tensor.data = data;
  t->tensor.device = (DLDevice){1, 0};
  t->tensor.ndim = (int32_t)rank;
  t->tensor.dtype = dtype;
  t->tensor.shape = t->dims;
  t->tensor.strides = t->dims + rank;
  int64_t stride = 1;
  for (int64_t i = rank; i-- > 0;) {
    t->dims[i] = shape[i];
    t->dims[rank + i] = stride;
    stride *= shape[i];
  }
  t->owner = owner;
  rldb_aot_ref(owner);
  give(result, kTVMFFITensor, t);
  return kSucceeded;
}

int32_t rldb_aot_tensor(int64_t rank, const int64_t* shape, DLDataType dtype, Any* result) {
  uint64_t bytes = 0;
  if (!rldb_aot_bytes(rank, shape, element_bytes(dtype), &bytes)) {
    Buffer dims = {0};
    rldb_aot_put_dims(&dims, rank, shape);
    rldb_aot_fail(kErrorMemory, "a tensor of shape (%s) cannot be made", dims.data ? dims.data : "");
    free(dims.data);
    return kFailed;
  }
  Storage* s = rldb_aot_storage(bytes);
  if (!s) return kFailed;
  const int32_t done = rldb_aot_view(&s->head, s->data, rank, shape, dtype, result);
  rldb_aot_unref(&s->head);
  return done;
}

/* ---- shapes, tuples, strings ---- */

static void delete_plain(void* self, int flags) {
  if (flags & kFree) free(self);
}

int32_t rldb_aot_shape(int64_t rank, const int64_t* dims, Any* result) {
  Shape* s = new_object(sizeof *s, rank, sizeof(int64_t), kTVMFFIShape, delete_plain);
  if (!s) return kFailed;
  s->shape.data = s->dims;
  s->shape.size = (size_t)rank;
  if (dims && rank > 0) memcpy(s->dims, dims, (size_t)rank * sizeof(int64_t));
  give(result, kTVMFFIShape, s);
  return kSucceeded;
}

int32_t rldb_aot_string(const char* text, uint64_t size, Any* result) {
  String* s = new_object(sizeof *s + 1, (int64_t)size, 1, kTVMFFIStr, delete_plain);
  if (!s) return kFailed;
  memcpy(s->text, text, size);
  s->bytes.data = s->text;
  s->bytes.size = size;
  give(result, kTVMFFIStr, s);
  return kSucceeded;
}

static void delete_tuple(void* self, int flags) {
  Tuple* t = self;
  if (flags & kDestroy) rldb_aot_release_all(t->fields, t->seq.size);
  if (flags & kFree) free(t);
}

int rldb_aot_is_own_tuple(const Any* v) { return v->type_index == kTVMFFIArray && v->v_obj->deleter == delete_tuple; }

int32_t rldb_aot_tuple(int64_t count, const Any* fields, Any* result) {
  Tuple* t = new_object(sizeof *t, count, sizeof(Any), kTVMFFIArray, delete_tuple);
  if (!t) return kFailed;
  t->seq.data = t->fields;
  t->seq.size = t->seq.capacity = count;
  for (int64_t i = 0; i < count; ++i) rldb_aot_copy(&t->fields[i], &fields[i]);
  give(result, kTVMFFIArray, t);
  return kSucceeded;
}

/* ---- functions ---- */

static void delete_closure(void* self, int flags) {
  Closure* c = self;
  if (flags & kDestroy) {
    rldb_aot_release(&c->called);
    rldb_aot_release_all(c->captured, c->captured_count);
  }
  if (flags & kFree) free(c);
}

/* A closure that was given away is called from outside. */
static int call_closure(void* self, const Any* args, int32_t count, Any* result) {
  Any callee = {0}, made = {0};
  give(&callee, kTVMFFIFunction, self);
  if (rldb_aot_enter_value(&callee, args, count, &made) != kSucceeded) return kFailed;
  rldb_aot_set(result, &made);
  return kSucceeded;
}

int rldb_aot_is_own_closure(const Any* v) {
  return v->type_index == kTVMFFIFunction && v->v_obj->deleter == delete_closure;
}

int32_t rldb_aot_closure(Library* library, int64_t function, const Any* called, const Any* captured, int64_t count,
                         Any* result) {
  Closure* c = new_object(sizeof *c, count, sizeof(Any), kTVMFFIFunction, delete_closure);
  if (!c) return kFailed;
  c->cell.safe_call = call_closure;
  c->library = library;
  c->function = function;
  if (called) rldb_aot_copy(&c->called, called);
  c->captured_count = count;
  for (int64_t i = 0; i < count; ++i) rldb_aot_copy(&c->captured[i], &captured[i]);
  give(result, kTVMFFIFunction, c);
  return kSucceeded;
}

void rldb_aot_watch_objects(void) {
  rldb_aot_watched.delete_storage = delete_storage;
  rldb_aot_watched.delete_closure = delete_closure;
}
