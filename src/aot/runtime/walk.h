/* Going through a value and the values in it, however deep, and however they refer to each other. */
#ifndef RLDB_AOT_RUNTIME_WALK_H_
#define RLDB_AOT_RUNTIME_WALK_H_

#include "aot/runtime/aot.h"

typedef struct {
  Any** rest; /* still to be looked at */
  uint64_t count, room;
  const TVMFFIObject** seen; /* by hash; those that several values refer to */
  uint64_t seen_count, seen_room;
} Walk;

/* Tuples and own closures are looked at later, each once. Others are not. */
RLDB_AOT int32_t rldb_aot_walk_add(Walk* w, Any* v);
RLDB_AOT Any* rldb_aot_walk_next(Walk* w); /* null: there is no more */
RLDB_AOT void rldb_aot_walk_end(Walk* w);

#endif /* RLDB_AOT_RUNTIME_WALK_H_ */
