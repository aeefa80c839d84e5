// Conditions of breakpoints inside kernels, compiled to TensorIR; conditions without such a form are refused.
#include "debug/kernel/condition.h"

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

// Thrown for a condition that cannot be expressed.
struct NoForm {};

// A number or a truth value, and where it is invalid: null for nowhere.
struct Operand {
  const Expr* value = nullptr;    // int64, float64 or bool
  const Expr* bad = nullptr;      // bool
  DType element = DType::Void();  // the tensor's, for an element of one; numbers combined with it take its dtype
  bool is_bool() const { return value->dtype().is_bool(); }
  bool is_float() const { return value->dtype().is_float(); }
};

class Compiler {
 public:
  Compiler(ir::Context& ctx, const expression::Expression& e, const ConditionScope& scope)
      : ctx_(ctx), e_(e), scope_(scope) {}

  const Expr* make() {
    const Operand whole = truth(of(e_.root()));
    return whole.bad ? ctx_.binary(BinaryKind::Or, whole.bad, whole.value) : whole.value;
  }

 private:
  Operand of(const expression::Term& t) {
    switch (t.kind) {
      case expression::TermKind::Constant:
        return number(t.value);
      case expression::TermKind::Name:
        return name(t.text);
      case expression::TermKind::Unary:
        return unary(t);
      case expression::TermKind::Binary:
        return binary(t);
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
    throw NoForm{};
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

  const Expr* either(const Expr* a, const Expr* b) { return !a ? b : !b ? a : ctx_.binary(BinaryKind::Or, a, b); }

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
      out.bad = either(out.bad, either(index.bad, outside));
      indices.push_back(at);
    }
    const bool real = b->dtype.is_float();
    const Expr* loaded = ctx_.load(b, indices);
    const DType wide = b->dtype.is_bool() ? DType::Bool() : real ? DType::Float(64) : DType::Int(64);
    out.value = ir::cast_to(ctx_, wide, loaded);
    if (out.bad) out.value = guarded(out.bad, out.value);
    out.element = b->dtype;
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

  Operand as_number(Operand x) {
    if (x.is_bool()) x.value = ir::cast_to(ctx_, DType::Int(64), x.value);
    return x;
  }

  Operand unary(const expression::Term& t) {
    Operand x = of(e_.child(t, 0));
    if (!x.element.is_void() || x.is_bool()) throw NoForm{};
    if (t.ops[0] == expression::Operator::Positive) return x;
    if (t.ops[0] != expression::Operator::Negative) throw NoForm{};
    const Expr* zero = x.is_float() ? static_cast<const Expr*>(ctx_.float_imm(DType::Float(64), -0.0)) : ctx_.i64(0);
    x.value = ctx_.binary(BinaryKind::Sub, zero, x.value);
    return x;
  }

  // For numbers that are not elements: those round to their dtype.
  Operand binary(const expression::Term& t) {
    Operand a = of(e_.child(t, 0)), b = of(e_.child(t, 1));
    if (a.is_bool() || b.is_bool() || a.is_float() || b.is_float()) throw NoForm{};
    if (!a.element.is_void() || !b.element.is_void()) throw NoForm{};
    const auto kind = kind_of(t.ops[0]);
    if (!kind) throw NoForm{};
    const bool divides = *kind == BinaryKind::FloorDiv || *kind == BinaryKind::FloorMod;
    const auto by = ir::const_int(b.value);
    if (divides && (!by || *by <= 0)) throw NoForm{};
    return {ctx_.binary(*kind, a.value, b.value), either(a.bad, b.bad)};
  }

  static std::optional<BinaryKind> kind_of(expression::Operator op) {
    if (op == expression::Operator::Add) return BinaryKind::Add;
    if (op == expression::Operator::Subtract) return BinaryKind::Sub;
    if (op == expression::Operator::Multiply) return BinaryKind::Mul;
    if (op == expression::Operator::FloorDivide) return BinaryKind::FloorDiv;
    if (op == expression::Operator::Remainder) return BinaryKind::FloorMod;
    if (op == expression::Operator::Equal) return BinaryKind::EQ;
    if (op == expression::Operator::NotEqual) return BinaryKind::NE;
    if (op == expression::Operator::Less) return BinaryKind::LT;
    if (op == expression::Operator::LessEqual) return BinaryKind::LE;
    if (op == expression::Operator::Greater) return BinaryKind::GT;
    if (op == expression::Operator::GreaterEqual) return BinaryKind::GE;
    return std::nullopt;
  }

  // A number converted to the element's dtype. A literal is rounded here: folding a cast keeps its decimals.
  const Expr* rounded(const Expr* number, DType dtype) {
    const auto* literal = ir::as<ir::FloatImm>(number);
    if (!literal || dtype.bits % 8 != 0) return ir::cast_to(ctx_, dtype, number);
    std::byte element[8];
    runtime::store_double(element, dtype, literal->value);
    return ctx_.float_imm(DType::Float(64), runtime::load_as_double(element, dtype));
  }

  // Converts both to the type of the comparison: int64, or float64 after a number has taken the dtype of an element.
  void meet(Operand& a, Operand& b) {
    a = as_number(a);
    b = as_number(b);
    const bool real = a.is_float() || b.is_float();
    if (!real) return;
    const bool mixed = (!a.element.is_void() && !a.is_float()) || (!b.element.is_void() && !b.is_float());
    if (mixed) throw NoForm{};  // an integer tensor with a float: other rules give its dtype
    const auto take = [&](Operand& number, const Operand& element) {
      if (number.element.is_void() && !element.element.is_void()) number.value = rounded(number.value, element.element);
      number.value = ir::cast_to(ctx_, DType::Float(64), number.value);
    };
    const Operand before = a;
    take(a, b);
    take(b, before);
  }

  // `a < b < c` is `a < b and b < c`.
  Operand comparison(const expression::Term& t) {
    std::vector<Operand> links;
    for (std::size_t i = 0; i < t.ops.size(); ++i) {
      Operand a = of(e_.child(t, i)), b = of(e_.child(t, i + 1));
      const auto kind = kind_of(t.ops[i]);
      if (!kind) throw NoForm{};
      meet(a, b);
      links.push_back({ctx_.binary(*kind, a.value, b.value), either(a.bad, b.bad)});
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
      out.bad = either(first.bad, out.bad);
      out.value = ctx_.binary(kind, first.value, out.value);
    }
    return out;
  }

  Operand call(const expression::Term& t) {
    const expression::Term& callee = e_.child(t, 0);
    if (callee.kind != expression::TermKind::Name || callee.text != "isnan" || t.children.size() != 2 ||
        !t.keywords[0].empty())
      throw NoForm{};
    const Operand x = of(e_.child(t, 1));
    if (!x.is_float()) throw NoForm{};
    return {ctx_.binary(BinaryKind::NE, x.value, x.value), x.bad};
  }

  ir::Context& ctx_;
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
