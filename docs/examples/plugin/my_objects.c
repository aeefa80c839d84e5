/* Packed functions with objects: a random generator that the program keeps, arrays, a function as an argument.
 *
 *   my.random(seed) -> generator          my.uniform(generator, shape) -> float32 tensor
 *   my.repeat(f, x, n) -> f(f(...x))      my.split(shape) -> (rank, last dimension)
 *
 *   cc -shared -fPIC -I include docs/examples/plugin/my_objects.c -o my_objects.so
 */
#include <stdlib.h>
#include <string.h>

#include "rldb/runtime/ffi_abi.h"

#define FUNCTION(id, name)                                                                                \
  int id(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) __asm__("__tvm_ffi_" name); \
  int id(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result)

static int raise(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static int holds(const TVMFFIAny* args, int32_t count, int32_t i, int32_t type_index) {
  return i < count && args[i].type_index == type_index;
}

/* The type of our generators: any number from 128 on that tvm-ffi gives us for the name. */
static int32_t generator_type(void) {
  static const char name[] = "my.Generator";
  const TVMFFIByteArray key = {name, sizeof name - 1};
  return TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
}

FUNCTION(my_random, "my.random") {
  (void)self;
  if (!holds(args, count, 0, kTVMFFIInt)) return raise("TypeError", "my.random takes a seed");
  uint64_t* state = malloc(sizeof *state);
  *state = (uint64_t)args[0].v_int64 * 2 + 1;
  TVMFFIObjectHandle made;
  if (TVMFFIObjectCreateOpaque(state, generator_type(), free, &made) != 0) return -1;
  result->type_index = generator_type();
  result->v_ptr = made;
  return 0;
}

FUNCTION(my_uniform, "my.uniform") {
  (void)self;
  if (!holds(args, count, 0, generator_type())) return raise("TypeError", "my.uniform takes a generator of my.random");
  if (!holds(args, count, 1, kTVMFFIShape)) return raise("TypeError", "my.uniform takes a shape");
  uint64_t* state = ((TVMFFIOpaqueObjectCell*)TVMFFICellOf(args[0].v_obj))->handle;
  const TVMFFIShapeCell* shape = TVMFFICellOf(args[1].v_obj);
  DLTensor like = {0};
  like.device.device_type = 1;
  like.dtype.code = 2;
  like.dtype.bits = 32;
  like.dtype.lanes = 1;
  like.ndim = (int32_t)shape->size;
  like.shape = (int64_t*)shape->data;
  TVMFFIObjectHandle made;
  if (TVMFFIEnvTensorAlloc(&like, &made) != 0) return -1;
  const DLTensor* tensor = TVMFFICellOf(made);
  int64_t n = 1;
  for (size_t i = 0; i < shape->size; ++i) n *= shape->data[i];
  for (int64_t i = 0; i < n; ++i) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    ((float*)tensor->data)[i] = (float)(*state >> 40) / (float)(1 << 24);
  }
  result->type_index = kTVMFFITensor;
  result->v_ptr = made;
  return 0;
}

FUNCTION(my_repeat, "my.repeat") {
  (void)self;
  if (!holds(args, count, 0, kTVMFFIFunction) || !holds(args, count, 2, kTVMFFIInt))
    return raise("TypeError", "my.repeat takes a function, its argument and a count");
  TVMFFIAny value;
  if (TVMFFIAnyViewToOwnedAny(&args[1], &value) != 0) return -1;
  for (int64_t i = 0; i < args[2].v_int64; ++i) {
    TVMFFIAny next = {0};
    const int status = TVMFFIFunctionCall(args[0].v_obj, &value, 1, &next);
    if (value.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value.v_obj);
    if (status != 0) return status;
    value = next;
  }
  *result = value;
  return 0;
}

/* An array, made by the function that tvm-ffi has for it. */
FUNCTION(my_split, "my.split") {
  (void)self;
  if (!holds(args, count, 0, kTVMFFIShape)) return raise("TypeError", "my.split takes a shape");
  const TVMFFIShapeCell* shape = TVMFFICellOf(args[0].v_obj);
  static const char name[] = "ffi.Array";
  const TVMFFIByteArray key = {name, sizeof name - 1};
  TVMFFIObjectHandle make;
  if (TVMFFIFunctionGetGlobal(&key, &make) != 0) return -1;
  if (!make) return raise("RuntimeError", "no ffi.Array");
  TVMFFIAny items[2];
  memset(items, 0, sizeof items);
  items[0].type_index = items[1].type_index = kTVMFFIInt;
  items[0].v_int64 = (int64_t)shape->size;
  items[1].v_int64 = shape->size ? shape->data[shape->size - 1] : 1;
  const int status = TVMFFIFunctionCall(make, items, 2, result);
  TVMFFIObjectDecRef(make);
  return status;
}
