// Panels of a contraction's operands, copied in the order in which tiles read them: panel[tile, depth, r], zero past
// the end. Internal to the room.
#pragma once

#include <span>
#include <vector>

#include "schedule/steps/contract/tiling.h"

namespace rldb::schedule {

// For panels of bytes: four steps of the depth lie side by side in them, panel[tile, depth / 4, r, 4]. Each
// tile is copied into rows first, and from there into the panel.
struct Bytes {
  const ir::Buffer* rows = nullptr;  // [depth, r]; null: not bytes
  const ir::Buffer* sums = nullptr;  // [tile, r], of the elements over the block of the depth; null: not wanted
};

// A load of a calculated operand that runs along the depth, perhaps by a quotient (a word of eight weights of four
// bits, a scale for 32 of them). Its strip of a tile is copied, transposed, before the tile is calculated: a vector of
// the tile is a vector of the strip then, where it would have to be gathered from as many rows as it has lanes.
struct Strip {
  const ir::BufferLoad* load = nullptr;  // in the operand
  std::int64_t per = 1;                  // steps of the depth that have one element
  const ir::Var* at = nullptr;           // the place along the depth, counted in elements, in:
  const ir::Expr* element = nullptr;     // the load
  const ir::Buffer* copy = nullptr;      // [depth / per, r]
};
// Those of the operand B, without their copies.
std::vector<Strip> strips_of(ir::Context& ctx, const Contraction& c, const Dim& d, const Dim& depth);

class Packer {
 public:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  Packer(Tiling& tiling, bool vectors) : t_(tiling), vectors_(vectors) {}
  // All tiles of the current block of `d`, in the current block of the depth.
  S pack(const Factor& f, const ir::Buffer* panel, Dim& d, const Bytes& bytes = {}, std::span<const Strip> strips = {});

 private:
  S a_tile(Dim& d);
  // Forms of a whole tile.
  S whole_tile(Dim& d);
  S transposed(Dim& d);  // the operand runs along the depth
  S in_runs(Dim& d);     // it runs along the last of several axes
  S elements(Dim& d);
  S over_depth(const Build::Body& body);
  // The same from copies of what the operand is calculated from.
  S from_strips(Dim& d);
  S copied(const Strip& strip, const Dim& d);
  // A tile at the edge.
  S edge_tile(Dim& d);
  S edge_elements(Dim& d);

  bool runs_along_depth(const Dim& d) const;  // and not along the tile
  // From rows of bytes.
  S in_fours(Dim& d);
  S sums_of(Dim& d);
  S rest_of_four(Dim& d);
  S each(Dim& d, const Build::Body& body);

  S store(E k, E r, E value) {
    if (bytes_.rows) return t_.build.store(bytes_.rows, value, {k, r});
    return t_.build.store(panel_, value, {tile_, k, r});
  }
  ir::DType type() const { return panel_->dtype; }
  E zero() const;
  E value() const;  // of the current element, in the panel's dtype

  Tiling& t_;
  bool vectors_;
  const Factor* f_ = nullptr;
  const ir::Buffer* panel_ = nullptr;
  Bytes bytes_;
  std::span<const Strip> strips_;
  E tile_ = nullptr;
};

}  // namespace rldb::schedule
