// Convolutions of an input with zeros between its elements (transposed convolutions). Where an output lies among these
// zeros, its phase, decides which elements of the kernel meet elements of the input. For each phase that is an ordinary
// convolution with every n-th element of the kernel; the phases are calculated side by side, then interleaved.
//
// The products with zero that are left out change a sum if the kernel has an infinity or NaN, or make -0 (which is
// a negative product that underflowed) +0. So the kernel and the result are looked through, and if there are such
// numbers the text's sums are calculated as they are written.
//
// Where some phases meet fewer elements of the kernel than others, the kernel is filled up with zeros. These products
// are not the text's: they matter if the input has an infinity or NaN, or if a sum is zero that had products so small
// that they may have underflowed.
#include <algorithm>

#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/spread.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;

namespace {

class PhaseWriter {
 public:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  PhaseWriter(const Scene& scene, const SpreadConv& c) : ctx_(scene.ctx), build_(scene.ctx), c_(c) {
    lanes_ = std::int64_t(scene.target.vector_bytes / sizeof(float));
  }

  S run() {
    make_buffers();
    std::vector<S> all{padded(), c_.is_even() ? nullptr : filled(), phases(), interleaved(), found()};
    std::erase(all, nullptr);
    E rare = has(kMatters);
    if (!c_.is_even()) rare = ir::logical_or(ctx_, rare, ir::logical_and(ctx_, has(kTiny), has(kZero)));
    all.push_back(ctx_.if_stmt(rare, unscheduled(text(), rare)));
    return ctx_.seq_stmt(all);
  }
  std::vector<const ir::Buffer*> allocs() const {
    std::vector<const ir::Buffer*> all{input_, phases_, found_};
    if (kernel_ != c_.weight->buffer) all.push_back(kernel_);
    return all;
  }

 private:
  using Axes = std::vector<E>;
  struct Range {
    std::string name;
    E extent;
    ir::IterKind kind = ir::IterKind::Spatial;
  };
  E lit(std::int64_t n) const { return ctx_.int_imm(type(), n); }
  ir::DType type() const { return c_.nest.loops[0]->extent->dtype(); }
  const ir::Buffer* out() const { return c_.nest.update->buffer; }
  const Spread* spread_at(std::size_t dim) const {
    for (const Spread& s : c_.spread)
      if (s.dim == dim) return &s;
    return nullptr;
  }
  const Spread* spread_of(const ir::Var* axis) const {
    for (const Spread& s : c_.spread)
      if (s.place->var == axis || s.tap->var == axis) return &s;
    return nullptr;
  }
  // The dimension of the kernel that is its taps.
  const Spread* tapped(std::size_t dim) const {
    for (const Spread& s : c_.spread)
      if (c_.weight->indices[dim] == s.tap->var) return &s;
    return nullptr;
  }
  // Outputs of a phase; elements of the kernel that one meets.
  E count(const Spread& s) { return build_.blocks(s.place->dom.extent, s.by); }
  static std::int64_t taps(const Spread& s) { return (s.taps - 1) / s.by + 1; }
  // (phase + shift) // by: where its first element of the input is; % by: which element of the kernel that meets.
  static std::int64_t shift(const Spread& s) { return s.by - 1 - s.before % s.by; }

  void make_buffers() {
    std::vector<E> shape;
    for (std::size_t i = 0; i < c_.padded_shape.size(); ++i) {
      const Spread* s = spread_at(i);
      shape.push_back(s ? build_.plus(count(*s), taps(*s) - 1 + (s->by - 1 + shift(*s)) / s->by) : c_.padded_shape[i]);
    }
    input_ = buffer(c_.input->buffer->name, "_padded", shape);
    shape.clear();
    for (const Spread& s : c_.spread) shape.push_back(lit(s.by));
    for (E e : c_.nest.update->indices) {
      const ir::IterVar& axis = *c_.nest.axes[std::size_t(c_.nest.loop_of(e))];
      const Spread* s = spread_of(axis.var);
      shape.push_back(s ? count(*s) : axis.dom.extent);
    }
    phases_ = buffer(out()->name, "_phases", shape);
    found_ = ctx_.buffer(ctx_.str(std::string(out()->name) + "_found"), std::vector<E>{lit(3)}, ir::DType::Int(32));
    kernel_ = c_.weight->buffer;
    if (c_.is_even()) return;
    shape.assign(kernel_->shape.begin(), kernel_->shape.end());
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (const Spread* s = tapped(i)) shape[i] = lit(taps(*s) * s->by);
    kernel_ = buffer(kernel_->name, "_filled", shape);
  }
  const ir::Buffer* buffer(std::string_view name, const char* suffix, const std::vector<E>& shape) {
    return ctx_.buffer(ctx_.str(std::string(name) + suffix), shape, ir::DType::Float(32));
  }

  // ---- nests ----

  // Loops around a block whose axes they are. The body is made first: the init may be left out.
  S nest(std::string_view name, const std::vector<Range>& ranges,
         const std::function<std::pair<S, S>(const Axes&)>& body) {
    std::vector<ir::IterVar> axes;
    std::vector<const ir::Var*> loops;
    Axes vars, values;
    for (const Range& r : ranges) {
      axes.push_back({ctx_.var(ctx_.str("v_" + r.name), r.extent->type), {lit(0), r.extent}, r.kind});
      loops.push_back(ctx_.var(ctx_.str(r.name), r.extent->type));
      vars.push_back(axes.back().var);
      values.push_back(loops.back());
    }
    const auto [update, init] = body(vars);
    ir::SBlock b{};
    b.name = ctx_.str(name);
    b.iter_vars = ctx_.list(axes);
    b.init = init;
    b.body = update;
    const ir::Buffer* written = as<ir::BufferStore>(update)->buffer;
    std::vector<ir::BufferRegion> reads;
    ir::walk(update, [&](const ir::Node* n) {
      const auto* l = as<ir::BufferLoad>(n);
      const auto same = [&](const ir::BufferRegion& r) { return r.buffer == l->buffer; };
      if (l && l->buffer != written && std::none_of(reads.begin(), reads.end(), same))
        reads.push_back(whole_buffer(ctx_, l->buffer));
      return true;
    });
    const std::vector<ir::BufferRegion> writes{whole_buffer(ctx_, written)};
    b.reads = ctx_.list(reads);
    b.writes = ctx_.list(writes);
    S made = ctx_.realize(values, nullptr, ctx_.sblock(b));
    for (std::size_t i = ranges.size(); i-- > 0;)
      made = ctx_.for_stmt(loops[i], lit(0), ranges[i].extent, ir::ForKind::Serial, made);
    return made;
  }
  std::vector<Range> dims_of(const ir::Buffer* b) {
    std::vector<Range> out;
    for (std::size_t i = 0; i < b->shape.size(); ++i)
      out.push_back({"ax" + std::to_string(i), ir::cast_to(ctx_, type(), b->shape[i])});
    return out;
  }

  // The input with zeros around it.
  S padded() {
    return nest(input_->name, dims_of(input_), [&](const Axes& at) -> std::pair<S, S> {
      E inside = nullptr;
      Axes from;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const Spread* s = spread_at(i);
        const std::int64_t before = s ? s->before / s->by : c_.before[i];
        const ir::Buffer* x = c_.input->buffer;
        from.push_back(build_.plus(at[i], -before));
        if (!s && !c_.is_padded[i]) continue;
        if (before > 0) inside = build_.both(inside, ir::compare(ctx_, BinaryKind::LE, lit(before), at[i]));
        const E end = build_.plus(x->shape[i], before);
        inside = build_.both(inside, ir::compare(ctx_, BinaryKind::LT, at[i], end));
      }
      E value = ctx_.load(c_.input->buffer, from);
      if (inside)
        value = ctx_.intrin(value->dtype(), ir::intrin::IfThenElse, {inside, value, ctx_.float_imm(value->dtype(), 0)});
      return {ctx_.store(input_, value, at), nullptr};
    });
  }

  S filled() {
    return nest(kernel_->name, dims_of(kernel_), [&](const Axes& at) -> std::pair<S, S> {
      E inside = nullptr;
      for (std::size_t i = 0; i < at.size(); ++i)
        if (const Spread* s = tapped(i))
          inside = build_.both(inside, ir::compare(ctx_, BinaryKind::LT, at[i], lit(s->taps)));
      const E value = ctx_.load(c_.weight->buffer, at), zero = ctx_.float_imm(value->dtype(), 0);
      return {ctx_.store(kernel_, ctx_.intrin(value->dtype(), ir::intrin::IfThenElse, {inside, value, zero}), at),
              nullptr};
    });
  }

  // One convolution for each phase. The order of the reduction is the text's.
  S phases() {
    std::vector<Range> ranges;
    for (const Spread& s : c_.spread) ranges.push_back({"phase" + std::to_string(s.dim), lit(s.by)});
    const std::size_t n = c_.spread.size();
    for (std::size_t i = 0; i < c_.nest.loops.size(); ++i) {
      const ir::IterVar& axis = *c_.nest.axes[i];
      const Spread* s = spread_of(axis.var);
      const E extent = !s ? axis.dom.extent : s->place == &axis ? count(*s) : lit(taps(*s));
      ranges.push_back({std::string(c_.nest.loops[i]->var->name), extent, axis.kind});
    }
    return nest(c_.nest.block->name, ranges, [&](const Axes& at) -> std::pair<S, S> {
      ir::VarMap axes;
      for (std::size_t i = 0; i < c_.nest.axes.size(); ++i) axes[c_.nest.axes[i]->var] = at[n + i];
      Axes kernel_phase, input_phase, to(at.begin(), at.begin() + std::ptrdiff_t(n));
      for (std::size_t i = 0; i < n; ++i) {
        const Spread& s = c_.spread[i];
        const E phase = build_.plus(at[i], shift(s));
        input_phase.push_back(ir::floor_div(ctx_, phase, lit(s.by)));
        const E last = ir::sub(ctx_, lit(s.by - 1), ir::floor_mod(ctx_, phase, lit(s.by)));
        kernel_phase.push_back(ir::add(ctx_, build_.scaled(axes.at(s.tap->var), s.by), last));
      }
      for (E e : c_.nest.update->indices) to.push_back(axes.at(as<ir::Var>(e)));
      LoadsReplaced update(ctx_, axes, [&](const ir::BufferLoad* l) -> E {
        if (l->buffer == out()) return ctx_.load(phases_, to);
        Axes from;
        ir::VarMap here = axes;
        if (l->buffer != c_.padded)
          for (std::size_t i = 0; i < n; ++i) here[c_.spread[i].tap->var] = kernel_phase[i];
        for (E e : l->indices) from.push_back(ir::substitute(ctx_, e, here));
        if (l->buffer != c_.padded) return ctx_.load(l->buffer == c_.weight->buffer ? kernel_ : l->buffer, from);
        for (std::size_t i = 0; i < n; ++i) {
          E& e = from[c_.spread[i].dim];
          const auto* sum = as<ir::BinaryExpr>(e);
          e = ir::add(ctx_, ir::add(ctx_, sum->a, sum->b), input_phase[i]);
        }
        return ctx_.load(input_, from);
      });
      S stored = ctx_.store(phases_, update.rewrite(c_.nest.update->value), to);
      ctx_.set_origin(stored, c_.nest.update);
      return {stored, ctx_.store(phases_, c_.nest.init->value, to)};
    });
  }

  // The element of the phases that is an element of the result.
  E element(const Axes& at) {
    Axes phase, place;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const Spread* s = spread_of(as<ir::Var>(c_.nest.update->indices[i]));
      if (s) phase.push_back(ir::floor_mod(ctx_, at[i], lit(s->by)));
      place.push_back(s ? ir::floor_div(ctx_, at[i], lit(s->by)) : at[i]);
    }
    phase.insert(phase.end(), place.begin(), place.end());
    return ctx_.load(phases_, phase);
  }

  S interleaved() {
    const Spread* last = spread_of(as<ir::Var>(c_.nest.update->indices.back()));
    const bool joins = last && last->by <= lanes_ && (last->by & (last->by - 1)) == 0;
    if (joins) return rows_joined(*last, {}, 0);
    return nest("interleave", dims_of(out()), [&](const Axes& at) -> std::pair<S, S> {
      return {ctx_.store(out(), element(at), at), nullptr};
    });
  }
  // Vectors of each phase become one row: the loads of an unrolled loop, joined (codegen/llvm/lower/transposed.cc).
  S rows_joined(const Spread& last, Axes at, std::size_t dim) {
    const E extent = ir::cast_to(ctx_, type(), out()->shape[dim]);
    if (dim + 1 < out()->shape.size())
      return build_.loop("ax" + std::to_string(dim), extent, [&](E v) {
        Axes more = at;
        more.push_back(v);
        return rows_joined(last, more, dim + 1);
      });
    const E whole = build_.whole(extent, last.by), by = lit(last.by);
    const auto place = [&](E first, E u, E v) {
      Axes all = at;
      all.push_back(ir::add(ctx_, ir::mul(ctx_, ir::add(ctx_, first, u), by), v));
      const auto* from = as<ir::BufferLoad>(element(all));
      Axes load(from->indices.begin(), from->indices.end());
      load[c_.spread.size() - 1] = v;
      load.back() = ir::add(ctx_, first, u);
      return ctx_.store(out(), ctx_.load(phases_, load), all);
    };
    const auto single = [&](E from, E to) {
      return build_.loop("rest", ir::sub(ctx_, to, from), [&](E x) {
        Axes all = at;
        all.push_back(ir::add(ctx_, from, x));
        return ctx_.store(out(), element(all), all);
      });
    };
    std::int64_t height = lanes_;
    if (const auto n = ir::const_int(whole))
      while (height > *n) height /= 2;
    const bool exact = ir::const_int(extent).value_or(1) % last.by == 0;
    if (height < 2) return single(lit(0), extent);
    S tiles = build_.loop("tile", build_.blocks(whole, height), [&](E t) {
      const E first = ir::min(ctx_, build_.scaled(t, height), build_.plus(whole, -height));
      const auto row = [&](E u) {
        return build_.loop(
            "phase", by, last.by, [&](E v) { return place(first, u, v); }, ir::ForKind::Vectorized);
      };
      return build_.loop("place", by, height, row, ir::ForKind::Unrolled);
    });
    S all = exact ? tiles : build_.seq({tiles, single(build_.scaled(whole, last.by), extent)});
    if (ir::const_int(whole)) return all;
    return ctx_.if_stmt(ir::compare(ctx_, BinaryKind::GE, whole, lit(height)), all, single(lit(0), extent));
  }

  // ---- numbers for which zeros matter ----

  enum Found : std::int64_t { kMatters, kTiny, kZero };
  E has(Found what) { return ir::compare(ctx_, BinaryKind::NE, build_.load(found_, {lit(what)}), ctx_.i32(0)); }
  // How many elements of a buffer are so.
  S counted(const char* name, Found what, const ir::Buffer* b, const std::function<E(E bits)>& test) {
    E total = lit(1);
    for (E d : b->shape) total = ir::mul(ctx_, total, ir::cast_to(ctx_, type(), d));
    return nest(name, {{"i", total, ir::IterKind::Reduce}}, [&](const Axes& i) -> std::pair<S, S> {
      Axes at(b->shape.size());
      E left = i[0];
      for (std::size_t d = at.size(); d-- > 0;) {
        at[d] = d > 0 ? ir::floor_mod(ctx_, left, b->shape[d]) : left;
        left = ir::floor_div(ctx_, left, b->shape[d]);
      }
      const E bits = ctx_.intrin(ir::DType::Int(32), ir::intrin::Reinterpret, {ctx_.load(b, at)});
      const E one = ir::cast_to(ctx_, ir::DType::Int(32), test(bits));
      return {build_.store(found_, ir::add(ctx_, build_.load(found_, {lit(what)}), one), {lit(what)}), nullptr};
    });
  }
  E masked(E bits, std::int64_t mask) {
    return ctx_.intrin(bits->dtype(), ir::intrin::BitwiseAnd, {bits, ctx_.i32(mask)});
  }
  S found() {
    constexpr std::int64_t kExponent = 0x7f800000, kSize = 0x7fffffff;
    constexpr std::int64_t kSmall = std::int64_t(127 - 50) << 23;  // 2^-50: the product of two larger ones is exact
    const auto is = [&](BinaryKind kind, E a, std::int64_t n) { return ir::compare(ctx_, kind, a, ctx_.i32(n)); };
    const auto infinite = [&](E bits) { return is(BinaryKind::EQ, masked(bits, kExponent), kExponent); };
    const auto minus_zero = [&](E bits) { return is(BinaryKind::EQ, bits, INT32_MIN); };
    const auto zero = [&](E bits) { return is(BinaryKind::EQ, masked(bits, kSize), 0); };
    const auto tiny = [&](E bits) {
      const E size = masked(bits, kSize);
      return ir::logical_and(ctx_, is(BinaryKind::GT, size, 0), is(BinaryKind::LT, size, kSmall));
    };
    std::vector<S> all;
    for (const Found what : {kMatters, kTiny, kZero}) all.push_back(build_.store(found_, ctx_.i32(0), {lit(what)}));
    all.push_back(counted("infinite", kMatters, c_.kernel, infinite));
    if (c_.is_even()) {
      all.push_back(counted("minus_zero", kMatters, out(), minus_zero));
    } else {
      all.push_back(counted("infinite_input", kMatters, c_.input->buffer, infinite));
      all.push_back(counted("tiny", kTiny, c_.kernel, tiny));
      all.push_back(counted("tiny_input", kTiny, c_.input->buffer, tiny));
      all.push_back(counted("zero", kZero, out(), zero));
    }
    return ctx_.seq_stmt(all);
  }

  // The text's sums, each element of the padded input calculated where it is read.
  S text() {
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < c_.nest.loops.size(); ++i)
      ranges.push_back({std::string(c_.nest.loops[i]->var->name), c_.nest.extent(int(i)), c_.nest.axes[i]->kind});
    return nest("as_written", ranges, [&](const Axes& at) -> std::pair<S, S> {
      ir::VarMap axes;
      for (std::size_t i = 0; i < at.size(); ++i) axes[c_.nest.axes[i]->var] = at[i];
      LoadsReplaced value(ctx_, axes, [&](const ir::BufferLoad* l) -> E {
        return l->buffer == c_.padded ? filled_element(0, l->indices, axes) : nullptr;
      });
      Axes to;
      for (E e : c_.nest.update->indices) to.push_back(axes.at(as<ir::Var>(e)));
      S stored = ctx_.store(out(), value.rewrite(c_.nest.update->value), to);
      ctx_.set_origin(stored, c_.nest.update);
      return {stored, ctx_.store(out(), c_.nest.init->value, to)};
    });
  }
  E filled_element(std::size_t fill, ir::Span<const ir::Expr*> indices, const ir::VarMap& axes) {
    const ElementwiseNest& nest = c_.fills[fill];
    ir::VarMap at;
    for (std::size_t i = 0; i < nest.axes.size(); ++i)
      at[nest.axes[i]] = at[nest.loops[i]->var] = ir::substitute(ctx_, indices[i], axes);
    LoadsReplaced value(ctx_, at, [&](const ir::BufferLoad* l) -> E {
      const bool filled = fill + 1 < c_.fills.size() && l->buffer == c_.fills[fill + 1].store->buffer;
      return filled ? filled_element(fill + 1, l->indices, at) : nullptr;
    });
    return value.rewrite(nest.store->value);
  }

  // The nest with a test inside, which keeps it from being scheduled: it hardly ever runs.
  S unscheduled(S nest, E test) {
    const auto* loop = as<ir::ForStmt>(nest);
    if (!loop) return ctx_.if_stmt(test, nest);
    S made = ctx_.for_stmt(loop->var, loop->min, loop->extent, loop->for_kind, unscheduled(loop->body, test));
    ctx_.set_origin(made, loop);
    return made;
  }

  ir::Context& ctx_;
  Build build_;
  const SpreadConv& c_;
  std::int64_t lanes_;
  const ir::Buffer *input_ = nullptr, *kernel_ = nullptr, *phases_ = nullptr, *found_ = nullptr;
};

class PhaseFinder : public ir::Rewriter {
 public:
  explicit PhaseFinder(const Scene& scene) : Rewriter(scene.ctx), scene_(scene) {}
  std::string_view about;

 protected:
  const ir::Expr* visit_expr(const ir::Expr* e) override { return e; }
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    const auto* block = as<ir::SBlock>(s);
    const auto* seq = block ? as<ir::SeqStmt>(block->body) : nullptr;
    if (!seq || block->init || !block->iter_vars.empty() || !about.empty()) return Rewriter::visit_stmt(s);
    for (std::size_t i = 0; i < seq->stmts.size(); ++i)
      if (const auto c = match_spread_conv(scene_, block, seq->stmts, i)) return written(block, seq->stmts, *c, i);
    return s;
  }

 private:
  const ir::Stmt* written(const ir::SBlock* block, ir::Span<const ir::Stmt*> stmts, const SpreadConv& c,
                          std::size_t at) {
    about = c.nest.block->name;
    std::vector<const ir::Stmt*> out;
    PhaseWriter writer(scene_, c);
    for (std::size_t i = 0; i < stmts.size(); ++i)
      if (i == at)
        out.push_back(writer.run());
      else if (std::find(c.stages.begin(), c.stages.end(), i) == c.stages.end())
        out.push_back(stmts[i]);
    ir::SBlock fields = *block;
    std::vector<const ir::Buffer*> allocs;
    for (const ir::Buffer* b : block->alloc_buffers)
      if (std::none_of(c.fills.begin(), c.fills.end(), [&](const auto& fill) { return fill.store->buffer == b; }))
        allocs.push_back(b);
    for (const ir::Buffer* b : writer.allocs()) allocs.push_back(b);
    fields.alloc_buffers = scene_.ctx.list(allocs);
    fields.body = scene_.ctx.seq_stmt(out);
    const ir::SBlock* made = scene_.ctx.sblock(fields);
    scene_.ctx.set_origin(made, block);
    return made;
  }

  const Scene& scene_;
};

}  // namespace

std::optional<Stage> split_phases(const Scene& scene, const ir::PrimFunc* f, std::string_view& about) {
  if (!scene.noalias) return std::nullopt;
  PhaseFinder finder(scene);
  const ir::Stmt* made = finder.rewrite(f->body);
  about = finder.about;
  if (about.empty()) return std::nullopt;
  return Stage{StepId::SplitPhases, made};
}

}  // namespace rldb::schedule
