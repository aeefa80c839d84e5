/* Gives rldb addresses of its code in later calls, not when it is loaded. */
#include <stdlib.h>

#include "rldb/runtime/ffi_abi.h"

#define FUNCTION(name) int __tvm_ffi_##name(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result)
#define UNUSED (void)self, (void)args, (void)count, (void)result

static void* allocate(size_t size, size_t alignment, int32_t type_index, void* context) {
  (void)type_index, (void)context;
  return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

FUNCTION(give_allocator) {
  UNUSED;
  /* On the heap: the address of the structure tells nothing about the library. */
  TVMFFICustomAllocator* made = malloc(sizeof *made);
  made->allocate = allocate;
  made->context = NULL;
  return TVMFFISetCustomAllocator(made);
}

static int allocate_tensor(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                           void (*set_error)(void*, const char*, const char*)) {
  (void)prototype, (void)out;
  set_error(context, "MemoryError", "the allocator of late_plugin.c has none");
  return -1;
}

FUNCTION(give_tensor_allocator) {
  UNUSED;
  return TVMFFIEnvSetDLPackManagedTensorAllocator(allocate_tensor, 1, NULL);
}

static int answer(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  UNUSED;
  result->type_index = kTVMFFIInt;
  result->v_int64 = 42;
  return 0;
}

FUNCTION(give_function) {
  UNUSED;
  static const char name[] = "late.answer";
  const TVMFFIByteArray text = {name, sizeof name - 1};
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionCreate(NULL, answer, NULL, &function) != 0) return -1;
  const int status = TVMFFIFunctionSetGlobal(&text, function, 1);
  TVMFFIObjectDecRef(function);
  return status;
}
