/* Two packed functions in a shared library: `my.scale` (destination-passing: fills its last argument) and `my.sum`
 * (returns a number).
 *
 *   cc -shared -fPIC -I include docs/examples/plugin/my_functions.c -o my_functions.so
 *   rldb --plugin=my_functions.so ...
 *
 * A name with a dot is no C name, so it is given to the assembler. */
#include <stddef.h>

#include "rldb/runtime/ffi_abi.h"

int my_scale(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) __asm__("__tvm_ffi_my.scale");
int my_sum(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) __asm__("__tvm_ffi_my.sum");

static int raise(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

/* The float32 tensor in an argument, or null. */
static const DLTensor* float_tensor(const TVMFFIAny* arg) {
  if (arg->type_index != kTVMFFIDLTensorPtr) return NULL;
  const DLTensor* t = (const DLTensor*)arg->v_ptr;
  return t->dtype.code == 2 && t->dtype.bits == 32 && t->dtype.lanes == 1 ? t : NULL;
}

static int64_t element_count(const DLTensor* t) {
  int64_t count = 1;
  for (int32_t i = 0; i < t->ndim; ++i) count *= t->shape[i];
  return count;
}

static float* elements(const DLTensor* t) { return (float*)((char*)t->data + t->byte_offset); }

/* my.scale(x, factor, out): out = x * factor */
int my_scale(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  (void)self;
  (void)result;
  if (count != 3) return raise("TypeError", "my.scale takes x, factor, out");
  const DLTensor* x = float_tensor(&args[0]);
  const DLTensor* out = float_tensor(&args[2]);
  if (!x || !out) return raise("TypeError", "my.scale needs float32 tensors");
  if (args[1].type_index != kTVMFFIFloat) return raise("TypeError", "my.scale needs a float factor");
  if (element_count(x) != element_count(out)) return raise("ValueError", "x and out differ in size");
  const float factor = (float)args[1].v_float64;
  for (int64_t i = 0; i < element_count(x); ++i) elements(out)[i] = elements(x)[i] * factor;
  return 0;
}

/* my.sum(x) -> float */
int my_sum(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  (void)self;
  const DLTensor* x = count == 1 ? float_tensor(&args[0]) : NULL;
  if (!x) {
    const char* parts[] = {"my.sum", " takes ", NULL, "one float32 tensor"};
    TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, 4);
    return -1;
  }
  double sum = 0;
  for (int64_t i = 0; i < element_count(x); ++i) sum += elements(x)[i];
  result->type_index = kTVMFFIFloat;
  result->v_float64 = sum;
  return 0;
}
