// One walk over the kernel: for each memory the loops around its stores, and the store that begins its reduction.
#include "rldb/eval/empty_reduction.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::eval {

namespace {

using ir::as;
using Loops = std::vector<const ir::ForStmt*>;

class EmptyReductions {
 public:
  std::vector<EmptyReduction> run(const ir::PrimFunc* f) {
    for (const ir::PrimParam& p : f->params) {
      known_.insert(p.var);
      if (!p.buffer) continue;
      for (const ir::Expr* d : p.buffer->shape)
        if (const auto* v = as<ir::Var>(d)) known_.insert(v);
    }
    visit(f->body);
    std::vector<EmptyReduction> out;
    for (const auto& [data, found] : found_) {
      if (!found.init || found.begins > 1 || !found.init->buffer->strides.empty()) continue;
      EmptyReduction made{found.init->buffer, found.init->value, {}};
      for (const ir::ForStmt* loop : found.reduced)
        if (found.around.contains(loop) && may_be_empty(loop->extent)) made.extents.push_back(loop->extent);
      if (!made.extents.empty()) out.push_back(std::move(made));
    }
    return out;
  }

 private:
  struct Found {
    const ir::BufferStore* init = nullptr;  // the store of a constant in the first step of the reduction
    int begins = 0;
    Loops reduced;                                  // over which it reduces
    std::unordered_set<const ir::ForStmt*> around;  // around each of its stores
    bool stored = false;
  };

  // It may be 0, and is computed from what is known at the start.
  bool may_be_empty(const ir::Expr* extent) const {
    if (const auto* n = as<ir::IntImm>(extent)) return n->value <= 0;
    std::vector<const ir::Var*> vars;
    bool plain = true;
    ir::walk(extent, [&](const ir::Node* n) { return plain = plain && !as<ir::BufferLoad>(n) && !as<ir::Call>(n); });
    ir::collect_vars(extent, vars);
    return plain && std::all_of(vars.begin(), vars.end(), [&](const ir::Var* v) { return known_.contains(v); });
  }

  void visit(const ir::Stmt* s) {
    if (!s) return;
    if (const auto* loop = as<ir::ForStmt>(s)) {
      loops_.push_back(loop);
      visit(loop->body);
      loops_.pop_back();
    } else if (const auto* realize = as<ir::SBlockRealize>(s)) {
      visit_block(realize);
    } else if (const auto* branch = as<ir::IfThenElse>(s)) {
      Loops first;
      first_steps(branch->cond, first);
      if (!branch->else_case && !first.empty()) note_init(branch->then_case, first);
      visit(branch->then_case);
      visit(branch->else_case);
    } else if (const auto* store = as<ir::BufferStore>(s)) {
      note_store(store->buffer);
    } else {
      ir::for_each_use(s, [&](const ir::Node* n) {
        if (const auto* inner = as<ir::Stmt>(n)) visit(inner);
      });
    }
  }

  void visit_block(const ir::SBlockRealize* realize) {
    const ir::SBlock* block = realize->block;
    Loops reduced;
    for (std::size_t i = 0; i < block->iter_vars.size() && i < realize->iter_values.size(); ++i) {
      axes_[block->iter_vars[i].var] = realize->iter_values[i];
      if (block->iter_vars[i].kind == ir::IterKind::Reduce) loops_in(realize->iter_values[i], reduced);
    }
    if (block->init && !reduced.empty()) note_init(block->init, reduced);
    visit(block->init);
    visit(block->body);
  }

  void note_store(const ir::Buffer* b) {
    Found& found = found_[b->data];
    if (!found.stored) found.around.insert(loops_.begin(), loops_.end());
    found.stored = true;
    std::erase_if(found.around,
                  [&](const ir::ForStmt* l) { return std::find(loops_.begin(), loops_.end(), l) == loops_.end(); });
  }

  void note_init(const ir::Stmt* s, const Loops& reduced) {
    if (const auto* seq = as<ir::SeqStmt>(s)) {
      for (const ir::Stmt* each : seq->stmts) note_init(each, reduced);
      return;
    }
    const auto* store = as<ir::BufferStore>(s);
    if (!store || !(as<ir::IntImm>(store->value) || as<ir::FloatImm>(store->value))) return;
    Found& found = found_[store->buffer->data];
    found.init = store;
    found.reduced = reduced;
    ++found.begins;
  }

  void loops_in(const ir::Expr* e, Loops& out) const {
    std::vector<const ir::Var*> vars;
    ir::collect_vars(e, vars);
    for (const ir::ForStmt* loop : loops_)
      if (std::find(vars.begin(), vars.end(), loop->var) != vars.end()) out.push_back(loop);
  }

  // The loops whose variables a conjunction compares with 0.
  void first_steps(const ir::Expr* cond, Loops& out) const {
    const auto* b = as<ir::BinaryExpr>(cond);
    if (!b) return;
    if (b->op() == ir::BinaryKind::And) {
      first_steps(b->a, out);
      first_steps(b->b, out);
    }
    if (b->op() != ir::BinaryKind::EQ) return;
    const ir::Expr* axis = ir::is_const(b->b, 0) ? b->a : ir::is_const(b->a, 0) ? b->b : nullptr;
    const auto* v = axis ? as<ir::Var>(axis) : nullptr;
    if (!v) return;
    const auto bound = axes_.find(v);
    loops_in(bound == axes_.end() ? v : bound->second, out);
  }

  Loops loops_;
  std::unordered_set<const ir::Var*> known_;
  std::unordered_map<const ir::Var*, const ir::Expr*> axes_;  // axis of a block: its value
  std::unordered_map<const ir::Var*, Found> found_;           // by the pointer of the buffer
};

}  // namespace

std::vector<EmptyReduction> empty_reductions(const ir::PrimFunc* f) { return EmptyReductions().run(f); }

}  // namespace rldb::eval
