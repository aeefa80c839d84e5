// Reads and writes of a block that states none, in its text or by its maker, as TVM's script completer infers them.
//
// Every buffer access below `body` and `init`, one region per buffer, in order of first occurrence; variables of loops
// inside the block are relaxed to their ranges, an inner block counts by its stated regions. Buffers that the
// block allocates are left out, and its writes do not count as reads when it has an init. Users: te, the front end,
// tir_passes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::ir {

struct BlockParts {
  std::span<const IterVar> axes;
  const Stmt* init = nullptr;
  const Stmt* body = nullptr;
  std::span<const Buffer* const> allocated;
  std::span<const MatchBufferRegion> matches;  // an access of such a buffer is one of the buffer behind it
};
struct Regions {
  std::vector<BufferRegion> reads;
  std::vector<BufferRegion> writes;
};
// An inner block counts by the regions that it states, or by what its body accesses whatever it states; there the
// regions behind its sub-regions (`T.match_buffer`) count in full, as read and as written.
enum class InnerBlocks : std::uint8_t { AsStated, AsAccessed };
Regions infer_regions(Context& ctx, const BlockParts& block, InnerBlocks inner = InnerBlocks::AsStated);

// The extent of a region as text has it: simplified until nothing changes, without what is known about the axes, so
// that reading it again does not change it.
const Expr* simplified_extent(Context& ctx, const Expr* extent);

}  // namespace rldb::ir
