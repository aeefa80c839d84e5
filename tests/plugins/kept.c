/* Functions that keep memory of their arguments and write to it in later calls, which are not given it. */
#include <stdlib.h>
#include <string.h>

#include "rldb/runtime/ffi_abi.h"

#define PLUGIN(id, name)                                                           \
  int id(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) __asm__("__tvm_ffi_" name); \
  int id(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result)

static TVMFFIObjectHandle kept;

static void add(TVMFFIObjectHandle tensor, float v) {
  DLTensor* t = TVMFFICellOf((TVMFFIObject*)tensor);
  ((float*)((char*)t->data + t->byte_offset))[0] += v;
}

PLUGIN(keep, "kept.keep") {
  if (kept) TVMFFIObjectDecRef(kept);
  kept = args[0].v_obj;
  TVMFFIObjectIncRef(kept);
  return 0;
}

PLUGIN(bump, "kept.bump") {
  add(kept, 100);
  return 0;
}

static int call(const char* name, TVMFFIAny* args, int count, TVMFFIAny* result) {
  const TVMFFIByteArray bytes = {name, strlen(name)};
  TVMFFIObjectHandle function;
  if (TVMFFIFunctionGetGlobal(&bytes, &function)) return -1;
  const int status = TVMFFIFunctionCall(function, args, count, result);
  TVMFFIObjectDecRef(function);
  return status;
}

PLUGIN(map, "kept.map") {
  TVMFFIAny items[2];
  memset(items, 0, sizeof items);
  items[0].type_index = kTVMFFIInt;
  items[0].v_int64 = 7;
  items[1] = args[0];
  return call("ffi.Map", items, 2, result);
}

PLUGIN(bump_map, "kept.bump_map") {
  TVMFFIAny key[2], item;
  memset(key, 0, sizeof key);
  memset(&item, 0, sizeof item);
  key[0] = args[0];
  key[1].type_index = kTVMFFIInt;
  key[1].v_int64 = 7;
  if (call("ffi.MapGetItem", key, 2, &item)) return -1;
  add(item.v_obj, 1000);
  TVMFFIObjectDecRef(item.v_obj);
  return 0;
}

static int bump_own(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  add(self, 10000);
  return 0;
}

static void let_go(void* self) { TVMFFIObjectDecRef(self); }

PLUGIN(closure, "kept.closure") {
  TVMFFIObjectHandle function;
  TVMFFIObjectIncRef(args[0].v_obj);
  if (TVMFFIFunctionCreate(args[0].v_obj, bump_own, let_go, &function)) return -1;
  result->type_index = kTVMFFIFunction;
  result->v_ptr = function;
  return 0;
}

PLUGIN(call_it, "kept.call") { return TVMFFIFunctionCall(args[0].v_obj, 0, 0, result); }
