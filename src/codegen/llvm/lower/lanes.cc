// Vectorised loops: one iteration per lane, in vector registers. A loop is vectorised if its lanes are independent: no
// lane's stores are loaded or stored by another. Other loops that request it are left to LLVM, which checks by itself.
#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;
using ir::BinaryKind;

namespace {

constexpr std::int64_t kMaxUnrolledLanes = 64;

using StepOf = std::function<std::optional<std::int64_t>(const ir::Var*)>;

// How much an expression grows from one lane to the next, if that is the same for all lanes; `of` gives it for
// variables.
std::optional<std::int64_t> step_of(const ir::Expr* e, const StepOf& of, int depth = 0) {
  if (depth > 40) return std::nullopt;
  if (const auto* v = as<ir::Var>(e)) return of(v);
  if (as<ir::IntImm>(e)) return 0;
  if (const auto* c = as<ir::CastExpr>(e)) {
    if (c->dtype().is_int() && c->value->dtype().is_int() && c->dtype().bits >= c->value->dtype().bits)
      return step_of(c->value, of, depth + 1);
  }
  if (const auto* b = as<ir::BinaryExpr>(e); b && e->dtype().is_int()) {
    const auto x = step_of(b->a, of, depth + 1);
    const auto y = step_of(b->b, of, depth + 1);
    if (!x || !y) return std::nullopt;
    std::int64_t made = 0;
    if (b->kind == BinaryKind::Add && !__builtin_add_overflow(*x, *y, &made)) return made;
    if (b->kind == BinaryKind::Sub && !__builtin_sub_overflow(*x, *y, &made)) return made;
    if (*x == 0 && *y == 0) return 0;
    if (b->kind != BinaryKind::Mul) return std::nullopt;
    const auto k = ir::const_int(b->b), l = ir::const_int(b->a);
    if (k && !__builtin_mul_overflow(*x, *k, &made)) return made;
    if (l && !__builtin_mul_overflow(*y, *l, &made)) return made;
    return std::nullopt;
  }
  bool depends = false;
  ir::walk(e, [&](const ir::Node* n) {
    if (const auto* v = as<ir::Var>(n)) depends = depends || of(v) != 0;
    return !depends;
  });
  return depends ? std::nullopt : std::optional<std::int64_t>(0);
}

// The body of a loop, checked before any code is generated for it.
struct Body {
  struct Access {
    const ir::Buffer* buffer;
    ir::Span<const ir::Expr*> indices;
  };
  std::vector<Access> loads, stores;
  std::unordered_map<const ir::Var*, const ir::Expr*> axes;

  // Stores, tests and blocks without init or buffers of their own; plain scalars.
  bool simple(const ir::Stmt* s, int depth = 0) {
    if (depth > 64) return false;
    if (const auto* seq = as<ir::SeqStmt>(s)) {
      for (const ir::Stmt* part : seq->stmts)
        if (!simple(part, depth + 1)) return false;
      return true;
    }
    if (const auto* st = as<ir::BufferStore>(s)) {
      stores.push_back({st->buffer, st->indices});
      if (st->predicate || st->buffer->dtype.lanes != 1 || !simple(st->value)) return false;
      for (const ir::Expr* e : st->indices)
        if (!simple(e)) return false;
      return true;
    }
    if (const auto* i = as<ir::IfThenElse>(s))
      return simple(i->cond) && simple(i->then_case, depth + 1) && (!i->else_case || simple(i->else_case, depth + 1));
    const auto* r = as<ir::SBlockRealize>(s);
    if (!r || !ir::is_const(r->predicate, 1)) return false;
    const ir::SBlock* b = r->block;
    if (b->init || !b->alloc_buffers.empty() || !b->match_buffers.empty()) return false;
    for (std::size_t i = 0; i < b->iter_vars.size(); ++i) {
      if (!simple(r->iter_values[i])) return false;
      axes[b->iter_vars[i].var] = r->iter_values[i];
    }
    return simple(b->body, depth + 1);
  }

  bool simple(const ir::Expr* e) {
    bool good = true;
    ir::walk(e, [&](const ir::Node* n) {
      if (const auto* c = as<ir::Call>(n)) {
        const auto* op = as<ir::Op>(c->callee);
        good = good && op && op->name.find("call") == std::string_view::npos && !c->dtype().is_handle();
      }
      if (as<ir::LetExpr>(n) || as<ir::Ramp>(n) || as<ir::Broadcast>(n) || as<ir::Shuffle>(n)) good = false;
      if (const auto* l = as<ir::BufferLoad>(n)) {
        loads.push_back({l->buffer, l->indices});
        good = good && !l->predicate && l->buffer->dtype.lanes == 1;
      }
      return good;
    });
    return good;
  }

  std::optional<std::int64_t> step(const ir::Expr* e, const ir::Var* lane) const {
    return step_of(e, [&](const ir::Var* v) -> std::optional<std::int64_t> {
      if (v == lane) return 1;
      const auto it = axes.find(v);
      return it == axes.end() ? 0 : step(it->second, lane);
    });
  }
};

// An index without the number that is added to it; null: it is only that number.
std::pair<const ir::Expr*, std::int64_t> without_offset(const ir::Expr* e) {
  if (const auto n = ir::const_int(e)) return {nullptr, *n};
  const auto* b = as<ir::BinaryExpr>(e);
  const auto n = b && b->kind == BinaryKind::Add ? ir::const_int(b->b) : std::nullopt;
  return n ? std::pair(b->a, *n) : std::pair(e, std::int64_t(0));
}

std::uint64_t size_of(std::int64_t n) { return n < 0 ? 0 - std::uint64_t(n) : std::uint64_t(n); }

// No lane of one is at the element of any lane of the other: in one dimension they are too far apart.
bool far_apart(const Body::Access& a, const Body::Access& b, std::int64_t lanes,
               const std::function<std::optional<std::int64_t>(const ir::Expr*)>& step) {
  if (a.buffer != b.buffer || a.indices.size() != b.indices.size() || !a.buffer->strides.empty()) return false;
  for (std::size_t i = 0; i < a.indices.size(); ++i) {
    const auto [x, n] = without_offset(a.indices[i]);
    const auto [y, m] = without_offset(b.indices[i]);
    const bool same = x && y ? ir::expr_equal(x, y) : x == y;
    const auto by = same ? step(a.indices[i]) : std::nullopt;
    std::int64_t apart = 0, reach = 0;
    if (!by || __builtin_sub_overflow(n, m, &apart) || __builtin_mul_overflow(*by, lanes - 1, &reach)) continue;
    if (size_of(apart) > size_of(reach)) return true;
  }
  return false;
}

bool same_place(const Body::Access& a, const Body::Access& b) {
  if (a.buffer != b.buffer || a.indices.size() != b.indices.size()) return false;
  for (std::size_t i = 0; i < a.indices.size(); ++i)
    if (!ir::expr_equal(a.indices[i], b.indices[i])) return false;
  return true;
}

}  // namespace

std::optional<std::int64_t> Lowering::lane_step(const ir::Expr* e) {
  return step_of(e, [&](const ir::Var* v) -> std::optional<std::int64_t> {
    const auto it = vars_.find(v);
    if (it == vars_.end() || !it->second.value || !it->second.value->getType()->isVectorTy()) return 0;
    return it->second.lane_step;
  });
}

std::optional<std::int64_t> Lowering::step_per(const ir::Expr* e, const ir::Var* v) {
  return step_of(e, [&](const ir::Var* other) { return std::optional<std::int64_t>(other == v); });
}

bool Lowering::may_alias(const ir::Buffer* a, const ir::Buffer* b) const {
  if (a == b || a->data == b->data) return true;
  const auto x = pointers_.find(a->data), y = pointers_.find(b->data);
  if (x == pointers_.end() || y == pointers_.end() || x->second.base == y->second.base) return true;
  // Different allocations overlap neither each other nor parameters.
  const bool both_given = llvm::isa<llvm::Argument>(x->second.base) && llvm::isa<llvm::Argument>(y->second.base);
  return both_given && !noalias_;
}

// Each lane stores to an element of its own: one index moves, along a dimension in which elements differ.
bool Lowering::lanes_apart(const ir::Buffer* b, ir::Span<const ir::Expr*> indices,
                           const std::function<std::optional<std::int64_t>(const ir::Expr*)>& step) {
  int moving = 0;
  for (const Term& t : terms_of(b, indices)) {
    const auto by = step(t.index);
    if (!by) return false;
    if (*by == 0) continue;
    ++moving;
    if (t.last < b->strides.size() && ir::const_int(b->strides[t.last]).value_or(0) == 0) return false;
  }
  return moving == 1;
}

bool Lowering::may_widen(const ir::ForStmt* loop) {
  const auto extent = ir::const_int(loop->extent);
  if (!extent || *extent < 2 || *extent > kMaxUnrolledLanes || loop->step || !loop->annotations.empty()) return false;
  Body body;
  if (!body.simple(loop->body) || body.stores.empty()) return false;
  if (options_.check_bounds && !facts_.all_proved(loop->body)) return false;
  for (const Body::Access& store : body.stores) {
    const auto step = [&](const ir::Expr* e) { return body.step(e, loop->var); };
    if (!lanes_apart(store.buffer, store.indices, step)) return false;
    for (const auto* list : {&body.loads, &body.stores})
      for (const Body::Access& other : *list)
        if (may_alias(store.buffer, other.buffer) && !same_place(store, other) &&
            !far_apart(store, other, *extent, step))
          return false;
  }
  return true;
}

bool Lowering::vector_loop(const ir::ForStmt* loop) {
  if (loop->for_kind != ir::ForKind::Vectorized || widened_) return false;
  const auto [known, fresh] = widens_.try_emplace(loop, false);
  if (fresh) known->second = may_widen(loop);
  if (!known->second) return false;
  const auto lanes = unsigned(*ir::const_int(loop->extent));
  VarValue v;
  v.base = index(loop->min);
  std::vector<llvm::Constant*> steps;
  for (unsigned i = 0; i < lanes; ++i) steps.push_back(b_.getInt64(i));
  v.wide = b_.CreateAdd(splat(v.base, lanes), llvm::ConstantVector::get(steps), "", false, true);
  v.value = b_.CreateTrunc(v.wide, value_type(loop->var->dtype(), lanes));
  v.non_negative = non_negative(loop->min);
  v.lane_step = 1;
  vars_[loop->var] = v;
  const auto widened = restore_later(widened_, loop->var);
  widened_lanes_ = lanes;
  stmt(loop->body);
  as_written_ = true;
  return true;
}

bool Lowering::multiple_of(const ir::Expr* e, unsigned n, int depth) {
  if (depth > 40) return false;
  if (const auto* i = as<ir::IntImm>(e)) return i->value % std::int64_t(n) == 0;
  if (const auto* v = as<ir::Var>(e)) {
    const auto it = vars_.find(v);
    const auto* base = it == vars_.end() ? nullptr : llvm::dyn_cast_or_null<llvm::ConstantInt>(it->second.base);
    return base && base->getSExtValue() % std::int64_t(n) == 0;
  }
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b) return false;
  const auto part = [&](const ir::Expr* x) { return multiple_of(x, n, depth + 1); };
  if (b->kind == BinaryKind::Mul) return part(b->a) || part(b->b);
  return (b->kind == BinaryKind::Add || b->kind == BinaryKind::Sub) && part(b->a) && part(b->b);
}

}  // namespace rldb::codegen
