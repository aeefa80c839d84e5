// RenormalizeSplitPattern: index arithmetic that splits a fused index is brought into a form in which equal parts look
// equal: x % (c1 * c2) // c2 becomes x // c2 % c1, (x * c1 * c3 + y) // (c2 * c3) becomes (x * c1 + y // c3) // c2, and
// x < c becomes x // c < 1.
#include <numeric>

#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr int kMaxRewrites = 5;  // one within another

// The integer of a literal, or of a literal repeated in all lanes.
std::optional<std::int64_t> constant(const Expr* e) {
  if (const auto* b = as<Broadcast>(e)) return const_int(b->value);
  return const_int(e);
}

const BinaryExpr* as_binary(const Expr* e, BinaryKind kind) {
  const auto* b = as<BinaryExpr>(e);
  return b && b->op() == kind ? b : nullptr;
}

class Renormalize : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override {
    const Expr* made = default_expr(e);
    if (const auto* n = as<NotExpr>(made)) return negated(n->a, made);
    if (is_call_of(made, intrin::IfThenElse)) return choice(as<Call>(made));
    const auto* b = as<BinaryExpr>(made);
    if (!b || !b->a->dtype().is_integral()) return made;
    const BinaryKind kind = b->op();
    if (kind == BinaryKind::FloorDiv) return divided(b->a, b->b, 0, b);
    if (kind == BinaryKind::LT) return less(b->a, b->b, b);
    if (kind == BinaryKind::GT) return less(b->b, b->a, nullptr);
    if (kind == BinaryKind::LE) return negated(less(b->b, b->a, nullptr), nullptr);
    return kind == BinaryKind::GE ? negated(less(b->a, b->b, nullptr), nullptr) : made;
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    const Stmt* made = default_stmt(s);
    const auto* branch = as<IfThenElse>(made);
    if (!branch) return made;
    if (is_const(branch->cond, 1)) return branch->then_case;
    if (is_const(branch->cond, 0)) return branch->else_case ? branch->else_case : no_op(ctx_);
    return made;
  }

 private:
  const Expr* choice(const Call* c) {
    if (is_const(c->args[0], 1)) return c->args[1];
    return is_const(c->args[0], 0) ? c->args[2] : c;
  }

  // `like` a literal or a repeated one.
  const Expr* literal_like(const Expr* like, std::int64_t value) {
    if (const auto* b = as<Broadcast>(like)) return ctx_.broadcast(ctx_.int_imm(b->value->dtype(), value), b->lanes);
    return ctx_.int_imm(like->dtype(), value);
  }

  // a // b, whose parts are renormalised. `same` is that expression, if there is one.
  const Expr* divided(const Expr* a, const Expr* b, int depth, const Expr* same) {
    const auto by = constant(b);
    if (by && *by > 0 && depth < kMaxRewrites) {
      if (const auto* mod = as_binary(a, BinaryKind::FloorMod)) {
        const auto whole = constant(mod->b);
        if (whole && *whole % *by == 0)
          return floor_mod(ctx_, divided(mod->a, b, depth + 1, nullptr), literal_like(b, *whole / *by));
      }
      if (const Expr* made = divided_sum(a, b, *by, depth)) return made;
    }
    return same ? same : floor_div(ctx_, a, b);
  }

  const Expr* divided_sum(const Expr* sum, const Expr* b, std::int64_t by, int depth) {
    const auto* outer = as_binary(sum, BinaryKind::Add);
    if (!outer) return nullptr;
    const auto* product = as_binary(outer->a, BinaryKind::Mul);
    const Expr* rest = outer->b;
    if (!product) {
      const auto* inner = as_binary(outer->a, BinaryKind::Add);
      product = inner ? as_binary(inner->a, BinaryKind::Mul) : nullptr;
      if (product) rest = add(ctx_, inner->b, outer->b);
    }
    const auto factor = product ? constant(product->b) : std::nullopt;
    if (!factor || *factor <= 0) return nullptr;
    const std::int64_t common = std::gcd(*factor, by);
    if (common <= 1) return nullptr;
    const Expr* left = mul(ctx_, product->a, literal_like(product->b, *factor / common));
    const Expr* right = divided(rest, literal_like(b, common), depth + 1, nullptr);
    return divided(add(ctx_, left, right), literal_like(b, by / common), depth + 1, nullptr);
  }

  const Expr* less(const Expr* a, const Expr* b, const Expr* same) {
    const auto bound = const_int(b);
    if (bound && *bound > 1 && !const_int(a))
      return ctx_.binary(BinaryKind::LT, divided(a, b, 1, nullptr), ctx_.int_imm(b->dtype(), 1));
    return same ? same : compare(ctx_, BinaryKind::LT, a, b);
  }

  const Expr* negated(const Expr* e, const Expr* same) {
    if (const auto* n = as<NotExpr>(e)) return n->a;
    if (const auto* b = as<BinaryExpr>(e); b && b->a->dtype().is_integral()) {
      const BinaryKind kind = b->op();
      if (kind == BinaryKind::LE) return ctx_.binary(BinaryKind::LT, b->b, b->a);
      if (kind == BinaryKind::GE) return ctx_.binary(BinaryKind::LT, b->a, b->b);
      if (kind == BinaryKind::LT) return ctx_.binary(BinaryKind::LE, b->b, b->a);
      if (kind == BinaryKind::GT) return ctx_.binary(BinaryKind::LE, b->a, b->b);
    }
    return same ? same : logical_not(ctx_, e);
  }
};

}  // namespace

Result<const Module*> renormalize_split_pattern(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return with_body(env.ctx, f, Renormalize(env.ctx).rewrite(f->body));
  });
}

}  // namespace rldb::passes
