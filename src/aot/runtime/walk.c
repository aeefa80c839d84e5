#include "aot/runtime/walk.h"

#include <stdlib.h>
#include <string.h>

static int32_t no_memory(void) { return rldb_aot_fail(kErrorMemory, "no memory for a result"); }

static uint64_t place_of(const Walk* w, const TVMFFIObject* object) {
  uint64_t at = ((uintptr_t)object >> 4) * 0x9E3779B97F4A7C15u >> 20;
  for (at %= w->seen_room; w->seen[at] && w->seen[at] != object; at = (at + 1) % w->seen_room) continue;
  return at;
}

static int32_t grow_seen(Walk* w) {
  Walk larger = {.seen_room = 2 * w->seen_room + 64};
  larger.seen = calloc(larger.seen_room, sizeof *larger.seen);
  if (!larger.seen) return no_memory();
  for (uint64_t i = 0; i < w->seen_room; ++i)
    if (w->seen[i]) larger.seen[place_of(&larger, w->seen[i])] = w->seen[i];
  free(w->seen);
  w->seen = larger.seen;
  w->seen_room = larger.seen_room;
  return kSucceeded;
}

/* A ring is entered at an object that two values refer to. */
static int32_t note(Walk* w, const TVMFFIObject* object, int* is_new) {
  *is_new = 1;
  if ((uint32_t)object->combined_ref_count < 2) return kSucceeded;
  if (2 * w->seen_count >= w->seen_room && grow_seen(w) != kSucceeded) return kFailed;
  const uint64_t at = place_of(w, object);
  *is_new = w->seen[at] == NULL;
  w->seen[at] = object;
  w->seen_count += (uint64_t)*is_new;
  return kSucceeded;
}

int32_t rldb_aot_walk_add(Walk* w, Any* v) {
  int is_new = 0;
  if (!tuple_of(v) && !rldb_aot_is_own_closure(v)) return kSucceeded;
  if (note(w, v->v_obj, &is_new) != kSucceeded) return kFailed;
  if (!is_new) return kSucceeded;
  if (w->count == w->room) {
    Any** larger = realloc(w->rest, (2 * w->room + 16) * sizeof(Any*));
    if (!larger) return no_memory();
    w->rest = larger;
    w->room = 2 * w->room + 16;
  }
  w->rest[w->count++] = v;
  return kSucceeded;
}

Any* rldb_aot_walk_next(Walk* w) { return w->count > 0 ? w->rest[--w->count] : NULL; }

void rldb_aot_walk_end(Walk* w) {
  free(w->rest);
  free(w->seen);
  memset(w, 0, sizeof *w);
}
