// The schedule of contractions, in blocks and register tiles.
//
// Panels of B (depth x width) and of A (depth x height) are copied in reading order; a tile of height x width elements
// of C stays in registers while the depth runs. The elements of C accumulate over the depth in ascending order from
// the init value: the same order as the text's, whatever the blocking.
#include <algorithm>
#include <optional>

#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/contract/pack.h"

namespace rldb::schedule {

using ir::BinaryKind;

namespace {

constexpr std::int64_t kDepth = kMaxDepth;  // width * depth elements of B stay in the first-level cache
constexpr std::int64_t kColumns = 1024;     // depth * columns in the second
constexpr std::int64_t kShare = 256;        // columns that are worth a copy of A's panels: a thread's share
constexpr std::int64_t kShares = 8;
constexpr std::int64_t kRows = 192;       // of A at a time
constexpr std::int64_t kFew = 4;          // rows that are sooner done one by one than as a tile
constexpr std::int64_t kSoonDone = 8;     // rows that are sooner done than B is copied
constexpr std::int64_t kDepthOfFew = 16;  // rows of B that are read side by side then

std::optional<std::int64_t> divisor(std::int64_t n, std::int64_t most, std::int64_t least, std::int64_t unit) {
  for (std::int64_t size = most; size >= least; size -= unit)
    if (n % size == 0) return size;
  return std::nullopt;
}

// Blocks of the depth: of one size, if there is one that divides it, and best one of whole words and scales of an
// operand that is calculated from them.
std::int64_t block_of_depth(const Contraction& c, const ir::Expr* extent) {
  const auto n = ir::const_int(extent);
  if (!n || *n <= kDepth) return kDepth;
  std::optional<std::int64_t> size;
  if (!c.b.load) size = divisor(*n, kDepth, kDepth / 4, 32);
  if (!size) size = divisor(*n, kDepth, c.b.load ? kDepth / 2 : kDepth / 4, 16);
  return size.value_or(kDepth);
}

// Tiles of columns in a block. Blocks are shared out to threads, so they are many and equal, as far as the copies of A
// that each block makes stay cheap.
std::int64_t block_of_columns(const Contraction& c, const ir::Expr* tiles) {
  const std::int64_t least = std::max<std::int64_t>(1, kShare / c.width());
  const auto n = ir::const_int(tiles);
  if (!n) return least;
  if (*n < 2 * least) return *n;
  const std::int64_t most = std::clamp<std::int64_t>((*n - 1) / kShares + 1, least, kColumns / c.width());
  const std::int64_t blocks = (*n - 1) / most + 1;
  return (*n - 1) / blocks + 1;
}

// Of columns that are read where they are: long, for the sake of the memory, but at least two that are worth a thread.
std::int64_t long_blocks(const Contraction& c, const ir::Expr* tiles) {
  const auto n = ir::const_int(tiles);
  if (!n) return kColumns / c.width();
  const std::int64_t threads = *n * c.width() >= 2 * kShare ? 2 : 1;
  const std::int64_t blocks = std::max(threads, (*n * c.width() - 1) / kColumns + 1);
  return (*n - 1) / blocks + 1;
}

class ContractionWriter {
 public:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  ContractionWriter(const Scene& scene, const Contraction& c) : ctx_(scene.ctx), c_(c), t_(scene.ctx, c) {
    rows_ = t_.sections(t_.dim(c.rows, c.height, std::max<std::int64_t>(1, kRows / c.height)));
    i_ = rows_.front();
    j_ = t_.dim(c.columns, c.width(), 1);
    t_.depth = t_.dim(c.depth, 1, kDepth);
    read_once(false);
    const auto rows = ir::const_int(t_.dim(c.rows, 1, 1).extent);
    if (!rows) return;
    if (*rows <= std::max(c.height, kSoonDone)) read_once(true);
    if (*rows <= kFew && !direct_ && c.a.load) j_.per_block = 1;
  }

  std::vector<Stage> run(const ir::ForStmt* from, bool all) {
    std::vector<Stage> out;
    for (const StepId step : {StepId::Tile, StepId::Pack, StepId::CacheWrite, StepId::Vectorize}) {
      if (!all && step != StepId::Vectorize) continue;
      if (step == StepId::Pack && direct_ && rows_.front().width == 1) continue;  // nothing is
      packed_ = step != StepId::Tile;
      registers_ = packed_ && step != StepId::Pack;
      vectors_ = step == StepId::Vectorize;
      i_ = rows_.front();
      const std::vector<const ir::Buffer*> allocs = make_buffers();
      out.push_back({step, t_.build.block(from, allocs, for_few_rows(around(0)), true)});
    }
    return out;
  }

 private:
  // Few rows use an element of B once or a few times, too seldom for a copy of it. If B runs along the columns, a few
  // of its rows are read side by side over many columns, in the order of memory. If it does not, it is transposed, one
  // tile at a time, which stays in the first-level cache.
  bool can_read_once() const {
    const bool along_columns = runs_with(c_.b.load, c_.columns) == Run::Whole;
    // Sums go to C and back after a few steps: it has to hold them as they are.
    const bool exact = c_.work == c_.type || c_.rounds;
    return along_columns && exact && c_.a.load && c_.depth.size() == 1 && c_.dot == 1 && !c_.adds_blocks;
  }
  void read_once(bool on) {
    direct_ = on && can_read_once();
    j_.per_block = block_of_columns(c_, j_.tiles);
    t_.depth.per_block = std::min(kDepth, ir::const_int(t_.depth.extent).value_or(kDepth));
    t_.depth.per_block = std::min(t_.depth.per_block, block_of_depth(c_, t_.depth.extent));
    if (!direct_) return;
    j_.per_block = long_blocks(c_, j_.tiles);
    t_.depth.per_block = std::min(t_.depth.per_block, kDepthOfFew);
  }
  // A step of a language model has one row, where its number is not known.
  bool has_few_rows_form() const { return vectors_ && !ir::const_int(i_.extent) && can_read_once(); }
  S for_few_rows(S all) {
    if (!has_few_rows_form()) return all;
    const std::vector<Dim> all_rows = std::exchange(rows_, {t_.dim(c_.rows, 1, kFew)});
    read_once(true);
    local_ = row_local_;
    S few = around(0);
    read_once(false);
    rows_ = all_rows;
    i_ = rows_.front();
    return ctx_.if_stmt(ir::compare(ctx_, BinaryKind::LE, i_.extent, t_.build.lit(i_.extent, kFew)), few, all);
  }

  bool packs_b() const { return packed_ && !direct_; }
  bool packs_a() const { return packed_ && (!direct_ || i_.width > 1); }

  std::vector<const ir::Buffer*> make_buffers() {
    const auto named = [&](const Factor& f, const char* suffix) {
      return ctx_.str(std::string(f.first->buffer->name) + suffix);
    };
    const auto made = [&](const Factor& f, const Dim& d) {
      std::vector<E> shape{t_.build.lit(d.extent, d.per_block), t_.build.lit(t_.depth.extent, t_.depth.per_block),
                           t_.build.lit(d.extent, d.width)};
      if (c_.dot == 1) return ctx_.buffer(named(f, "_panel"), shape, c_.work);
      shape[1] = t_.build.lit(t_.depth.extent, (t_.depth.per_block - 1) / c_.dot + 1);
      shape.push_back(t_.build.lit(t_.depth.extent, c_.dot));
      return ctx_.buffer(named(f, "_panel"), shape, f.load->buffer->dtype);
    };
    const auto rows = [&](const Factor& f, const Dim& d) {
      const E shape[] = {t_.build.lit(t_.depth.extent, t_.depth.per_block + c_.dot - 1),
                         t_.build.lit(d.extent, d.width)};
      return ctx_.buffer(named(f, "_rows"), shape, f.load->buffer->dtype);
    };
    a_panel_ = b_panel_ = local_ = row_local_ = nullptr;
    a_bytes_ = b_bytes_ = {};
    b_strips_.clear();
    std::vector<const ir::Buffer*> all;
    if (packs_b()) all.push_back(b_panel_ = made(c_.b, j_));
    if (packs_a()) all.push_back(a_panel_ = made(c_.a, rows_[0]));
    if (packed_ && c_.dot > 1) {
      all.push_back(b_bytes_.rows = rows(c_.b, j_));
      all.push_back(a_bytes_.rows = rows(c_.a, rows_[0]));
    }
    if (vectors_) b_strips_ = strips_of(ctx_, c_, j_, t_.depth);
    for (Strip& s : b_strips_) {
      const E shape[] = {t_.build.lit(t_.depth.extent, t_.depth.per_block / s.per), t_.build.lit(j_.extent, j_.width)};
      const std::string name = std::string(s.load->buffer->name) + "_strip";
      all.push_back(s.copy = ctx_.buffer(ctx_.str(name), shape, s.load->buffer->dtype));
    }
    if (packed_ && c_.unsigned_b) {
      const E shape[] = {t_.build.lit(i_.extent, rows_[0].per_block), t_.build.lit(i_.extent, rows_[0].width)};
      all.push_back(a_bytes_.sums = ctx_.buffer(named(c_.a, "_sums"), shape, c_.work));
    }
    if (!registers_) return all;
    const auto tile = [&](std::int64_t height, const char* suffix) {
      const E shape[] = {t_.build.lit(i_.extent, height), t_.build.lit(j_.extent, j_.width)};
      return ctx_.buffer(ctx_.str(std::string(out()->name) + suffix), shape, c_.work, "local");
    };
    all.push_back(local_ = tile(rows_[0].width, "_local"));
    // Of its own, so that the loops of both forms may run on threads.
    if (has_few_rows_form()) all.push_back(row_local_ = tile(1, "_row"));
    return all;
  }
  const ir::Buffer* out() const { return c_.nest.update->buffer; }

  // ---- loops ----

  // The other loops, then blocks of columns, of depth and of rows, then tiles.
  S around(std::size_t n) {
    if (n == c_.around.size()) return blocks();
    const Axis& axis = c_.around[n];
    const auto body = [&](E v) {
      t_.axes[axis.var] = v;
      return around(n + 1);
    };
    return t_.build.loop(axis.name, axis.extent, body, axis.kind);
  }

  S blocks() {
    Packer packer(t_, vectors_);
    return t_.over_blocks(j_, [&] {
      return t_.over_blocks(t_.depth, [&] {
        std::vector<S> all{packs_b() ? packer.pack(c_.b, b_panel_, j_, b_bytes_, b_strips_) : nullptr};
        for (const Dim& section : rows_) {
          i_ = section;
          all.push_back(t_.over_blocks(i_, [&] {
            S pack_a = packs_a() ? packer.pack(c_.a, a_panel_, i_, a_bytes_) : nullptr;
            S tiles = t_.over_tiles(j_, [&](E jt) { return t_.over_tiles(i_, [&](E it) { return tile(it, jt); }); });
            return t_.build.seq({pack_a, tiles});
          }));
        }
        return t_.build.seq(std::move(all));
      });
    });
  }

  // ---- tiles ----

  // The elements of a tile; the axes are bound to them. With `guarded` only those that are elements of C.
  using ElementFn = std::function<S(E r, E x)>;
  S each(bool guarded, const ElementFn& f) {
    const auto row = [&](E r) {
      const auto element = [&](E x) {
        t_.bind(i_, t_.build.add(i_.start, row_ ? row_ : r));
        t_.bind(j_, t_.build.add(j_.start, x));
        S made = f(r, x);
        const E test = guarded ? t_.build.both(inside_rows(r), t_.inside(j_, x)) : nullptr;
        return test ? ctx_.if_stmt(test, made) : made;
      };
      if (vectors_) return t_.in_vectors(j_.name, j_.extent, j_.width, element);
      return t_.build.loop(j_.name + "_2", j_.extent, j_.width, element);
    };
    return t_.build.loop(i_.name + "_2", i_.extent, row_ ? 1 : i_.width, row,
                         vectors_ ? ir::ForKind::Unrolled : ir::ForKind::Serial);
  }
  E inside_rows(E r) { return row_ ? nullptr : t_.inside(i_, r); }
  E whole_rows() { return row_ ? nullptr : t_.whole(i_); }
  // Tiles at the edge of C take the guarded form; in the last stage the others do without the tests.
  S either(const std::function<S(bool guarded)>& f) {
    const E test = t_.build.both(whole_rows(), t_.whole(j_));
    if (!test) return f(false);
    if (!vectors_ || (!row_ && i_.only_edge()) || j_.only_edge()) return f(true);
    return ctx_.if_stmt(test, f(false), f(true));
  }

  S tile(E it, E jt) {
    if (!registers_) return plain_tile(it, jt);
    if (c_.adds_blocks) return added_tile(it, jt);
    if (!vectors_ || i_.divides() || ir::const_int(i_.extent)) return local_tile(it, jt);
    const E left = ir::sub(ctx_, i_.extent, i_.start), few = t_.build.lit(i_.extent, kFew);
    S all = local_tile(it, jt);
    S rows = t_.build.loop(i_.name + "_2", ir::min(ctx_, left, few), [&](E r) {
      row_ = r;
      S one = local_tile(it, jt);
      row_ = nullptr;
      return one;
    });
    return ctx_.if_stmt(ir::compare(ctx_, BinaryKind::GT, left, few), all, rows);
  }

  S plain_tile(E it, E jt) {
    S init = each(true, [&](E, E) { return stored(out(), c_.nest.init->value, t_.output(), c_.nest.init); });
    S sum = t_.over_depth([&](E kk) {
      return each(true, [&](E r, E x) {
        return stored(out(), update(ctx_.load(out(), t_.output()), it, jt, kk, r, x), t_.output(), c_.nest.update);
      });
    });
    return t_.build.seq({first_only(init, nullptr), sum});
  }

  S local_tile(E it, E jt) {
    const E zero = ir::cast_to(ctx_, c_.work, c_.nest.init->value);
    S fresh = each(false, [&](E r, E x) { return stored(local_, zero, {r, x}, c_.nest.init); });
    S again = either([&](bool guarded) {
      return each(false, [&](E r, E x) {
        E value = ir::cast_to(ctx_, c_.work, ctx_.load(out(), t_.output()));
        const E test = guarded ? t_.build.both(inside_rows(r), t_.inside(j_, x)) : nullptr;
        if (test) value = ctx_.intrin(c_.work, ir::intrin::IfThenElse, {test, value, zero});
        return stored(local_, value, {r, x}, c_.nest.update);
      });
    });
    S back = either([&](bool guarded) {
      return each(guarded, [&](E r, E x) {
        const E value = ir::cast_to(ctx_, c_.type, t_.build.load(local_, {r, x}));
        return stored(out(), value, t_.output(), c_.nest.update);
      });
    });
    return t_.build.seq({first_only(fresh, again), sum(it, jt), back});
  }

  // The sum of a block of the depth is exact in the tile's dtype, and added to C afterwards.
  S added_tile(E it, E jt) {
    const E zero = ir::cast_to(ctx_, c_.work, ctx_.int_imm(c_.type, 0));
    S fresh = each(false, [&](E r, E x) {
      // 128 more in each byte of B is 128 times the sum of A's row more.
      const ir::Buffer* sums = a_bytes_.sums;
      const E start =
          sums ? ctx_.binary(BinaryKind::Mul, t_.build.load(sums, {it, r}), ctx_.int_imm(c_.work, -128)) : zero;
      return stored(local_, start, {r, x}, c_.nest.init);
    });
    const auto back = [&](bool first) {
      return either([&](bool guarded) {
        return each(guarded, [&](E r, E x) {
          const E so_far = first ? c_.nest.init->value : ctx_.load(out(), t_.output());
          const E block = ir::cast_to(ctx_, c_.type, t_.build.load(local_, {r, x}));
          return stored(out(), ctx_.binary(BinaryKind::Add, so_far, block), t_.output(), c_.nest.update);
        });
      });
    };
    return t_.build.seq({fresh, sum(it, jt), first_only(back(true), back(false))});
  }

  S sum(E it, E jt) {
    if (c_.dot > 1) return sum_of_dots(it, jt);
    const auto tile = [&](bool guarded) {
      return t_.over_depth([&](E kk) {
        return each(false, [&](E r, E x) {
          const std::vector<E> at{r, x};
          return stored(local_, update(ctx_.load(local_, at), it, jt, kk, r, x, guarded), at, c_.nest.update);
        });
      });
    };
    return direct_ ? either(tile) : tile(false);
  }

  // Four products at a time, from left to right: code generation recognises this form.
  S sum_of_dots(E it, E jt) {
    return t_.over_fours([&](E four) {
      return each(false, [&](E r, E x) {
        E value = t_.build.load(local_, {r, x});
        for (std::int64_t q = 0; q < c_.dot; ++q) {
          const E step = t_.build.lit(t_.depth.extent, q);
          const E a = ir::cast_to(ctx_, c_.work, t_.build.load(a_panel_, {it, four, r, step}));
          E b = ir::cast_to(ctx_, c_.work, t_.build.load(b_panel_, {jt, four, x, step}));
          if (c_.unsigned_b) b = ctx_.binary(BinaryKind::Add, b, ctx_.int_imm(c_.work, 128));
          value = ctx_.binary(BinaryKind::Add, value, ctx_.binary(BinaryKind::Mul, a, b));
        }
        return stored(local_, value, {r, x}, c_.nest.update);
      });
    });
  }

  // `first` in the first block of the depth, `later` in the others.
  S first_only(S first, S later) {
    const E block = t_.depth.block;
    if (ir::is_const(block, 0)) return first;
    return ctx_.if_stmt(ir::compare(ctx_, BinaryKind::EQ, block, t_.build.lit(block, 0)), first, later);
  }

  S stored(const ir::Buffer* b, E value, const std::vector<E>& at, const ir::Node* from) {
    S made = ctx_.store(b, value, at);
    ctx_.set_origin(made, from);
    return made;
  }
  // The text's sum, in the text's order of operands. With `guarded` an element of B past the end counts as 0.
  E update(E so_far, E it, E jt, E kk, E r, E x, bool guarded = false) {
    const ir::DType t = so_far->dtype();
    const E a = ir::cast_to(ctx_, t, packs_a() ? in_panel(a_panel_, it, kk, row_ ? row_ : r) : t_.value(c_.a));
    E b = ir::cast_to(ctx_, t, packs_b() ? in_panel(b_panel_, jt, kk, x) : t_.value(c_.b));
    const E inside = guarded ? t_.inside(j_, x) : nullptr;
    if (inside) b = ctx_.intrin(t, ir::intrin::IfThenElse, {inside, b, zero_of(t)});
    const auto rounded = [&](E e) { return c_.rounds && t != c_.type ? ctx_.cast(t, ctx_.cast(c_.type, e)) : e; };
    const E product = rounded(ctx_.binary(BinaryKind::Mul, c_.a_first ? a : b, c_.a_first ? b : a));
    return rounded(
        ctx_.binary(BinaryKind::Add, c_.product_first ? product : so_far, c_.product_first ? so_far : product));
  }
  E zero_of(ir::DType t) { return t.is_float() ? E(ctx_.float_imm(t, 0)) : E(ctx_.int_imm(t, 0)); }
  E in_panel(const ir::Buffer* panel, E tile, E kk, E r) {
    if (c_.dot == 1) return t_.build.load(panel, {tile, kk, r});
    const E by = t_.build.lit(kk, c_.dot);
    return t_.build.load(panel, {tile, ir::floor_div(ctx_, kk, by), r, ir::floor_mod(ctx_, kk, by)});
  }

  ir::Context& ctx_;
  const Contraction& c_;
  Tiling t_;
  std::vector<Dim> rows_;
  Dim i_, j_;            // i_: the section of rows being processed
  bool direct_ = false;  // B is read where it is
  bool packed_ = false, registers_ = false, vectors_ = false;
  E row_ = nullptr;  // the only one of the tile that is being done; null: all are
  const ir::Buffer* a_panel_ = nullptr;
  const ir::Buffer* b_panel_ = nullptr;
  const ir::Buffer* local_ = nullptr;      // the tile being done
  const ir::Buffer* row_local_ = nullptr;  // the same of one row
  Bytes a_bytes_, b_bytes_;
  std::vector<Strip> b_strips_;
};

// One row times a matrix that runs along the depth: where sums have no order, each column is a row of its own, with
// lanes along it (row_lanes.cc), and nothing is transposed.
bool is_sum_of_rows(const Scene& scene, const Contraction& c) {
  const bool free = scene.target.fast_sums && c.type.is_float();
  return free && c.rows.empty() && runs_with(c.b.load, c.columns) == Run::None &&
         runs_with(c.b.load, c.depth) == Run::Whole;
}

}  // namespace

std::vector<Stage> schedule_contraction(const Scene& scene, const ir::ForStmt* loop) {
  if (!scene.noalias) return {};
  const auto c = match_contraction(scene, loop);
  if (!c || is_sum_of_rows(scene, *c)) return {};
  return ContractionWriter(scene, *c).run(loop, scene.all_steps);
}

}  // namespace rldb::schedule
