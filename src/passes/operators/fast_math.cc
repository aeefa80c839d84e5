// FastMathTransform: softmax, exp, erf, tanh of float32, and powers with a constant non-integer exponent, become
// polynomial kernels, which are faster and accurate to a few units in the last places of a float32 (Eigen's and Cephes'
// approximations, as in TVM's topi).
//
// Powers with a computed exponent stay: TVM's formula for them gives NaN for a base of 0.
#include <cmath>

#include "passes/lowering/with_kernels.h"
#include "passes/operators/call_expander.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/scalar.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/runtime/value.h"

namespace rldb::passes {

using namespace ir;

namespace {

// ---- one element ----

struct Elements {
  Context& ctx;

  const Expr* lit(double v) { return ctx.float_imm(DType::Float(32), v); }
  const Expr* add(const Expr* a, const Expr* b) { return ctx.binary(BinaryKind::Add, a, b); }
  const Expr* sub(const Expr* a, const Expr* b) { return ctx.binary(BinaryKind::Sub, a, b); }
  const Expr* mul(const Expr* a, const Expr* b) { return ctx.binary(BinaryKind::Mul, a, b); }
  const Expr* max(const Expr* a, const Expr* b) { return ctx.binary(BinaryKind::Max, a, b); }
  const Expr* min(const Expr* a, const Expr* b) { return ctx.binary(BinaryKind::Min, a, b); }

  // c[0] is the coefficient of the highest power.
  const Expr* horner(const Expr* x, std::span<const double> c, bool x_first) {
    const Expr* sum = lit(c[0]);
    for (const double next : c.subspan(1)) sum = add(x_first ? mul(x, sum) : mul(sum, x), lit(next));
    return sum;
  }

  // 2**n * e**f, where n is an integer and |f| is at most half of log(2).
  const Expr* exp(const Expr* x) {
    constexpr double kLog2e = 1.4426950216293335, kLn2 = 0.69314718246459961;
    constexpr double kFactors[] = {0.00019875691214110702, 0.0013981999363750219, 0.008333452045917511,
                                   0.041665796190500259,   0.1666666567325592,    0.5};
    const Expr* bounded = max(min(x, lit(88.376266479492188)), lit(-88.376258850097656));
    const Expr* n = ctx.intrin(DType::Float(32), intrin::Floor, {add(mul(bounded, lit(kLog2e)), lit(0.5))});
    const Expr* f = sub(bounded, mul(n, lit(kLn2)));
    const Expr* power = add(add(mul(mul(horner(f, kFactors, false), f), f), f), lit(1.0));
    const Expr* exponent = ctx.cast(DType::Int(32), add(n, lit(127.0)));
    const Expr* scale = ctx.intrin(DType::Float(32), intrin::Reinterpret,
                                   {ctx.intrin(DType::Int(32), intrin::ShiftLeft, {exponent, ctx.i32(23)})});
    return max(mul(scale, power), x);
  }

  // x * p(x * x) / q(x * x)
  const Expr* rational(const Expr* x, std::span<const double> p, std::span<const double> q) {
    const Expr* square = mul(x, x);
    return ctx.binary(BinaryKind::Div, mul(x, horner(square, p, true)), horner(square, q, true));
  }

  const Expr* erf(const Expr* x) {
    constexpr double kP[] = {-2.7261423674040941e-10, 2.7706814620387377e-08,  -2.101023937939317e-06,
                             -5.6925062381196767e-05, -0.00073499063728377223, -0.0029545999132096767,
                             -0.016096033155918121};
    constexpr double kQ[] = {-1.4566071513399947e-05, -0.00021337404905352741, -0.001682827016338706,
                             -0.0073733292520046234, -0.014264739118516445};
    return rational(max(min(x, lit(4.0)), lit(-4.0)), kP, kQ);
  }

  const Expr* tanh(const Expr* bounded) {
    constexpr double kP[] = {-2.76076847742355e-16,  2.0001879048247699e-13, -8.60467152213735e-11,
                             5.1222970903711401e-08, 1.4857223571797901e-05, 0.00063726192887543596,
                             0.0048935245589178597};
    constexpr double kQ[] = {1.1982583946670199e-06, 0.000118534705686654, 0.0022684346324390002,
                             0.0048935251855438504};
    return rational(bounded, kP, kQ);
  }
};

// ---- kernels ----

using Te = ops::Legalizer::Te;
using ElementFn = const Expr* (Elements::*)(const Expr* x);

te::Tensor map(Te& te, te::Tensor x, std::string_view name, const std::function<const Expr*(const Expr*)>& f) {
  return te.graph.compute(
      x->shape, [&](te::Indices i) { return f(te.graph.load(x, i)); }, name);
}

te::Tensor map(Te& te, te::Tensor x, std::string_view name, ElementFn f) {
  Elements elements{te.ctx};
  return map(te, x, name, [&](const Expr* e) { return (elements.*f)(e); });
}

te::Tensor fast_tanh(Te& te, te::Tensor x) {
  Elements e{te.ctx};
  const te::Tensor below = map(te, x, "T_minimum", [&](const Expr* v) { return e.min(e.lit(9.0), v); });
  const te::Tensor bounded = map(te, below, "T_maximum", [&](const Expr* v) { return e.max(e.lit(-9.0), v); });
  return map(te, bounded, "T_fast_tanh", &Elements::tanh);
}

te::Tensor fast_softmax(Te& te, te::Tensor x, std::size_t axis) {
  Elements elements{te.ctx};
  std::vector<const Expr*> rows(x->shape.begin(), x->shape.end());
  rows.erase(rows.begin() + std::ptrdiff_t(axis));
  const auto load = [&](te::Tensor t, const std::vector<const Expr*>& at) {
    return te.graph.load(t, std::span<const Expr* const>(at));
  };
  const auto row = [axis](te::Indices i) {
    std::vector<const Expr*> at(i.begin(), i.end());
    at.erase(at.begin() + std::ptrdiff_t(axis));
    return at;
  };
  const auto reduce = [&](te::Tensor t, const CommReducer* reducer, std::string_view name) {
    const IterVar k = te.graph.reduce_axis(x->shape[axis], "k");
    return te.graph.reduce(
        rows,
        [&](te::Indices i) {
          std::vector<const Expr*> at(i.begin(), i.end());
          at.insert(at.begin() + std::ptrdiff_t(axis), k.var);
          return load(t, at);
        },
        {&k, 1}, reducer, name);
  };
  const te::Tensor top = reduce(x, te.graph.max_reducer(x->dtype), "T_softmax_maxelem");
  const te::Tensor below = te.graph.compute(
      x->shape, [&](te::Indices i) { return elements.sub(te.graph.load(x, i), load(top, row(i))); }, "T_softmax_delta");
  const te::Tensor power = map(te, below, "T_fast_exp", &Elements::exp);
  const te::Tensor sum = reduce(power, te.graph.sum_reducer(x->dtype), "T_softmax_expsum");
  const NamedAttr attrs[] = {te.ctx.named(op_attr::Axis, te.ctx.attr(std::int64_t(axis)))};
  return te.graph.compute(
      x->shape,
      [&](te::Indices i) -> const Expr* {
        return te.ctx.binary(BinaryKind::Div, te.graph.load(power, i), load(sum, row(i)));
      },
      "T_softmax_norm", attrs);
}

// exp(log(x) * y), y one number.
te::Tensor fast_power(Te& te, te::Tensor x, te::Tensor y) {
  Elements e{te.ctx};
  const te::Tensor log =
      map(te, x, "compute", [&](const Expr* v) { return te.ctx.intrin(DType::Float(32), intrin::Log, {v}); });
  const te::Tensor product = map(
      te, log, "T_multiply", [&](const Expr* v) { return e.mul(v, te.graph.load(y, std::span<const Expr* const>())); });
  return map(te, product, "T_fast_exp", &Elements::exp);
}

// ---- calls ----

class FastMath : public CallExpander {
 public:
  FastMath(Context& ctx, KernelMaker& kernels) : CallExpander(ctx), kernels_(kernels) {}

 protected:
  const Expr* expand(const Call* call) override {
    const auto* t = as<TensorType>(call->type);
    if (!isa<Op>(call->callee) || !t || !t->has_shape || t->dtype != DType::Float(32)) return nullptr;
    if (as_call_of(call, op::NnSoftmax)) return softmax(call, t);
    if (as_call_of(call, op::Exp))
      return kernel("fast_exp", call, [](Te& te) { return map(te, te.in[0], "T_fast_exp", &Elements::exp); });
    if (as_call_of(call, op::Erf))
      return kernel("fast_erf", call, [](Te& te) { return map(te, te.in[0], "T_fast_erf", &Elements::erf); });
    if (as_call_of(call, op::Tanh)) return kernel("fast_tanh", call, [](Te& te) { return fast_tanh(te, te.in[0]); });
    if (as_call_of(call, op::Power) && is_fraction(call->args[1]))
      return kernel("te_fast_power_const", call, [](Te& te) { return fast_power(te, te.in[0], te.in[1]); });
    return nullptr;
  }

 private:
  const Expr* softmax(const Call* call, const TensorType* t) {
    const Attr* axis = find_attr(call->attrs, op_attr::Axis);
    if (!axis || t->ndim < 1) return nullptr;
    const std::int64_t at = axis->integer < 0 ? axis->integer + t->ndim : axis->integer;
    if (at < 0 || at >= t->ndim) return nullptr;
    return kernel("fast_softmax", call, [&](Te& te) { return fast_softmax(te, te.in[0], std::size_t(at)); });
  }

  // A scalar constant that is not an integer.
  bool is_fraction(const Expr* e) const {
    const auto* c = as<Constant>(value_of(e));
    if (!c || !c->value->is(runtime::ValueKind::Tensor)) return false;
    const runtime::Tensor& t = c->value->as_tensor();
    return t.shape().empty() && t.dtype() == DType::Float(32) && std::isfinite(t.at(0)) &&
           t.at(0) != std::floor(t.at(0));
  }

  const Expr* kernel(std::string_view name, const Call* call, const std::function<te::Tensor(Te&)>& body) {
    for (const Expr* a : call->args)
      if (const auto* t = as<TensorType>(a->type); !t || !t->has_shape || t->dtype != DType::Float(32)) return nullptr;
    if (!may_rewrite([&] { return "a kernel `" + std::string(name) + "`"; })) return nullptr;
    if (const Call* known = kernels_.memo.find(call)) return known;
    auto made = kernels_.legalizer.call_te(name, call->args, call->type, [&](Te& te) { return std::vector{body(te)}; });
    if (made.ok()) kernels_.memo.remember(call, *made);
    return made.ok() ? *made : nullptr;
  }

  KernelMaker& kernels_;
};

}  // namespace

Result<const Module*> fast_math(PassEnv& env, const Module* module, const NoOptions&) {
  return map_with_kernels(env, module, [&](const Function* f, KernelMaker& kernels) {
    const Function* made = FastMath(env.ctx, kernels).rewrite_function(f);
    return made == f ? f : refine_result(env.ctx, made);
  });
}

}  // namespace rldb::passes
