/* The tables of a library, read once: constants, kernels' signatures and errors, functions and their places.
 *
 * Layout of `facts` (numbers are little-endian u64; a text is its size and bytes): name; constants; kernels; functions.
 * The writer is src/codegen/llvm/aot/facts.cc; both are part of one rldb, so there is no version. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/aot.h"

typedef struct {
  const uint8_t* at;
  const Library* library;
  int failed;
} Reader;

static uint64_t number(Reader* r) {
  uint64_t v;
  memcpy(&v, r->at, sizeof v);
  r->at += sizeof v;
  return v;
}

static Text text(Reader* r) {
  Text t;
  t.size = number(r);
  t.data = (const char*)r->at;
  r->at += t.size;
  return t;
}

static DLDataType dtype(Reader* r) {
  const uint64_t word = number(r);
  return (DLDataType){(uint8_t)word, (uint8_t)(word >> 8), (uint16_t)(word >> 16)};
}

/* Memory of the library's own, which goes with it when it is unloaded: pages that nothing touches cost nothing. What it
 * has no room for stays. */
enum { kPermanent = 1 << 20, kAligned = 16 };
static _Alignas(kAligned) char permanent[kPermanent];
static uint64_t permanent_used;

void* rldb_aot_permanent(uint64_t size) {
  size = (size + kAligned - 1) / kAligned * kAligned;
  uint64_t at = __atomic_load_n(&permanent_used, __ATOMIC_RELAXED);
  while (size <= kPermanent - at)
    if (__atomic_compare_exchange_n(&permanent_used, &at, at + size, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return permanent + at;
  return calloc(1, size);
}

static void* rows(Reader* r, uint64_t count, size_t size) {
  void* made = count < UINT32_MAX ? rldb_aot_permanent((count + 1) * size) : NULL;
  if (!made) {
    r->failed = 1;
    rldb_aot_fail(kErrorMemory, "no memory for the tables of the library");
  }
  return made;
}

/* The data of a constant tensor are part of the library, which outlives every value. */
static int32_t constant_tensor(Reader* r, Any* out) {
  const DLDataType t = dtype(r);
  const uint64_t rank = number(r);
  int64_t* shape = calloc(rank + 1, sizeof(int64_t));
  TVMFFIObject* owner = rldb_aot_permanent(sizeof *owner);
  if (!shape || !owner) {
    free(shape);
    return rldb_aot_fail(kErrorMemory, "no memory for a constant");
  }
  for (uint64_t i = 0; i < rank; ++i) shape[i] = (int64_t)number(r);
  const uint64_t offset = number(r);
  owner->combined_ref_count = ((uint64_t)1 << 32) | 1;
  owner->type_index = kTVMFFIObject;
  const int32_t done =
      rldb_aot_view(owner, (void*)(uintptr_t)(r->library->constants + offset), (int64_t)rank, shape, t, out);
  free(shape);
  return done;
}

static int32_t constant(Reader* r, Any* out) {
  memset(out, 0, sizeof *out);
  out->type_index = (int32_t)number(r);
  switch (out->type_index) {
    case kTVMFFINone:
      return kSucceeded;
    case kTVMFFIInt:
    case kTVMFFIBool:
    case kTVMFFIFloat:
    case kTVMFFIDevice:
      out->v_uint64 = number(r);
      return kSucceeded;
    case kTVMFFIDataType:
      out->v_dtype = dtype(r);
      return kSucceeded;
    case kTVMFFIStr: {
      const Text t = text(r);
      return rldb_aot_string(t.data, t.size, out);
    }
    case kTVMFFIShape: {
      const uint64_t rank = number(r);
      const int32_t done = rldb_aot_shape((int64_t)rank, NULL, out);
      for (uint64_t i = 0; i < rank; ++i) {
        const uint64_t dim = number(r);
        if (done == kSucceeded) ((Shape*)out->v_obj)->dims[i] = (int64_t)dim;
      }
      return done;
    }
    case kTVMFFITensor:
      return constant_tensor(r, out);
    case kTVMFFIArray: {
      const uint64_t count = number(r);
      Any* fields = calloc(count + 1, sizeof(Any));
      if (!fields) return rldb_aot_fail(kErrorMemory, "no memory for a constant");
      int32_t done = kSucceeded;
      for (uint64_t i = 0; i < count && done == kSucceeded; ++i) done = constant(r, &fields[i]);
      if (done == kSucceeded) done = rldb_aot_tuple((int64_t)count, fields, out);
      rldb_aot_release_all(fields, (int64_t)count);
      free(fields);
      return done;
    }
    default:
      return rldb_aot_fail(kErrorFile, "the library's tables are damaged");
  }
}

static void read_dim(Reader* r, Dim* d) {
  d->text = text(r);
  d->count = number(r);
  d->code = rows(r, d->count, sizeof(DimOp));
  for (uint64_t i = 0; i < d->count; ++i) {
    const int64_t code = (int64_t)number(r), value = (int64_t)number(r);
    if (d->code) d->code[i] = (DimOp){code, value};
  }
}

static void read_kernel(Reader* r, Kernel* k) {
  k->name = text(r);
  k->result = dtype(r);
  k->variable_count = number(r);
  k->variables = rows(r, k->variable_count, sizeof(Text));
  for (uint64_t i = 0; i < k->variable_count && !r->failed; ++i) k->variables[i] = text(r);
  k->param_count = number(r);
  k->params = rows(r, k->param_count, sizeof(KernelParam));
  for (uint64_t i = 0; i < k->param_count && !r->failed; ++i) {
    KernelParam* p = &k->params[i];
    p->name = text(r);
    p->is_tensor = (uint8_t)number(r);
    p->opaque = (uint8_t)number(r);
    p->dtype = dtype(r);
    p->variable = (int64_t)number(r);
    p->rank = number(r);
    p->shape = rows(r, p->rank, sizeof(Dim));
    for (uint64_t d = 0; d < p->rank && !r->failed; ++d) read_dim(r, &p->shape[d]);
  }
  k->fault_count = number(r);
  k->faults = rows(r, k->fault_count, sizeof(FaultText));
  for (uint64_t i = 0; i < k->fault_count && !r->failed; ++i) {
    k->faults[i].kind = (int64_t)number(r);
    k->faults[i].text = text(r);
    k->faults[i].note = text(r);
  }
}

static void read_function(Reader* r, FunctionInfo* f) {
  f->name = text(r);
  f->kind = (FunctionKind)number(r);
  f->kernel = number(r);
  f->exported = number(r);
  f->param_count = (int64_t)number(r);
  f->params = rows(r, (uint64_t)f->param_count, sizeof(Text));
  f->types = rows(r, (uint64_t)f->param_count, sizeof(Text));
  for (int64_t i = 0; i < f->param_count && !r->failed; ++i) {
    f->params[i] = text(r);
    f->types[i] = text(r);
  }
  f->slot_count = number(r);
  f->slots = rows(r, f->slot_count, sizeof(Slot));
  for (uint64_t i = 0; i < f->slot_count && !r->failed; ++i) {
    f->slots[i].text = text(r);
    f->slots[i].bound_by = text(r);
    f->slots[i].is_variable = number(r);
  }
  f->start = number(r);
  f->place_count = number(r);
  f->places = rows(r, f->place_count, sizeof(Place));
  for (uint64_t i = 0; i < f->place_count && !r->failed; ++i) {
    f->places[i].variable = text(r);
    f->places[i].file = text(r);
    f->places[i].line = number(r);
  }
}

static State* read_state(Library* library) {
  Reader r = {library->facts, library, 0};
  State* s = rows(&r, 1, sizeof *s);
  if (!s) return NULL;
  s->name = text(&r);
  s->constant_count = number(&r);
  s->constants = rows(&r, s->constant_count, sizeof(Any));
  for (uint64_t i = 0; i < s->constant_count && !r.failed; ++i)
    if (constant(&r, &s->constants[i]) != kSucceeded) r.failed = 1;
  if (r.failed) return NULL;
  s->kernel_count = number(&r);
  s->kernels = rows(&r, s->kernel_count, sizeof(Kernel));
  for (uint64_t i = 0; i < s->kernel_count && !r.failed; ++i) read_kernel(&r, &s->kernels[i]);
  if (r.failed) return NULL;
  s->function_count = number(&r);
  s->functions = rows(&r, s->function_count, sizeof(FunctionInfo));
  s->values = rows(&r, s->function_count, sizeof(Any));
  for (uint64_t i = 0; i < s->function_count && !r.failed; ++i) {
    read_function(&r, &s->functions[i]);
    if (!r.failed && rldb_aot_closure(library, (int64_t)i, NULL, NULL, 0, &s->values[i]) != kSucceeded) r.failed = 1;
  }
  return r.failed ? NULL : s;
}

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

State* rldb_aot_open(Library* library) {
  State* now = __atomic_load_n(&library->state, __ATOMIC_ACQUIRE);
  if (now) return now;
  pthread_mutex_lock(&opening);
  now = library->state;
  if (!now) {
    rldb_aot_thread.opens = 1;
    now = read_state(library);
    rldb_aot_thread.opens = 0;
    __atomic_store_n(&library->state, now, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&opening);
  return now;
}

const Any* rldb_aot_constant(Library* library, int64_t index) { return &library->state->constants[index]; }
const Any* rldb_aot_function_value(Library* library, int64_t index) { return &library->state->values[index]; }
