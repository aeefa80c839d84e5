// A kernel that computes element by element may be given one tensor twice: found by the statement that writes, its
// indices, and what else reads the memory.
#include "repro/compare/in_place.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

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

// The statement that writes to a memory, and what it is executed for.
class Writing {
 public:
  explicit Writing(const Memory& memory) : memory_(memory) {}

  const ir::BufferStore* store = nullptr;
  int stores = 0;

  void visit(const ir::Stmt* s) {
    if (!s) return;
    if (const auto* loop = as<ir::ForStmt>(s)) {
      const std::size_t before = axes_.size();
      if (!ir::is_const(loop->extent, 1)) axes_.push_back(loop->var);
      const auto n = ir::const_int(loop->extent);
      const auto outer = turns_;
      turns_ = turns_ && n ? std::optional(*turns_ * *n) : std::nullopt;
      visit(loop->body);
      turns_ = outer;
      axes_.resize(before);
    } else if (const auto* realize = as<ir::SBlockRealize>(s)) {
      visit_block(realize->block);
    } else if (const auto* found = as<ir::BufferStore>(s)) {
      if (!memory_.has(found->buffer->data)) return;
      ++stores;
      store = found;
      once_ = writes_once(found);
    } else {
      ir::for_each_use(s, [&](const ir::Node* n) {
        if (const auto* inner = as<ir::Stmt>(n)) visit(inner);
      });
    }
  }
  bool once() const { return once_; }

 private:
  // The axes of a block stand for the loops around it: it is executed once for each of their values.
  void visit_block(const ir::SBlock* block) {
    const Vars outer_axes = axes_;
    const bool outer_block = in_block_, outer_reduces = reduces_;
    if (!block->iter_vars.empty() && !in_block_) axes_.clear();
    in_block_ = in_block_ || !block->iter_vars.empty();
    reduces_ = reduces_ || block->init != nullptr;
    for (const ir::IterVar& axis : block->iter_vars) {
      reduces_ = reduces_ || axis.kind == ir::IterKind::Reduce;
      if (!ir::is_const(axis.dom.extent, 1)) axes_.push_back(axis.var);
    }
    visit(block->init);
    visit(block->body);
    axes_ = outer_axes;
    in_block_ = outer_block;
    reduces_ = outer_reduces;
  }

  bool writes_once(const ir::BufferStore* s) const {
    if (reduces_) return false;
    const auto plain = [&](const ir::Var* v) {
      return std::count(s->indices.begin(), s->indices.end(), static_cast<const ir::Expr*>(v)) == 1;
    };
    if (std::all_of(axes_.begin(), axes_.end(), plain)) return true;
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
    return turns_ == elements && std::all_of(axes_.begin(), axes_.end(), [&](const ir::Var* v) {
             return std::find(used.begin(), used.end(), v) != used.end();
           });
  }

  const Memory& memory_;
  Vars axes_;
  std::optional<std::int64_t> turns_ = 1;
  bool in_block_ = false, reduces_ = false, once_ = false;
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
  Writing writing(of_to);
  writing.visit(f->body);
  if (writing.stores != 1 || !writing.once()) return false;
  const ir::BufferStore* s = writing.store;
  for (const Memory* memory : {&of_from, &of_to})
    if (other_uses(s->value, *memory, s) > 0 || uses(f->body, *memory) != uses(s->value, *memory)) return false;
  return true;
}

}  // namespace rldb::repro
