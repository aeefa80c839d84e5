/* Calls: from outside into the library, between its functions, of values, and of functions that the host registered. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/aot.h"

enum { kTailDepth = 1000, kStackReserve = 256 * 1024 };

/* ---- functions of the host ---- */

typedef struct Registered {
  struct Registered* next;
  TVMFFISafeCallType code;
  void* self;
  uint64_t order; /* of its last registration: of two of the same name the later one counts */
  char name[];
} Registered;

RLDB_AOT Registered* rldb_aot_registered;
RLDB_AOT uint64_t rldb_aot_registrations;

static Registered* registered(const char* name, uint64_t size) {
  Registered* found = NULL;
  uint64_t latest = 0;
  for (Registered* r = __atomic_load_n(&rldb_aot_registered, __ATOMIC_ACQUIRE); r; r = r->next) {
    if (strlen(r->name) != size || memcmp(r->name, name, size) != 0) continue;
    const uint64_t order = __atomic_load_n(&r->order, __ATOMIC_ACQUIRE);
    if (found && order < latest) continue;
    found = r;
    latest = order;
  }
  return found;
}

/* Rows stay, because a call may be reading one: a function that was there before gets its own again. */
int32_t rldb_aot_register(const char* name, TVMFFISafeCallType code, void* self) {
  rldb_aot_thread.code = 0;
  const uint64_t order = __atomic_add_fetch(&rldb_aot_registrations, 1, __ATOMIC_ACQ_REL);
  for (Registered* r = __atomic_load_n(&rldb_aot_registered, __ATOMIC_ACQUIRE); r; r = r->next) {
    if (strcmp(r->name, name) != 0 || r->code != code || r->self != self) continue;
    __atomic_store_n(&r->order, order, __ATOMIC_RELEASE);
    return kSucceeded;
  }
  Registered* r = rldb_aot_permanent(sizeof *r + strlen(name) + 1);
  if (!r) {
    rldb_aot_fail(kErrorMemory, "no memory to register `%s`", name);
    return kErrorMemory;
  }
  strcpy(r->name, name);
  r->code = code;
  r->self = self;
  r->order = order;
  r->next = __atomic_load_n(&rldb_aot_registered, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&rldb_aot_registered, &r->next, r, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    ;
  return kSucceeded;
}

/* tvm-ffi's own, where the process has them (TVM, rldb). */
#define IN_HOST __attribute__((weak))
extern IN_HOST void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);
extern IN_HOST void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result);
extern IN_HOST int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out);

static int32_t foreign_error(const char* name, uint64_t size) {
  TVMFFIObject* error = NULL;
  if (rldb_aot_thread.code != 0) { /* from this library, through the host */
    rldb_aot_note("in `%.*s`", (int)size, name);
    return kFailed;
  }
  if (TVMFFIErrorMoveFromRaised) TVMFFIErrorMoveFromRaised((TVMFFIObjectHandle*)&error);
  if (!error) return rldb_aot_fail(kErrorRaised, "`%.*s` failed", (int)size, name);
  const TVMFFIErrorCell* cell = TVMFFICellOf(error);
  rldb_aot_fail(kErrorRaised, "`%.*s`: %.*s: %.*s", (int)size, name, (int)cell->kind.size, cell->kind.data,
                (int)cell->message.size, cell->message.data);
  rldb_aot_unref(error);
  return kFailed;
}

/* The program keeps what it is given: the data of a tensor that is no object are copied. */
static int32_t take_result(const char* name, uint64_t size, Any* made, Any* result) {
  Taken about;
  Any taken = {0};
  if (made->type_index < kTVMFFIStaticObjectBegin && made->type_index != kTVMFFIDLTensorPtr &&
      made->type_index != kTVMFFIRawStr) {
    rldb_aot_set(result, made);
    return kSucceeded;
  }
  const int32_t done = rldb_aot_take(made, &taken, 0, &about);
  rldb_aot_release(made);
  if (done == kSucceeded) {
    rldb_aot_set(result, &taken);
    return kSucceeded;
  }
  Buffer what = {0};
  rldb_aot_put(&what, "the result of `%.*s`", (int)size, name);
  rldb_aot_not_taken(&about, what.data ? what.data : "a result");
  free(what.data);
  return kFailed;
}

static int32_t call_foreign(const char* name, uint64_t size, TVMFFISafeCallType code, void* self, const Any* args,
                            int32_t count, Any* result) {
  Any made = {0};
  rldb_aot_thread.code = 0;
  if (code(self, args, count, &made) != 0) return foreign_error(name, size);
  return take_result(name, size, &made, result);
}

/* Functions that kernels call by name and every library has. */
static Function own_function(const char* name, uint64_t size) {
  static const struct {
    const char* name;
    Function code;
  } kRows[] = {
#define RLDB_AOT_FUNCTION(id, name)
#define RLDB_AOT_KERNEL_FUNCTION(id, name) {name, rldb_aot_##id},
#include "rldb/codegen/llvm/aot_function.def"
  };
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i)
    if (strlen(kRows[i].name) == size && memcmp(kRows[i].name, name, size) == 0) return kRows[i].code;
  return NULL;
}

int32_t rldb_aot_call_named(const char* name, uint64_t size, const Any* args, int32_t count, Any* result) {
  const Registered* r = registered(name, size);
  if (r) return call_foreign(name, size, r->code, r->self, args, count, result);
  const Function own = own_function(name, size);
  if (own) return own(NULL, args, count, result);
  if (TVMFFIFunctionGetGlobal) {
    const TVMFFIByteArray text = {name, size};
    TVMFFIObject* found = NULL;
    if (TVMFFIFunctionGetGlobal(&text, (TVMFFIObjectHandle*)&found) == 0 && found) {
      const TVMFFIFunctionCell* cell = TVMFFICellOf(found);
      const int32_t done = call_foreign(name, size, cell->safe_call, found, args, count, result);
      rldb_aot_unref(found);
      return done;
    }
  }
  return rldb_aot_fail(kErrorUnknownFunction, "no packed function `%.*s` is registered", (int)size, name);
}

int32_t rldb_aot_call_external(Library* library, int64_t function, const Any* args, int32_t count, Any* result) {
  const Text name = library->state->functions[function].name;
  return rldb_aot_call_named(name.data, name.size, args, count, result);
}

/* ---- functions of the library ---- */

static char* stack_end(void) {
  pthread_attr_t attr;
  void* low = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attr) != 0) return NULL;
  pthread_attr_getstack(&attr, &low, &size);
  pthread_attr_destroy(&attr);
  return low ? (char*)low + (size < 4 * kStackReserve ? size / 4 : kStackReserve) : NULL;
}

int32_t rldb_aot_is_deep(void) { return rldb_aot_thread.depth >= kTailDepth; }

int32_t rldb_aot_tail(int64_t function, const Any* args, int32_t count) {
  Thread* t = &rldb_aot_thread;
  t->tail.args = malloc(((size_t)count + 1) * sizeof(Any));
  if (!t->tail.args) return rldb_aot_fail(kErrorMemory, "no memory for %d arguments", count);
  for (int32_t i = 0; i < count; ++i) rldb_aot_copy(&t->tail.args[i], &args[i]);
  t->tail.function = function;
  t->tail.count = count;
  return kTail;
}

static int32_t no_stack(Library* library, int64_t function) {
  const FunctionInfo* f = &library->state->functions[function];
  return rldb_aot_fail(kErrorStack, "stack overflow: %lld calls, the last one of `%.*s`",
                       (long long)rldb_aot_thread.depth, (int)f->name.size, f->name.data);
}

static int32_t wrong_count(const FunctionInfo* f, int32_t count) {
  return rldb_aot_fail(kErrorCount, "`%.*s` takes %lld argument%s but %d given", (int)f->name.size, f->name.data,
                       (long long)f->param_count, f->param_count == 1 ? "" : "s", count);
}

/* Calls that replace their caller return here first. */
static int32_t call_bytecode(Library* library, int64_t function, const Any* args, int32_t count, Any* result) {
  Thread* t = &rldb_aot_thread;
  Any* owned = NULL;
  int32_t owned_count = 0, done;
  if ((char*)&owned < t->stack_end) return no_stack(library, function);
  ++t->depth;
  for (;;) {
    const FunctionInfo* f = &library->state->functions[function];
    done = count == f->param_count ? library->functions[function](library, args, count, result) : wrong_count(f, count);
    rldb_aot_release_all(owned, owned_count);
    free(owned);
    owned = NULL;
    owned_count = 0;
    if (done != kTail) break;
    function = t->tail.function;
    args = owned = t->tail.args;
    count = owned_count = t->tail.count;
  }
  --t->depth;
  return done;
}

int32_t rldb_aot_call(Library* library, int64_t function, const Any* args, int32_t count, Any* result) {
  const FunctionInfo* f = &library->state->functions[function];
  switch (f->kind) {
    case kBytecode:
      return call_bytecode(library, function, args, count, result);
    case kKernel:
      return rldb_aot_call_kernel(library, (int64_t)f->kernel, args, count, result);
    case kBuiltin:
      return library->functions[function](library, args, count, result);
    case kExternal:
      break;
  }
  return rldb_aot_call_external(library, function, args, count, result);
}

int32_t rldb_aot_call_value(const Any* callee, const Any* args, int32_t count, Any* result) {
  if (callee->type_index != kTVMFFIFunction) return rldb_aot_wrong("a call", 0, "a Function", callee);
  if (!rldb_aot_is_own_closure(callee)) {
    const TVMFFIFunctionCell* cell = TVMFFICellOf(callee->v_obj);
    static const char kName[] = "a function of the caller";
    return call_foreign(kName, sizeof kName - 1, cell->safe_call, callee->v_obj, args, count, result);
  }
  const Closure* c = (const Closure*)callee->v_obj;
  const int64_t all = count + c->captured_count;
  Any* given = NULL;
  if (c->captured_count > 0) {
    given = malloc((size_t)all * sizeof(Any));
    if (!given) return rldb_aot_fail(kErrorMemory, "no memory for %lld arguments", (long long)all);
    if (count > 0) memcpy(given, args, (size_t)count * sizeof(Any));
    memcpy(given + count, c->captured, (size_t)c->captured_count * sizeof(Any));
    args = given;
  }
  Any held;
  rldb_aot_copy(&held, callee); /* what it calls may release it */
  const int32_t done = c->function >= 0 ? rldb_aot_call(c->library, c->function, args, (int32_t)all, result)
                                        : rldb_aot_call_value(&c->called, args, (int32_t)all, result);
  rldb_aot_release(&held);
  free(given);
  return done;
}

/* ---- from outside ---- */

/* Whether something besides the arguments themselves refers to memory that is lent with them. */
static int is_referred_to(const Any* args, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (!rldb_aot_is_lent(&args[i])) continue;
    const TVMFFIObject* tensor = args[i].v_obj;
    if ((uint32_t)tensor->combined_ref_count > 1) return 1;
    if ((uint32_t)((const Tensor*)tensor)->owner->combined_ref_count > 1) return 1;
  }
  return 0;
}

/* `f`: null of a closure. `lent`: the argument has memory that is lent in a tuple. */
static int32_t take_argument(const FunctionInfo* f, int32_t index, const Any* from, Any* to, int* lent) {
  Taken about;
  if (rldb_aot_take(from, to, 1, &about) == kSucceeded) {
    *lent |= about.changed;
    return kSucceeded;
  }
  Buffer what = {0};
  if (f)
    rldb_aot_put(&what, "`%.*s`: argument %d (`%.*s`)", (int)f->name.size, f->name.data, index,
                 (int)f->params[index].size, f->params[index].data);
  else
    rldb_aot_put(&what, "a closure: argument %d", index);
  rldb_aot_not_taken(&about, what.data ? what.data : "an argument");
  free(what.data);
  return kFailed;
}

static const char* const kKinds[] = {"",
                                     "TypeError",
                                     "ValueError",
                                     "TypeError",
                                     "AttributeError",
                                     "AssertionError",
                                     "MemoryError",
                                     "IndexError",
                                     "NotImplementedError",
                                     "ValueError",
                                     "KeyboardInterrupt",
                                     "RecursionError",
                                     "RuntimeError",
                                     "RuntimeError"};

typedef struct {
  Library* library;
  int64_t function; /* -1: `value` */
  const Any* value;
  const FunctionInfo* about; /* null of a value */
} Callee;

static int32_t call_with(const Callee* c, const Any* args, int32_t count, Any* own, Any* made) {
  int lent = 0;
  for (int32_t i = 0; i < count; ++i)
    if (take_argument(c->about, i, &args[i], &own[i], &lent) != kSucceeded) return kFailed;
  const int32_t done = c->value ? rldb_aot_call_value(c->value, own, count, made)
                                : rldb_aot_call(c->library, c->function, own, count, made);
  if (done != kSucceeded) return kFailed;
  return lent || rldb_aot_thread.depth > 0 || is_referred_to(own, count) ? rldb_aot_keep(made) : kSucceeded;
}

static int32_t enter(const Callee* c, const Any* args, int32_t count, Any* result) {
  Any made = {0};
  Any* own = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(Any));
  int32_t done =
      own ? call_with(c, args, count, own, &made) : rldb_aot_fail(kErrorMemory, "no memory for %d arguments", count);
  if (own) rldb_aot_release_all(own, count);
  free(own);
  if (done == kSucceeded)
    *result = made;
  else
    rldb_aot_release(&made);
  return done;
}

static void begin(void) {
  Thread* t = &rldb_aot_thread;
  if (!t->stack_end) t->stack_end = stack_end();
  t->code = 0;
}

static int32_t finish(int32_t done) {
  if (done != kSucceeded && TVMFFIErrorSetRaisedFromCStr)
    TVMFFIErrorSetRaisedFromCStr(kKinds[rldb_aot_thread.code], rldb_aot_message());
  return done;
}

int32_t rldb_aot_enter(Library* library, int64_t function, const Any* args, int32_t count, Any* result) {
  begin();
  const State* s = rldb_aot_open(library);
  if (!s) return finish(kFailed);
  const Callee c = {library, function, NULL, &s->functions[function]};
  return finish(count == c.about->param_count ? enter(&c, args, count, result) : wrong_count(c.about, count));
}

int32_t rldb_aot_enter_value(const Any* value, const Any* args, int32_t count, Any* result) {
  const Callee c = {NULL, -1, value, NULL};
  begin();
  return finish(enter(&c, args, count, result));
}

/* ---- the code of functions ---- */

int32_t rldb_aot_condition(const Any* v) {
  if (is_integer(v)) return v->v_int64 != 0;
  return rldb_aot_wrong("If", 0, "an integer", v);
}
