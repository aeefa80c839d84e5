/* Storages, tensors in them, and views. */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/aot.h"

/* A shape of one number is in bytes; TVM takes it in elements, and files of TVM's may need that. */
int32_t rldb_aot_AllocStorage(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(4, 5);
  const TVMFFIShapeCell* s = shape_of(&args[1]);
  DLDataType t;
  uint64_t bytes = 0;
  if (!s) WRONG(1, "a Shape");
  if (!rldb_aot_dtype(&args[3], &t)) WRONG(3, "a dtype");
  if (!rldb_aot_bytes((int64_t)s->size, s->data, element_bytes(t), &bytes)) WRONG(1, "the shape of a storage");
  Storage* made = rldb_aot_storage(bytes);
  if (!made) return kFailed;
  result->type_index = kTVMFFIObject;
  result->v_obj = &made->head;
  return kSucceeded;
}

int32_t rldb_aot_AllocTensor(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(4, 5);
  const TVMFFIShapeCell* s = shape_of(&args[2]);
  DLDataType t;
  uint64_t bytes = 0;
  if (!rldb_aot_is_storage(&args[0])) WRONG(0, "a Storage");
  if (!is_integer(&args[1])) WRONG(1, "an integer");
  if (!s) WRONG(2, "a Shape");
  if (!rldb_aot_dtype(&args[3], &t)) WRONG(3, "a dtype");
  Storage* storage = (Storage*)args[0].v_obj;
  const int64_t offset = args[1].v_int64;
  const int good = rldb_aot_bytes((int64_t)s->size, s->data, element_bytes(t), &bytes) && offset >= 0 &&
                   (uint64_t)offset <= storage->size && bytes <= storage->size - (uint64_t)offset;
  if (good) return rldb_aot_view(&storage->head, storage->data + offset, (int64_t)s->size, s->data, t, result);
  Buffer what = {0};
  rldb_aot_put(&what, "(");
  rldb_aot_put_dims(&what, (int64_t)s->size, s->data);
  rldb_aot_put(&what, "), ");
  rldb_aot_put_dtype(&what, t);
  rldb_aot_fail(kErrorMemory, "%s: a tensor of shape %s at byte %lld does not fit into a storage of %llu bytes", NAME,
                what.data ? what.data : "", (long long)offset, (unsigned long long)storage->size);
  free(what.data);
  return kFailed;
}

static void clear(const Any* v) {
  const DLTensor* t = tensor_of(v);
  memset(data_of(t), 0, (size_t)rldb_aot_element_count(t) * element_bytes(t->dtype));
}

int32_t rldb_aot_AllocCleared(Library* library, const Any* args, int32_t count, Any* result) {
  if (rldb_aot_AllocTensor(library, args, count, result) != kSucceeded) return kFailed;
  clear(result);
  return kSucceeded;
}

int32_t rldb_aot_AllocShaped(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  const TVMFFIShapeCell* s = shape_of(&args[0]);
  DLDataType t;
  if (!s) WRONG(0, "a Shape");
  if (!rldb_aot_dtype(&args[1], &t)) WRONG(1, "a dtype");
  if (rldb_aot_tensor((int64_t)s->size, s->data, t, result) != kSucceeded) return kFailed;
  clear(result);
  return kSucceeded;
}

int32_t rldb_aot_NullValue(Library* library, const Any* args, int32_t count, Any* result) {
  (void)args;
  (void)result;
  TAKES(0, 0);
  return kSucceeded;
}

int32_t rldb_aot_MemoryClear(Library* library, const Any* args, int32_t count, Any* result) {
  return rldb_aot_NullValue(library, args, count, result);
}

/* What owns the memory of a tensor: its storage, or the tensor itself if it is someone else's. */
static TVMFFIObject* owner_of(const Any* v) {
  return rldb_aot_is_own_tensor(v) && ((Tensor*)v->v_obj)->owner ? ((Tensor*)v->v_obj)->owner : v->v_obj;
}

static int32_t view_of(const char* name, const Any* v, int64_t rank, const int64_t* shape, DLDataType dtype,
                       int64_t offset, int whole, Any* result) {
  const DLTensor* t = tensor_of(v);
  const uint64_t size = (uint64_t)rldb_aot_element_count(t) * element_bytes(t->dtype);
  uint64_t bytes = 0;
  const int good = rldb_aot_bytes(rank, shape, element_bytes(dtype), &bytes) && offset >= 0 &&
                   (uint64_t)offset <= size && bytes <= size - (uint64_t)offset && (!whole || bytes == size);
  if (good) return rldb_aot_view(owner_of(v), data_of(t) + offset, rank, shape, dtype, result);
  Buffer dims = {0}, from = {0};
  rldb_aot_put_dims(&dims, rank, shape);
  rldb_aot_put_value(&from, v);
  rldb_aot_fail(kErrorShape, whole ? "%s: cannot reshape %s to (%s)" : "%s: cannot view %s as (%s)", name,
                from.data ? from.data : "?", dims.data ? dims.data : "");
  free(dims.data);
  free(from.data);
  return kFailed;
}

int32_t rldb_aot_Reshape(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(2, 2);
  const DLTensor* t = tensor_of(&args[0]);
  const TVMFFIShapeCell* s = shape_of(&args[1]);
  if (!t) WRONG(0, "a Tensor");
  if (!s) WRONG(1, "a Shape");
  return view_of(NAME, &args[0], (int64_t)s->size, s->data, t->dtype, 0, 1, result);
}

int32_t rldb_aot_MemoryView(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(4, 4);
  const DLTensor* t = tensor_of(&args[0]);
  if (!t) WRONG(0, "a Tensor");
  const TVMFFIShapeCell* s = shape_of(&args[1]);
  if (!s && args[1].type_index != kTVMFFINone) WRONG(1, "a Shape");
  DLDataType dtype = t->dtype;
  if (args[2].type_index != kTVMFFINone) {
    if (!rldb_aot_dtype(&args[2], &dtype)) WRONG(2, "a dtype");
    if (is_void(dtype)) dtype = t->dtype;
  }
  if (args[3].type_index != kTVMFFINone && !is_integer(&args[3])) WRONG(3, "an integer");
  const int64_t offset = args[3].type_index == kTVMFFINone ? 0 : args[3].v_int64;
  return view_of("R.memory.view", &args[0], s ? (int64_t)s->size : t->ndim, s ? s->data : t->shape, dtype, offset, 0,
                 result);
}

int32_t rldb_aot_MemoryViewAlias(Library* library, const Any* args, int32_t count, Any* result) {
  return rldb_aot_MemoryView(library, args, count, result);
}

int32_t rldb_aot_ShapeOf(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  const DLTensor* t = tensor_of(&args[0]);
  if (!t) WRONG(0, "a Tensor");
  return rldb_aot_shape(t->ndim, t->shape, result);
}

int32_t rldb_aot_TensorToShape(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  const DLTensor* t = tensor_of(&args[0]);
  if (!t || t->ndim != 1 || t->dtype.code > 1 || t->dtype.lanes != 1) WRONG(0, "a 1-d integer tensor");
  if (rldb_aot_shape(t->shape[0], NULL, result) != kSucceeded) return kFailed;
  const uint64_t unit = element_bytes(t->dtype);
  for (int64_t i = 0; i < t->shape[0]; ++i)
    ((Shape*)result->v_obj)->dims[i] = rldb_aot_load_int(data_of(t) + (uint64_t)i * unit, t->dtype);
  return kSucceeded;
}

/* Whether a tensor starts inside its memory is known for those of the program only. */
int32_t rldb_aot_EnsureZeroOffset(Library* library, const Any* args, int32_t count, Any* result) {
  TAKES(1, 1);
  const DLTensor* t = tensor_of(&args[0]);
  if (!t) WRONG(0, "a Tensor");
  Any owner = {0};
  owner.type_index = kTVMFFIObject;
  owner.v_obj = owner_of(&args[0]);
  if (owner.v_obj == args[0].v_obj || !rldb_aot_is_storage(&owner) || ((Storage*)owner.v_obj)->data == data_of(t)) {
    rldb_aot_copy(result, &args[0]);
    return kSucceeded;
  }
  if (rldb_aot_tensor(t->ndim, t->shape, t->dtype, result) != kSucceeded) return kFailed;
  memcpy(data_of(tensor_of(result)), data_of(t), (size_t)rldb_aot_element_count(t) * element_bytes(t->dtype));
  return kSucceeded;
}
