/* The C ABI of packed functions in plugins: tvm-ffi's, so that a plugin made for TVM's runtime loads here too as long
 * as it keeps to the argument kinds below. Plain C; a plugin includes this file, or TVM's own header instead.
 *
 * A plugin exports `int __tvm_ffi_<name>(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result)` for the
 * packed function `<name>`. `self` is null. Arguments and what they point at are valid during the call only. The
 * result is None unless it is set; zero means success, else an error was set with TVMFFIErrorSetRaisedFromCStr.
 * See docs/plugins.md. Used by runtime/plugin.cc and by plugins. */
#ifndef RLDB_RUNTIME_FFI_ABI_H_
#define RLDB_RUNTIME_FFI_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a TVMFFIAny holds. From kTVMFFIStaticObjectBegin on it is a reference to an object of TVM's runtime, of which
 * rldb has none. */
enum {
  kTVMFFINone = 0,
  kTVMFFIInt = 1,
  kTVMFFIBool = 2,
  kTVMFFIFloat = 3,
  kTVMFFIOpaquePtr = 4,
  kTVMFFIDataType = 5,
  kTVMFFIDevice = 6,
  kTVMFFIDLTensorPtr = 7,
  kTVMFFIRawStr = 8,
  kTVMFFIStaticObjectBegin = 64
};

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  int32_t device_type; /* 1: CPU */
  int32_t device_id;
} DLDevice;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; rldb always gives compact row-major ones */
  uint64_t byte_offset;
} DLTensor;

typedef struct {
  int32_t type_index;
  uint32_t zero_padding;
  union {
    int64_t v_int64; /* Int; Bool as 0 or 1 */
    double v_float64;
    void* v_ptr; /* OpaquePtr, DLTensorPtr */
    const char* v_c_str;
    DLDataType v_dtype;
    DLDevice v_device;
  };
} TVMFFIAny;

typedef int (*TVMFFISafeCallType)(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);

/* Exported by rldb. `kind` is a word such as "ValueError"; both texts are copied. */
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);
/* The message is the parts one after the other; null parts are skipped. */
void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** parts, int32_t count);

#ifdef __cplusplus
}
#endif

#endif /* RLDB_RUNTIME_FFI_ABI_H_ */
