// The elements that some bytes of memory reach in one call of a kernel: the other way round from KernelWrites.
//
// A store whose value, indices or conditions read marked bytes marks what it writes; one that reads none unmarks it;
// one that adds to its own element leaves it as it was. `sliced_reach` leaves out iterations that neither read nor
// write marked bytes, so that one element in large tensors costs little; `recorded_reach` executes every statement in
// the evaluator: for every kernel, and the oracle of the tests. A store that a condition on marked bytes kept from
// being made is not seen. User: Influence.
#pragma once

#include "debug/provenance/kernel_writes.h"
#include "debug/provenance/memory_set.h"

namespace rldb::debug {

struct KernelReach {
  MemorySet marked;   // after the call
  MemorySet written;  // those of them that the call wrote
};

// `marked`: before the call, by the storages of `args`. Errors: Unsupported, too many statements.
runtime::Result<KernelReach> sliced_reach(const ir::PrimFunc* f, const std::vector<runtime::Value>& args,
                                          const MemorySet& marked);
runtime::Result<KernelReach> recorded_reach(const ir::PrimFunc* f, const std::vector<runtime::Value>& args,
                                            const MemorySet& marked);
// By the first of them that can follow the kernel.
runtime::Result<KernelReach> kernel_reach(const ir::PrimFunc* f, const std::vector<runtime::Value>& args,
                                          const MemorySet& marked);

}  // namespace rldb::debug
