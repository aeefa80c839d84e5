// A copy of a machine that shares its large memory with it: for executing a part of a run again without that memory's
// contents being written. User: debug.
#pragma once

#include "rldb/vm/machine.h"

namespace rldb::vm {

// As Machine::snapshot, but storages of at least `from` bytes stay shared: whoever runs the copy must leave them alone.
// Relax VM only. Errors: OutOfMemory, Unsupported (values nested too deep).
Result<Machine> partial_snapshot(const Machine& machine, std::size_t from);

// Whether the call at `pc` allocates a tensor and clears its memory, which may be reused: its consumer may leave
// elements unwritten.
bool clears_memory(const Program& program, Pc pc);

}  // namespace rldb::vm
