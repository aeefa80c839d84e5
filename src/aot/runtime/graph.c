/* CUDA graphs on a CPU: nothing is captured, and each call is made when it is asked for. */
#include "aot/runtime/aot.h"

/* The machine passes itself as the first argument, which reads as null. */
static int32_t skip_machine(const Any** args, int32_t count) {
  if (count == 0 || (*args)->type_index != kTVMFFINone) return count;
  ++*args;
  return count - 1;
}

int32_t rldb_aot_CudaGraphRun(Library* library, const Any* args, int32_t count, Any* result) {
  (void)library;
  count = skip_machine(&args, count);
  const TVMFFISeqCell* given = count > 1 ? tuple_of(&args[1]) : NULL;
  if (count < 3 || count > 4 || !given)
    return rldb_aot_fail(kErrorType, "expected a function, a tuple of its arguments, and an index");
  return rldb_aot_call_value(&args[0], given->data, (int32_t)given->size, result);
}

int32_t rldb_aot_CudaGraphAlloc(Library* library, const Any* args, int32_t count, Any* result) {
  (void)library;
  count = skip_machine(&args, count);
  if (count != 2) return rldb_aot_fail(kErrorType, "expected a function and an index");
  return rldb_aot_call_value(&args[0], NULL, 0, result);
}
