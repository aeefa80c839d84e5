/* What a plugin must not do with objects and results, one function each; for ffi_test.cc. */
#include <stddef.h>
#include <string.h>

#include "rldb/runtime/ffi_abi.h"

#define FUNCTION(name)                                                                       \
  int __tvm_ffi_##name(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result); \
  int __tvm_ffi_##name(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result)
#define UNUSED (void)self, (void)args, (void)count, (void)result

static int give(TVMFFIAny* result, int32_t type_index, void* pointer) {
  result->type_index = type_index;
  result->v_ptr = pointer;
  return 0;
}

FUNCTION(wrong_index) {
  UNUSED;
  return give(result, 40, NULL);
}
FUNCTION(negative_index) {
  UNUSED;
  return give(result, -7, NULL);
}
FUNCTION(wild_object) {
  UNUSED;
  return give(result, kTVMFFITensor, (void*)4096);
}
FUNCTION(odd_object) {
  UNUSED;
  return give(result, kTVMFFIShape, (char*)&__tvm_ffi_odd_object + 1);
}
FUNCTION(null_object) {
  UNUSED;
  return give(result, kTVMFFIArray, NULL);
}
FUNCTION(null_text) {
  UNUSED;
  return give(result, kTVMFFIRawStr, NULL);
}
FUNCTION(wild_tensor) {
  UNUSED;
  return give(result, kTVMFFIDLTensorPtr, (void*)64);
}
FUNCTION(long_small_text) {
  UNUSED;
  result->type_index = kTVMFFISmallStr;
  result->small_str_len = 4000;
  return 0;
}
FUNCTION(bad_dtype) {
  UNUSED;
  result->type_index = kTVMFFIDataType;
  result->v_dtype.code = 99;
  result->v_dtype.bits = 3;
  return 0;
}
FUNCTION(lies) {
  UNUSED;
  TVMFFIObjectIncRef(args[0].v_obj);
  return give(result, kTVMFFITensor, args[0].v_obj);
}
FUNCTION(returns_lent) {
  UNUSED;
  *result = args[0];
  return 0;
}
FUNCTION(double_free) {
  UNUSED;
  TVMFFIObjectDecRef(args[0].v_obj);
  TVMFFIObjectDecRef(args[0].v_obj);
  return 0;
}
FUNCTION(frees_argument) {
  UNUSED;
  TVMFFIObjectDecRef(args[0].v_obj);
  return 0;
}
static int nothing(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  UNUSED;
  return 0;
}
FUNCTION(returns_freed) {
  UNUSED;
  TVMFFIObjectHandle f;
  TVMFFIFunctionCreate(NULL, nothing, NULL, &f);
  TVMFFIObjectDecRef(f);
  return give(result, kTVMFFIFunction, f);
}
FUNCTION(raises_garbage) {
  UNUSED;
  TVMFFIErrorSetRaised((void*)24);
  return -1;
}
FUNCTION(no_message) {
  UNUSED;
  return 7;
}
FUNCTION(calls_null) {
  UNUSED;
  return TVMFFIFunctionCall(NULL, NULL, 0, result);
}

static struct {
  TVMFFIObject head;
  TVMFFISeqCell cell;
} endless;
static void keep(void* self, int flags) { (void)self, (void)flags; }
FUNCTION(endless_array) { /* contains itself */
  UNUSED;
  static TVMFFIAny item;
  endless.head.combined_ref_count = ((uint64_t)1 << 32) | 1000;
  endless.head.type_index = kTVMFFIArray;
  endless.head.deleter = keep;
  endless.cell.data = &item;
  endless.cell.size = 1;
  item.type_index = kTVMFFIArray;
  item.v_obj = &endless.head;
  return give(result, kTVMFFIArray, &endless.head);
}
FUNCTION(long_array) {
  UNUSED;
  endless.head.combined_ref_count = ((uint64_t)1 << 32) | 1000;
  endless.head.type_index = kTVMFFIArray;
  endless.head.deleter = keep;
  endless.cell.data = &endless;
  endless.cell.size = (int64_t)1 << 60;
  return give(result, kTVMFFIArray, &endless.head);
}
static struct {
  TVMFFIObject head;
  DLTensor tensor;
} odd;
FUNCTION(huge_tensor) {
  UNUSED;
  static int64_t shape[] = {(int64_t)1 << 40, (int64_t)1 << 40};
  memset(&odd, 0, sizeof odd);
  odd.head.combined_ref_count = ((uint64_t)1 << 32) | 1000;
  odd.head.type_index = kTVMFFITensor;
  odd.head.deleter = keep;
  odd.tensor.data = &odd;
  odd.tensor.device.device_type = 1;
  odd.tensor.ndim = 2;
  odd.tensor.dtype.code = 2;
  odd.tensor.dtype.bits = 32;
  odd.tensor.dtype.lanes = 1;
  odd.tensor.shape = shape;
  return give(result, kTVMFFITensor, &odd.head);
}
FUNCTION(tensor_without_data) {
  __tvm_ffi_huge_tensor(self, args, count, result);
  static int64_t shape[] = {2, 2};
  odd.tensor.shape = shape;
  odd.tensor.data = NULL;
  return 0;
}
FUNCTION(tensor_of_rank_million) {
  __tvm_ffi_huge_tensor(self, args, count, result);
  odd.tensor.ndim = 1000000;
  return 0;
}
FUNCTION(calls_itself) {
  static TVMFFIObjectHandle again;
  static volatile int code; /* what follows the call needs its frame */
  if (!again && TVMFFIFunctionCreate(NULL, __tvm_ffi_calls_itself, NULL, &again) != 0) return -1;
  UNUSED;
  code = TVMFFIFunctionCall(again, (TVMFFIAny*)args, count, result);
  return code;
}
FUNCTION(finds_itself) {
  UNUSED;
  static const char name[] = "finds_itself";
  const TVMFFIByteArray key = {name, sizeof name - 1};
  TVMFFIObjectHandle found = NULL;
  if (count == 0) return give(result, kTVMFFINone, NULL);
  if (TVMFFIFunctionGetGlobal(&key, &found) != 0 || !found) return -1;
  return TVMFFIFunctionCall(found, NULL, 0, result);
}
