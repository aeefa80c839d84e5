// Matrix products: C[.., i, j] = sum over k of A * B, in blocks and register tiles, for any order of the dimensions of
// A and B and any batch dimensions.
//
// Panels of B (depth x nr) and of A (depth x mr) are copied in reading order; a tile of mr x nr
// elements of C stays in registers while k runs. The elements of C accumulate over k in ascending order from the init
// value: the same order as the text's, whatever the blocking.
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;
using runtime::DType;

namespace {

constexpr std::int64_t kDepth = 256;             // nr * depth elements of B stay in the first-level cache
constexpr std::int64_t kColumns = 1024;          // depth * columns in the second
constexpr std::int64_t kRows = 192;              // of A at a time
constexpr std::int64_t kMinWork = 16 * 16 * 16;  // less is not worth its code

const ir::BufferLoad* operand(const ir::Expr* e) {
  while (const auto* c = as<ir::CastExpr>(e)) {
    if (!c->dtype().is_float() || !c->value->dtype().is_float()) return nullptr;
    e = c->value;
  }
  return as<ir::BufferLoad>(e);
}

struct Factor {
  const ir::Expr* expr = nullptr;  // as written in the product
  const ir::BufferLoad* load = nullptr;
};

struct Product {
  ReductionNest nest;
  const ir::BinaryExpr* sum = nullptr;
  const ir::BinaryExpr* product = nullptr;
  Factor a, b;
  int i = -1, j = -1, k = -1;
  DType type;
  std::int64_t lanes = 0, mr = 0, nv = 0;
  std::int64_t nr() const { return lanes * nv; }
};

// How often a loop's axis occurs alone among the indices; -1 when it is inside an expression.
int uses(const ReductionNest& nest, const ir::BufferLoad* l, int loop) {
  const ir::Var* v = nest.axes[std::size_t(loop)]->var;
  int count = 0;
  for (const ir::Expr* e : l->indices) {
    if (e == v)
      ++count;
    else if (mentions(e, v))
      return -1;
  }
  return count;
}

// C + A * B in either order.
bool match_update(Product& p) {
  const ir::BufferStore* update = p.nest.update;
  const auto is_out = [&](const ir::Expr* e) {
    const auto* l = as<ir::BufferLoad>(e);
    return l && l->buffer == update->buffer;
  };
  p.sum = as<ir::BinaryExpr>(update->value);
  if (!p.sum || p.sum->kind != BinaryKind::Add) return false;
  const ir::Expr* term = is_out(p.sum->a) ? p.sum->b : is_out(p.sum->b) ? p.sum->a : nullptr;
  p.product = as<ir::BinaryExpr>(term);
  if (!p.product || p.product->kind != BinaryKind::Mul) return false;
  p.a = {p.product->a, operand(p.product->a)};
  p.b = {p.product->b, operand(p.product->b)};
  return p.a.load && p.b.load && !is_out(p.a.load) && !is_out(p.b.load);
}

// The roles of the loops: j is C's last dimension and B's alone, k is both operands', i is A's alone.
bool match_loops(Product& p) {
  const int count = int(p.nest.loops.size());
  for (int n = 0; n < count; ++n) {
    if (!p.nest.is_reduce(n)) continue;
    if (p.k >= 0) return false;
    p.k = n;
  }
  p.j = p.nest.loop_of(p.nest.update->indices.back());
  if (p.j < 0 || p.k < 0) return false;
  if (uses(p.nest, p.a.load, p.j) == 1) std::swap(p.a, p.b);
  if (uses(p.nest, p.b.load, p.j) != 1 || uses(p.nest, p.a.load, p.j) != 0) return false;
  if (uses(p.nest, p.a.load, p.k) != 1 || uses(p.nest, p.b.load, p.k) != 1) return false;
  for (int n = count; n-- > 0 && p.i < 0;)
    if (n != p.j && n != p.k && uses(p.nest, p.a.load, n) == 1 && uses(p.nest, p.b.load, n) == 0) p.i = n;
  return p.i >= 0;
}

bool worthwhile(const Product& p) {
  std::int64_t work = 1;
  for (const int n : {p.i, p.j, p.k}) {
    const std::int64_t extent = ir::const_int(p.nest.extent(n)).value_or(256);
    if (extent <= 0 || __builtin_mul_overflow(work, extent, &work)) return false;
  }
  return work >= kMinWork;
}

std::optional<Product> match_product(const Scene& scene, const ir::ForStmt* loop) {
  auto nest = match_reduction(loop);
  if (!nest) return std::nullopt;
  Product p;
  p.nest = std::move(*nest);
  const ir::Buffer* out = p.nest.update->buffer;
  p.type = out->dtype;
  if (p.type != DType::Float(32) && p.type != DType::Float(64)) return std::nullopt;
  if (!is_dense(out) || scene.views.contains(out)) return std::nullopt;
  if (!match_update(p) || !match_loops(p) || !worthwhile(p)) return std::nullopt;
  p.lanes = std::int64_t(scene.vector_bytes / p.type.bytes());
  // Tiles that fill the register file: 32 registers of 64 bytes, else 16.
  p.nv = 2;
  p.mr = scene.vector_bytes == 64 ? 12 : scene.vector_bytes == 32 ? 6 : 4;
  const auto m = ir::const_int(p.nest.extent(p.i));
  if (m && *m < p.mr) {
    p.mr = *m;
    if (p.mr <= 4) p.nv = 4;
  }
  return p;
}

using E = const ir::Expr*;
using S = const ir::Stmt*;

// A dimension, or a section of it, in tiles of `width`, and the tiles in blocks of `per_block`.
struct Dim {
  int loop = -1;
  std::string name;
  E extent = nullptr;       // of the section
  std::int64_t origin = 0;  // where it begins
  std::int64_t width = 0, per_block = 0;
  E tiles = nullptr;  // in total
  E block = nullptr;  // the current ones
  E start = nullptr;  // of the current tile, in elements

  bool divides() const {
    const auto n = ir::const_int(extent);
    return n && *n % width == 0;
  }
};

class ProductWriter {
 public:
  ProductWriter(const Scene& scene, const Product& p) : build_(scene.ctx), ctx_(scene.ctx), p_(p) {
    rows(p.mr);
    i_ = rows_.front();
    j_ = dim(p.j, p.nr(), std::max<std::int64_t>(1, kColumns / p.nr()));
    k_ = dim(p.k, 1, kDepth);
  }

  std::vector<Stage> run(const ir::ForStmt* from, bool all) {
    std::vector<Stage> out;
    for (const StepId step : {StepId::Tile, StepId::Pack, StepId::CacheWrite, StepId::Vectorize}) {
      if (!all && step != StepId::Vectorize) continue;
      packed_ = step != StepId::Tile;
      registers_ = packed_ && step != StepId::Pack;
      vectors_ = step == StepId::Vectorize;
      const std::vector<const ir::Buffer*> allocs = make_buffers();
      out.push_back({step, build_.block(from, allocs, around(0), true)});
    }
    return out;
  }

 private:
  Dim dim(int loop, std::int64_t width, std::int64_t per_block) {
    Dim d;
    d.loop = loop;
    d.name = std::string(p_.nest.loops[std::size_t(loop)]->var->name);
    // Unknown extents are counted in 64 bits: the index of a row past the end may not fit into 32.
    d.extent = p_.nest.extent(loop);
    if (!ir::const_int(d.extent)) d.extent = ir::cast_to(ctx_, DType::Int(64), d.extent);
    d.width = width;
    d.tiles = width == 1 ? d.extent : build_.blocks(d.extent, width);
    d.per_block = std::min(per_block, ir::const_int(d.tiles).value_or(per_block));
    return d;
  }
  // Whole tiles, then one for the remainder. If that is unknown the last tile has an edge, which is tested for.
  void rows(std::int64_t width) {
    rows_ = {dim(p_.i, width, std::max<std::int64_t>(1, kRows / width))};
    const auto total = ir::const_int(p_.nest.extent(p_.i));
    const std::int64_t left = total ? *total % width : 0;
    if (left == 0) return;
    Dim rest = rows_[0];
    rest.extent = build_.lit(rest.extent, left);
    rest.origin = *total - left;
    rest.width = left;
    rest.tiles = build_.lit(rest.extent, 1);
    rows_[0].extent = build_.lit(rest.extent, rest.origin);
    rows_[0].tiles = build_.lit(rest.extent, rest.origin / width);
    rows_[0].per_block = std::min(rows_[0].per_block, rest.origin / width);
    rest.per_block = 1;
    rows_.push_back(rest);
  }
  void bind(int n, E value) {
    axes_[p_.nest.axes[std::size_t(n)]->var] = value;
    axes_[p_.nest.loops[std::size_t(n)]->var] = value;
  }

  std::vector<const ir::Buffer*> make_buffers() {
    const auto made = [&](const Factor& f, const Dim& d) {
      const E shape[] = {build_.lit(d.extent, d.per_block), build_.lit(k_.extent, k_.per_block),
                         build_.lit(d.extent, d.width)};
      return ctx_.buffer(ctx_.str(std::string(f.load->buffer->name) + "_panel"), shape, p_.type);
    };
    a_panel_ = b_panel_ = local_ = nullptr;
    std::vector<const ir::Buffer*> all;
    if (packed_) all = {b_panel_ = made(p_.b, j_), a_panel_ = made(p_.a, rows_[0])};
    if (!registers_) return all;
    const E shape[] = {build_.lit(i_.extent, rows_[0].width), build_.lit(j_.extent, j_.width)};
    local_ = ctx_.buffer(ctx_.str(std::string(out()->name) + "_local"), shape, p_.type, "local");
    all.push_back(local_);
    return all;
  }
  const ir::Buffer* out() const { return p_.nest.update->buffer; }

  // ---- loops ----

  // The other loops, then blocks of columns, of depth and of rows, then tiles.
  S around(std::size_t n) {
    if (n == p_.nest.loops.size()) return blocks();
    if (int(n) == p_.i || int(n) == p_.j || int(n) == p_.k) return around(n + 1);
    const ir::ForStmt* l = p_.nest.loops[n];
    const auto body = [&](E v) {
      bind(int(n), v);
      return around(n + 1);
    };
    return build_.loop(std::string(l->var->name), l->extent, body, l->for_kind);
  }

  S over_blocks(Dim& d, const std::function<S()>& body) {
    return build_.loop(d.name + "_0", build_.blocks(d.tiles, d.per_block), [&](E block) {
      d.block = block;
      return body();
    });
  }
  // The tiles of the current block; `body` gets the number of the tile in it.
  S over_tiles(Dim& d, const Build::Body& body) {
    return build_.loop(d.name + "_1", build_.part(d.tiles, d.per_block, d.block), [&](E tile) {
      d.start = build_.scaled(build_.add(build_.scaled(d.block, d.per_block), tile), d.width);
      if (d.origin > 0) d.start = build_.plus(d.start, d.origin);
      return body(tile);
    });
  }
  // k inside its block.
  S over_depth(const Build::Body& body) {
    return build_.loop(k_.name + "_1", build_.part(k_.extent, k_.per_block, k_.block), [&](E kk) {
      bind(p_.k, build_.add(build_.scaled(k_.block, k_.per_block), kk));
      return body(kk);
    });
  }

  S blocks() {
    return over_blocks(j_, [&] {
      return over_blocks(k_, [&] {
        std::vector<S> all{packed_ ? pack(p_.b, b_panel_, j_) : nullptr};
        for (const Dim& stretch : rows_) {
          i_ = stretch;
          all.push_back(over_blocks(i_, [&] {
            S pack_a = packed_ ? pack(p_.a, a_panel_, i_) : nullptr;
            S tiles = over_tiles(j_, [&](E jt) { return over_tiles(i_, [&](E it) { return tile(it, jt); }); });
            return build_.seq({pack_a, tiles});
          }));
        }
        return build_.seq(std::move(all));
      });
    });
  }

  // ---- panels ----

  // panel[tile, k, r] = operand, zero past the end.
  S pack(const Factor& f, const ir::Buffer* panel, Dim& d) {
    return over_tiles(d, [&](E tile) -> S {
      if (d.divides()) return copy(f, panel, d, tile);
      if (!vectors_) return copy_part(f, panel, d, tile);
      return ctx_.if_stmt(whole(d), copy(f, panel, d, tile), copy_part(f, panel, d, tile));
    });
  }
  S copy(const Factor& f, const ir::Buffer* panel, Dim& d, E tile) {
    return over_depth([&](E kk) {
      const auto one = [&](E r) { return build_.store(panel, factor_at(f, d, r), {tile, kk, r}); };
      if (vectors_ && d.width % p_.lanes == 0) return in_vectors(d.name, d.extent, d.width, one);
      return build_.loop(d.name + "_2", d.extent, d.width, one, vectors_ ? ir::ForKind::Unrolled : ir::ForKind::Serial);
    });
  }
  S copy_part(const Factor& f, const ir::Buffer* panel, Dim& d, E tile) {
    return over_depth([&](E kk) {
      return build_.loop(d.name + "_2", d.extent, d.width, [&](E r) {
        const E value = factor_at(f, d, r);
        const E padded =
            ctx_.intrin(p_.type, ir::intrin::IfThenElse, {inside(d, r), value, ctx_.float_imm(p_.type, 0)});
        return build_.store(panel, padded, {tile, kk, r});
      });
    });
  }
  E factor_at(const Factor& f, const Dim& d, E r) {
    bind(d.loop, build_.add(d.start, r));
    return Retarget(ctx_, axes_).rewrite(f.expr);
  }
  // Whether element r of the current tile belongs to the dimension; null: always.
  E inside(const Dim& d, E r) {
    if (d.divides()) return nullptr;
    return ir::compare(ctx_, BinaryKind::LT, build_.add(d.start, r), d.extent);
  }
  // Whether all of the current tile does; null: always.
  E whole(const Dim& d) {
    if (d.divides()) return nullptr;
    return ir::compare(ctx_, BinaryKind::LE, build_.plus(d.start, d.width), d.extent);
  }

  // ---- tiles ----

  S in_vectors(const std::string& name, E like, std::int64_t width, const Build::Body& body) {
    return build_.loop(
        name + "_2", like, width / p_.lanes,
        [&](E v) {
          return build_.loop(
              name + "_3", like, p_.lanes, [&](E l) { return body(build_.add(build_.scaled(v, p_.lanes), l)); },
              ir::ForKind::Vectorized);
        },
        ir::ForKind::Unrolled);
  }
  // The elements of a tile; the axes are bound to them. With `guarded` only those that are elements of C.
  using ElementFn = std::function<S(E r, E x)>;
  S each(bool guarded, const ElementFn& f) {
    const auto rows = vectors_ ? ir::ForKind::Unrolled : ir::ForKind::Serial;
    return build_.loop(
        i_.name + "_2", i_.extent, i_.width,
        [&](E r) {
          bind(p_.i, build_.add(i_.start, r));
          const auto element = [&](E x) {
            bind(p_.j, build_.add(j_.start, x));
            S made = f(r, x);
            const E test = guarded ? build_.both(inside(i_, r), inside(j_, x)) : nullptr;
            return test ? ctx_.if_stmt(test, made) : made;
          };
          if (vectors_) return in_vectors(j_.name, j_.extent, j_.width, element);
          return build_.loop(j_.name + "_2", j_.extent, j_.width, element);
        },
        rows);
  }
  // Tiles at the edge of C take the guarded form; in the last stage the others do without the tests.
  S either(const std::function<S(bool guarded)>& f) {
    const E test = build_.both(whole(i_), whole(j_));
    if (!test) return f(false);
    if (!vectors_) return f(true);
    return ctx_.if_stmt(test, f(false), f(true));
  }

  S tile(E it, E jt) { return registers_ ? local_tile(it, jt) : plain_tile(it, jt); }

  S plain_tile(E it, E jt) {
    S init = each(true, [&](E, E) { return stored(out(), p_.nest.init->value, indices(), p_.nest.init); });
    S sum = over_depth([&](E kk) {
      return each(true, [&](E r, E x) {
        return stored(out(), update(ctx_.load(out(), indices()), it, jt, kk, r, x), indices(), p_.nest.update);
      });
    });
    return build_.seq({first_only(init, nullptr), sum});
  }

  S local_tile(E it, E jt) {
    const E zero = p_.nest.init->value;
    S fresh = each(false, [&](E r, E x) { return stored(local_, zero, {r, x}, p_.nest.init); });
    S again = either([&](bool guarded) {
      return each(false, [&](E r, E x) {
        E value = ctx_.load(out(), indices());
        const E test = guarded ? build_.both(inside(i_, r), inside(j_, x)) : nullptr;
        if (test) value = ctx_.intrin(p_.type, ir::intrin::IfThenElse, {test, value, zero});
        return stored(local_, value, {r, x}, p_.nest.update);
      });
    });
    S sum = over_depth([&](E kk) {
      return each(false, [&](E r, E x) {
        const std::vector<E> at{r, x};
        return stored(local_, update(ctx_.load(local_, at), it, jt, kk, r, x), at, p_.nest.update);
      });
    });
    S back = either([&](bool guarded) {
      return each(guarded, [&](E r, E x) {
        return stored(out(), build_.load(local_, {r, x}), indices(), p_.nest.update);
      });
    });
    return build_.seq({first_only(fresh, again), sum, back});
  }

  // `first` in the first block of k, `later` in the others.
  S first_only(S first, S later) {
    if (ir::is_const(k_.block, 0)) return first;
    return ctx_.if_stmt(ir::compare(ctx_, BinaryKind::EQ, k_.block, build_.lit(k_.block, 0)), first, later);
  }

  S stored(const ir::Buffer* b, E value, const std::vector<E>& at, const ir::Node* from) {
    S made = ctx_.store(b, value, at);
    ctx_.set_origin(made, from);
    return made;
  }
  std::vector<E> indices() {
    std::vector<E> all;
    for (const ir::Expr* e : p_.nest.update->indices) all.push_back(ir::substitute(ctx_, e, axes_));
    return all;
  }
  // The text's sum, in the text's order of operands.
  E update(E so_far, E it, E jt, E kk, E r, E x) {
    const auto value = [&](const Factor& f) -> E {
      if (!packed_) return Retarget(ctx_, axes_).rewrite(f.expr);
      return f.load == p_.a.load ? build_.load(a_panel_, {it, kk, r}) : build_.load(b_panel_, {jt, kk, x});
    };
    const bool a_first = p_.product->a == p_.a.expr;
    const E product = ctx_.binary(BinaryKind::Mul, value(a_first ? p_.a : p_.b), value(a_first ? p_.b : p_.a));
    const bool product_first = p_.sum->a == p_.product;
    return ctx_.binary(BinaryKind::Add, product_first ? product : so_far, product_first ? so_far : product);
  }

  Build build_;
  ir::Context& ctx_;
  const Product& p_;
  std::vector<Dim> rows_;
  Dim i_, j_, k_;  // i_: the section of rows being processed
  bool packed_ = false, registers_ = false, vectors_ = false;
  const ir::Buffer* a_panel_ = nullptr;
  const ir::Buffer* b_panel_ = nullptr;
  const ir::Buffer* local_ = nullptr;
  ir::VarMap axes_;
};

}  // namespace

std::vector<Stage> schedule_product(const Scene& scene, const ir::ForStmt* loop) {
  if (!scene.noalias) return {};
  const auto p = match_product(scene, loop);
  if (!p) return {};
  return ProductWriter(scene, *p).run(loop, scene.all_steps);
}

}  // namespace rldb::schedule
