/* Calls of kernels: their arguments as the words that the code takes, and what they report. */
#include "aot/runtime/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { kFaultValues = 8, kInline = 32 /* arguments without an allocation */ };

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
  int32_t done = rldb_aot_bind(&b, count);
  if (done == kSucceeded) {
    for (int32_t i = 0; i < count; ++i) words[i] = word_of(&args[i], &k->params[i]);
    Thread* t = &rldb_aot_thread;
    Run run = {.args = args};
    Run* outer = t->run;
    Fault fault = {0};
    t->run = &run;
    const int32_t status = library->kernels[index](words, b.variables, &fault);
    t->run = outer;
    rldb_aot_end_run(&run);
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
