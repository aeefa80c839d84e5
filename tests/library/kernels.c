/* Machine code for tests/library/program.py, in the form of TVM's: it calls its runtime through variables that whoever
 * loads it sets. `twice` multiplies by 3, so that it is seen whose code ran; `plus` sums in parallel tasks that meet.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "rldb/runtime/ffi_abi.h"

#define VARIABLE __attribute__((weak, visibility("default")))
typedef struct {
  void* tasks;
  int32_t count;
} Group;
VARIABLE void* (*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = NULL;
VARIABLE int (*__TVMBackendFreeWorkspace)(int, int, void*) = NULL;
VARIABLE int (*__TVMBackendParallelLaunch)(int (*)(int, Group*, void*), void*, int) = NULL;
VARIABLE int (*__TVMBackendParallelBarrier)(int, Group*) = NULL;
VARIABLE int (*__TVMFFIEnvModLookupFromImports)(void*, const char*, TVMFFIObjectHandle*) = NULL;
VARIABLE int (*__TVMFFIFunctionCall)(TVMFFIObjectHandle, TVMFFIAny*, int32_t, TVMFFIAny*) = NULL;

static const DLTensor* tensor(const TVMFFIAny* any) {
  return any->type_index == kTVMFFIDLTensorPtr ? any->v_ptr : TVMFFICellOf(any->v_obj);
}

static int refuse(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

int __tvm_ffi_twice(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  (void)self, (void)result;
  if (count != 2) return refuse("TypeError", "twice: num_args should be 2");
  const DLTensor *x = tensor(&args[0]), *y = tensor(&args[1]);
  if (((const float*)x->data)[0] == 99.0f) *(volatile int*)8 = 0; /* a crash, for the test of --isolate */
  for (int64_t i = 0; i < x->shape[0]; ++i) ((float*)y->data)[i] = 3 * ((const float*)x->data)[i];
  return 0;
}

/* The bytes of a result, from the number of its elements in slot 0. */
int __tvm_ffi_shape_func(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  (void)self, (void)count, (void)result;
  int64_t* slots = tensor(&args[0])->data;
  slots[1] = 4 * slots[0];
  return 0;
}

typedef struct {
  const float *x, *y;
  float *between, *z;
  int64_t n;
} Sum;

static int part(int task, Group* group, void* data) {
  const Sum* s = data;
  if (s->x[0] == 77.0f && task == group->count - 1) return refuse("ValueError", "77 in the last task");
  for (int64_t i = task; i < s->n; i += group->count) s->between[i] = s->x[i] + s->y[i];
  __TVMBackendParallelBarrier(task, group);
  /* What another task wrote before they met. */
  for (int64_t i = task; i < s->n; i += group->count) s->z[s->n - 1 - i] = s->between[s->n - 1 - i];
  return 0;
}

int __tvm_ffi_plus(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  (void)self, (void)count, (void)result;
  const DLTensor *x = tensor(&args[0]), *y = tensor(&args[1]), *z = tensor(&args[2]);
  Sum s = {x->data, y->data, NULL, z->data, x->shape[0]};
  if (s.x[0] == 55.0f) { /* a packed function of the host, by name */
    TVMFFIObjectHandle function = NULL;
    TVMFFIAny nothing, text;
    memset(&nothing, 0, sizeof nothing);
    memset(&text, 0, sizeof text);
    if (__TVMFFIEnvModLookupFromImports(NULL, "no.such.function", &function) != 0) return -1;
    return __TVMFFIFunctionCall(function, &text, 0, &nothing);
  }
  s.between = __TVMBackendAllocWorkspace(1, 0, (uint64_t)s.n * sizeof(float), 2, 32);
  if (!s.between) return -1;
  const int status = __TVMBackendParallelLaunch(part, &s, 3);
  __TVMBackendFreeWorkspace(1, 0, s.between);
  return status;
}
