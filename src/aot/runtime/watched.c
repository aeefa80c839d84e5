/* For a debugger in another process (`rldb --attach`): the frames of each thread, and a gate at
 * which it can wait. It writes nothing but the gate; a process without a debugger pays a store and a test for each
 * instruction.
 *
 * The gate is a system call without an effect, which a tracer sees. When the tracer is gone, however it went, the first
 * thread that notices closes the gate. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aot/runtime/aot.h"

RLDB_AOT Watched rldb_aot_watched;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static Trail* claim(int64_t thread) {
  Trail* t = __atomic_load_n(&rldb_aot_watched.trails, __ATOMIC_ACQUIRE);
  for (; t; t = t->next) {
    int64_t nobody = 0;
    if (__atomic_compare_exchange_n(&t->thread, &nobody, thread, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return t;
  }
  t = rldb_aot_permanent(sizeof *t);
  if (!t) return NULL; /* the program runs unseen */
  t->thread = thread;
  t->next = __atomic_load_n(&rldb_aot_watched.trails, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&rldb_aot_watched.trails, &t->next, t, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    ;
  return t;
}

/* The thread is asked for at each call from outside: a child of fork is another one, and a handler of fork would
 * outlive the library. */
static Trail* trail_of(Thread* t) {
  if (t->trail) return t->trail;
  pthread_once(&once, rldb_aot_watch_objects);
  return t->trail = claim(syscall(SYS_gettid));
}

void rldb_aot_start(Frame* frame, const Any* args, int32_t given) {
  memset(frame->registers, 0, (size_t)frame->count * sizeof(Any));
  for (int32_t i = 0; i < given; ++i) rldb_aot_copy(&frame->registers[i], &args[i]);
  Trail* trail = trail_of(&rldb_aot_thread);
  if (!trail) return;
  frame->outer = trail->frames;
  frame->entered = ++trail->calls;
  __atomic_store_n(&trail->frames, frame, __ATOMIC_RELEASE);
}

void rldb_aot_end(Frame* frame, Any* result) {
  Thread* t = &rldb_aot_thread;
  Trail* trail = t->trail;
  const int seen = trail && trail->frames == frame;
  if (seen) __atomic_store_n(&trail->frames, frame->outer, __ATOMIC_RELEASE);
  rldb_aot_release_all(frame->registers, frame->count);
  if (!seen || frame->outer) return;
  if (__atomic_load_n(&rldb_aot_watched.gate, __ATOMIC_RELAXED)) {
    trail->result = result;
    rldb_aot_gate();
    trail->result = NULL;
  }
  t->trail = NULL;
  __atomic_store_n(&trail->thread, 0, __ATOMIC_RELEASE);
}

/* Whether somebody traces this thread; if that cannot be read, somebody does. */
static int is_traced(void) {
  char text[4096];
  const int file = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (size <= 0) return 1;
  text[size] = 0;
  const char* at = strstr(text, "TracerPid:");
  return !at || strtoll(at + sizeof "TracerPid:" - 1, NULL, 10) != 0;
}

enum { kAskEvery = 256 };

void rldb_aot_gate(void) {
  Trail* trail = rldb_aot_thread.trail;
  const int kept = errno;
  /* A child of fork has a copy of the gate, and no tracer. */
  const int mine = __atomic_load_n(&rldb_aot_watched.gate, __ATOMIC_RELAXED) == getpid();
  if (!trail) return;
  if (!mine || (++trail->passes % kAskEvery == 0 && !is_traced())) {
    __atomic_store_n(&rldb_aot_watched.gate, 0, __ATOMIC_RELAXED);
  } else {
    __atomic_store_n(&trail->at_gate, 1, __ATOMIC_RELEASE);
    syscall(SYS_sched_yield);
    __atomic_store_n(&trail->at_gate, 0, __ATOMIC_RELEASE);
  }
  errno = kept;
}
