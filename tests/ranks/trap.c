/* What happens in rank 2 of a job is said by the environment: it dies, is sent a signal, or raises an error. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rldb/runtime/ffi_abi.h"

int ranks_trap(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) __asm__("__tvm_ffi_ranks.trap");

int ranks_trap(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  (void)self, (void)count;
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *what = getenv("RANK_TRAP");
  if (rank && what && strcmp(rank, "2") == 0) {
    if (strcmp(what, "die") == 0) raise(SIGKILL);
    if (strcmp(what, "term") == 0 || strcmp(what, "int") == 0) {
      kill(getpid(), strcmp(what, "int") == 0 ? SIGINT : SIGTERM);
      sleep(1);
    }
    if (strcmp(what, "fail") == 0) {
      TVMFFIErrorSetRaisedFromCStr("ValueError", "rank 2 does not like it");
      return -1;
    }
  }
  *result = args[0];
  return 0;
}
