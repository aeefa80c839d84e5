// Coverage: an abstract run of a PrimFunc that finds the outputs whose elements are all certainly written.
#include "rldb/eval/coverage.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/walk.h"

namespace rldb::eval {

namespace {

using ir::as;

class Coverage {
 public:
  std::vector<bool> run(const ir::PrimFunc* f) {
    std::vector<const ir::Buffer*> buffers;
    for (const ir::PrimParam& p : f->params) buffers.push_back(p.buffer);
    look(f, buffers);
    std::vector<bool> out;
    for (const ir::Buffer* b : buffers)
      out.push_back(b && (aliased_.contains(b) || (stored_.contains(b) && !whole_.contains(b))));
    return out;
  }

  std::unordered_set<const ir::Buffer*> run_on_allocations(const ir::PrimFunc* f) {
    std::vector<const ir::Buffer*> buffers;
    ir::walk(f->body, [&](const ir::Node* n) {
      if (const auto* block = as<ir::SBlock>(n))
        buffers.insert(buffers.end(), block->alloc_buffers.begin(), block->alloc_buffers.end());
      if (const auto* alloc = as<ir::AllocBuffer>(n)) buffers.push_back(alloc->buffer);
      if (const auto* decl = as<ir::DeclBuffer>(n); decl && !decl->data) buffers.push_back(decl->buffer);
      return as<ir::Stmt>(n) != nullptr || as<ir::SBlock>(n) != nullptr;
    });
    look(f, buffers);
    std::unordered_set<const ir::Buffer*> out;
    for (const ir::Buffer* b : buffers)
      if (aliased_.contains(b) || !whole_.contains(b) || read_early_.contains(b)) out.insert(b);
    return out;
  }

 private:
  void look(const ir::PrimFunc* f, const std::vector<const ir::Buffer*>& buffers) {
    for (const ir::Buffer* b : buffers)
      if (b) pointers_.emplace(b->data, b);
    visit(f->body, true);
    find_aliases(f->body);
    if (leaves_early(f)) whole_.clear();
  }

  // Out of a loop, or of the kernel: what comes behind may not run.
  static bool leaves_early(const ir::PrimFunc* f) {
    bool found = false;
    ir::walk(f->body, [&](const ir::Node* n) {
      const auto* call = as<ir::Call>(n);
      for (const auto id : {ir::intrin::BreakLoop, ir::intrin::ContinueLoop, ir::intrin::Ret, ir::intrin::ThreadReturn})
        found = found || (call && ir::is_call_of(call, id));
      return !found;
    });
    return found;
  }

  // `always`: the statement runs unconditionally.
  void visit(const ir::Stmt* s, bool always) {
    if (!s) return;
    if (loops_.empty()) complete_ = whole_;
    if (const auto* seq = as<ir::SeqStmt>(s)) {
      for (const ir::Stmt* each : seq->stmts) visit(each, always);
    } else if (const auto* loop = as<ir::ForStmt>(s)) {
      note_loads(loop->min);
      note_loads(loop->extent);
      loops_.push_back(loop);
      visit(loop->body, always);
      loops_.pop_back();
    } else if (const auto* realize = as<ir::SBlockRealize>(s)) {
      visit_block(realize, always);
    } else if (const auto* branch = as<ir::IfThenElse>(s)) {
      note_loads(branch->cond);
      visit(branch->then_case, false);
      visit(branch->else_case, false);
    } else if (const auto* loop = as<ir::WhileStmt>(s)) {
      note_loads(loop->cond);
      visit(loop->body, false);
    } else if (const auto* store = as<ir::BufferStore>(s)) {
      note_loads(store->value);
      for (const ir::Expr* e : store->indices) note_loads(e);
      stored_.insert(store->buffer);
      if (always && covers(store)) whole_.insert(store->buffer);
    } else {
      visit_rest(s);
    }
  }

  // Statements with nested statements, about which nothing is proved.
  void visit_rest(const ir::Stmt* s) {
    ir::for_each_use(s, [&](const ir::Node* n) {
      if (const auto* inner = as<ir::Stmt>(n))
        visit(inner, false);
      else
        note_loads(n);
    });
  }

  void visit_block(const ir::SBlockRealize* realize, bool always) {
    const ir::SBlock* block = realize->block;
    for (std::size_t i = 0; i < block->iter_vars.size() && i < realize->iter_values.size(); ++i)
      axes_[block->iter_vars[i].var] = realize->iter_values[i];
    const bool runs = always && is_true(realize->predicate);
    for (const ir::Expr* e : realize->iter_values) note_loads(e);
    note_loads(realize->predicate);
    // The first step of the reduction writes; whether there is one, `covers` checks on the loops.
    visit(block->init, runs);
    const auto* init = as<ir::BufferStore>(block->init);
    const auto outer = std::exchange(init_, init);
    visit(block->body, runs);
    init_ = outer;
  }

  // Elements that are read before all of the buffer is certainly written, other than a reduction's own.
  void note_loads(const ir::Node* n) {
    if (!n) return;
    ir::walk(n, [&](const ir::Node* part) {
      const auto* load = as<ir::BufferLoad>(part);
      if (load && !complete_.contains(load->buffer) && !is_initialised(load)) read_early_.insert(load->buffer);
      return true;
    });
  }
  bool is_initialised(const ir::BufferLoad* load) const {
    if (!init_ || init_->buffer != load->buffer || init_->indices.size() != load->indices.size()) return false;
    for (std::size_t i = 0; i < load->indices.size(); ++i)
      if (!ir::expr_equal(init_->indices[i], load->indices[i])) return false;
    return true;
  }

  static bool is_true(const ir::Expr* e) {
    const auto* i = as<ir::IntImm>(e);
    return i && i->value != 0;
  }

  const ir::ForStmt* loop_of(const ir::Expr* index) const {
    if (const auto* v = as<ir::Var>(index))
      if (const auto it = axes_.find(v); it != axes_.end()) index = it->second;
    const auto it = std::find_if(loops_.begin(), loops_.end(), [&](const ir::ForStmt* l) { return l->var == index; });
    return it == loops_.end() ? nullptr : *it;
  }

  static bool starts_at_zero(const ir::ForStmt* loop) {
    const auto* min = as<ir::IntImm>(loop->min);
    return min && min->value == 0 && !loop->step && loop->for_kind != ir::ForKind::ThreadBinding;
  }

  bool covers(const ir::BufferStore* store) const {
    const ir::Buffer* b = store->buffer;
    if (store->predicate || store->indices.size() != b->shape.size()) return false;
    std::unordered_set<const ir::ForStmt*> used;
    for (std::size_t i = 0; i < b->shape.size(); ++i) {
      const auto* index = as<ir::IntImm>(store->indices[i]);
      const auto* dim = as<ir::IntImm>(b->shape[i]);
      if (index && dim && index->value == 0 && dim->value == 1) continue;
      const ir::ForStmt* loop = loop_of(store->indices[i]);
      if (!loop || !used.insert(loop).second || !starts_at_zero(loop)) return false;
      if (!ir::structural_equal(loop->extent, b->shape[i])) return false;
    }
    return std::all_of(loops_.begin(), loops_.end(), [&](const ir::ForStmt* loop) {
      const auto* extent = as<ir::IntImm>(loop->extent);
      return used.contains(loop) || (extent && extent->value > 0);
    });
  }

  // Buffers that may be written in other ways: their pointer is used, or a block makes a view of them.
  void find_aliases(const ir::Stmt* body) {
    ir::walk(body, [&](const ir::Node* n) {
      if (const auto* v = as<ir::Var>(n))
        if (const auto it = pointers_.find(v); it != pointers_.end()) aliased_.insert(it->second);
      if (const auto* block = as<ir::SBlock>(n))
        for (const ir::MatchBufferRegion& m : block->match_buffers) aliased_.insert(m.source.buffer);
      return true;
    });
  }

  std::vector<const ir::ForStmt*> loops_;
  std::unordered_map<const ir::Var*, const ir::Expr*> axes_;        // axis of a block: its value
  std::unordered_map<const ir::Var*, const ir::Buffer*> pointers_;  // of the buffers in question
  std::unordered_set<const ir::Buffer*> stored_;
  std::unordered_set<const ir::Buffer*> whole_;
  std::unordered_set<const ir::Buffer*> aliased_;
  std::unordered_set<const ir::Buffer*> complete_;  // whole, before the outermost loop that is being visited
  std::unordered_set<const ir::Buffer*> read_early_;
  const ir::BufferStore* init_ = nullptr;  // of the block that is being visited
};

}  // namespace

std::vector<bool> may_leave_unwritten(const ir::PrimFunc* f) { return Coverage().run(f); }

std::unordered_set<const ir::Buffer*> allocations_left_unwritten(const ir::PrimFunc* f) {
  return Coverage().run_on_allocations(f);
}

}  // namespace rldb::eval
