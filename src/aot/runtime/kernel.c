/* Calls of kernels: the checks of runtime::bind_arguments, the words that the code takes, and what it calls. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/aot.h"

enum { kFaultValues = 8, kInline = 32 };

typedef union {
  void* pointer;
  int64_t integer;
  double floating;
} Word;

typedef struct { /* runtime::KernelFault */
  int64_t code;
  int64_t values[kFaultValues];
  int64_t noted;
} Fault;

struct Run {
  const Any* args;
  void** memory; /* freed with the run */
  uint64_t memory_count, memory_room;
  struct {
    void* data;
    uint64_t size;
  } panels[2];
  int turn;
};

/* ---- checks ---- */

typedef struct {
  const Kernel* kernel;
  const Any* args;
  int64_t* variables;
  uint8_t* bound;
} Binding;

static int32_t mismatch(const Binding* b, ErrorCode code, uint64_t i, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

static int32_t mismatch(const Binding* b, ErrorCode code, uint64_t i, const char* format, ...) {
  char what[512];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const KernelParam* p = &b->kernel->params[i];
  const int named = p->name.size > 0;
  return rldb_aot_fail(code, "`%.*s`: argument %llu%s%.*s%s: %s", (int)b->kernel->name.size, b->kernel->name.data,
                       (unsigned long long)i, named ? " (`" : "", (int)p->name.size, p->name.data, named ? "`)" : "",
                       what);
}

/* "bound by argument 0 (`A`), dimension 1" */
static void note_binder(const Binding* b, int64_t variable) {
  const Kernel* k = b->kernel;
  for (uint64_t i = 0; i < k->param_count; ++i) {
    const KernelParam* p = &k->params[i];
    int64_t dim = -1;
    if (!p->is_tensor && p->variable != variable) continue;
    if (p->is_tensor) {
      for (uint64_t d = 0; d < p->rank && dim < 0; ++d)
        if (p->shape[d].count == 1 && p->shape[d].code[0].code == 1 && p->shape[d].code[0].value == variable)
          dim = (int64_t)d;
      if (dim < 0) continue;
    }
    rldb_aot_note("`%.*s` is %lld, bound by argument %llu (`%.*s`)", (int)k->variables[variable].size,
                  k->variables[variable].data, (long long)b->variables[variable], (unsigned long long)i,
                  (int)p->name.size, p->name.data);
    return;
  }
}

static int32_t bind(const Binding* b, uint64_t i, int64_t variable, int64_t value, int64_t dim) {
  if (!b->bound[variable]) {
    b->bound[variable] = 1;
    b->variables[variable] = value;
    return kSucceeded;
  }
  if (b->variables[variable] == value) return kSucceeded;
  const Text name = b->kernel->variables[variable];
  if (dim >= 0)
    mismatch(b, kErrorShape, i, "dimension %lld is %lld, but `%.*s` is %lld", (long long)dim, (long long)value,
             (int)name.size, name.data, (long long)b->variables[variable]);
  else
    mismatch(b, kErrorShape, i, "value is %lld, but `%.*s` is %lld", (long long)value, (int)name.size, name.data,
             (long long)b->variables[variable]);
  note_binder(b, variable);
  return kFailed;
}

static int32_t wrong_kind(const Binding* b, uint64_t i, const char* wanted) {
  Buffer found = {0};
  rldb_aot_put_value(&found, &b->args[i]);
  mismatch(b, kErrorType, i, "expected %s, got %s", wanted, found.data ? found.data : "?");
  free(found.data);
  return kFailed;
}

static int same_dtype(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }
static int is_void(DLDataType t) { return t.code == 3 && t.bits == 0; }
static int is_handle(DLDataType t) { return t.code == 3 && t.bits != 0; }
static int is_float(DLDataType t) { return t.code == 2 || t.code == 4 || t.code >= 7; }

static int32_t bind_tensor(const Binding* b, uint64_t i) {
  const KernelParam* p = &b->kernel->params[i];
  const DLTensor* t = tensor_of(&b->args[i]);
  if (!t) return wrong_kind(b, i, "a tensor");
  if (!is_void(p->dtype) && !same_dtype(t->dtype, p->dtype)) {
    Buffer found = {0}, wanted = {0};
    rldb_aot_put_dtype(&found, t->dtype);
    rldb_aot_put_dtype(&wanted, p->dtype);
    mismatch(b, kErrorType, i, "dtype is `%s`, expected `%s`", found.data, wanted.data);
    free(found.data);
    free(wanted.data);
    return kFailed;
  }
  if ((uint64_t)t->ndim != p->rank)
    return mismatch(b, kErrorType, i, "rank is %d, expected %llu", t->ndim, (unsigned long long)p->rank);
  for (uint64_t d = 0; d < p->rank; ++d) {
    if (p->shape[d].count != 1) continue;
    const DimOp op = p->shape[d].code[0];
    if (op.code == 0 && op.value != t->shape[d])
      return mismatch(b, kErrorShape, i, "dimension %llu is %lld, expected %lld", (unsigned long long)d,
                      (long long)t->shape[d], (long long)op.value);
    if (op.code == 1 && bind(b, i, op.value, t->shape[d], (int64_t)d) != kSucceeded) return kFailed;
  }
  return kSucceeded;
}

static int fits(int64_t value, DLDataType t) {
  if (is_void(t) || t.bits >= 64) return 1;
  if (t.code == 6) return value == 0 || value == 1;
  if (t.code == 1) return value >= 0 && value < (int64_t)1 << t.bits;
  const int64_t half = (int64_t)1 << (t.bits - 1);
  return value >= -half && value < half;
}

static int32_t bind_scalar(const Binding* b, uint64_t i) {
  const KernelParam* p = &b->kernel->params[i];
  const Any* v = &b->args[i];
  if (is_float(p->dtype))
    return v->type_index == kTVMFFIFloat || v->type_index == kTVMFFIInt ? kSucceeded : wrong_kind(b, i, "a float");
  if (is_handle(p->dtype)) return kSucceeded;
  if (!is_integer(v)) return wrong_kind(b, i, p->dtype.code == 6 ? "a bool" : "an int");
  if (!fits(v->v_int64, p->dtype))
    return mismatch(b, kErrorType, i, "%lld does not fit into its dtype", (long long)v->v_int64);
  return p->variable < 0 ? kSucceeded : bind(b, i, p->variable, v->v_int64, -1);
}

/* runtime::evaluate. False: division by zero or overflow. */
static int apply(int64_t code, int64_t a, int64_t b, int64_t* out) {
  enum {
    kAdd = 2,
    kSub,
    kMul,
    kFloorDiv,
    kFloorMod,
    kTruncDiv,
    kTruncMod,
    kMin,
    kMax,
    kEq,
    kNe,
    kLt,
    kLe,
    kGt,
    kGe,
    kAnd,
    kOr
  };
  if (code >= kFloorDiv && code <= kTruncMod) {
    if (b == 0 || (b == -1 && a == INT64_MIN)) return 0;
    const int64_t q = a / b, r = a % b;
    const int down = r != 0 && (r < 0) != (b < 0);
    *out = code == kFloorDiv ? q - down : code == kFloorMod ? r + (down ? b : 0) : code == kTruncDiv ? q : r;
    return 1;
  }
  switch (code) {
    case kAdd:
      return !__builtin_add_overflow(a, b, out);
    case kSub:
      return !__builtin_sub_overflow(a, b, out);
    case kMul:
      return !__builtin_mul_overflow(a, b, out);
    case kMin:
      *out = a < b ? a : b;
      return 1;
    case kMax:
      *out = a > b ? a : b;
      return 1;
    case kEq:
      *out = a == b;
      return 1;
    case kNe:
      *out = a != b;
      return 1;
    case kLt:
      *out = a < b;
      return 1;
    case kLe:
      *out = a <= b;
      return 1;
    case kGt:
      *out = a > b;
      return 1;
    case kGe:
      *out = a >= b;
      return 1;
    case kAnd:
      *out = a != 0 && b != 0;
      return 1;
    case kOr:
      *out = a != 0 || b != 0;
      return 1;
    default:
      return 0;
  }
}

static int evaluate(const Dim* d, const int64_t* variables, int64_t* out) {
  enum { kConst = 0, kVar = 1, kNot = 19, kSelect = 20 };
  int64_t* stack = malloc((d->count + 1) * sizeof(int64_t));
  if (!stack) return 0;
  uint64_t n = 0;
  int good = 1;
  for (uint64_t i = 0; i < d->count && good; ++i) {
    const DimOp op = d->code[i];
    if (op.code == kConst || op.code == kVar) {
      stack[n++] = op.code == kConst ? op.value : variables[op.value];
    } else if (op.code == kNot) {
      stack[n - 1] = stack[n - 1] == 0;
    } else if (op.code == kSelect) {
      n -= 2;
      stack[n - 1] = stack[n - 1] != 0 ? stack[n] : stack[n + 1];
    } else {
      --n;
      good = apply(op.code, stack[n - 1], stack[n], &stack[n - 1]);
    }
  }
  *out = stack[0];
  free(stack);
  return good;
}

static int32_t check_compound(const Binding* b, uint64_t i) {
  const KernelParam* p = &b->kernel->params[i];
  if (!p->is_tensor || p->opaque) return kSucceeded;
  const DLTensor* t = tensor_of(&b->args[i]);
  for (uint64_t d = 0; d < p->rank; ++d) {
    const Dim* dim = &p->shape[d];
    int64_t wanted = 0;
    if (dim->count == 1) continue;
    if (!evaluate(dim, b->variables, &wanted))
      return mismatch(b, kErrorType, i, "dimension %llu: cannot compute `%.*s`", (unsigned long long)d,
                      (int)dim->text.size, dim->text.data);
    if (wanted == t->shape[d]) continue;
    mismatch(b, kErrorShape, i, "dimension %llu is %lld, expected `%.*s` = %lld", (unsigned long long)d,
             (long long)t->shape[d], (int)dim->text.size, dim->text.data, (long long)wanted);
    for (uint64_t k = 0; k < dim->count; ++k)
      if (dim->code[k].code == 1) note_binder(b, dim->code[k].value);
    return kFailed;
  }
  return kSucceeded;
}

static int32_t bind_arguments(const Binding* b, int32_t count) {
  const Kernel* k = b->kernel;
  if ((uint64_t)count != k->param_count)
    return rldb_aot_fail(kErrorCount, "`%.*s` takes %llu arguments, got %d", (int)k->name.size, k->name.data,
                         (unsigned long long)k->param_count, count);
  for (uint64_t i = 0; i < k->param_count; ++i) {
    if (k->params[i].opaque) continue;
    if ((k->params[i].is_tensor ? bind_tensor(b, i) : bind_scalar(b, i)) != kSucceeded) return kFailed;
  }
  for (uint64_t v = 0; v < k->variable_count; ++v)
    if (!b->bound[v])
      return rldb_aot_fail(kErrorType, "`%.*s`: no argument binds `%.*s`", (int)k->name.size, k->name.data,
                           (int)k->variables[v].size, k->variables[v].data);
  for (uint64_t i = 0; i < k->param_count; ++i)
    if (check_compound(b, i) != kSucceeded) return kFailed;
  return kSucceeded;
}

/* ---- the call ---- */

static Word word_of(const Any* v, const KernelParam* p) {
  Word w = {.integer = 0};
  const DLTensor* t = tensor_of(v);
  const int floating = is_float(p->dtype);
  if (t && (p->is_tensor || p->opaque)) {
    w.pointer = data_of(t);
  } else if (rldb_aot_is_storage(v) && p->opaque) {
    w.pointer = ((Storage*)v->v_obj)->data;
  } else if (t) {
    if (floating)
      w.floating = rldb_aot_load_double(data_of(t), t->dtype);
    else
      w.integer = rldb_aot_load_int(data_of(t), t->dtype);
  } else if (v->type_index == kTVMFFIFloat) {
    if (floating)
      w.floating = v->v_float64;
    else
      w.integer = (int64_t)v->v_float64;
  } else if (is_integer(v)) {
    if (floating)
      w.floating = (double)v->v_int64;
    else
      w.integer = v->v_int64;
  }
  return w;
}

/* Fills the `{}` places of a text; those past the end stay. */
static void fill(Buffer* out, Text text, const Fault* f, int* next) {
  for (uint64_t i = 0; i < text.size; ++i) {
    if (i + 1 < text.size && text.data[i] == '{' && text.data[i + 1] == '}' && *next < kFaultValues) {
      rldb_aot_put(out, "%lld", (long long)f->values[(*next)++]);
      ++i;
    } else {
      rldb_aot_put(out, "%c", text.data[i]);
    }
  }
}

static void report(const Kernel* k, const Fault* f) {
  const uint64_t row = (uint64_t)f->code - 1;
  if (row >= k->fault_count) {
    rldb_aot_fail(kErrorRaised, "kernel `%.*s` stopped without saying why", (int)k->name.size, k->name.data);
    return;
  }
  const FaultText* t = &k->faults[row];
  Buffer text = {0}, note = {0};
  int next = 0;
  fill(&text, t->text, f, &next);
  fill(&note, t->note, f, &next);
  rldb_aot_fail((ErrorCode)(t->kind + 1), "%s", text.data ? text.data : "");
  if (note.size > 0) rldb_aot_note("%s", note.data);
  free(text.data);
  free(note.data);
}

static void end_run(Run* r) {
  for (uint64_t i = 0; i < r->memory_count; ++i) free(r->memory[i]);
  free(r->memory);
  for (int i = 0; i < 2; ++i) free(r->panels[i].data);
}

static void give_scalar(const Kernel* k, const Fault* f, Any* result) {
  if (is_void(k->result) || is_handle(k->result)) return;
  result->type_index = is_float(k->result) ? kTVMFFIFloat : k->result.code == 6 ? kTVMFFIBool : kTVMFFIInt;
  memcpy(&result->v_int64, &f->values[0], sizeof f->values[0]);
}

int32_t rldb_aot_call_kernel(Library* library, int64_t index, const Any* args, int32_t count, Any* result) {
  const Kernel* k = &library->state->kernels[index];
  int64_t small_variables[kInline] = {0};
  uint8_t small_bound[kInline] = {0};
  Word small_words[kInline];
  void* large = NULL;
  Binding b = {k, args, small_variables, small_bound};
  Word* words = small_words;
  if (count > kInline || k->variable_count > kInline) {
    large = calloc((size_t)count + 2 * k->variable_count + 1, sizeof(int64_t));
    if (!large) return rldb_aot_fail(kErrorMemory, "no memory for the arguments of a kernel");
    words = large;
    b.variables = (int64_t*)large + count;
    b.bound = (uint8_t*)((int64_t*)large + count + k->variable_count);
  }
  int32_t done = bind_arguments(&b, count);
  if (done == kSucceeded) {
    for (int32_t i = 0; i < count; ++i) words[i] = word_of(&args[i], &k->params[i]);
    Thread* t = &rldb_aot_thread;
    Run run = {.args = args};
    Run* outer = t->run;
    Fault fault = {0};
    t->run = &run;
    const int32_t status = library->kernels[index](words, b.variables, &fault);
    t->run = outer;
    end_run(&run);
    if (status == 0) {
      give_scalar(k, &fault, result);
    } else {
      if (status != 2) report(k, &fault); /* else a helper has set the error */
      rldb_aot_note("in kernel `%.*s`", (int)k->name.size, k->name.data);
      done = kFailed;
    }
  }
  free(large);
  return done;
}

/* ---- what kernels call (codegen/llvm/engine/helpers.cc) ---- */

RLDB_AOT unsigned char rldb_interrupt; /* never set */

RLDB_AOT void* rldb_alloc_any(uint64_t bytes) {
  Run* r = rldb_aot_thread.run;
  if (r->memory_count == r->memory_room) {
    const uint64_t room = r->memory_room == 0 ? 8 : 2 * r->memory_room;
    void** larger = realloc(r->memory, room * sizeof(void*));
    if (larger) {
      r->memory = larger;
      r->memory_room = room;
    }
  }
  void* made = NULL;
  if (r->memory_count < r->memory_room && bytes < SIZE_MAX / 2) made = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!made) {
    rldb_aot_fail(kErrorMemory, "no memory for %llu bytes", (unsigned long long)bytes);
    return NULL;
  }
  return r->memory[r->memory_count++] = made;
}

RLDB_AOT void* rldb_alloc(uint64_t bytes) {
  void* made = rldb_alloc_any(bytes);
  if (made) memset(made, 0, bytes);
  return made;
}

RLDB_AOT void* rldb_panel(uint64_t bytes) {
  Run* r = rldb_aot_thread.run;
  r->turn = !r->turn;
  if (r->panels[r->turn].size < bytes) {
    free(r->panels[r->turn].data);
    r->panels[r->turn].data = bytes < SIZE_MAX / 2 ? aligned_alloc(64, (bytes + 64) / 64 * 64) : NULL;
    r->panels[r->turn].size = r->panels[r->turn].data ? bytes : 0;
    if (!r->panels[r->turn].data) rldb_aot_fail(kErrorMemory, "no memory for %llu bytes", (unsigned long long)bytes);
  }
  return r->panels[r->turn].data;
}

RLDB_AOT int64_t rldb_bytes(int64_t param) {
  const Any* v = &rldb_aot_thread.run->args[param];
  const DLTensor* t = tensor_of(v);
  if (t) return rldb_aot_element_count(t) * (int64_t)element_bytes(t->dtype);
  return rldb_aot_is_storage(v) ? (int64_t)((Storage*)v->v_obj)->size : 0;
}

enum { kRowInt, kRowBool, kRowFloat, kRowString, kRowBuffer, kMostRows = 64, kMostRank = 16 };

/* A packed call inside a kernel. Buffers pass as DLTensor, with their strides. */
RLDB_AOT int32_t rldb_call_packed(const char* name, const int64_t* rows, int64_t count, int64_t* result) {
  Any args[kMostRows] = {{0}};
  DLTensor tensors[kMostRows];
  if (count > kMostRows) {
    rldb_aot_fail(kErrorUnsupported, "a packed call with %lld arguments in a kernel", (long long)count);
    return 1;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t payload = rows[2 * i + 1];
    args[i].v_int64 = payload;
    switch (rows[2 * i]) {
      case kRowInt:
        args[i].type_index = kTVMFFIInt;
        break;
      case kRowBool:
        args[i].type_index = kTVMFFIBool;
        break;
      case kRowFloat:
        args[i].type_index = kTVMFFIFloat;
        break;
      case kRowString:
        args[i].type_index = kTVMFFIRawStr;
        break;
      default: {
        int64_t* about = (int64_t*)(uintptr_t)payload;
        tensors[i] = (DLTensor){(void*)(uintptr_t)about[0],
                                {1, 0},
                                (int32_t)about[2],
                                {(uint8_t)about[1], (uint8_t)(about[1] >> 8), (uint16_t)(about[1] >> 16)},
                                about + 3,
                                about + 3 + about[2],
                                0};
        args[i].type_index = kTVMFFIDLTensorPtr;
        args[i].v_ptr = &tensors[i];
      }
    }
  }
  Any made = {0};
  if (rldb_aot_call_named(name, strlen(name), args, (int32_t)count, &made) != kSucceeded) return 1;
  double wide = 0;
  result[0] = 0;
  if (is_integer(&made)) {
    result[0] = made.v_int64;
    wide = (double)made.v_int64;
  } else if (made.type_index == kTVMFFIFloat) {
    wide = made.v_float64;
    result[0] = wide > -0x1p63 && wide < 0x1p63 ? (int64_t)wide : 0;
  }
  memcpy(&result[1], &wide, sizeof wide);
  rldb_aot_release(&made);
  return 0;
}
