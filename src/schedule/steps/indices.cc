// Indices with fewer quotients and remainders: a reshape is written with those of a position by the dimensions of its
// input, most of which the ranges of the loops decide. A copy like others is left, which is inlined, and runs in
// vectors.
#include <unordered_map>

#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/position.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;

namespace {

constexpr int kMostIndexNodes = 128;

using Extents = std::unordered_map<const ir::Var*, const ir::Expr*>;

bool divides(const ir::Node* n) {
  const auto* b = as<ir::BinaryExpr>(n);
  return b && (b->kind == BinaryKind::FloorDiv || b->kind == BinaryKind::FloorMod);
}

// Quotients and remainders; nullopt: what the index is made of has no place here.
std::optional<int> divisions(const ir::Expr* index) {
  int found = 0, nodes = 0;
  bool plain = true;
  ir::walk(index, [&](const ir::Node* n) {
    if (divides(n)) ++found;
    plain = plain && ++nodes <= kMostIndexNodes && !as<ir::BufferLoad>(n) && !as<ir::Call>(n);
    return plain;
  });
  if (!plain || index->dtype() != ir::DType::Int(64)) return std::nullopt;
  return found;
}

// v % n is v, and v // n is 0, for a v below n; v // c % n is v // c for a v below c * n. The extents may be unknown.
class BelowExtents : public ir::Rewriter {
 public:
  BelowExtents(ir::Context& ctx, ir::Analyzer& analyzer, const Extents& extents)
      : Rewriter(ctx), analyzer_(analyzer), extents_(extents) {}

 protected:
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    const ir::Expr* made = Rewriter::visit_expr(e);
    if (!divides(made)) return made;
    const auto* b = as<ir::BinaryExpr>(made);
    if (!is_below(b->a, b->b)) return made;
    return b->kind == BinaryKind::FloorMod ? b->a : ctx_.int_imm(made->dtype(), 0);
  }

 private:
  bool is_below(const ir::Expr* e, const ir::Expr* bound) {
    if (const auto* v = as<ir::Var>(e)) {
      const auto extent = extents_.find(v);
      return extent != extents_.end() && analyzer_.prove_equal(extent->second, bound);
    }
    const auto* b = as<ir::BinaryExpr>(e);
    const auto by = b && b->kind == BinaryKind::FloorDiv ? ir::const_int(b->b) : std::nullopt;
    return by && *by > 0 && is_below(b->a, ir::mul(ctx_, bound, b->b));
  }

  ir::Analyzer& analyzer_;
  const Extents& extents_;
};

class IndicesSimplified : public ir::Rewriter {
 public:
  explicit IndicesSimplified(const Scene& scene) : Rewriter(scene.ctx), scene_(scene), analyzer_(scene.ctx) {
    for (const ir::Var* v : scene.dims) analyzer_.mark_non_negative(v);
  }
  std::string_view about;

 protected:
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    if (const auto* loop = as<ir::ForStmt>(s); loop && ir::is_const(loop->min, 0) && !loop->step) {
      // Scans are recognised by their positions.
      if (!schedule_scan(scene_, loop).empty()) return s;
      bind(loop->var, loop->extent);
    }
    if (const auto* r = as<ir::SBlockRealize>(s))
      for (std::size_t i = 0; i < r->block->iter_vars.size(); ++i) {
        const auto extent = extents_.find(as<ir::Var>(r->iter_values[i]));
        if (extent != extents_.end()) bind(r->block->iter_vars[i].var, extent->second);
      }
    const ir::Stmt* made = Rewriter::visit_stmt(s);
    const auto* store = as<ir::BufferStore>(made);
    const auto indices = store && !store->predicate ? simplified(store->buffer, store->indices) : std::nullopt;
    if (!indices) return made;
    const ir::Stmt* changed = ctx_.store(store->buffer, store->value, *indices);
    ctx_.set_origin(changed, store);
    return changed;
  }
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    const ir::Expr* made = Rewriter::visit_expr(e);
    const auto* load = as<ir::BufferLoad>(made);
    const auto indices = load && !load->predicate ? simplified(load->buffer, load->indices) : std::nullopt;
    if (!indices) return made;
    const ir::Expr* changed = ctx_.load(load->buffer, *indices);
    ctx_.set_origin(changed, load);
    return changed;
  }

 private:
  void bind(const ir::Var* v, const ir::Expr* extent) {
    extents_[v] = extent;
    analyzer_.bind_range(v, {ir::cast_to(ctx_, v->dtype(), ctx_.i64(0)), extent});
  }

  // A position that was taken apart by the dimensions is not divided when code is generated: it is left whole.
  std::optional<std::vector<const ir::Expr*>> simplified(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) {
    int before = 0, after = 0;
    for (const ir::Expr* e : indices) {
      const auto n = divisions(e);
      if (!n) return std::nullopt;
      before += *n;
    }
    if (before == 0) return std::nullopt;
    std::vector<const ir::Expr*> made;
    for (const ir::Expr* e : indices) {
      BelowExtents below(ctx_, analyzer_, extents_);
      made.push_back(below.rewrite(analyzer_.simplify(e)));
      after += divisions(made.back()).value_or(before);
    }
    if (after >= before || (after > 0 && position_of(b, indices))) return std::nullopt;
    if (about.empty()) about = b->name;
    return made;
  }

  const Scene& scene_;
  ir::Analyzer analyzer_;
  Extents extents_;
};

}  // namespace

std::optional<Stage> simplify_indices(const Scene& scene, const ir::PrimFunc* f, std::string_view& about) {
  IndicesSimplified simplified(scene);
  const ir::Stmt* made = simplified.rewrite(f->body);
  about = simplified.about;
  if (about.empty()) return std::nullopt;
  return Stage{StepId::SimplifyIndices, made};
}

}  // namespace rldb::schedule
