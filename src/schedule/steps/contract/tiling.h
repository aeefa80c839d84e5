// Dimensions of a contraction in tiles and blocks: one index for all the axes of a dimension, loops over its blocks and
// tiles, and the values of the axes that go with them. Internal to the room.
#pragma once

#include "schedule/steps/contract/contraction.h"

namespace rldb::schedule {

// The fused axes of a dimension, or a section of it, in tiles of `width`, and the tiles in blocks of `per_block`.
struct Dim {
  using E = const ir::Expr*;
  std::vector<Axis> axes;
  std::string name;
  E extent = nullptr;       // of the section
  std::int64_t origin = 0;  // where it begins
  std::int64_t width = 0, per_block = 0;
  E tiles = nullptr;  // in total
  E block = nullptr;  // the current ones
  E start = nullptr;  // of the current tile, in elements

  bool divides() const;    // there are only whole tiles
  bool only_edge() const;  // there is none
};

class Tiling {
 public:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  Tiling(ir::Context& ctx, const Contraction& c) : build(ctx), ctx(ctx), c(c) {}

  Dim dim(const std::vector<Axis>& axes, std::int64_t width, std::int64_t per_block);
  // Whole tiles, then one for the remainder. If that is unknown the last tile has an edge, which is tested for.
  std::vector<Dim> sections(const Dim& all);

  // ---- values of the axes ----
  void bind(const Dim& d, E at);
  // The element that is `step` after `base` without leaving the run of the last axis.
  void bind_in_run(const Dim& d, E base, E step);
  E value(const Factor& f) { return Retarget(ctx, axes).rewrite(f.expr); }
  E element(const Factor& f) { return Retarget(ctx, axes).rewrite(f.load); }  // as it is in memory
  std::vector<E> output();
  // Whether element r of the current tile belongs to the dimension; null: always.
  E inside(const Dim& d, E r);
  // Whether all of the current tile does; null: always.
  E whole(const Dim& d);

  // ---- loops ----
  S over_blocks(Dim& d, const std::function<S()>& body);
  // The tiles of the current block; `body` gets the number of the tile in it.
  S over_tiles(Dim& d, const Build::Body& body);
  // The depth inside its block.
  S over_depth(const Build::Body& body);
  // The same, `dot` steps at a time, the last of which may be past the end.
  S over_fours(const Build::Body& body);
  E depth_at(E in_block) { return build.add(build.scaled(depth.block, depth.per_block), in_block); }
  E depth_of_block() { return build.part(depth.extent, depth.per_block, depth.block); }
  // Unrolled vectors.
  S in_vectors(const std::string& name, E like, std::int64_t width, const Build::Body& body);

  Build build;
  ir::Context& ctx;
  const Contraction& c;
  Dim depth;
  ir::VarMap axes;
};

}  // namespace rldb::schedule
