// Conditions of breakpoints inside kernels, compiled to TensorIR; conditions without such a form are refused.
#include "debug/kernel/condition.h"

#include <algorithm>

#include "debug/kernel/operand.h"
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
      : ctx_(ctx), math_(ctx), e_(e), scope_(scope) {}

  const Expr* make() {
    const Operand whole = truth(of(e_.root()));
    return whole.bad ? ctx_.binary(BinaryKind::Or, whole.bad, whole.value) : whole.value;
  }

 private:
  Operand of(const expression::Term& t) {
    if (const auto outside = from_outside(t)) return *outside;
    switch (t.kind) {
      case expression::TermKind::Constant:
        return number(t.value);
      case expression::TermKind::Name:
        return name(t.text);
      case expression::TermKind::Unary:
        if (t.ops[0] == expression::Operator::Negative) return math_.negative(of(e_.child(t, 0)));
        if (t.ops[0] == expression::Operator::Positive) return positive(of(e_.child(t, 0)));
        break;
      case expression::TermKind::Binary:
        return math_.arithmetic(t.ops[0], of(e_.child(t, 0)), of(e_.child(t, 1)));
      case expression::TermKind::Compare:
        return comparison(t);
      case expression::TermKind::And:
        return logic(t, BinaryKind::And);
      case expression::TermKind::Or:
        return logic(t, BinaryKind::Or);
      case expression::TermKind::Not: {
        const Operand x = truth(of(e_.child(t, 0)));
        return {ctx_.not_(x.value), x.bad};
      }
      case expression::TermKind::Subscript:
        return element(t);
      case expression::TermKind::Call:
        return call(t);
      case expression::TermKind::File:
      case expression::TermKind::Tuple:
      case expression::TermKind::List:
      case expression::TermKind::Ellipsis:
      case expression::TermKind::Slice:
      case expression::TermKind::Attribute:
        break;
    }
    throw NoForm{};
  }

  Operand number(const Value& v) {
    if (v.is(ValueKind::Int)) return {ctx_.i64(v.as_int())};
    if (v.is(ValueKind::Float)) return {ctx_.float_imm(DType::Float(64), v.as_float())};
    if (v.is(ValueKind::Bool)) return {ctx_.bool_imm(v.as_int() != 0)};
    const auto only = v.is(ValueKind::Tensor) ? expression::number_of(v) : runtime::Result<Value>(Value());
    if (!only.ok() || only->is_null() || v.as_tensor().dtype() == DType::UInt(64)) throw NoForm{};
    Operand element = number(*only);
    const DType dtype = v.as_tensor().dtype();
    if (!element.is_bool() && dtype != DType::Float(64) && dtype != DType::Int(64)) element.element = dtype;
    return element;
  }

  // A part without names of the kernel has one value during the call.
  std::optional<Operand> from_outside(const expression::Term& t) {
    using expression::TermKind;
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

  static Operand positive(const Operand& x) {
    if (x.is_bool()) throw NoForm{};
    return x;
  }

  Operand name(std::string_view text) {
    if (const ir::Var* v = scope_.variable(text)) {
      const DType dtype = v->dtype();
      const bool plain = dtype.is_float() || dtype.is_integral() || dtype.is_bool();
      if (!plain || dtype.lanes != 1 || dtype == DType::UInt(64)) throw NoForm{};
      return {ir::cast_to(ctx_, v->dtype().is_float() ? DType::Float(64) : DType::Int(64), v)};
    }
    if (scope_.buffer(text)) throw NoForm{};
    if (const auto v = scope_.number(text)) return number(*v);
    throw NoForm{};
  }

  // `C[i, j]`, with all indices given. Negative ones count from the end.
  Operand element(const expression::Term& t) {
    const expression::Term& base = e_.child(t, 0);
    const ir::Buffer* b =
        base.kind == expression::TermKind::Name && !scope_.variable(base.text) ? scope_.buffer(base.text) : nullptr;
    if (!b || b->dtype.lanes != 1 || b->dtype == DType::UInt(64) || t.children.size() != b->shape.size() + 1)
      throw NoForm{};
    Operand out;
    std::vector<const Expr*> indices;
    for (std::size_t d = 0; d < b->shape.size(); ++d) {
      const Operand index = of(e_.child(t, d + 1));
      if (index.is_float() || index.is_bool() || !index.element.is_void()) throw NoForm{};
      const Expr* zero = ctx_.i64(0);
      const Expr* dim = ir::cast_to(ctx_, DType::Int(64), b->shape[d]);
      const Expr* from_end = ctx_.binary(BinaryKind::LT, index.value, zero);
      const Expr* at = ctx_.select(from_end, ctx_.binary(BinaryKind::Add, index.value, dim), index.value);
      const Expr* outside =
          ctx_.binary(BinaryKind::Or, ctx_.binary(BinaryKind::LT, at, zero), ctx_.binary(BinaryKind::GE, at, dim));
      out.bad = math_.either(out.bad, math_.either(index.bad, outside));
      indices.push_back(at);
    }
    const bool real = b->dtype.is_float();
    const Expr* loaded = ctx_.load(b, indices);
    const DType wide = b->dtype.is_bool() ? DType::Bool() : real ? DType::Float(64) : DType::Int(64);
    out.value = ir::cast_to(ctx_, wide, loaded);
    if (out.bad) out.value = guarded(out.bad, out.value);
    // One of the widest dtypes is a plain number.
    if (!b->dtype.is_bool() && b->dtype != DType::Float(64) && b->dtype != DType::Int(64)) out.element = b->dtype;
    return out;
  }

  // The value, computed only where it is not bad.
  const Expr* guarded(const Expr* bad, const Expr* value) {
    return ctx_.intrin(value->dtype(), ir::intrin::IfThenElse, {bad, ctx_.literal(value->dtype(), 0), value});
  }

  Operand truth(const Operand& x) {
    if (x.is_bool()) return {x.value, x.bad};
    return {ctx_.binary(BinaryKind::NE, x.value, ctx_.literal(x.value->dtype(), 0)), x.bad};
  }

  // `a < b < c` is `a < b and b < c`.
  Operand comparison(const expression::Term& t) {
    std::vector<Operand> links;
    for (std::size_t i = 0; i < t.ops.size(); ++i) {
      links.push_back(math_.comparison(t.ops[i], of(e_.child(t, i)), of(e_.child(t, i + 1))));
    }
    return chain(links, BinaryKind::And);
  }

  Operand logic(const expression::Term& t, BinaryKind kind) {
    std::vector<Operand> links;
    for (std::size_t i = 0; i < t.children.size(); ++i) links.push_back(truth(of(e_.child(t, i))));
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

  Operand call(const expression::Term& t) {
    const expression::Term& callee = e_.child(t, 0);
    const bool keyword =
        std::any_of(t.keywords.begin(), t.keywords.end(), [](const std::string& k) { return !k.empty(); });
    if (callee.kind != expression::TermKind::Name || keyword) throw NoForm{};
    std::vector<Operand> args;
    for (std::size_t i = 1; i < t.children.size(); ++i) args.push_back(of(e_.child(t, i)));
    return math_.call(callee.text, args);
  }

  ir::Context& ctx_;
  OperandMath math_;
  const expression::Expression& e_;
  const ConditionScope& scope_;
};

}  // namespace

ConditionScope scope_of(const KernelText& text, const Probe& probe) {
  struct Names {
    std::vector<const ir::Var*> variables;  // innermost first
    std::vector<const ir::Buffer*> buffers;
  };
  auto names = std::make_shared<Names>();
  const auto enter = [&](const ir::Stmt* s) {
    if (const auto* loop = ir::as<ir::ForStmt>(s)) names->variables.push_back(loop->var);
    const auto* realize = ir::as<ir::SBlockRealize>(s);
    if (realize)
      for (std::size_t i = realize->block->iter_vars.size(); i-- > 0;)
        names->variables.push_back(realize->block->iter_vars[i].var);
    if (const auto* block = realize ? realize->block : ir::as<ir::SBlock>(s)) {
      for (std::size_t i = block->match_buffers.size(); i-- > 0;)
        names->buffers.push_back(block->match_buffers[i].buffer);
      for (std::size_t i = block->alloc_buffers.size(); i-- > 0;) names->buffers.push_back(block->alloc_buffers[i]);
    }
  };
  const auto before = [&](const ir::SeqStmt* seq, const ir::Stmt* here) {
    std::size_t end = 0;
    while (end < seq->stmts.size() && seq->stmts[end] != here) ++end;
    while (end-- > 0) {
      if (const auto* b = ir::as<ir::BindStmt>(seq->stmts[end])) names->variables.push_back(b->var);
      if (const auto* b = ir::as<ir::AllocBuffer>(seq->stmts[end])) names->buffers.push_back(b->buffer);
      if (const auto* b = ir::as<ir::DeclBuffer>(seq->stmts[end])) names->buffers.push_back(b->buffer);
    }
  };
  if (probe.arrival != Probe::Arrival::Statement) enter(probe.at);
  const ir::Stmt* inner = probe.at;
  for (const ir::Stmt* s = text.parent_of(inner); s; inner = s, s = text.parent_of(s)) {
    if (const auto* seq = ir::as<ir::SeqStmt>(s)) before(seq, inner);
    enter(s);
  }
  const auto& params = text.function()->params;
  for (std::size_t i = params.size(); i-- > 0;) {
    if (!params[i].buffer) {
      names->variables.push_back(params[i].var);
      continue;
    }
    names->buffers.push_back(params[i].buffer);
    for (std::size_t d = params[i].buffer->shape.size(); d-- > 0;)
      if (const auto* v = ir::as<ir::Var>(params[i].buffer->shape[d])) names->variables.push_back(v);
  }
  ConditionScope scope;
  scope.variable = [names](std::string_view name) -> const ir::Var* {
    for (const ir::Var* v : names->variables)
      if (v->name == name) return v;
    return nullptr;
  };
  scope.buffer = [names](std::string_view name) -> const ir::Buffer* {
    for (const ir::Buffer* b : names->buffers)
      if (b->name == name) return b;
    return nullptr;
  };
  return scope;
}

const Expr* compile_condition(ir::Context& ctx, const expression::Expression& condition, const ConditionScope& scope) {
  try {
    return Compiler(ctx, condition, scope).make();
  } catch (const NoForm&) {
    return nullptr;
  }
}

}  // namespace rldb::debug
