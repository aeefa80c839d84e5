/* The C ABI of packed functions: tvm-ffi's, so that a library made with TVM's headers loads here, and a plugin of
 * rldb loads in TVM. Plain C; a plugin includes this file, or TVM's own header instead.
 *
 * A plugin exports `int __tvm_ffi_<name>(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result)` for the
 * packed function `<name>`. `self` is null. Arguments are lent for the call; an object (type index 64 or more) is kept
 * with TVMFFIObjectIncRef. The result is None unless it is set, and owns the object that it holds; zero means success,
 * else an error was set with a TVMFFIErrorSetRaised function. All functions below are exported by rldb. See
 * docs/plugins.md. Used by src/runtime/ffi, src/runtime/plugin and by plugins. */
#ifndef RLDB_RUNTIME_FFI_ABI_H_
#define RLDB_RUNTIME_FFI_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a TVMFFIAny holds. From kTVMFFIStaticObjectBegin on it is a reference to an object. */
enum {
  kTVMFFIAny = -1,
  kTVMFFINone = 0,
  kTVMFFIInt = 1,
  kTVMFFIBool = 2,
  kTVMFFIFloat = 3,
  kTVMFFIOpaquePtr = 4,
  kTVMFFIDataType = 5,
  kTVMFFIDevice = 6,
  kTVMFFIDLTensorPtr = 7,
  kTVMFFIRawStr = 8,           /* arguments only */
  kTVMFFIByteArrayPtr = 9,     /* arguments only */
  kTVMFFIObjectRValueRef = 10, /* arguments only: the address of an object handle, to be moved from */
  kTVMFFISmallStr = 11,
  kTVMFFISmallBytes = 12,
  kTVMFFIStaticObjectBegin = 64,
  kTVMFFIObject = 64,
  kTVMFFIStr = 65,
  kTVMFFIBytes = 66,
  kTVMFFIError = 67,
  kTVMFFIFunction = 68,
  kTVMFFIShape = 69,
  kTVMFFITensor = 70,
  kTVMFFIArray = 71,
  kTVMFFIMap = 72,
  kTVMFFIModule = 73,
  kTVMFFIOpaquePyObject = 74,
  kTVMFFIList = 75,
  kTVMFFIDict = 76,
  kTVMFFIDynObjectBegin = 128
};

/* ---- DLPack ---- */

/* With dlpack.h, or the header of a library that `rldb build` made, this file comes first or after dlpack.h. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
typedef struct {
  uint8_t code; /* 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, ... */
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

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif

typedef int (*DLPackManagedTensorAllocator)(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                                            void (*set_error)(void* error_ctx, const char* kind, const char* message));

/* ---- values ---- */

typedef void* TVMFFIObjectHandle;

/* The head of every object: the strong count is in the low 32 bits of the first word, the weak count above; a new
 * object has one of each. The deleter gets 1 (no strong reference: destroy), 2 (no weak reference: free), or 3. */
typedef struct {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t __padding;
  void (*deleter)(void* self, int flags);
} TVMFFIObject;

typedef struct {
  int32_t type_index;
  union {
    uint32_t zero_padding;
    uint32_t small_str_len; /* SmallStr, SmallBytes: at most 7 */
  };
  union {
    int64_t v_int64; /* Int; Bool as 0 or 1 */
    double v_float64;
    void* v_ptr; /* OpaquePtr, DLTensorPtr, ByteArrayPtr */
    const char* v_c_str;
    TVMFFIObject* v_obj;
    DLDataType v_dtype;
    DLDevice v_device;
    char v_bytes[8];
    uint64_t v_uint64;
  };
} TVMFFIAny;

typedef int (*TVMFFISafeCallType)(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);

/* What follows the head in an object of each kind. */
typedef struct {
  const char* data;
  size_t size;
} TVMFFIByteArray; /* Str, Bytes */

typedef struct {
  const int64_t* data;
  size_t size;
} TVMFFIShapeCell;

typedef struct {
  TVMFFISafeCallType safe_call;
  void* cpp_call; /* null */
} TVMFFIFunctionCell;

typedef struct {
  void* data; /* TVMFFIAny[size], owned */
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void* data);
} TVMFFISeqCell; /* Array, List */

typedef struct {
  TVMFFIByteArray kind;
  TVMFFIByteArray message;
  TVMFFIByteArray backtrace;
  void (*update_backtrace)(TVMFFIObjectHandle self, const TVMFFIByteArray* backtrace, int32_t mode);
  TVMFFIObjectHandle cause_chain;
  TVMFFIObjectHandle extra_context;
} TVMFFIErrorCell;

typedef struct {
  void* handle;
} TVMFFIOpaqueObjectCell;

typedef struct {
  uint32_t major, minor, patch;
} TVMFFIVersion;

/* What precedes an object of an allocator: how its memory is given back. */
typedef struct {
  void (*delete_space)(void* object);
} TVMFFIObjectAllocHeader;

typedef struct {
  void* (*allocate)(size_t size, size_t alignment, int32_t type_index, void* context);
  void* context;
} TVMFFICustomAllocator;

/* The cell of an object, e.g. ((DLTensor*)TVMFFICellOf(args[0].v_obj)) of a Tensor. An addition of rldb's. */
static inline void* TVMFFICellOf(TVMFFIObject* object) { return object + 1; }

/* ---- objects ---- */

int TVMFFIObjectIncRef(TVMFFIObjectHandle object);
int TVMFFIObjectDecRef(TVMFFIObjectHandle object);
int TVMFFIObjectCreateOpaque(void* handle, int32_t type_index, void (*deleter)(void* handle), TVMFFIObjectHandle* out);
int TVMFFIAnyViewToOwnedAny(const TVMFFIAny* view, TVMFFIAny* out);
int TVMFFIStringFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);
int TVMFFIBytesFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);
int TVMFFIDataTypeFromString(const TVMFFIByteArray* text, DLDataType* out);
int TVMFFIDataTypeToString(const DLDataType* dtype, TVMFFIAny* out);

/* ---- functions ---- */

int TVMFFIFunctionCreate(void* self, TVMFFISafeCallType safe_call, void (*deleter)(void* self),
                         TVMFFIObjectHandle* out);
int TVMFFIFunctionCall(TVMFFIObjectHandle function, TVMFFIAny* args, int32_t count, TVMFFIAny* result);
/* `*out` is null if there is no such function. Those of rldb's registry are found too. */
int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out);
int TVMFFIFunctionSetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle function, int allow_override);

/* ---- errors ---- */

/* `kind` is a word such as "ValueError"; both texts are copied. */
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);
/* The message is the parts one after the other; null parts are skipped. */
void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** parts, int32_t count);
void TVMFFIErrorSetRaised(TVMFFIObjectHandle error);
void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result);
int TVMFFIErrorCreate(const TVMFFIByteArray* kind, const TVMFFIByteArray* message, const TVMFFIByteArray* backtrace,
                      TVMFFIObjectHandle* out);
int TVMFFIErrorCreateWithCauseAndExtraContext(const TVMFFIByteArray* kind, const TVMFFIByteArray* message,
                                              const TVMFFIByteArray* backtrace, TVMFFIObjectHandle cause,
                                              TVMFFIObjectHandle extra_context, TVMFFIObjectHandle* out);
const TVMFFIByteArray* TVMFFIBacktrace(const char* file, int line, const char* function, int cross_ffi_boundary);

/* ---- tensors ---- */

int TVMFFITensorFromDLPack(DLManagedTensor* from, int32_t require_alignment, int32_t require_contiguous,
                           TVMFFIObjectHandle* out);
int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned* from, int32_t require_alignment,
                                    int32_t require_contiguous, TVMFFIObjectHandle* out);
int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor** out);
int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from, DLManagedTensorVersioned** out);
int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor* prototype, TVMFFIObjectHandle* out);
/* A new tensor of the prototype's shape, dtype and device. */
int TVMFFIEnvTensorAlloc(DLTensor* prototype, TVMFFIObjectHandle* out);
/* TVMFFIEnvSetTensorAllocator and TVMFFIEnvGetTensorAllocator are older names of the next two, exported too. */
int TVMFFIEnvSetDLPackManagedTensorAllocator(DLPackManagedTensorAllocator allocator, int write_to_global,
                                             DLPackManagedTensorAllocator* previous);
DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void);

/* ---- types ---- */

typedef struct {
  TVMFFIByteArray name;
  TVMFFIByteArray doc;
  TVMFFIByteArray metadata; /* JSON */
  int64_t flags;
  TVMFFIAny method;
} TVMFFIMethodInfo;

typedef struct TVMFFITypeInfo {
  int32_t type_index;
  int32_t type_depth;
  TVMFFIByteArray type_key;
  const struct TVMFFITypeInfo** type_ancestors; /* [type_depth] */
  uint64_t type_key_hash;
  int32_t num_fields;
  int32_t num_methods;
  const void* fields;
  const void* methods;
  const void* metadata;
} TVMFFITypeInfo;

typedef struct {
  const TVMFFIAny* data;
  size_t size;
  int32_t begin_index;
} TVMFFITypeAttrColumn;

int TVMFFITypeKeyToIndex(const TVMFFIByteArray* type_key, int32_t* out);
int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray* type_key, int32_t static_index, int32_t depth,
                                  int32_t child_slots, int32_t child_slots_can_overflow, int32_t parent_index);
const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t type_index);
int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo* info, int allow_override);
/* Accepted; nothing in rldb reads fields, methods, metadata or attributes of a plugin's types. */
int TVMFFITypeRegisterField(int32_t type_index, const void* info);
int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo* info);
int TVMFFITypeRegisterMetadata(int32_t type_index, const void* metadata);
int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray* name, const TVMFFIAny* value);
const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray* name);

/* ---- surroundings ---- */

/* Of tvm-ffi's C ABI, whose functions are these. */
void TVMFFIGetVersion(TVMFFIVersion* out);
/* Where the headers of C++ put their objects; null restores that of rldb. */
TVMFFICustomAllocator* TVMFFIGetCustomAllocator(void);
int TVMFFISetCustomAllocator(TVMFFICustomAllocator* allocator);

/* Initialises `*handle` once, also if threads race. */
int TVMFFIHandleInitOnce(void** handle, int (*init)(void** result));
int TVMFFIHandleDeinitOnce(void** handle, int (*deinit)(void* handle));
/* Nonzero, with an error set, after ^C or a time limit: a long function returns then. */
int TVMFFIEnvCheckSignals(void);
/* Streams are kept by thread and device, and used by nobody but the plugins. */
int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, void* stream, void** previous);
void* TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);
/* Accepted: these symbols are Python's, and rldb has none. */
int TVMFFIEnvRegisterCAPI(const char* name, void* symbol);
/* A symbol for the variables of libraries that are loaded later. */
int TVMFFIEnvModRegisterContextSymbol(const char* name, void* symbol);
/* Code that is linked with others in one library: `__tvm_ffi_NAME` is registered as the function NAME. */
int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol);

#ifdef __cplusplus
}
#endif

#endif /* RLDB_RUNTIME_FFI_ABI_H_ */
