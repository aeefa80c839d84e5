// Elementwise stages that are computed where they are read: operators such as gelu are written as several nests, each
// of which would write and read a buffer of its own. Only copies are computed in reductions and at several places;
// every value is rounded as it was.
#include <algorithm>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/contract/contraction.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;

namespace {

constexpr int kMostNodes = 256;  // of an expression that was put together

int nodes_of(const ir::Expr* e) {
  int count = 0;
  ir::walk(e, [&](const ir::Node*) { return ++count <= kMostNodes; });
  return count;
}

// Only casts around a load.
bool is_copy(const ir::Expr* e) {
  while (const auto* c = as<ir::CastExpr>(e)) e = c->value;
  return as<ir::BufferLoad>(e) != nullptr;
}

// The stage in which each element of a buffer gets its value.
struct InlineStage {
  const ir::Buffer* buffer;
  ElementwiseNest nest;
  std::size_t at;  // statement
};

std::optional<InlineStage> match_stage(const Scene& scene, const ir::Stmt* s, std::size_t at) {
  const auto* loop = as<ir::ForStmt>(s);
  auto nest = loop ? match_elementwise(loop) : std::nullopt;
  if (!nest || !has_vector_form(nest->store->value)) return std::nullopt;
  const ir::Buffer* b = nest->store->buffer;
  const bool plain = b->strides.empty() && (!b->elem_offset || ir::is_const(b->elem_offset, 0)) && b->dtype.lanes == 1;
  if (!plain || scene.views.contains(b) || nest->store->indices.size() != nest->axes.size()) return std::nullopt;
  if (nest->store->value->dtype() != b->dtype) return std::nullopt;
  for (std::size_t i = 0; i < nest->axes.size(); ++i)
    if (nest->store->indices[i] != nest->axes[i] || !ir::expr_equal(b->shape[i], nest->loops[i]->extent))
      return std::nullopt;
  return InlineStage{b, std::move(*nest), at};
}

// Where a sequence of statements accesses the buffers.
class Uses {
 public:
  explicit Uses(ir::Span<const ir::Stmt*> stmts) {
    for (std::size_t i = 0; i < stmts.size(); ++i)
      ir::walk(stmts[i], [&](const ir::Node* n) {
        if (const auto* l = as<ir::BufferLoad>(n)) loads_[l->buffer].push_back({l, i});
        if (const auto* s = as<ir::BufferStore>(n)) stores_[s->buffer->data].push_back(i);
        if (const auto* v = as<ir::Var>(n)) pointers_.insert(v);
        return true;
      });
  }
  struct Load {
    const ir::BufferLoad* load;
    std::size_t at;
  };
  const std::vector<Load>& loads(const ir::Buffer* b) const {
    static const std::vector<Load> none;
    const auto it = loads_.find(b);
    return it == loads_.end() ? none : it->second;
  }
  std::size_t stores(const ir::Buffer* b) const {
    const auto it = stores_.find(b->data);
    return it == stores_.end() ? 0 : it->second.size();
  }
  bool stored_between(const ir::Buffer* b, std::size_t first, std::size_t last) const {
    const auto it = stores_.find(b->data);
    return it != stores_.end() &&
           std::any_of(it->second.begin(), it->second.end(), [&](std::size_t at) { return at >= first && at <= last; });
  }
  bool is_pointed_to(const ir::Buffer* b) const { return pointers_.contains(b->data); }

 private:
  std::unordered_map<const ir::Buffer*, std::vector<Load>> loads_;
  std::unordered_map<const ir::Var*, std::vector<std::size_t>> stores_;
  std::unordered_set<const ir::Var*> pointers_;
};

class StageInliner {
 public:
  StageInliner(const Scene& scene, const ir::SBlock* block) : scene_(scene), block_(block) {}

  // The statements with one stage inlined; empty: there is none to inline.
  std::vector<const ir::Stmt*> once(ir::Span<const ir::Stmt*> stmts, std::vector<const ir::Buffer*>& gone) {
    const Uses uses(stmts);
    for (std::size_t i = 0; i < stmts.size(); ++i) {
      const auto stage = match_stage(scene_, stmts[i], i);
      if (!stage || !may_inline(*stage, stmts, uses)) continue;
      std::vector<const ir::Stmt*> out;
      for (std::size_t j = 0; j < stmts.size(); ++j)
        if (j != i) out.push_back(inlined(*stage, stmts[j]));
      gone.push_back(stage->buffer);
      return out;
    }
    return {};
  }

 private:
  bool may_inline(const InlineStage& stage, ir::Span<const ir::Stmt*> stmts, const Uses& uses) const {
    const ir::Buffer* b = stage.buffer;
    const auto& allocs = block_->alloc_buffers;
    if (std::find(allocs.begin(), allocs.end(), b) == allocs.end() || uses.is_pointed_to(b) || uses.stores(b) != 1)
      return false;
    const std::vector<Uses::Load>& loads = uses.loads(b);
    if (loads.empty()) return false;
    const bool copy = is_copy(stage.nest.store->value);
    std::size_t last = 0;
    for (const Uses::Load& l : loads) {
      if (l.at <= stage.at || l.load->predicate) return false;
      last = std::max(last, l.at);
      if (!copy && (l.at != loads[0].at || !same_place(l.load, loads[0].load))) return false;
      if (!reads_plainly(stmts[l.at], copy) && !reads_once(stage, stmts[l.at], l.load)) return false;
    }
    bool kept = true;  // what it reads stays as it is
    ir::walk(stage.nest.store->value, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n))
        kept = kept && l->buffer->data != b->data && !uses.stored_between(l->buffer, stage.at, last);
      return kept;
    });
    if (!kept) return false;
    const auto target = match_elementwise_value(stmts[loads[0].at]);
    return copy || (target ? nodes_of(target) : 0) + nodes_of(stage.nest.store->value) <= kMostNodes;
  }
  // An operand of a contraction that is calculated while it is copied into panels (weights of four bits).
  bool reads_once(const InlineStage& stage, const ir::Stmt* s, const ir::BufferLoad* load) const {
    const auto* loop = as<ir::ForStmt>(s);
    const auto c = loop ? match_contraction(scene_, loop) : std::nullopt;
    return c && is_packed_once(*c, load) && unpacks(stage.nest.store->value) && !adds_products(stage.nest.store->value);
  }
  // Floats calculated from integers, which are less memory.
  static bool unpacks(const ir::Expr* value) {
    bool integers = false;
    ir::walk(value, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n)) integers = integers || l->buffer->dtype.is_integral();
      return !integers;
    });
    return value->dtype().is_float() && integers && is_operand(value);
  }
  // `a * b + c` may round once in a reduction.
  static bool adds_products(const ir::Expr* value) {
    const auto is_product = [](const ir::Expr* e) {
      const auto* b = as<ir::BinaryExpr>(e);
      return b && b->kind == ir::BinaryKind::Mul;
    };
    bool found = false;
    ir::walk(value, [&](const ir::Node* n) {
      const auto* b = as<ir::BinaryExpr>(n);
      const bool sum = b && b->dtype().is_float() && (b->kind == ir::BinaryKind::Add || b->kind == ir::BinaryKind::Sub);
      found = found || (sum && (is_product(b->a) || is_product(b->b)));
      return !found;
    });
    return found;
  }
  static bool same_place(const ir::BufferLoad* a, const ir::BufferLoad* b) { return ir::expr_equal(a, b); }
  static const ir::Expr* match_elementwise_value(const ir::Stmt* s) {
    const auto* loop = as<ir::ForStmt>(s);
    const auto nest = loop ? match_elementwise(loop) : std::nullopt;
    return nest ? nest->store->value : nullptr;
  }
  // Elementwise nests; copies also in reductions.
  static bool reads_plainly(const ir::Stmt* s, bool copy) {
    const auto* loop = as<ir::ForStmt>(s);
    if (!loop) return false;
    const ir::Expr* value = match_elementwise_value(s);
    if (value) return has_vector_form(value);
    return copy && match_reductions(loop).has_value();
  }

  const ir::Stmt* inlined(const InlineStage& stage, const ir::Stmt* s) {
    Substitution rewriter(scene_.ctx, stage);
    return rewriter.rewrite(s);
  }

  class Substitution : public ir::Rewriter {
   public:
    Substitution(ir::Context& ctx, const InlineStage& stage) : Rewriter(ctx), stage_(stage) {}

   protected:
    const ir::Expr* visit_expr(const ir::Expr* e) override {
      const ir::Expr* made = Rewriter::visit_expr(e);
      const auto* l = as<ir::BufferLoad>(made);
      if (!l || l->buffer != stage_.buffer) return made;
      ir::VarMap axes;
      for (std::size_t i = 0; i < stage_.nest.axes.size(); ++i) {
        axes[stage_.nest.axes[i]] = l->indices[i];
        axes[stage_.nest.loops[i]->var] = l->indices[i];
      }
      return ir::substitute(ctx_, stage_.nest.store->value, axes);
    }
    const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
      const ir::Stmt* made = Rewriter::visit_stmt(s);
      const auto* block = as<ir::SBlock>(made);
      return block && made != s ? with_regions(block) : made;
    }

   private:
    // Reads what the stage read, whole, in place of its buffer.
    const ir::Stmt* with_regions(const ir::SBlock* block) {
      std::vector<ir::BufferRegion> reads;
      for (const ir::BufferRegion& r : block->reads)
        if (r.buffer != stage_.buffer) reads.push_back(r);
      ir::walk(stage_.nest.store->value, [&](const ir::Node* n) {
        const auto* l = as<ir::BufferLoad>(n);
        if (l && std::none_of(reads.begin(), reads.end(), [&](const auto& r) { return r.buffer == l->buffer; }))
          reads.push_back(whole_buffer(ctx_, l->buffer));
        return true;
      });
      ir::SBlock fields = *block;
      fields.reads = ctx_.list(reads);
      const ir::SBlock* made = ctx_.sblock(fields);
      ctx_.set_origin(made, block);
      return made;
    }
    const InlineStage& stage_;
  };

  const Scene& scene_;
  const ir::SBlock* block_;
};

class StageFinder : public ir::Rewriter {
 public:
  explicit StageFinder(const Scene& scene) : Rewriter(scene.ctx), scene_(scene) {}
  std::string_view about;

 protected:
  const ir::Expr* visit_expr(const ir::Expr* e) override { return e; }
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    const auto* block = as<ir::SBlock>(s);
    const auto* seq = block ? as<ir::SeqStmt>(block->body) : nullptr;
    if (!seq || block->init || !block->iter_vars.empty()) return Rewriter::visit_stmt(s);
    std::vector<const ir::Stmt*> stmts(seq->stmts.begin(), seq->stmts.end());
    std::vector<const ir::Buffer*> gone;
    StageInliner inliner(scene_, block);
    while (true) {
      std::vector<const ir::Stmt*> next = inliner.once(scene_.ctx.list(stmts), gone);
      if (next.empty()) break;
      stmts = std::move(next);
    }
    if (gone.empty()) return s;
    about = gone.back()->name;
    ir::SBlock fields = *block;
    std::vector<const ir::Buffer*> allocs;
    for (const ir::Buffer* b : block->alloc_buffers)
      if (std::find(gone.begin(), gone.end(), b) == gone.end()) allocs.push_back(b);
    fields.alloc_buffers = scene_.ctx.list(allocs);
    fields.body = scene_.ctx.seq_stmt(stmts);
    const ir::SBlock* made = scene_.ctx.sblock(fields);
    scene_.ctx.set_origin(made, block);
    return made;
  }

 private:
  const Scene& scene_;
};

}  // namespace

std::optional<Stage> inline_stages(const Scene& scene, const ir::PrimFunc* f, std::string_view& about) {
  if (!scene.noalias) return std::nullopt;
  StageFinder finder(scene);
  const ir::Stmt* made = finder.rewrite(f->body);
  if (finder.about.empty()) return std::nullopt;
  about = finder.about;
  return Stage{StepId::InlineStages, made};
}

}  // namespace rldb::schedule
