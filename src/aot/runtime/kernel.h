/* Between the files that call kernels: kernel.c, bind.c, kernel_calls.c. */
#ifndef RLDB_AOT_RUNTIME_KERNEL_H_
#define RLDB_AOT_RUNTIME_KERNEL_H_

#include "aot/runtime/aot.h"

/* The arguments of one call, and the values that they bind. */
typedef struct {
  const Kernel* kernel;
  const Any* args;
  int64_t* variables;
  uint8_t* bound;
} Binding;

RLDB_AOT int32_t rldb_aot_bind(const Binding* b, int32_t count);

/* The memory that the kernel asks for. */
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
RLDB_AOT void rldb_aot_end_run(Run* run);

#endif /* RLDB_AOT_RUNTIME_KERNEL_H_ */
