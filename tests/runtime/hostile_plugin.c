/* What a plugin must not do, one function each, and a few that behave; for isolate_test.cc. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rldb/runtime/ffi_abi.h"

#define FUNCTION(name) int __tvm_ffi_##name(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result)
#define UNUSED (void)self, (void)args, (void)count, (void)result

static float* data_of(const TVMFFIAny* args) { return (float*)((DLTensor*)args[0].v_ptr)->data; }

/* Its initialiser is the first of its code to run. */
__attribute__((constructor)) static void begin(void) {
  if (getenv("RLDB_HOSTILE_LOAD")) *(volatile int*)16 = 1;
}

/* Writes to its tensor first: nothing of that may arrive. */
FUNCTION(crash) {
  UNUSED;
  data_of(args)[0] = 99;
  *(volatile int*)16 = 1;
  return 0;
}
FUNCTION(aborts) {
  UNUSED;
  abort();
}
FUNCTION(exits) {
  UNUSED;
  exit(3);
}
/* Its child outlives it, with everything that it had open. */
FUNCTION(leaves_a_child) {
  UNUSED;
  if (fork() == 0) {
    sleep(20);
    _exit(0);
  }
  _exit(4);
}
FUNCTION(hangs) {
  UNUSED;
  for (;;) pause();
}
FUNCTION(closes) {
  UNUSED;
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  return 0;
}
/* Says things on every descriptor that it can find. */
FUNCTION(babbles) {
  UNUSED;
  char text[64];
  memset(text, 0xee, sizeof text);
  for (int fd = 3; fd < 1024; ++fd)
    if (write(fd, text, sizeof text) < 0) continue;
  return 0;
}
FUNCTION(counts) {
  UNUSED;
  static int64_t calls = 0;
  result->type_index = kTVMFFIInt;
  result->v_int64 = ++calls;
  return 0;
}
FUNCTION(adds_one) {
  UNUSED;
  DLTensor* t = (DLTensor*)args[0].v_ptr;
  int64_t n = 1;
  for (int i = 0; i < t->ndim; ++i) n *= t->shape[i];
  for (int64_t i = 0; i < n; ++i) data_of(args)[i] += 1;
  return 0;
}
FUNCTION(same) { /* are the two tensors at one address? */
  UNUSED;
  result->type_index = kTVMFFIBool;
  result->v_int64 = ((DLTensor*)args[0].v_ptr)->data == ((DLTensor*)args[1].v_ptr)->data;
  return 0;
}
FUNCTION(raises) {
  UNUSED;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "as asked");
  return 1;
}
