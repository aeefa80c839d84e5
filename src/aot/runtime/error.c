/* The error of a thread: its text grows by notes and by the places where it passes. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aot/runtime/aot.h"

enum { kMostPlaces = 20 }; /* that an error names */

__thread Thread rldb_aot_thread;
RLDB_AOT Message* rldb_aot_messages;

static int is_gone(int64_t thread) { return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH; }

/* One of a thread that has ended, else a new one; null: no memory. */
static Message* claim_message(void) {
  const int64_t own = syscall(SYS_gettid);
  const int kept = errno;
  Message* m = __atomic_load_n(&rldb_aot_messages, __ATOMIC_ACQUIRE);
  for (; m; m = m->next) {
    int64_t owner = __atomic_load_n(&m->thread, __ATOMIC_ACQUIRE);
    if (owner != own && !is_gone(owner)) continue;
    if (__atomic_compare_exchange_n(&m->thread, &owner, own, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) break;
  }
  errno = kept;
  if (m) return m;
  m = rldb_aot_permanent(sizeof *m);
  if (!m) return NULL;
  m->thread = own;
  m->next = __atomic_load_n(&rldb_aot_messages, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&rldb_aot_messages, &m->next, m, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    ;
  return m;
}

static void append(Buffer* b, const char* format, va_list args) {
  va_list again;
  va_copy(again, args);
  const int needed = vsnprintf(NULL, 0, format, args);
  if (needed > 0) {
    const uint64_t wanted = b->size + (uint64_t)needed + 1;
    if (wanted > b->room) {
      const uint64_t room = wanted > 2 * b->room ? wanted : 2 * b->room;
      char* larger = realloc(b->data, room);
      if (larger) {
        b->data = larger;
        b->room = room;
      }
    }
    if (wanted <= b->room) {
      vsnprintf(b->data + b->size, (size_t)needed + 1, format, again);
      b->size += (uint64_t)needed;
    }
  }
  va_end(again);
}

void rldb_aot_put(Buffer* b, const char* format, ...) {
  va_list args;
  va_start(args, format);
  append(b, format, args);
  va_end(args);
}

int32_t rldb_aot_fail(ErrorCode code, const char* format, ...) {
  Thread* t = &rldb_aot_thread;
  t->code = code;
  t->slot = -1;
  t->traced = 0;
  /* A child of fork is another thread: its parent's number may be taken for one that has ended. */
  if (!t->message || t->message->thread != syscall(SYS_gettid)) t->message = claim_message();
  if (!t->message) return kFailed;
  t->message->text.size = 0;
  va_list args;
  va_start(args, format);
  append(&t->message->text, format, args);
  va_end(args);
  return kFailed;
}

void rldb_aot_note(const char* format, ...) {
  if (!rldb_aot_thread.message) return;
  Buffer* b = &rldb_aot_thread.message->text;
  rldb_aot_put(b, "\n  note: ");
  va_list args;
  va_start(args, format);
  append(b, format, args);
  va_end(args);
}

int32_t rldb_aot_wrong(const char* function, int index, const char* wanted, const Any* found) {
  Buffer text = {0};
  rldb_aot_put_value(&text, found);
  rldb_aot_fail(kErrorType, "%s: argument %d must be %s but is %s", function, index, wanted,
                text.data ? text.data : "?");
  free(text.data);
  return kFailed;
}

const char* rldb_aot_name_of(const char* function) {
  static const struct {
    const char *function, *name;
  } kRows[] = {
#define RLDB_AOT_FUNCTION(id, name) {"rldb_aot_" #id, name},
#include "rldb/codegen/llvm/aot_function.def"
  };
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i)
    if (strcmp(kRows[i].function, function) == 0) return kRows[i].name;
  return function;
}

int32_t rldb_aot_wrong_count(const char* name, int least, int most, int32_t count) {
  if (least == most)
    return rldb_aot_fail(kErrorCount, "%s takes %d argument%s but %d given", name, least, least == 1 ? "" : "s", count);
  if (most < 0) return rldb_aot_fail(kErrorCount, "%s takes at least %d arguments but %d given", name, least, count);
  return rldb_aot_fail(kErrorCount, "%s takes %d to %d arguments but %d given", name, least, most, count);
}

/* The origin of a slot's value, as the machine's debug information has it. */
static void note_slot(const FunctionInfo* f) {
  Thread* t = &rldb_aot_thread;
  const int64_t slot = t->slot;
  t->slot = -1;
  if (slot < 0) return;
  if ((uint64_t)slot >= f->slot_count) {
    rldb_aot_note("shape heap slot %lld holds %lld", (long long)slot, (long long)t->slot_value);
    return;
  }
  const Slot* s = &f->slots[slot];
  rldb_aot_note("%s`%.*s` is %lld%s%.*s", s->is_variable ? "symbol " : "", (int)s->text.size, s->text.data,
                (long long)t->slot_value,
                s->bound_by.size == 0 ? ""
                : s->is_variable      ? ", bound by "
                                      : ", ",
                (int)s->bound_by.size, s->bound_by.data);
}

void rldb_aot_trace(Library* library, int64_t function, int64_t pc) {
  const FunctionInfo* f = &library->state->functions[function];
  note_slot(f);
  if (rldb_aot_thread.traced++ >= kMostPlaces) {
    if (rldb_aot_thread.traced == kMostPlaces + 1) rldb_aot_note("and more calls");
    return;
  }
  const uint64_t at = (uint64_t)pc - f->start;
  const Place* p = at < f->place_count ? &f->places[at] : NULL;
  Buffer where = {0};
  if (p && p->variable.size > 0) rldb_aot_put(&where, ", `%.*s`", (int)p->variable.size, p->variable.data);
  if (p && p->line > 0)
    rldb_aot_put(&where, " (%.*s:%llu)", (int)p->file.size, p->file.data, (unsigned long long)p->line);
  rldb_aot_note("in `%.*s`, instruction %lld%s", (int)f->name.size, f->name.data, (long long)pc,
                where.data ? where.data : "");
  free(where.data);
}

const char* rldb_aot_message(void) {
  const Thread* t = &rldb_aot_thread;
  return t->code != 0 && t->message && t->message->text.data ? t->message->text.data : "";
}

int rldb_aot_code(void) { return rldb_aot_thread.code; }
