// Tiles and blocks of a contraction's dimensions.
#include "schedule/steps/contract/tiling.h"

#include "rldb/ir/scalar.h"

namespace rldb::schedule {

using ir::BinaryKind;
using ir::DType;

bool Dim::divides() const {
  const auto n = ir::const_int(extent);
  return width == 1 || (n && *n % width == 0);
}

bool Dim::only_edge() const {
  const auto n = ir::const_int(extent);
  return n && *n < width;
}

Dim Tiling::dim(const std::vector<Axis>& of, std::int64_t width, std::int64_t per_block) {
  Dim d;
  d.axes = of;
  if (of.empty()) d.extent = ctx.i64(1), d.name = "i";
  for (const Axis& a : of) {
    d.name += (d.name.empty() ? "" : "_") + a.name;
    d.extent = d.extent ? ir::mul(ctx, d.extent, a.extent) : a.extent;
  }
  // Unknown extents are counted in 64 bits: the index of a row past the end may not fit into 32.
  if (!ir::const_int(d.extent)) d.extent = ir::cast_to(ctx, DType::Int(64), d.extent);
  d.width = width;
  d.tiles = width == 1 ? d.extent : build.blocks(d.extent, width);
  d.per_block = std::min(per_block, ir::const_int(d.tiles).value_or(per_block));
  return d;
}

std::vector<Dim> Tiling::sections(const Dim& all) {
  std::vector<Dim> out{all};
  const auto total = ir::const_int(all.extent);
  const std::int64_t left = total ? *total % all.width : 0;
  if (left == 0) return out;
  Dim rest = all;
  rest.extent = build.lit(rest.extent, left);
  rest.origin = *total - left;
  rest.width = left;
  rest.tiles = build.lit(rest.extent, 1);
  rest.per_block = 1;
  out[0].extent = build.lit(rest.extent, rest.origin);
  out[0].tiles = build.lit(rest.extent, rest.origin / all.width);
  out[0].per_block = std::min(out[0].per_block, rest.origin / all.width);
  out.push_back(rest);
  return out;
}

// ---- values of the axes ----

void Tiling::bind(const Dim& d, E at) {
  for (std::size_t i = d.axes.size(); i-- > 1;) {
    const E extent = ir::cast_to(ctx, at->dtype(), d.axes[i].extent);
    axes[d.axes[i].var] = ir::floor_mod(ctx, at, extent);
    at = ir::floor_div(ctx, at, extent);
  }
  if (!d.axes.empty()) axes[d.axes[0].var] = at;
}

void Tiling::bind_in_run(const Dim& d, E base, E step) {
  bind(d, base);
  const ir::Var* inner = d.axes.back().var;
  axes[inner] = build.add(axes.at(inner), step);
}

std::vector<Tiling::E> Tiling::output() {
  std::vector<E> all;
  for (const E e : c.out) all.push_back(ir::substitute(ctx, e, axes));
  return all;
}

Tiling::E Tiling::inside(const Dim& d, E r) {
  if (d.divides()) return nullptr;
  return ir::compare(ctx, BinaryKind::LT, build.add(d.start, r), d.extent);
}

Tiling::E Tiling::whole(const Dim& d) {
  if (d.divides()) return nullptr;
  return ir::compare(ctx, BinaryKind::LE, build.plus(d.start, d.width), d.extent);
}

// ---- loops ----

Tiling::S Tiling::over_blocks(Dim& d, const std::function<S()>& body) {
  return build.loop(d.name + "_0", build.blocks(d.tiles, d.per_block), [&](E block) {
    d.block = block;
    return body();
  });
}

Tiling::S Tiling::over_tiles(Dim& d, const Build::Body& body) {
  return build.loop(d.name + "_1", build.part(d.tiles, d.per_block, d.block), [&](E tile) {
    d.start = build.scaled(build.add(build.scaled(d.block, d.per_block), tile), d.width);
    if (d.origin > 0) d.start = build.plus(d.start, d.origin);
    return body(tile);
  });
}

Tiling::S Tiling::over_depth(const Build::Body& body) {
  return build.loop(depth.name + "_1", depth_of_block(), [&](E k) {
    bind(depth, depth_at(k));
    return body(k);
  });
}

Tiling::S Tiling::over_fours(const Build::Body& body) {
  return build.loop(depth.name + "_1", build.blocks(depth_of_block(), c.dot), body);
}

Tiling::S Tiling::in_vectors(const std::string& name, E like, std::int64_t width, const Build::Body& body) {
  const std::int64_t lanes = c.lanes;
  return build.loop(
      name + "_2", like, width / lanes,
      [&](E v) {
        return build.loop(
            name + "_3", like, lanes, [&](E l) { return body(build.add(build.scaled(v, lanes), l)); },
            ir::ForKind::Vectorized);
      },
      ir::ForKind::Unrolled);
}

}  // namespace rldb::schedule
