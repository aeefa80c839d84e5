// Indices are read axis by axis; dims that follow one axis of a block over its whole range are joined, from block to
// block through the buffers that they share.
#include "passes/distributed/kernel_axes.h"

#include <algorithm>
#include <map>

#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

IndexReader::IndexReader(Context& ctx, const SBlock* block) : ctx_(ctx), analyzer_(ctx) {
  for (const IterVar& v : block->iter_vars) {
    analyzer_.bind_range(v.var, v.dom);
    axes_.insert(v.var);
    if (is_const(v.dom.min, 0)) extents_.push_back({v.var, v.dom.extent});
  }
}

bool IndexReader::covers(const Expr* index, const Expr* extent) {
  index = analyzer_.simplify(index);
  for (const auto& [axis, length] : extents_)
    if (axis == index) return analyzer_.prove_equal(cast_to(ctx_, extent->dtype(), length), extent);
  const Bounds b = analyzer_.bounds(index);
  const auto n = const_int(extent);
  return n && b.min && *b.min == 0 && b.max && *b.max == *n - 1;
}

const Var* IndexReader::outermost(const Expr* e) {
  while (true) {
    if (const auto* v = as<Var>(e)) return axes_.count(v) ? v : nullptr;
    const auto* b = as<BinaryExpr>(e);
    if (!b) return nullptr;
    const bool scaled = b->op() == BinaryKind::Mul || b->op() == BinaryKind::FloorDiv;
    if (scaled && isa<IntImm>(b->b)) {
      e = b->a;
      continue;
    }
    return b->op() == BinaryKind::Add ? of_sum(b) : nullptr;
  }
}

// a * c + b + ..., where the sum of all terms but the first is less than one step of it.
const Var* IndexReader::of_sum(const BinaryExpr* sum) {
  std::vector<const Expr*> terms, open{sum};
  while (!open.empty()) {
    const Expr* next = open.back();
    open.pop_back();
    const auto* b = next->kind == BinaryKind::Add ? as<BinaryExpr>(next) : nullptr;
    if (!b) {
      terms.push_back(next);
      continue;
    }
    open.push_back(b->b);
    open.push_back(b->a);
  }
  const auto step = [](const Expr* e) -> std::int64_t {
    const auto* b = e->kind == BinaryKind::Mul ? as<BinaryExpr>(e) : nullptr;
    return b ? const_int(b->b).value_or(0) : isa<IntImm>(e) ? 0 : 1;
  };
  const auto first =
      std::max_element(terms.begin(), terms.end(), [&](const Expr* a, const Expr* b) { return step(a) < step(b); });
  const Expr* rest = ctx_.int_imm(sum->dtype(), 0);
  for (const Expr* t : terms)
    if (t != *first) rest = add(ctx_, rest, t);
  const Bounds b = analyzer_.bounds(rest);
  return b.min && *b.min >= 0 && b.max && *b.max < step(*first) ? outermost(*first) : nullptr;
}

void for_each_access(const SBlock* block, const std::function<void(const Buffer*, Span<const Expr*>)>& access) {
  const auto visit = [&](const Node* n) {
    if (const auto* load = as<BufferLoad>(n)) access(load->buffer, load->indices);
    if (const auto* store = as<BufferStore>(n)) access(store->buffer, store->indices);
    return !isa<SBlock>(n) || n == block;
  };
  walk(block->body, visit);
  if (block->init) walk(block->init, visit);
}

namespace {

using Dim = std::pair<const Buffer*, std::size_t>;

class Groups {
 public:
  void read(Context& ctx, const SBlock* block) {
    IndexReader reader(ctx, block);
    struct Followed {
      std::vector<Dim> dims;
      bool whole = false;  // by the axis itself in one place
    };
    std::map<std::uint32_t, Followed> by_axis;  // by the axis's id
    for_each_access(block, [&](const Buffer* b, Span<const Expr*> indices) {
      for (std::size_t d = 0; d < indices.size(); ++d) {
        const Var* axis = reader.axis_of(indices[d]);
        if (!axis || !reader.covers(indices[d], b->shape[d])) continue;
        Followed& f = by_axis[axis->id];
        f.dims.push_back({b, d});
        f.whole = f.whole || isa<Var>(indices[d]);
      }
    });
    for (const auto& [axis, f] : by_axis)
      for (std::size_t i = 1; f.whole && i < f.dims.size(); ++i) join(f.dims[0], f.dims[i]);
  }

  std::size_t find(const Dim& d) {
    std::size_t at = index_.try_emplace(d, parent_.size()).first->second;
    if (at == parent_.size()) parent_.push_back(at);
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }

 private:
  void join(const Dim& a, const Dim& b) {
    const std::size_t x = find(a), y = find(b);
    parent_[std::max(x, y)] = std::min(x, y);
  }

  std::map<Dim, std::size_t> index_;
  std::vector<std::size_t> parent_;
};

}  // namespace

std::vector<std::vector<ParamDim>> dims_run_together(Context& ctx, const PrimFunc* f) {
  Groups groups;
  walk(f->body, [&](const Node* n) {
    if (const auto* b = as<SBlock>(n); b && !b->iter_vars.empty()) groups.read(ctx, b);
    return true;
  });
  std::map<std::size_t, std::vector<ParamDim>> by_group;
  for (std::size_t p = 0; p < f->params.size(); ++p)
    if (const Buffer* b = f->params[p].buffer)
      for (std::size_t d = 0; d < b->shape.size(); ++d) by_group[groups.find({b, d})].push_back({p, d});
  std::vector<std::vector<ParamDim>> out;
  for (auto& [group, dims] : by_group)
    if (dims.size() > 1) out.push_back(std::move(dims));
  return out;
}

}  // namespace rldb::passes
