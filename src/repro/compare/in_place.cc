// A kernel that computes element by element may be given one tensor twice: found by the statements that write, their
// indices, and what else reads the memory.
#include "repro/compare/in_place.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;

namespace {

using Vars = std::vector<const ir::Var*>;
using Indices = ir::Span<const ir::Expr*>;

// The pointer of a buffer declared over another one's memory; null: it is not such a declaration.
const ir::Var* declared_over(const ir::Node* n) {
  const auto* declared = as<ir::DeclBuffer>(n);
  return declared && declared->data ? as<ir::Var>(declared->data) : nullptr;
}

// The pointers to a parameter's memory: its own, and those of buffers declared over it.
class Memory {
 public:
  Memory(const ir::PrimFunc* f, const ir::Buffer* b) : names_{b->data} {
    ir::walk(f->body, [&](const ir::Node* n) {
      if (const ir::Var* of = declared_over(n); of && has(of)) names_.push_back(as<ir::DeclBuffer>(n)->buffer->data);
      return true;
    });
  }
  bool has(const ir::Var* data) const { return std::find(names_.begin(), names_.end(), data) != names_.end(); }

 private:
  Vars names_;
};

// A loop, or an axis of a block, with the values it takes.
struct Axis {
  const ir::Var* var;
  ir::Range range;
};
using Axes = std::vector<Axis>;

bool mentions(const ir::Expr* e, const Axes& axes) {
  Vars used;
  ir::collect_vars(e, used);
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& a) { return std::find(used.begin(), used.end(), a.var) != used.end(); });
}

// Proofs about the order of indices.
class Order {
 public:
  // Each turn of the loops has a larger index than the turns before it.
  bool rises(const ir::Expr* index, const Axes& axes) {
    for (const Axis& a : axes)
      if (mentions(a.range.min, axes) || mentions(a.range.extent, axes)) return false;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      ir::Analyzer known(ctx_);
      for (std::size_t i = 0; i <= k; ++i) known.bind_range(axes[i].var, axes[i].range);
      ir::VarMap last, next;
      const ir::Var* v = axes[k].var;
      next[v] = ir::add(ctx_, v, ctx_.int_imm(v->dtype(), 1));
      for (std::size_t i = k + 1; i < axes.size(); ++i)
        for (ir::VarMap* turn : {&last, &next}) (*turn)[axes[i].var] = any_of(axes[i], known);
      if (!is_below(known, ir::substitute(ctx_, index, last), ir::substitute(ctx_, index, next))) return false;
    }
    return true;
  }

  // Of indices that rise: the last turn of the first loops has a smaller one than the first turn of the second loops.
  bool ends_before(const ir::Expr* a, const Axes& of_a, const ir::Expr* b, const Axes& of_b) {
    if (a->dtype() != b->dtype()) return false;
    ir::VarMap last, first;
    for (const auto& [v, range] : of_a)
      last[v] = ir::sub(ctx_, ir::add(ctx_, range.min, range.extent), ctx_.int_imm(v->dtype(), 1));
    for (const auto& [v, range] : of_b) first[v] = range.min;
    ir::Analyzer known(ctx_);
    return is_below(known, ir::substitute(ctx_, a, last), ir::substitute(ctx_, b, first));
  }

 private:
  const ir::Var* any_of(const Axis& axis, ir::Analyzer& known) {
    const ir::Var* v = ctx_.var(axis.var->name, axis.var->type);
    known.bind_range(v, axis.range);
    return v;
  }
  bool is_below(ir::Analyzer& known, const ir::Expr* a, const ir::Expr* b) {
    return known.prove(ir::compare(ctx_, ir::BinaryKind::LT, a, b));
  }

  ir::Context ctx_;
};

// A statement that writes to a memory, what it is executed for, and the branches it is in that are outside of loops.
struct Write {
  const ir::BufferStore* store;
  bool once;
  Axes axes;
  std::vector<std::pair<const ir::IfThenElse*, bool>> branches;
};

// The statements that write to a memory.
class Writing {
 public:
  Writing(const Memory& memory, Order& order) : memory_(memory), order_(order) {}

  std::vector<Write> found;

  void visit(const ir::Stmt* s) {
    if (!s) return;
    if (const auto* loop = as<ir::ForStmt>(s)) {
      const std::size_t before = axes_.size();
      if (!ir::is_const(loop->extent, 1)) axes_.push_back({loop->var, {loop->min, loop->extent}});
      const auto n = ir::const_int(loop->extent);
      const auto outer = turns_;
      turns_ = turns_ && n ? std::optional(*turns_ * *n) : std::nullopt;
      visit(loop->body);
      turns_ = outer;
      axes_.resize(before);
    } else if (const auto* branch = as<ir::IfThenElse>(s); branch && axes_.empty() && !in_block_) {
      for (const bool yes : {true, false}) {
        branches_.emplace_back(branch, yes);
        visit(yes ? branch->then_case : branch->else_case);
        branches_.pop_back();
      }
    } else if (const auto* realize = as<ir::SBlockRealize>(s)) {
      visit_block(realize->block);
    } else if (const auto* store = as<ir::BufferStore>(s)) {
      if (memory_.has(store->buffer->data)) found.push_back({store, writes_once(store), axes_, branches_});
    } else {
      ir::for_each_use(s, [&](const ir::Node* n) {
        if (const auto* inner = as<ir::Stmt>(n)) visit(inner);
      });
    }
  }

  // No element is written twice.
  bool once() {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].once) return false;
      for (std::size_t k = 0; k < i; ++k)
        if (!are_alternatives(found[k], found[i]) && !are_apart(found[k], found[i])) return false;
    }
    return !found.empty();
  }

 private:
  // The axes of a block stand for the loops around it: it is executed once for each of their values.
  void visit_block(const ir::SBlock* block) {
    const Axes outer_axes = axes_;
    const bool outer_block = in_block_, outer_reduces = reduces_;
    if (!block->iter_vars.empty() && !in_block_) axes_.clear();
    in_block_ = in_block_ || !block->iter_vars.empty();
    reduces_ = reduces_ || block->init != nullptr;
    for (const ir::IterVar& axis : block->iter_vars) {
      reduces_ = reduces_ || axis.kind == ir::IterKind::Reduce;
      if (!ir::is_const(axis.dom.extent, 1)) axes_.push_back({axis.var, axis.dom});
    }
    visit(block->init);
    visit(block->body);
    axes_ = outer_axes;
    in_block_ = outer_block;
    reduces_ = outer_reduces;
  }

  bool writes_once(const ir::BufferStore* s) const {
    if (reduces_) return false;
    const auto plain = [&](const Axis& a) {
      return std::count(s->indices.begin(), s->indices.end(), static_cast<const ir::Expr*>(a.var)) == 1;
    };
    if (std::all_of(axes_.begin(), axes_.end(), plain)) return true;
    if (s->indices.size() == 1 && order_.rises(s->indices[0], axes_)) return true;
    return !in_block_ && fills(s);
  }

  // As many turns as there are elements, each with an index of its own if every loop counts in it.
  bool fills(const ir::BufferStore* s) const {
    Vars used;
    for (const ir::Expr* i : s->indices) ir::collect_vars(i, used);
    std::int64_t elements = 1;
    for (const ir::Expr* d : s->buffer->shape) {
      const auto n = ir::const_int(d);
      if (!n || __builtin_mul_overflow(elements, *n, &elements)) return false;
    }
    return turns_ == elements && std::all_of(axes_.begin(), axes_.end(), [&](const Axis& a) {
             return std::find(used.begin(), used.end(), a.var) != used.end();
           });
  }

  static bool are_alternatives(const Write& a, const Write& b) {
    return std::any_of(a.branches.begin(), a.branches.end(), [&](const auto& branch) {
      return std::find(b.branches.begin(), b.branches.end(), std::pair(branch.first, !branch.second)) !=
             b.branches.end();
    });
  }

  bool are_apart(const Write& a, const Write& b) {
    if (!rises(a) || !rises(b) || a.store->buffer != b.store->buffer) return false;
    const ir::Expr *at_a = a.store->indices[0], *at_b = b.store->indices[0];
    return order_.ends_before(at_a, a.axes, at_b, b.axes) || order_.ends_before(at_b, b.axes, at_a, a.axes);
  }
  bool rises(const Write& w) { return w.store->indices.size() == 1 && order_.rises(w.store->indices[0], w.axes); }

  const Memory& memory_;
  Order& order_;
  Axes axes_;
  std::vector<std::pair<const ir::IfThenElse*, bool>> branches_;
  std::optional<std::int64_t> turns_ = 1;
  bool in_block_ = false, reduces_ = false;
};

bool same_indices(Indices a, Indices b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Expr* x, const ir::Expr* y) { return ir::structural_equal(x, y); });
}

bool is_plain(const ir::Buffer* b) {
  return b->strides.empty() && (!b->elem_offset || ir::is_const(b->elem_offset, 0));
}

// Where both memories are the same one, the statement writes to the element that is read.
bool at_its_element(const ir::BufferLoad* load, const ir::BufferStore* s) {
  return same_indices(load->indices, s->indices) && same_indices(load->buffer->shape, s->buffer->shape) &&
         is_plain(load->buffer) && is_plain(s->buffer);
}

// How often the node reads or names a memory; reads of the element that `writer` writes do not count.
std::size_t other_uses(const ir::Node* in, const Memory& memory, const ir::BufferStore* writer) {
  std::size_t found = 0;
  ir::walk(in, [&](const ir::Node* n) {
    const auto* load = as<ir::BufferLoad>(n);
    const auto* v = as<ir::Var>(n);
    const auto* block = as<ir::SBlock>(n);
    if (load && memory.has(load->buffer->data) && !(writer && at_its_element(load, writer))) ++found;
    if (v && memory.has(v)) ++found;
    if (block) found += block->match_buffers.size();
    return !declared_over(n);
  });
  return found;
}

std::size_t uses(const ir::Node* in, const Memory& memory) { return other_uses(in, memory, nullptr); }

}  // namespace

bool reads_what_it_writes(const ir::PrimFunc* f, std::size_t read, std::size_t written) {
  const ir::Buffer *from = f->params[read].buffer, *to = f->params[written].buffer;
  if (!from || !to) return false;
  const Memory of_from(f, from), of_to(f, to);
  Order order;
  Writing writing(of_to, order);
  writing.visit(f->body);
  if (!writing.once()) return false;
  for (const Memory* memory : {&of_from, &of_to}) {
    std::size_t of_writers = 0;
    for (const Write& w : writing.found) {
      if (other_uses(w.store->value, *memory, w.store) > 0) return false;
      of_writers += uses(w.store->value, *memory);
    }
    if (uses(f->body, *memory) != of_writers) return false;
  }
  return true;
}

}  // namespace rldb::repro
