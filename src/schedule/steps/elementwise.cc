// Elementwise nests: when every buffer of a block has the nest's own shape and is indexed by its variables in order, or
// has the same elements in the same order (a reshape), the nest is one loop over a flat index, whatever its inner
// extents are. Large outputs are written past the caches, which saves reading them.
#include <algorithm>

#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;
using ir::DType;

namespace {

constexpr std::int64_t kStreamBytes = 32 << 20;

class Matcher {
 public:
  Matcher(const Scene& scene, FlatNest& e) : scene_(scene), e_(e) {}

  bool run() {
    if (!whole(e_.store->buffer, e_.store->indices)) return false;
    bool fits = true;
    std::vector<const ir::Buffer*> other;
    ir::walk(e_.store->value, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n)) {
        if (!l->predicate && whole(l->buffer, l->indices)) return false;
        other.push_back(l->buffer);
      }
      if (const auto* v = as<ir::Var>(n)) fits = fits && !is_axis(v);
      return fits;
    });
    return fits && std::none_of(other.begin(), other.end(), [&](const ir::Buffer* b) { return is_flat(b); });
  }

 private:
  bool is_flat(const ir::Buffer* b) const { return std::find(e_.flat.begin(), e_.flat.end(), b) != e_.flat.end(); }
  bool is_axis(const ir::Var* v) const {
    return std::find(e_.axes.begin(), e_.axes.end(), v) != e_.axes.end() ||
           std::any_of(e_.loops.begin(), e_.loops.end(), [&](const ir::ForStmt* l) { return l->var == v; });
  }
  // An access by the axes in order to a compact buffer of the nest's shape.
  bool whole(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) {
    if (!b->strides.empty() || b->dtype.lanes != 1) return false;
    if (scene_.views.contains(b) || (b->elem_offset && !ir::is_const(b->elem_offset, 0))) return false;
    if (!in_order(b, indices)) {
      if (!reshaped(b, indices)) return false;
      e_.reshapes = true;
    }
    if (!is_flat(b)) e_.flat.push_back(b);
    return true;
  }
  bool in_order(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const {
    if (indices.size() != e_.axes.size()) return false;
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (indices[i] != e_.axes[i] || !ir::expr_equal(b->shape[i], e_.loops[i]->extent)) return false;
    return true;
  }
  // An access by quotients and remainders to the element at the same position of a buffer of the same size.
  bool reshaped(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const {
    const auto is_whole = [](const ir::Expr* e) { return e->dtype() == DType::Int(64); };
    if (!std::any_of(indices.begin(), indices.end(), divides) ||
        !std::all_of(indices.begin(), indices.end(), is_whole) ||
        !std::all_of(e_.axes.begin(), e_.axes.end(), is_whole))
      return false;
    ir::Analyzer analyzer(scene_.ctx);
    for (const ir::Var* v : scene_.dims) analyzer.mark_non_negative(v);
    std::vector<const ir::Expr*> extents, axes(e_.axes.begin(), e_.axes.end());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      extents.push_back(ir::cast_to(scene_.ctx, DType::Int(64), e_.loops[i]->extent));
      analyzer.bind_range(e_.axes[i], {scene_.ctx.i64(0), extents[i]});
    }
    const auto size = [&](ir::Span<const ir::Expr*> shape) {
      const ir::Expr* all = scene_.ctx.i64(1);
      for (const ir::Expr* e : shape) all = ir::mul(scene_.ctx, all, ir::cast_to(scene_.ctx, DType::Int(64), e));
      return all;
    };
    return analyzer.prove_equal(size(b->shape), size(extents)) &&
           analyzer.prove_equal(position(b->shape, indices), position(extents, axes));
  }
  static bool divides(const ir::Expr* index) {
    bool found = false;
    ir::walk(index, [&](const ir::Node* n) {
      const auto* e = as<ir::BinaryExpr>(n);
      found = found || (e && (e->kind == ir::BinaryKind::FloorDiv || e->kind == ir::BinaryKind::FloorMod));
      return !found && !as<ir::BufferLoad>(n);
    });
    return found;
  }
  const ir::Expr* position(ir::Span<const ir::Expr*> shape, ir::Span<const ir::Expr*> indices) const {
    const ir::Expr* at = scene_.ctx.i64(0);
    for (std::size_t i = 0; i < indices.size(); ++i)
      at = ir::add(scene_.ctx, ir::mul(scene_.ctx, at, ir::cast_to(scene_.ctx, DType::Int(64), shape[i])), indices[i]);
    return at;
  }

  const Scene& scene_;
  FlatNest& e_;
};

class Writer {
 public:
  Writer(const Scene& scene, const FlatNest& e, const ir::ForStmt* from)
      : build_(scene.ctx),
        e_(e),
        from_(from),
        lanes_(scene.target.vector_bytes / std::max<std::size_t>(1, out().bytes())) {
    total_ = scene.ctx.i64(1);
    if (e.loops.size() == 1)
      total_ = e.loops[0]->extent;
    else
      for (const ir::ForStmt* l : e.loops)
        total_ = ir::mul(scene.ctx, total_, ir::cast_to(scene.ctx, DType::Int(64), l->extent));
  }

  std::vector<Stage> run(const Scene& scene) {
    const auto known = ir::const_int(total_);
    const bool whole_vectors = lanes_ > 1 && out().bytes() * lanes_ == scene.target.vector_bytes && !out().is_bool();
    const std::int64_t large = kStreamBytes / std::int64_t(std::max<std::size_t>(1, out().bytes()));
    const bool stream = scene.noalias && whole_vectors && (!known || *known >= large);
    const bool functions = scene.noalias && whole_vectors && calls_function();
    const bool flattens = e_.loops.size() > 1 || e_.reshapes;
    if (!flattens && !stream && !functions) return {};
    declare();
    std::vector<Stage> out;
    if (flattens && (scene.all_steps || (!stream && !functions)))
      out.push_back({StepId::FlattenElementwise, finished(plain())});
    const auto cached = [&] { return functions ? build_.seq({vectors(false), tail()}) : plain(); };
    if (functions && (scene.all_steps || !stream)) out.push_back({StepId::Vectorize, finished(cached())});
    if (!stream) return out;
    const ir::Stmt* streamed = build_.seq({vectors(true), tail()});
    if (!known) {
      const ir::Expr* test = ir::compare(build_.ctx, ir::BinaryKind::GE, total_, build_.lit(total_, large));
      streamed = build_.ctx.if_stmt(test, streamed, cached());
    }
    out.push_back({StepId::StreamStores, finished(streamed)});
    return out;
  }

 private:
  DType out() const { return e_.store->buffer->dtype; }

  // The flat buffers share the same memory.
  void declare() {
    for (const ir::Buffer* b : e_.flat) {
      if (e_.loops.size() == 1 && b->shape.size() == 1) {
        flat_[b] = b;
        continue;
      }
      ir::Buffer fields = *b;
      fields.name = build_.ctx.str(std::string(b->name) + "_flat");
      fields.shape = build_.ctx.list({total_});
      fields.axis_separators = {};
      flat_[b] = build_.ctx.buffer(fields);
      declarations_.push_back(build_.ctx.decl_buffer(flat_[b], b->data));
    }
  }

  const ir::Stmt* body(const ir::Expr* index) {
    Retarget values(build_.ctx, {}, [&](const ir::BufferLoad* l) -> const ir::Expr* {
      const auto it = flat_.find(l->buffer);
      return it == flat_.end() ? nullptr : build_.ctx.load(it->second, {&index, 1});
    });
    const ir::Expr* value = values.rewrite(e_.store->value);
    const ir::Stmt* made = build_.ctx.store(flat_.at(e_.store->buffer), value, {&index, 1});
    build_.ctx.set_origin(made, e_.store);
    return made;
  }

  const ir::Stmt* plain() {
    return build_.loop("i", total_, [&](const ir::Expr* i) { return body(i); });
  }
  const ir::Stmt* vectors(bool past_caches) {
    const ir::NamedAttr stream[] = {build_.ctx.named(attr_name::Nontemporal, build_.ctx.attr(1))};
    const auto n = std::int64_t(lanes_);
    return build_.loop(
        "i_0", build_.whole(total_, n),
        [&](const ir::Expr* i) {
          return build_.loop(
              "i_1", total_, n, [&](const ir::Expr* l) { return body(build_.add(build_.scaled(i, n), l)); },
              ir::ForKind::Vectorized);
        },
        ir::ForKind::Serial, std::span(stream, past_caches ? 1 : 0));
  }
  // Whether it computes an elementary function, on plain numbers: LLVM does not vectorise those with a rare case.
  bool calls_function() const {
    bool calls = false, plain = has_vector_form(e_.store->value);
    ir::walk(e_.store->value, [&](const ir::Node* n) {
      if (const auto* c = as<ir::Call>(n)) {
        calls = true;
        plain = plain && !ir::is_call_of(c, ir::intrin::IfThenElse);
      }
      if (const auto* l = as<ir::BufferLoad>(n))
        plain = plain && !l->buffer->dtype.is_bool() && l->buffer->dtype.bits >= 8;
      return plain;
    });
    return calls && plain;
  }
  // The remainder after whole vectors.
  const ir::Stmt* tail() {
    const auto n = std::int64_t(lanes_);
    if (ir::is_const(build_.rest(total_, n), 0)) return nullptr;
    const ir::Expr* start = build_.scaled(build_.whole(total_, n), n);
    return build_.loop("i", build_.rest(total_, n), [&](const ir::Expr* i) { return body(build_.add(start, i)); });
  }

  const ir::Stmt* finished(const ir::Stmt* body) {
    std::vector<const ir::Stmt*> all(declarations_.begin(), declarations_.end());
    all.push_back(body);
    const ir::Stmt* made = build_.seq(all);
    return as<ir::SBlockRealize>(match_nest(from_)->inner) ? build_.block(from_, {}, made, false) : made;
  }

  Build build_;
  const FlatNest& e_;
  const ir::ForStmt* from_;
  std::size_t lanes_;
  const ir::Expr* total_ = nullptr;
  std::unordered_map<const ir::Buffer*, const ir::Buffer*> flat_;
  std::vector<const ir::Stmt*> declarations_;
};

}  // namespace

bool not_negative(const Scene& scene, const ir::Expr* e, int depth) {
  if (depth > 16) return false;
  if (const auto n = ir::const_int(e)) return *n >= 0;
  if (const auto* v = as<ir::Var>(e)) return scene.dims.contains(v);
  if (const auto* c = as<ir::CastExpr>(e)) return c->dtype().bits == 64 && not_negative(scene, c->value, depth + 1);
  for (const ir::Expr* dim : scene.extents)
    if (ir::expr_equal(dim, e)) return true;
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b) return false;
  const bool ring = b->kind == ir::BinaryKind::Add || b->kind == ir::BinaryKind::Mul;
  if (!ring && b->kind != ir::BinaryKind::FloorDiv && b->kind != ir::BinaryKind::Min) return false;
  return (!ring || e->dtype().bits == 64) && not_negative(scene, b->a, depth + 1) &&
         not_negative(scene, b->b, depth + 1);
}

std::optional<FlatNest> match_flat(const Scene& scene, const ir::ForStmt* loop) {
  auto nest = match_elementwise(loop);
  if (!nest) return std::nullopt;
  FlatNest e{std::move(*nest), {}};
  if (!Matcher(scene, e).run()) return std::nullopt;
  // The product of extents is the number of iterations only when none is negative.
  for (const ir::ForStmt* l : e.loops)
    if (e.loops.size() > 1 && !not_negative(scene, l->extent)) return std::nullopt;
  return e;
}

std::vector<Stage> schedule_elementwise(const Scene& scene, const ir::ForStmt* loop) {
  const auto e = match_flat(scene, loop);
  return e ? Writer(scene, *e, loop).run(scene) : std::vector<Stage>{};
}

}  // namespace rldb::schedule
