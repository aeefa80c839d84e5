// LowerIntrin: what the target has no instruction for is written as what it has: functions by the target's names for
// them, floor division by truncated division or shifts, a * b + c of floats as one operation.
//
// Rules of the target "llvm", and those that TVM uses by default where a target has none of its own.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/intrinsic/trigonometry.h"
#include "rldb/ir/lowered_name.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/unary.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kLlvm = "llvm";
constexpr double kLn10 = 2.302585093;  // as TVM has it

class IntrinLowerer : public Rewriter {
 public:
  IntrinLowerer(Context& ctx, bool is_llvm) : Rewriter(ctx), is_llvm_(is_llvm), analyzer_(ctx) {}

  void parameters(const PrimFunc* f) {
    for (const PrimParam& p : f->params)
      if (p.buffer)
        for (const Expr* dim : p.buffer->shape)
          if (const auto* v = as<Var>(dim)) analyzer_.mark_non_negative(v);
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* f = as<ForStmt>(s)) return in_range(f, f->var, {f->min, f->extent});
    if (const auto* a = as<AttrStmt>(s); a && !thread_tag(a).empty())
      return in_range(a, a->thread_var, {ctx_.int_imm(a->thread_var->dtype(), 0), a->value});
    if (const auto* b = as<BindStmt>(s); b && b->var->dtype().is_integral() && is_pure_value(b->value))
      analyzer_.bind_value(b->var, b->value);
    return default_stmt(s);
  }

  const Stmt* in_range(const Stmt* s, const Var* v, const Range& range) {
    analyzer_.bind_range(v, range);
    const Stmt* made = default_stmt(s);
    analyzer_.end_range(v);
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    const auto* b = as<BinaryExpr>(e);
    if (!b) return default_expr(e);
    const BinaryKind op = b->op();
    if (op == BinaryKind::Add) return sum(b);
    if (op == BinaryKind::FloorDiv) return quotient(b);
    if (op == BinaryKind::FloorMod) return remainder(b);
    if (op == BinaryKind::Max) return larger(b);
    return op == BinaryKind::EQ || op == BinaryKind::NE ? is_multiple(b) : default_expr(e);
  }

  const Expr* visit_call(const Call* c) override {
    const IntrinsicInfo* row = called_intrinsic(c);
    const Expr* made = row && !c->args.empty() ? lowered(c, row->id) : nullptr;
    return made ? made : default_expr(c);
  }

 private:
  // ---- functions ----

  // Null: the target has it.
  const Expr* lowered(const Call* c, Intrinsic id) {
    const DType t = c->dtype();
    if (is_llvm_) {
      if (const Expr* made = of_llvm(c, id)) return made;
    }
    if (std::string name = library_name(id, t.element()); !name.empty())
      return named(c, intrin::CallPureExtern, name, c->args);
    const auto one = [&] { return ctx_.literal(t, 1); };
    if (id == intrin::Rsqrt && t.is_float())
      return rewrite(binary(BinaryKind::Div, one(), apply(intrin::Sqrt, c->args[0])));
    if (id == intrin::Sigmoid && t.is_float()) {
      const Expr* negative = binary(BinaryKind::Sub, ctx_.literal(t, 0), c->args[0]);
      return rewrite(binary(BinaryKind::Div, one(), binary(BinaryKind::Add, one(), apply(intrin::Exp, negative))));
    }
    if (id == intrin::Isinf || id == intrin::Isfinite) return rewrite(make_unary(ctx_, id, c->args[0]));
    return nullptr;
  }

  const Expr* of_llvm(const Call* c, Intrinsic id) {
    const DType t = c->dtype();
    const Expr* x = c->args[0];
    if (id == intrin::Clz) {
      const Expr* const args[] = {x, ctx_.bool_imm(true)};
      return cast_to(ctx_, t, named(c, intrin::CallLlvmIntrin, llvm_name(id), args, x->dtype()));
    }
    if (id == intrin::Popcount) return named(c, intrin::CallLlvmPureIntrin, llvm_name(id), c->args);
    if (!t.is_float()) return nullptr;
    if (id == intrin::Fma && c->args.size() == 3)
      return named(c, intrin::CallLlvmPureIntrin, kLlvmMultiplyAdd, c->args);
    if (id == intrin::Round) id = intrin::Nearbyint;
    if (id == intrin::Tanh) return rewrite(stable_tanh(x));
    if (id == intrin::Exp10) return rewrite(apply(intrin::Exp, binary(BinaryKind::Mul, x, ctx_.literal(t, kLn10))));
    if (id == intrin::Tan) return rewrite(binary(BinaryKind::Div, apply(intrin::Sin, x), apply(intrin::Cos, x)));
    if (id == intrin::Atanh) {
      const Expr* one = ctx_.literal(t, 1);
      const Expr* up = apply(intrin::Log, binary(BinaryKind::Add, one, x));
      const Expr* down = apply(intrin::Log, binary(BinaryKind::Sub, one, x));
      return rewrite(binary(BinaryKind::Mul, binary(BinaryKind::Sub, up, down), ctx_.literal(t, 0.5)));
    }
    const std::string_view name = llvm_name(id);
    return name.empty() ? nullptr : named(c, intrin::CallLlvmPureIntrin, name, c->args);
  }

  // exp of a number that is not positive, so that it cannot overflow.
  const Expr* stable_tanh(const Expr* x) {
    const DType t = x->dtype();
    const Expr* one = ctx_.literal(t, 1);
    const Expr* falling = apply(intrin::Exp, binary(BinaryKind::Mul, ctx_.literal(t, -2), x));
    const Expr* rising = apply(intrin::Exp, binary(BinaryKind::Mul, ctx_.literal(t, 2), x));
    const Expr* positive =
        binary(BinaryKind::Div, binary(BinaryKind::Sub, one, falling), binary(BinaryKind::Add, one, falling));
    const Expr* negative =
        binary(BinaryKind::Div, binary(BinaryKind::Sub, rising, one), binary(BinaryKind::Add, rising, one));
    return ctx_.select(binary(BinaryKind::GE, x, ctx_.literal(t, 0)), positive, negative);
  }

  const Expr* binary(BinaryKind kind, const Expr* a, const Expr* b) { return ctx_.binary(kind, a, b); }
  const Expr* apply(Intrinsic id, const Expr* x) { return ctx_.intrin(x->dtype(), id, {x}); }

  const Expr* named(const Call* c, Intrinsic callee, std::string_view name, std::span<const Expr* const> operands,
                    std::optional<DType> dtype = {}) {
    std::vector<const Expr*> args{ctx_.string(name)};
    for (const Expr* a : operands) args.push_back(rewrite(a));
    const Expr* made = ctx_.call_typed(ctx_.op(info(callee).op), args, ctx_.prim(dtype.value_or(c->dtype())));
    ctx_.set_origin(made, c);
    return made;
  }

  // ---- sums ----

  const Expr* sum(const BinaryExpr* e) {
    const bool right = e->b->kind == BinaryKind::Mul;
    const auto* product = as<BinaryExpr>(right ? e->b : e->a->kind == BinaryKind::Mul ? e->a : nullptr);
    if (!product) return default_expr(e);
    const Expr* a = cast_outside(product->a);
    const Expr* b = cast_outside(product->b);
    const Expr* rest = right ? e->a : e->b;
    if (is_llvm_ && e->dtype().is_float() && !e->dtype().is_bfloat16()) {
      const Expr* const args[] = {ctx_.string(kLlvmMultiplyAdd), rewrite(a), rewrite(b), rewrite(rest)};
      return ctx_.call_typed(ctx_.op(info(intrin::CallLlvmPureIntrin).op), args, e->type);
    }
    if (a == product->a && b == product->b) return default_expr(e);
    return binary(BinaryKind::Add, rewrite(binary(BinaryKind::Mul, a, b)), rewrite(rest));
  }

  // Broadcast(Cast(x)) as Cast(Broadcast(x)) where the cast widens: machines multiply narrow vectors to wide ones.
  const Expr* cast_outside(const Expr* e) {
    const auto* repeated = as<Broadcast>(e);
    const auto* cast = repeated ? as<CastExpr>(repeated->value) : nullptr;
    if (!cast) return e;
    const DType to = cast->dtype(), from = cast->value->dtype();
    const bool integers = to.is_integral() && !to.is_bool() && from.is_integral() && !from.is_bool();
    if (to.bits != 2 * from.bits && !(integers && to.bits > from.bits)) return e;
    return ctx_.cast(e->dtype(), ctx_.broadcast(cast->value, repeated->lanes));
  }

  // ---- floor division ----

  bool non_negative(const Expr* e) {
    if (e->dtype().is_uint()) return true;
    const Bounds b = analyzer_.bounds(e);
    return b.min && *b.min >= 0;
  }
  static std::optional<int> power_of_two(const Expr* e) {
    const auto* literal = as<IntImm>(e);
    if (!literal || literal->value <= 0 || !std::has_single_bit(std::uint64_t(literal->value))) return {};
    return std::countr_zero(std::uint64_t(literal->value));
  }
  static bool has_sign_shift(DType t) { return t == DType::Int(32) || t == DType::Int(64); }

  // a and b of `e`, lowered.
  std::pair<const Expr*, const Expr*> operands(const BinaryExpr* e) { return {rewrite(e->a), rewrite(e->b)}; }

  // A multiple of `divisor` that makes `a` positive without overflow, as a factor.
  std::optional<std::int64_t> shift_to_positive(const Expr* a, std::int64_t divisor) {
    const Bounds bounds = analyzer_.bounds(a);
    if (divisor <= 0 || !bounds.min || *bounds.min >= 0 || !bounds.max) return {};
    const std::int64_t most = a->dtype().bits >= 64 ? std::numeric_limits<std::int64_t>::max()
                                                    : (std::int64_t(1) << (a->dtype().bits - 1)) - 1;
    if (*bounds.min < -most || divisor - 1 > most + *bounds.min) return {};
    const std::int64_t factor = (divisor - 1 - *bounds.min) / divisor;
    if (factor > most / divisor || *bounds.max > most - factor * divisor) return {};
    return factor;
  }

  const Expr* quotient(const BinaryExpr* e) {
    const DType t = e->dtype();
    if (!t.is_integral()) return default_expr(e);
    const auto [a, b] = operands(e);
    if (const auto shift = power_of_two(b)) return ctx_.intrin(t, intrin::ShiftRight, {a, ctx_.int_imm(t, *shift)});
    if (!non_negative(e->b)) return quotient_of_any(t, a, b);
    if (non_negative(e->a) || non_negative(e)) return binary(BinaryKind::Div, a, b);
    if (const auto divisor = const_int(e->b))
      if (const auto factor = shift_to_positive(e->a, *divisor)) {
        const Expr* shifted = binary(BinaryKind::Add, a, ctx_.literal(t, double(*divisor * *factor)));
        return binary(BinaryKind::Sub, binary(BinaryKind::Div, shifted, b), ctx_.literal(t, double(*factor)));
      }
    const Expr* rounded = binary(BinaryKind::Div, a, b);
    const Expr* rest = binary(BinaryKind::Mod, a, b);
    if (has_sign_shift(t)) return binary(BinaryKind::Add, rounded, sign(rest));
    return ctx_.select(binary(BinaryKind::GE, rest, ctx_.literal(t, 0)), rounded,
                       binary(BinaryKind::Sub, rounded, ctx_.literal(t, 1)));
  }

  const Expr* remainder(const BinaryExpr* e) {
    const DType t = e->dtype();
    if (!t.is_integral()) return default_expr(e);
    const auto [a, b] = operands(e);
    if (const auto shift = power_of_two(b))
      return ctx_.intrin(t, intrin::BitwiseAnd, {a, ctx_.int_imm(t, (std::int64_t(1) << *shift) - 1)});
    if (!non_negative(e->b)) return remainder_of_any(t, a, b);
    if (non_negative(e->a)) return binary(BinaryKind::Mod, a, b);
    if (const auto divisor = const_int(e->b))
      if (const auto factor = shift_to_positive(e->a, *divisor))
        return binary(BinaryKind::Mod, binary(BinaryKind::Add, a, ctx_.literal(t, double(*divisor * *factor))), b);
    const Expr* rest = binary(BinaryKind::Mod, a, b);
    if (has_sign_shift(t)) return binary(BinaryKind::Add, rest, ctx_.intrin(t, intrin::BitwiseAnd, {b, sign(rest)}));
    return ctx_.select(binary(BinaryKind::GE, rest, ctx_.literal(t, 0)), rest, binary(BinaryKind::Add, rest, b));
  }

  // -1 of a negative number, else 0.
  const Expr* sign(const Expr* e) {
    return ctx_.intrin(e->dtype(), intrin::ShiftRight, {e, ctx_.int_imm(e->dtype(), e->dtype().bits - 1)});
  }

  // Whether truncation already rounded down: the remainder has the sign of the divisor.
  const Expr* exact(const Expr* b, const Expr* rest) {
    const Expr* zero = ctx_.literal(b->dtype(), 0);
    const Expr* up = logical_and(ctx_, binary(BinaryKind::GE, b, zero), binary(BinaryKind::GE, rest, zero));
    const Expr* down = logical_and(ctx_, binary(BinaryKind::LT, b, zero), binary(BinaryKind::LE, rest, zero));
    return logical_or(ctx_, up, down);
  }
  const Expr* quotient_of_any(DType t, const Expr* a, const Expr* b) {
    const Var* rest = ctx_.var("rmod", ctx_.prim(t));
    const Var* rounded = ctx_.var("rdiv", ctx_.prim(t));
    const Expr* chosen = ctx_.select(exact(b, rest), rounded, binary(BinaryKind::Sub, rounded, ctx_.literal(t, 1)));
    return ctx_.let(rest, binary(BinaryKind::Mod, a, b), ctx_.let(rounded, binary(BinaryKind::Div, a, b), chosen));
  }
  const Expr* remainder_of_any(DType t, const Expr* a, const Expr* b) {
    const Var* rest = ctx_.var("rmod", ctx_.prim(t));
    return ctx_.let(rest, binary(BinaryKind::Mod, a, b),
                    ctx_.select(exact(b, rest), rest, binary(BinaryKind::Add, rest, b)));
  }

  // ---- where the sign does not matter ----

  // max(a // b, c) of c >= 0: a negative quotient is not chosen.
  const Expr* larger(const BinaryExpr* e) {
    const auto* quotient = e->a->kind == BinaryKind::FloorDiv ? as<BinaryExpr>(e->a) : nullptr;
    const auto* least = as<IntImm>(e->b);
    if (!quotient || !least || least->value < 0 || !non_negative(quotient->b)) return default_expr(e);
    const auto [a, b] = operands(quotient);
    return binary(BinaryKind::Max, binary(BinaryKind::Div, a, b), e->b);
  }

  // a % b == 0: zero has no sign.
  const Expr* is_multiple(const BinaryExpr* e) {
    const auto* rest = e->a->kind == BinaryKind::FloorMod ? as<BinaryExpr>(e->a) : nullptr;
    if (!rest || !is_const(e->b, 0) || !rest->dtype().is_integral()) return default_expr(e);
    const auto [a, b] = operands(rest);
    return binary(e->op(), binary(BinaryKind::Mod, a, b), e->b);
  }

  const bool is_llvm_;
  Analyzer analyzer_;
};

}  // namespace

Result<const Module*> lower_intrin(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const auto refuse = [&](std::string why) {
      return support::Failure(
          source::message(diag::PassUnsupported, fmt::format("the intrinsics of `{}`", name), std::move(why)));
    };
    const Attr* target = find_attr(f->attrs, kTargetAttr);
    if (!target) return refuse("it has no target: run BindTarget first");
    if (is_gpu(target))
      return refuse(fmt::format("the rules of the target \"{}\" are not here: rldb generates no code for it",
                                target_kind(target)));
    IntrinLowerer lowerer(env.ctx, target_kind(target) == kLlvm);
    lowerer.parameters(f);
    return with_body(env.ctx, f, lowerer.rewrite(f->body));
  });
}

}  // namespace rldb::passes
