// Bounds: which accesses of a PrimFunc are within their buffers for all arguments, so that checked code need not test
// them. Internal to the room; independent of LLVM.
//
// An access is proved dimension by dimension from the ranges of loops, the values of axes, enclosing conditions and
// the shapes of buffers. That the buffer itself lies within its memory is proved separately (`fits`): a buffer
// declared over another one's data may be larger. Nodes may be shared between places: facts of one hold at all
// of them. 64-bit arithmetic is assumed not to overflow; for narrower types, that has to be proved.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/context.h"

namespace rldb::schedule {

struct BoundsFacts {
  // By BufferLoad, BufferStore or MatchBufferRegion: a bit for each dimension that is not proved. Missing nodes
  // were never reached.
  std::unordered_map<const void*, std::uint64_t> unproved;
  // The same for the dimensions whose index may wrap in a narrow type on the way: it has to be computed as written.
  std::unordered_map<const void*, std::uint64_t> as_written;
  std::unordered_set<const ir::Buffer*> loose;       // may extend beyond its memory
  std::unordered_set<const ir::Var*> unproved_data;  // memory (by the pointer it was made as) that an access may miss
  // Values that variables are bound to: whether they are the same when computed in 64 bits.
  std::unordered_map<const ir::Expr*, bool> exact;

  bool proved(const void* access, std::size_t dim) const {
    const auto it = unproved.find(access);
    return it != unproved.end() && dim < 64 && (it->second >> dim & 1) == 0;
  }
  bool wide(const void* access, std::size_t dim) const {
    const auto it = as_written.find(access);
    return proved(access, dim) && (it == as_written.end() || (it->second >> dim & 1) == 0);
  }
  bool same_in_64_bits(const ir::Expr* e) const {
    const auto it = exact.find(e);
    return it != exact.end() && it->second;
  }
  bool fits(const ir::Buffer* b) const { return !loose.contains(b); }
  // Whether every access below a node is proved and into a buffer that fits.
  bool all_proved(const ir::Node* n) const;
};

BoundsFacts prove_bounds(const ir::PrimFunc* f);

}  // namespace rldb::schedule
