// Conditions of breakpoints inside kernels, compiled to TensorIR; conditions without such a form are refused.
#include "debug/kernel/condition.h"

#include <algorithm>

#include "debug/kernel/array_part.h"
#include "debug/kernel/sliced_part.h"
#include "rldb/expression/operator.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"

namespace rldb::debug {

using ir::BinaryKind;
using ir::Expr;
using runtime::DType;
using runtime::Value;
using runtime::ValueKind;

namespace {

class Compiler {
 public:
  Compiler(ir::Context& ctx, const expression::Expression& e, const ConditionScope& scope)
      : ctx_(ctx), math_(ctx), loops_(ctx, math_), e_(e), scope_(scope) {}

  ConditionCode make() {
    const Operand whole = truth(of(e_.root()));
    const Expr* holds = whole.bad ? ctx_.binary(BinaryKind::Or, whole.bad, whole.value) : whole.value;
    return {holds, loops_.statements(), loops_.memory(), given_};
  }

 private:
  using TermKind = expression::TermKind;

  Operand of(const expression::Term& t) {
    ConditionPart p = part(t);
    if (p.array) throw NoForm{};
    return p.one;
  }

  ConditionPart part(const expression::Term& t) {
    if (const auto outside = from_outside(t)) return {*outside, {}};
    switch (t.kind) {
      case TermKind::Constant:
        return {number(t.value), {}};
      case TermKind::Name:
        return name(t.text);
      case TermKind::Unary:
        return map({&t}, [this, op = t.ops[0]](std::span<const Operand> x) { return unary(op, x[0]); });
      case TermKind::Binary:
        return map({&t},
                   [this, op = t.ops[0]](std::span<const Operand> x) { return math_.arithmetic(op, x[0], x[1]); });
      case TermKind::Compare:
        return comparison(t);
      case TermKind::And:
        return {logic(t, BinaryKind::And), {}};
      case TermKind::Or:
        return {logic(t, BinaryKind::Or), {}};
      case TermKind::Not: {
        const Operand x = truth(of(e_.child(t, 0)));
        return {{ctx_.not_(x.value), x.bad}, {}};
      }
      case TermKind::Subscript:
        return subscript(t);
      case TermKind::Attribute:
        return function(t.text, t, 0);
      case TermKind::Call:
        return call(t);
      case TermKind::File:
      case TermKind::Tuple:
      case TermKind::List:
      case TermKind::Ellipsis:
      case TermKind::Slice:
        break;
    }
    throw NoForm{};
  }

  // f of the children from `first` on, element by element where one of them is an array.
  using Elementwise = std::function<Operand(std::span<const Operand>)>;
  struct From {
    const expression::Term* term;
    std::size_t first = 0;
  };
  ConditionPart map(From from, Elementwise f) {
    std::vector<ConditionPart> parts;
    for (std::size_t i = from.first; i < from.term->children.size(); ++i)
      parts.push_back(part(e_.child(*from.term, i)));
    return map_elements(ctx_, math_, std::move(parts), std::move(f));
  }

  Operand number(const Value& v) {
    if (v.is(ValueKind::Int)) return {ctx_.i64(v.as_int())};
    if (v.is(ValueKind::Float)) return {ctx_.float_imm(DType::Float(64), v.as_float())};
    if (v.is(ValueKind::Bool)) return {ctx_.bool_imm(v.as_int() != 0)};
    const auto only = v.is(ValueKind::Tensor) ? expression::number_of(v) : runtime::Result<Value>(Value());
    if (!only.ok() || only->is_null() || v.as_tensor().dtype() == DType::UInt(64)) throw NoForm{};
    Operand element = number(*only);
    if (!element.is_bool()) element.element = v.as_tensor().dtype();
    return element;
  }

  // A part without names of the kernel has one value during the call.
  std::optional<Operand> from_outside(const expression::Term& t) {
    if (t.kind != TermKind::Subscript && t.kind != TermKind::Call && t.kind != TermKind::Attribute) return std::nullopt;
    if (has_kernel_name(t)) return std::nullopt;
    const auto v = scope_.number(e_.text_of(t));
    return v ? std::optional(number(*v)) : std::nullopt;
  }
  bool has_kernel_name(const expression::Term& t) const {
    if (t.kind == expression::TermKind::Name && (scope_.variable(t.text) || scope_.buffer(t.text))) return true;
    return std::any_of(t.children.begin(), t.children.end(),
                       [&](int i) { return i >= 0 && has_kernel_name(e_.terms[std::size_t(i)]); });
  }

  Operand unary(expression::Operator op, const Operand& x) {
    if (op == expression::Operator::Negative) return math_.negative(x);
    if (op == expression::Operator::Invert) return math_.inverted(x);
    if (op != expression::Operator::Positive || x.is_bool()) throw NoForm{};
    return x;
  }

  ConditionPart name(std::string_view text) {
    if (const ir::Var* v = scope_.variable(text)) {
      const DType dtype = v->dtype();
      const bool plain = dtype.is_float() || dtype.is_integral() || dtype.is_bool();
      if (!plain || dtype.lanes != 1 || dtype == DType::UInt(64)) throw NoForm{};
      return {{ir::cast_to(ctx_, v->dtype().is_float() ? DType::Float(64) : DType::Int(64), v)}, {}};
    }
    if (const ir::Buffer* b = scope_.buffer(text)) return sliced(ctx_, math_, b, {});
    if (const auto v = scope_.number(text)) return {number(*v), {}};
    if (const ir::Buffer* b = outside(text)) return sliced(ctx_, math_, b, {});
    throw NoForm{};
  }

  // `C[i, j]`, `C[i, :]`, `C.shape[0]`.
  ConditionPart subscript(const expression::Term& t) {
    const expression::Term& base = e_.child(t, 0);
    if (base.kind == TermKind::Attribute && base.text == "shape") return {dimension(t, base), {}};
    if (base.kind != TermKind::Name || scope_.variable(base.text)) throw NoForm{};
    const ir::Buffer* b = scope_.buffer(base.text);
    if (!b) b = outside(base.text);
    if (!b) throw NoForm{};
    std::vector<SlicedDim> dims;
    for (std::size_t i = 1; i < t.children.size(); ++i) {
      const expression::Term& index = e_.child(t, i);
      if (index.kind == TermKind::Tuple || (index.kind == TermKind::Constant && index.value.is_null())) throw NoForm{};
      SlicedDim d;
      if (index.kind == TermKind::Ellipsis) {
        d.is_rest = true;
      } else if (index.kind == TermKind::Slice) {
        d.is_slice = true;
        d.start = bound(index, 0);
        d.stop = bound(index, 1);
        d.step = bound(index, 2);
      } else {
        d.start = of(index);
      }
      dims.push_back(std::move(d));
    }
    return sliced(ctx_, math_, b, std::move(dims));
  }
  // A tensor from outside of the kernel, as a buffer: `expected[vi, vj]`. Null: there is none with that name.
  const ir::Buffer* outside(std::string_view text) {
    const auto v = scope_.tensor ? scope_.tensor(text) : std::nullopt;
    if (!v || !v->is(ValueKind::Tensor)) return nullptr;
    for (const auto& [buffer, value] : given_)
      if (buffer->name == text) return buffer;
    std::vector<const Expr*> shape;
    for (const std::int64_t d : v->as_tensor().shape()) shape.push_back(ctx_.i64(d));
    given_.emplace_back(ctx_.buffer(text, shape, v->as_tensor().dtype()), *v);
    return given_.back().first;
  }
  std::optional<Operand> bound(const expression::Term& slice, std::size_t i) {
    if (slice.children[i] < 0) return std::nullopt;
    const expression::Term& t = e_.child(slice, i);
    if (t.kind == TermKind::Constant && t.value.is_null()) return std::nullopt;
    return of(t);
  }
  Operand dimension(const expression::Term& t, const expression::Term& shape) {
    const expression::Term& base = e_.child(shape, 0);
    const ir::Buffer* b = base.kind == TermKind::Name ? scope_.buffer(base.text) : nullptr;
    if (!b || scope_.variable(base.text) || t.children.size() != 2) throw NoForm{};
    const std::int64_t rank = std::int64_t(b->shape.size());
    std::int64_t d = ir::const_int(of(e_.child(t, 1)).value).value_or(rank);
    if (d < 0) d += rank;
    if (d < 0 || d >= rank) throw NoForm{};
    return {ir::cast_to(ctx_, DType::Int(64), b->shape[std::size_t(d)])};
  }

  Operand truth(const Operand& x) {
    if (x.is_bool()) return {x.value, x.bad};
    return {ctx_.binary(BinaryKind::NE, x.value, ctx_.literal(x.value->dtype(), 0)), x.bad};
  }

  // `a < b < c` is `a < b and b < c`; of arrays there are no chains.
  ConditionPart comparison(const expression::Term& t) {
    if (t.ops.size() == 1)
      return map({&t}, [this, op = t.ops[0]](std::span<const Operand> x) { return math_.comparison(op, x[0], x[1]); });
    std::vector<Operand> links;
    for (std::size_t i = 0; i < t.ops.size(); ++i)
      links.push_back(math_.comparison(t.ops[i], of(e_.child(t, i)), of(e_.child(t, i + 1))));
    return {chain(links, BinaryKind::And), {}};
  }

  // The loops of a part that is not evaluated are passed over.
  Operand logic(const expression::Term& t, BinaryKind kind) {
    std::vector<Operand> links;
    const Expr* goes_on = nullptr;
    for (std::size_t i = 0; i < t.children.size(); ++i) {
      if (goes_on) loops_.begin_part();
      links.push_back(truth(of(e_.child(t, i))));
      if (goes_on) loops_.end_part(goes_on);
      const Expr* value = links.back().value;
      const Expr* next = kind == BinaryKind::And ? value : static_cast<const Expr*>(ctx_.not_(value));
      goes_on = goes_on ? ctx_.binary(BinaryKind::And, goes_on, next) : next;
    }
    return chain(links, kind);
  }

  // From the left, and only as far as necessary: parts that are not evaluated cannot be bad.
  Operand chain(const std::vector<Operand>& links, BinaryKind kind) {
    Operand out = links.back();
    for (std::size_t i = links.size() - 1; i-- > 0;) {
      const Operand& first = links[i];
      const Expr* goes_on = kind == BinaryKind::And ? first.value : static_cast<const Expr*>(ctx_.not_(first.value));
      if (out.bad) out.bad = ctx_.binary(BinaryKind::And, goes_on, out.bad);
      out.bad = math_.either(first.bad, out.bad);
      out.value = ctx_.binary(kind, first.value, out.value);
    }
    return out;
  }

  ConditionPart call(const expression::Term& t) {
    const expression::Term& callee = e_.child(t, 0);
    const bool keyword =
        std::any_of(t.keywords.begin(), t.keywords.end(), [](const std::string& k) { return !k.empty(); });
    if (keyword || (callee.kind != TermKind::Name && callee.kind != TermKind::Attribute)) throw NoForm{};
    return function(callee.text, t, callee.kind == TermKind::Name ? 1 : 0);
  }

  // `max(x)`, `x.max()`, `x.max`: the object of a method is its first argument.
  ConditionPart function(std::string_view name, const expression::Term& t, std::size_t first) {
    std::vector<ConditionPart> args;
    for (std::size_t i = first; i < t.children.size(); ++i) {
      const expression::Term& child = e_.child(t, i);
      const bool object = i == 0 && t.kind == TermKind::Call;
      args.push_back(part(object ? e_.child(child, 0) : child));
    }
    if (args.empty()) throw NoForm{};
    if (!ReductionLoops::has(name) && name != "allclose")
      return map_elements(ctx_, math_, std::move(args),
                          [this, name = std::string(name)](std::span<const Operand> x) { return math_.call(name, x); });
    if (name == "allclose") {
      ConditionPart close = map_elements(ctx_, math_, std::move(args),
                                         [this](std::span<const Operand> e) { return math_.call(kIsClose, e); });
      return close.array ? ConditionPart{loops_.reduce(kAll, *close.array), {}} : close;
    }
    const ConditionPart& x = args[0];
    if (args.size() > 1 && !is_only_axis(name, args)) throw NoForm{};
    if (!x.array) throw NoForm{};
    return {loops_.reduce(name, *x.array), {}};
  }

  // `x.max(0)` of a vector.
  static bool is_only_axis(std::string_view name, const std::vector<ConditionPart>& args) {
    if (args.size() != 2 || !args[0].array || args[0].array->shape.size() != 1 || args[1].array) return false;
    const auto axis = ir::const_int(args[1].one.value);
    return axis && (*axis == 0 || *axis == -1) && ReductionLoops::takes_axis(name);
  }

  static constexpr std::string_view kIsClose = "isclose", kAll = "all";
  ir::Context& ctx_;
  OperandMath math_;
  ReductionLoops loops_;
  std::vector<std::pair<const ir::Buffer*, Value>> given_;
  const expression::Expression& e_;
  const ConditionScope& scope_;
};

}  // namespace

ConditionCode compile_condition(ir::Context& ctx, const expression::Expression& condition,
                                const ConditionScope& scope) {
  try {
    return Compiler(ctx, condition, scope).make();
  } catch (const NoForm&) {
    return {};
  }
}

}  // namespace rldb::debug
