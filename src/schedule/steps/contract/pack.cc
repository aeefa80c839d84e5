// Copies of operands into panels: transposed in registers, run by run, or element by element.
#include "schedule/steps/contract/pack.h"

#include <algorithm>
#include <optional>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"

namespace rldb::schedule {

using ir::BinaryKind;

namespace {

constexpr std::int64_t kRunOfDepth = 16;  // moved at once where the operand runs along the depth

// The side of the squares in which a tile is transposed; 0: too narrow. A row of a square is at most a vector, of bytes
// a part of one.
std::int64_t square_side(const Contraction& c, std::int64_t width) {
  for (const std::int64_t side : {16, 8, 4})
    if (width % side == 0 && (side <= c.lanes || c.dot > 1)) return side;
  return 0;
}

bool divisible(const ir::Expr* extent, std::int64_t by) {
  const auto n = ir::const_int(extent);
  return n && *n % by == 0;
}

}  // namespace

Packer::E Packer::zero() const {
  const ir::DType t = type();
  if (t.is_float()) return t_.ctx.float_imm(t, 0);
  return t_.ctx.int_imm(t, 0);
}

Packer::E Packer::value() const {
  if (bytes_.rows) return t_.element(*f_);
  return ir::cast_to(t_.ctx, type(), t_.value(*f_));
}

bool Packer::runs_along_depth(const Dim& d) const {
  if (!d.axes.empty() && runs_with(f_->load, d.axes) != Run::None) return false;
  const Run run = runs_with(f_->load, t_.depth.axes);
  return run == Run::Whole || (run == Run::Inner && divisible(t_.depth.axes.back().extent, kRunOfDepth));
}

Packer::S Packer::pack(const Factor& f, const ir::Buffer* panel, Dim& d, const Bytes& bytes,
                       std::span<const Strip> strips) {
  f_ = &f;
  panel_ = panel;
  bytes_ = bytes;
  strips_ = strips;
  return t_.over_tiles(d, [&](E tile) -> S {
    tile_ = tile;
    if (!bytes.rows) return a_tile(d);
    return t_.build.seq({a_tile(d), rest_of_four(d), in_fours(d), bytes.sums ? sums_of(d) : nullptr});
  });
}

Packer::S Packer::a_tile(Dim& d) {
  if (d.divides()) return whole_tile(d);
  if (!vectors_) return edge_elements(d);
  if (d.only_edge()) return edge_tile(d);
  return t_.ctx.if_stmt(t_.whole(d), whole_tile(d), edge_tile(d));
}

Packer::S Packer::whole_tile(Dim& d) {
  if (!vectors_) return elements(d);
  if (!strips_.empty()) return from_strips(d);
  const bool in_squares = d.width == 1 || square_side(t_.c, d.width) > 0;
  if (in_squares && runs_along_depth(d)) return transposed(d);
  const Run run = runs_with(f_->load, d.axes);
  const auto inner = d.axes.empty() ? std::nullopt : ir::const_int(d.axes.back().extent);
  const bool long_runs = d.axes.size() > 1 && d.width % t_.c.lanes == 0 && (!inner || *inner >= t_.c.lanes);
  if (long_runs && (run == Run::Inner || run == Run::Strided)) return in_runs(d);
  return elements(d);
}

// Squares of 16 steps of the depth and as many elements of the tile, then the rest of the depth.
Packer::S Packer::transposed(Dim& d) {
  Build& b = t_.build;
  const E like = t_.depth.extent;
  const std::int64_t side = std::max<std::int64_t>(1, square_side(t_.c, d.width));
  const bool by_runs = runs_with(f_->load, t_.depth.axes) == Run::Inner;
  const auto bind_depth = [&](E base, E step) {
    if (by_runs)
      t_.bind_in_run(t_.depth, t_.depth_at(base), step);
    else
      t_.bind(t_.depth, t_.depth_at(b.add(base, step)));
  };
  const auto one = [&](E base, E step, E r) {
    bind_depth(base, step);
    t_.bind(d, b.add(d.start, r));
    return store(b.add(base, step), r, value());
  };
  const std::string k = t_.depth.name;
  const auto square = [&](E base, E group) -> S {
    if (d.width == 1) {
      const auto element = [&](E step) { return one(base, step, b.lit(d.extent, 0)); };
      return b.loop(k + "_2", like, kRunOfDepth, element, ir::ForKind::Vectorized);
    }
    const auto row = [&](E step) {
      const auto element = [&](E l) { return one(base, step, b.add(b.scaled(group, side), l)); };
      return b.loop(d.name + "_3", d.extent, side, element, ir::ForKind::Vectorized);
    };
    return b.loop(k + "_2", like, kRunOfDepth, row, ir::ForKind::Unrolled);
  };
  const E all = t_.depth_of_block();
  const E squares = b.whole(all, kRunOfDepth), left = b.rest(all, kRunOfDepth);
  std::vector<S> parts;
  if (!ir::is_const(squares, 0))
    parts.push_back(b.loop(d.name + "_2", d.extent, d.width / side, [&](E group) {
      return b.loop(k + "_1", squares, [&](E n) { return square(b.scaled(n, kRunOfDepth), group); });
    }));
  if (!ir::is_const(left, 0))
    parts.push_back(b.loop(k + "_1", left, [&](E n) {
      const E at = b.add(b.scaled(squares, kRunOfDepth), n);
      return b.loop(d.name + "_2", d.extent, d.width, [&](E r) {
        t_.bind(t_.depth, t_.depth_at(at));
        t_.bind(d, b.add(d.start, r));
        return store(at, r, value());
      });
    }));
  return b.seq(std::move(parts));
}

// Vector by vector: one that lies within a run is loaded as one, the others element by element.
Packer::S Packer::in_runs(Dim& d) {
  Build& b = t_.build;
  const std::int64_t lanes = t_.c.lanes;
  return b.loop(d.name + "_2", d.extent, d.width / lanes, [&](E v) -> S {
    const E offset = b.scaled(v, lanes);
    const E base = b.add(d.start, offset);
    const auto vectors = [&](const std::function<void(E lane)>& bind) {
      return t_.over_depth([&](E k) {
        const auto element = [&](E lane) {
          bind(lane);
          return store(k, b.add(offset, lane), value());
        };
        return b.loop(d.name + "_3", d.extent, lanes, element, ir::ForKind::Vectorized);
      });
    };
    const S in_run = vectors([&](E lane) { t_.bind_in_run(d, base, lane); });
    const E extent = ir::cast_to(t_.ctx, base->dtype(), d.axes.back().extent);
    if (divisible(extent, lanes)) return in_run;
    const S across = vectors([&](E lane) { t_.bind(d, b.add(base, lane)); });
    const E end = b.plus(ir::floor_mod(t_.ctx, base, extent), lanes);
    return t_.ctx.if_stmt(ir::compare(t_.ctx, BinaryKind::LE, end, extent), in_run, across);
  });
}

Packer::S Packer::elements(Dim& d) {
  Build& b = t_.build;
  return over_depth([&](E k) {
    const auto one = [&](E r) {
      t_.bind(d, b.add(d.start, r));
      return store(k, r, value());
    };
    if (!vectors_) return b.loop(d.name + "_2", d.extent, d.width, one);
    if (d.width % t_.c.lanes == 0) return t_.in_vectors(d.name, d.extent, d.width, one);
    const bool dense = d.width > 1 && runs_with(f_->load, d.axes) == Run::Whole;
    return b.loop(d.name + "_2", d.extent, d.width, one, dense ? ir::ForKind::Vectorized : ir::ForKind::Unrolled);
  });
}

// A calculated operand has parts that are the same for several steps of the depth (a word of eight weights, a scale):
// steps are unrolled, so that these parts are loaded once.
Packer::S Packer::over_depth(const Build::Body& body) {
  constexpr std::int64_t kAtOnce = 8;
  if (!vectors_ || f_->load) return t_.over_depth(body);
  Build& b = t_.build;
  const E all = t_.depth_of_block(), whole = b.whole(all, kAtOnce), left = b.rest(all, kAtOnce);
  const auto step = [&](E k) {
    t_.bind(t_.depth, t_.depth_at(k));
    return body(k);
  };
  const std::string k = t_.depth.name;
  S many = nullptr, few = nullptr;
  if (!ir::is_const(whole, 0))
    many = b.loop(k + "_1", whole, [&](E n) {
      return b.loop(
          k + "_2", all, kAtOnce, [&](E u) { return step(b.add(b.scaled(n, kAtOnce), u)); }, ir::ForKind::Unrolled);
    });
  if (!ir::is_const(left, 0))
    few = b.loop(k + "_1", left, [&](E n) { return step(b.add(b.scaled(whole, kAtOnce), n)); });
  return b.seq({many, few});
}

// ---- strips ----

namespace {

// The steps of the depth that have one element of a load: 8 for `k // 8`. 0: it does not run along the depth.
std::int64_t steps_per_element(const ir::Expr* index, const ir::Var* depth) {
  if (index == depth) return 1;
  const auto* quotient = ir::as<ir::BinaryExpr>(index);
  if (!quotient || quotient->kind != BinaryKind::FloorDiv || quotient->a != depth) return 0;
  return std::max<std::int64_t>(0, ir::const_int(quotient->b).value_or(0));
}

// Whether a load is `rows[.., r, .., k // per]`: the dimension of the tile somewhere, and along the depth in memory.
std::optional<Strip> strip_of(ir::Context& ctx, const ir::BufferLoad* load, const Dim& d, const Dim& depth) {
  const ir::Var *row = d.axes[0].var, *k = depth.axes[0].var;
  if (!is_dense(load->buffer) || load->predicate || load->indices.size() < 2) return std::nullopt;
  Strip strip{load, steps_per_element(load->indices.back(), k)};
  if (strip.per == 0 || depth.per_block % strip.per != 0) return std::nullopt;
  std::size_t rows = 0;
  for (std::size_t i = 0; i + 1 < load->indices.size(); ++i) {
    const ir::Expr* index = load->indices[i];
    if (mentions(index, k) || (mentions(index, row) && index != row)) return std::nullopt;
    rows += index == row;
  }
  if (rows != 1) return std::nullopt;
  strip.at = ctx.var(ctx.str(depth.name), load->indices.back()->type);
  std::vector<const ir::Expr*> indices(load->indices.begin(), load->indices.end());
  indices.back() = strip.at;
  strip.element = ctx.load(load->buffer, indices);
  return strip;
}

}  // namespace

std::vector<Strip> strips_of(ir::Context& ctx, const Contraction& c, const Dim& d, const Dim& depth) {
  const Factor& f = c.b;
  std::vector<Strip> all;
  const bool plain = d.axes.size() == 1 && depth.axes.size() == 1 && divisible(depth.extent, depth.per_block);
  if (f.load || !plain || square_side(c, d.width) == 0) return all;
  ir::walk(f.expr, [&](const ir::Node* n) {
    const auto* load = ir::as<ir::BufferLoad>(n);
    const auto same = [&](const Strip& s) { return ir::expr_equal(s.load, load); };
    if (!load || std::any_of(all.begin(), all.end(), same)) return true;
    if (const auto strip = strip_of(ctx, load, d, depth)) all.push_back(*strip);
    return true;
  });
  return all;
}

Packer::S Packer::copied(const Strip& strip, const Dim& d) {
  Build& b = t_.build;
  const E like = t_.depth.extent;
  const std::int64_t length = t_.depth.per_block / strip.per;
  std::int64_t run = kRunOfDepth;
  while (length % run != 0) run /= 2;
  const std::int64_t side = square_side(t_.c, d.width);
  const auto one = [&](E step, E r) {
    const E at = b.add(b.scaled(t_.depth.block, length), step);
    t_.axes[strip.at] = ir::cast_to(t_.ctx, strip.at->dtype(), at);
    t_.bind(d, b.add(d.start, r));
    return b.store(strip.copy, Retarget(t_.ctx, t_.axes).rewrite(strip.element), {step, r});
  };
  const auto square = [&](E base, E group) {
    const auto row = [&](E step) {
      const auto lane = [&](E l) { return one(b.add(base, step), b.add(b.scaled(group, side), l)); };
      return b.loop(d.name + "_3", d.extent, side, lane, ir::ForKind::Vectorized);
    };
    return b.loop(t_.depth.name + "_2", like, run, row, ir::ForKind::Unrolled);
  };
  return b.loop(d.name + "_2", d.extent, d.width / side, [&](E group) {
    return b.loop(t_.depth.name + "_1", like, length / run, [&](E n) { return square(b.scaled(n, run), group); });
  });
}

Packer::S Packer::from_strips(Dim& d) {
  Build& b = t_.build;
  std::vector<S> all;
  for (const Strip& s : strips_) all.push_back(copied(s, d));
  E step = nullptr, row = nullptr;  // of the tile, in the element that is calculated
  const auto in_strip = [&](const ir::BufferLoad* load) -> const ir::Expr* {
    for (const Strip& s : strips_)
      if (ir::expr_equal(s.load, load)) return b.load(s.copy, {b.whole(step, s.per), row});
    return nullptr;
  };
  all.push_back(over_depth([&](E k) {
    step = k;
    return t_.in_vectors(d.name, d.extent, d.width, [&](E r) {
      row = r;
      t_.bind(d, b.add(d.start, r));
      return store(k, r, ir::cast_to(t_.ctx, type(), LoadsReplaced(t_.ctx, t_.axes, in_strip).rewrite(f_->expr)));
    });
  }));
  return b.seq(std::move(all));
}

// ---- edges ----

Packer::S Packer::edge_tile(Dim& d) {
  if (!runs_along_depth(d)) return edge_elements(d);
  // Element by element of the tile, so that the test is outside of the loop over the depth.
  Build& b = t_.build;
  return b.loop(d.name + "_2", d.extent, d.width, [&](E r) {
    const S copied = t_.over_depth([&](E k) {
      t_.bind(d, b.add(d.start, r));
      return store(k, r, value());
    });
    const S zeros = t_.over_depth([&](E k) { return store(k, r, zero()); });
    return t_.ctx.if_stmt(t_.inside(d, r), copied, zeros);
  });
}

Packer::S Packer::edge_elements(Dim& d) {
  Build& b = t_.build;
  return t_.over_depth([&](E k) {
    const auto one = [&](E r) {
      t_.bind(d, b.add(d.start, r));
      const E padded = t_.ctx.intrin(type(), ir::intrin::IfThenElse, {t_.inside(d, r), value(), zero()});
      return store(k, r, padded);
    };
    if (vectors_ && d.width % t_.c.lanes == 0) return t_.in_vectors(d.name, d.extent, d.width, one);
    return b.loop(d.name + "_2", d.extent, d.width, one);
  });
}

// ---- bytes ----

Packer::S Packer::each(Dim& d, const Build::Body& body) {
  if (vectors_ && d.width % t_.c.lanes == 0) return t_.in_vectors(d.name, d.extent, d.width, body);
  return t_.build.loop(d.name + "_2", d.extent, d.width, body,
                       vectors_ && d.width > 1 ? ir::ForKind::Vectorized : ir::ForKind::Serial);
}

// Zeros up to a whole four.
Packer::S Packer::rest_of_four(Dim& d) {
  Build& b = t_.build;
  const E all = t_.depth_of_block();
  if (divisible(all, t_.c.dot)) return nullptr;
  return b.loop(t_.depth.name + "_1", t_.depth.extent, t_.c.dot - 1,
                [&](E n) { return each(d, [&](E r) { return store(b.add(all, n), r, zero()); }); });
}

Packer::S Packer::in_fours(Dim& d) {
  Build& b = t_.build;
  const std::int64_t side = std::max<std::int64_t>(1, square_side(t_.c, d.width));
  return t_.over_fours([&](E four) {
    return b.loop(d.name + "_2", d.extent, d.width / side, [&](E group) {
      const auto element = [&](E l) {
        const E r = b.add(b.scaled(group, side), l);
        const auto step = [&](E q) {
          const E byte = b.load(bytes_.rows, {b.add(b.scaled(four, t_.c.dot), q), r});
          return b.store(panel_, byte, {tile_, four, r, q});
        };
        return b.loop(t_.depth.name + "_2", t_.depth.extent, t_.c.dot, step,
                      vectors_ ? ir::ForKind::Vectorized : ir::ForKind::Serial);
      };
      return b.loop(d.name + "_3", d.extent, side, element, vectors_ ? ir::ForKind::Unrolled : ir::ForKind::Serial);
    });
  });
}

Packer::S Packer::sums_of(Dim& d) {
  Build& b = t_.build;
  const ir::DType t = bytes_.sums->dtype;
  const auto stored = [&](E r, E value) { return b.store(bytes_.sums, value, {tile_, r}); };
  const S none = each(d, [&](E r) { return stored(r, t_.ctx.int_imm(t, 0)); });
  const S sum = t_.over_depth([&](E k) {
    return each(d, [&](E r) {
      const E byte = ir::cast_to(t_.ctx, t, b.load(bytes_.rows, {k, r}));
      return stored(r, t_.ctx.binary(BinaryKind::Add, b.load(bytes_.sums, {tile_, r}), byte));
    });
  });
  return b.seq({none, sum});
}

}  // namespace rldb::schedule
