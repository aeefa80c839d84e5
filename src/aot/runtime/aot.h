/* The runtime of libraries that `rldb build` makes: what their code calls. Plain C, linked into each library, with no
 * other need than the C library. docs/aot.md describes the whole.
 *
 * Registers of the program are TVMFFIAny; a register owns its object, an argument is lent. Objects have tvm-ffi's
 * layout, so they pass to and from any other user of its ABI. Every function that can fail returns 0 or
 * RLDB_AOT_FAILED, with the error in the thread's `error`. All symbols are weak and hidden: several libraries in one
 * program share them. Users: the code that src/codegen/llvm/aot makes, and the files here. */
#ifndef RLDB_AOT_RUNTIME_AOT_H_
#define RLDB_AOT_RUNTIME_AOT_H_

#include <stddef.h>
#include <stdint.h>

#include "rldb/runtime/ffi_abi.h"

#define RLDB_AOT __attribute__((weak, visibility("hidden")))

typedef TVMFFIAny Any;

enum { kSucceeded = 0, kFailed = -1, kTail = -2 /* the callee and its arguments are in the thread's `tail` */ };

/* The codes of errors, as runtime::ErrorKind numbers them; 0 is success. */
typedef enum {
  kErrorType = 1,
  kErrorShape,
  kErrorCount,
  kErrorUnknownFunction,
  kErrorAssert,
  kErrorMemory,
  kErrorBounds,
  kErrorUnsupported,
  kErrorFile,
  kErrorInterrupted,
  kErrorStack,
  kErrorTooLong,
  kErrorRaised
} ErrorCode;

/* ---- what a library consists of (written by codegen/llvm/aot, read by library.c) ---- */

typedef struct Library Library;
typedef int32_t (*Function)(Library*, const Any* args, int32_t count, Any* result);
typedef int32_t (*KernelEntry)(const void* words, const int64_t* variables, void* fault);

typedef struct State State;
typedef struct Watched Watched;
struct Library {
  char mark[16];        /* bytecode::kLibraryMark, by which a debugger finds it in the memory of the process */
  const uint8_t* facts; /* the tables, see library.c */
  uint64_t facts_size;
  const uint8_t* constants; /* data of tensors, each at a multiple of 64 */
  const KernelEntry* kernels;
  const Function* functions; /* of the function table: bytecode and builtins; null: others */
  State* state;              /* made by the first call */
  const uint8_t* program;    /* the bytecode and its debug information, as an .rlvm file; for debuggers only */
  uint64_t program_size, program_hash;
  Watched* watched;
};

typedef struct {
  const char* data;
  uint64_t size;
} Text;

typedef struct {
  int64_t code, value;
} DimOp;

typedef struct {
  Text text;
  uint64_t count;
  DimOp* code;
} Dim;

typedef struct {
  Text name;
  uint8_t is_tensor, opaque;
  DLDataType dtype;
  int64_t variable; /* of a scalar; -1: none */
  uint64_t rank;
  Dim* shape;
} KernelParam;

typedef struct {
  int64_t kind;
  Text text, note;
} FaultText;

typedef struct {
  Text name;
  DLDataType result;
  uint64_t variable_count, param_count, fault_count;
  Text* variables;
  KernelParam* params;
  FaultText* faults;
} Kernel;

typedef enum { kBytecode, kKernel, kBuiltin, kExternal } FunctionKind;

typedef struct {
  Text text, bound_by;
  uint64_t is_variable;
} Slot;

typedef struct {
  Text variable, file;
  uint64_t line;
} Place;

typedef struct {
  Text name;
  FunctionKind kind;
  uint64_t kernel;   /* its index, for kernels */
  uint64_t exported; /* bytecode that whoever uses the library may call */
  int64_t param_count;
  Text* params;
  Text* types; /* as printed; empty: not known */
  uint64_t start, place_count, slot_count;
  Place* places; /* of its instructions */
  Slot* slots;
} FunctionInfo;

struct State {
  Text name;
  uint64_t constant_count, kernel_count, function_count;
  Any* constants;
  Kernel* kernels;
  FunctionInfo* functions;
  Any* values; /* the functions as values */
};

/* ---- for a debugger in another process (watched.c; its reader is src/attach) ---- */

typedef struct Frame Frame;
struct Frame { /* of a function that runs: on its stack, filled by its code */
  Frame* outer;
  Library* library;
  int64_t function, pc; /* of the instruction that is next, or that is being executed */
  Any* registers;
  int64_t count;
  int64_t entered; /* the number of the call, in its thread */
};

typedef struct Trail Trail;
struct Trail { /* of a thread that runs a program; afterwards another thread takes it */
  Trail* next;
  int64_t thread; /* its id; 0: free */
  Frame* frames;  /* the innermost */
  int64_t at_gate;
  Any* result; /* at the gate behind the outermost frame: of the call; null: it failed */
  int64_t calls, passes;
};

struct Watched {
  int64_t gate; /* the id of this process: threads pass the gate before each instruction; 0: they don't */
  Trail* trails;
  void (*delete_storage)(void*, int); /* by which own storages and functions are recognised */
  void (*delete_closure)(void*, int);
};
extern RLDB_AOT Watched rldb_aot_watched;

RLDB_AOT void rldb_aot_start(Frame* frame, const Any* args, int32_t given); /* its registers, with the arguments */
RLDB_AOT void rldb_aot_end(Frame* frame, Any* result);                      /* null: it failed, or calls in its place */
RLDB_AOT void rldb_aot_gate(void);
RLDB_AOT void rldb_aot_watch_objects(void);

/* ---- objects ---- */

typedef struct {
  TVMFFIObject head;
  uint8_t* data;
  uint64_t size;
  int borrowed; /* from the caller, for one call */
} Storage;

typedef struct {
  TVMFFIObject head;
  DLTensor tensor;
  TVMFFIObject* owner; /* of its memory */
  int64_t dims[];      /* shape, then strides */
} Tensor;

typedef struct {
  TVMFFIObject head;
  TVMFFIShapeCell shape;
  int64_t dims[];
} Shape;

typedef struct {
  TVMFFIObject head;
  TVMFFISeqCell seq;
  Any fields[];
} Tuple;

typedef struct {
  TVMFFIObject head;
  TVMFFIByteArray bytes;
  char text[];
} String;

typedef struct {
  TVMFFIObject head;
  TVMFFIFunctionCell cell;
  Library* library;
  int64_t function; /* into the function table; -1: `called` */
  Any called;       /* a function of someone else, with captured values */
  int64_t captured_count;
  Any captured[];
} Closure;

RLDB_AOT void rldb_aot_retain(const Any* v);
RLDB_AOT void rldb_aot_release(Any* v);                /* and sets it to none */
RLDB_AOT void rldb_aot_copy(Any* to, const Any* from); /* retains */
RLDB_AOT void rldb_aot_set(Any* to, Any* from);        /* moves, and releases what was there */
RLDB_AOT void rldb_aot_release_all(Any* v, int64_t count);
RLDB_AOT void rldb_aot_unref(TVMFFIObject* object);
RLDB_AOT void rldb_aot_ref(TVMFFIObject* object);

RLDB_AOT Storage* rldb_aot_storage(uint64_t bytes); /* with any contents; null: failed */
RLDB_AOT int rldb_aot_is_storage(const Any* v);
RLDB_AOT int rldb_aot_is_own_tensor(const Any* v);
/* A view of memory that `owner` owns (retained). */
RLDB_AOT int32_t rldb_aot_view(TVMFFIObject* owner, void* data, int64_t rank, const int64_t* shape, DLDataType dtype,
                               Any* result);
RLDB_AOT int32_t rldb_aot_tensor(int64_t rank, const int64_t* shape, DLDataType dtype, Any* result);
RLDB_AOT int32_t rldb_aot_shape(int64_t rank, const int64_t* dims, Any* result); /* null dims: zeros */
RLDB_AOT int32_t rldb_aot_tuple(int64_t count, const Any* fields, Any* result);
RLDB_AOT int32_t rldb_aot_string(const char* text, uint64_t size, Any* result);
RLDB_AOT int32_t rldb_aot_closure(Library* library, int64_t function, const Any* called, const Any* captured,
                                  int64_t count, Any* result);
RLDB_AOT int rldb_aot_is_own_closure(const Any* v);

RLDB_AOT int rldb_aot_is_own_tuple(const Any* v);

/* ---- values from outside (take.c) ---- */

/* What happened to one: it was replaced, wholly or in part, or why it cannot be taken, and which fields lead there. */
typedef struct {
  int changed, depth;
  const char* why; /* null after a failure: the error is set */
  int64_t field[64];
} Taken;
/* Tensors that are not objects become some: `lent` borrows their memory for the call, otherwise it is copied. */
RLDB_AOT int32_t rldb_aot_take(const Any* from, Any* to, int lent, Taken* about);
RLDB_AOT int32_t rldb_aot_not_taken(const Taken* about, const char* what); /* sets the error */
RLDB_AOT int rldb_aot_is_lent(const Any* v);
RLDB_AOT int32_t rldb_aot_keep(Any* v); /* copies what is lent in it */
/* For whoever calls: what they make is given back with rldb_aot_release. They return 0 or an error's code. The tensors
 * of a tuple are copied: it lives as long as its user wants. */
RLDB_AOT int32_t rldb_aot_make_shape(const int64_t* dims, int64_t rank, Any* result);
RLDB_AOT int32_t rldb_aot_make_string(const char* text, Any* result);
RLDB_AOT int32_t rldb_aot_make_tuple(const Any* fields, int64_t count, Any* result);

/* ---- reading values ---- */

static inline DLTensor* tensor_of(const Any* v) {
  if (v->type_index == kTVMFFITensor) return (DLTensor*)TVMFFICellOf(v->v_obj);
  return v->type_index == kTVMFFIDLTensorPtr ? (DLTensor*)v->v_ptr : NULL;
}
static inline TVMFFIShapeCell* shape_of(const Any* v) {
  return v->type_index == kTVMFFIShape ? (TVMFFIShapeCell*)TVMFFICellOf(v->v_obj) : NULL;
}
static inline TVMFFISeqCell* tuple_of(const Any* v) {
  return v->type_index == kTVMFFIArray ? (TVMFFISeqCell*)TVMFFICellOf(v->v_obj) : NULL;
}
static inline int is_integer(const Any* v) { return v->type_index == kTVMFFIInt || v->type_index == kTVMFFIBool; }
RLDB_AOT int rldb_aot_text(const Any* v, Text* text); /* whether it is a string */
static inline uint64_t element_bytes(DLDataType t) { return ((uint64_t)t.bits * t.lanes + 7) / 8; }
static inline uint8_t* data_of(const DLTensor* t) { return (uint8_t*)t->data + t->byte_offset; }
RLDB_AOT int64_t rldb_aot_element_count(const DLTensor* t);
/* Product of dims and unit; 0: it does not fit, or a dim is negative. */
RLDB_AOT int rldb_aot_bytes(int64_t rank, const int64_t* shape, uint64_t unit, uint64_t* bytes);
RLDB_AOT int64_t rldb_aot_load_int(const void* at, DLDataType t);
RLDB_AOT double rldb_aot_load_double(const void* at, DLDataType t);
/* 0: the dtype cannot hold it. */
RLDB_AOT int rldb_aot_store_int(void* at, DLDataType t, int64_t v);
RLDB_AOT int rldb_aot_store_double(void* at, DLDataType t, double v);
static inline int same_dtype(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
static inline int is_void(DLDataType t) { return t.code == 3 && t.bits == 0; }
static inline int is_handle(DLDataType t) { return t.code == 3 && t.bits != 0; }
static inline int is_float(DLDataType t) { return t.code == 2 || t.code == 4 || t.code >= 7; }
RLDB_AOT int rldb_aot_dtype(const Any* v, DLDataType* out); /* whether it is a dtype, or the name of one */
RLDB_AOT int rldb_aot_parse_dtype(const char* text, uint64_t size, DLDataType* out);

/* ---- errors ---- */

typedef struct {
  char* data;
  uint64_t size, room;
} Buffer;

RLDB_AOT void rldb_aot_put(Buffer* b, const char* format, ...) __attribute__((format(printf, 2, 3)));
RLDB_AOT void rldb_aot_put_value(Buffer* b, const Any* v); /* `Tensor[(2, 3), "float32"]` */
RLDB_AOT void rldb_aot_put_dtype(Buffer* b, DLDataType t);
RLDB_AOT void rldb_aot_put_dims(Buffer* b, int64_t rank, const int64_t* dims);

typedef struct Run Run; /* one call of a kernel */

typedef struct Message Message;
struct Message { /* of a thread; when that has ended, of another one: nothing tells the library of the end */
  Message* next;
  int64_t thread;
  Buffer text;
};

typedef struct {
  Message* message;         /* null: it has had no error */
  int code;                 /* 0: none */
  int traced;               /* places that the error has passed */
  int64_t slot, slot_value; /* of the shape heap, which the error is about; -1: none */
  struct {
    int64_t function;
    Any* args;
    int32_t count;
  } tail;
  int64_t depth;
  Trail* trail; /* null: no function runs */
  char* stack_end;
  Run* run;
  int ends;              /* an object does */
  TVMFFIObject* waiting; /* those that end after it */
  int opens;             /* a library: the objects that it makes now never end */
} Thread;
extern RLDB_AOT __thread Thread rldb_aot_thread;

RLDB_AOT int32_t rldb_aot_fail(ErrorCode code, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* A second line of the error. */
RLDB_AOT void rldb_aot_note(const char* format, ...) __attribute__((format(printf, 1, 2)));
RLDB_AOT int32_t rldb_aot_wrong(const char* function, int index, const char* wanted, const Any* found);
RLDB_AOT void rldb_aot_trace(Library* library, int64_t function, int64_t pc);
RLDB_AOT const char* rldb_aot_message(void);
RLDB_AOT int rldb_aot_code(void);

/* ---- calls ---- */

/* Zeroed memory that lasts as long as the library. */
RLDB_AOT void* rldb_aot_permanent(uint64_t size);
RLDB_AOT State* rldb_aot_open(Library* library); /* null: failed */
RLDB_AOT int32_t rldb_aot_enter(Library* library, int64_t function, const Any* args, int32_t count, Any* result);
RLDB_AOT int32_t rldb_aot_enter_value(const Any* callee, const Any* args, int32_t count, Any* result);
RLDB_AOT int32_t rldb_aot_call(Library* library, int64_t function, const Any* args, int32_t count, Any* result);
RLDB_AOT int32_t rldb_aot_call_kernel(Library* library, int64_t kernel, const Any* args, int32_t count, Any* result);
RLDB_AOT int32_t rldb_aot_call_external(Library* library, int64_t function, const Any* args, int32_t count,
                                        Any* result);
RLDB_AOT int32_t rldb_aot_call_named(const char* name, uint64_t size, const Any* args, int32_t count, Any* result);
RLDB_AOT int32_t rldb_aot_call_value(const Any* callee, const Any* args, int32_t count, Any* result);
/* A tail call that replaces its caller's frame: wanted when calls are nested deeply. */
RLDB_AOT int32_t rldb_aot_is_deep(void);
RLDB_AOT int32_t rldb_aot_tail(int64_t function, const Any* args, int32_t count);
RLDB_AOT int32_t rldb_aot_condition(const Any* v); /* 0, 1, or kFailed */
RLDB_AOT const Any* rldb_aot_constant(Library* library, int64_t index);
RLDB_AOT const Any* rldb_aot_function_value(Library* library, int64_t index);
RLDB_AOT int32_t rldb_aot_register(const char* name, TVMFFISafeCallType code, void* self);

/* ---- functions that programs call (aot_function.def) ---- */

#define RLDB_AOT_FUNCTION(id, name) \
  RLDB_AOT int32_t rldb_aot_##id(Library* library, const Any* args, int32_t count, Any* result);
#include "rldb/codegen/llvm/aot_function.def"

/* The name by which programs call the function of the runtime `rldb_aot_<Id>` (aot_function.def). */
RLDB_AOT const char* rldb_aot_name_of(const char* function);
#define NAME rldb_aot_name_of(__func__)
RLDB_AOT int32_t rldb_aot_wrong_count(const char* name, int least, int most, int32_t count); /* most: -1: any number */

/* The first lines of one. */
#define TAKES(least, most) \
  (void)library;           \
  if (count < (least) || ((most) >= 0 && count > (most))) return rldb_aot_wrong_count(NAME, least, most, count)
#define WRONG(index, wanted) return rldb_aot_wrong(NAME, index, wanted, &args[index])

#endif /* RLDB_AOT_RUNTIME_AOT_H_ */
