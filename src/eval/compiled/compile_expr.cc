// Expressions as instructions: the counterpart of ExprEval, case by case.
#include "eval/compiled/compiler.h"
#include "eval/tir/expr_eval.h"
#include "eval/tir/parts.h"
#include "rldb/ir/lowered_name.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"

namespace rldb::eval {

using ir::as;

namespace {

// Deeper ones may exceed the evaluator's limit, which reports it.
constexpr int kMaxDepth = 800;

bool is_number(DType t) { return t.is_float() || t.is_integral() || t.is_handle() || t.is_void(); }

bool same_kind(const ir::Expr* a, const ir::Expr* b) {
  return kind_of(a->dtype().element()) == kind_of(b->dtype().element());
}

Op load_op(DType t) {
  if (t == DType::Float(32)) return Op::LoadF32;
  if (t == DType::Float(64)) return Op::LoadF64;
  if (t == DType::Int(64)) return Op::LoadI64;
  if (t == DType::Int(32)) return Op::LoadI32;
  if (t == DType::Int(8)) return Op::LoadI8;
  if (t == DType::UInt(8)) return Op::LoadU8;
  if (t == DType::Bool()) return Op::LoadBool;
  if (is_half(t)) return Op::LoadHalf;
  return Op::LoadAny;
}

}  // namespace

std::optional<Operand> Compiler::expr(const ir::Expr* e, int lane) {
  if (depth_ > kMaxDepth || !is_number(e->dtype().element())) return std::nullopt;
  ++depth_;
  Value made = make(e, lane);
  --depth_;
  return made;
}

std::optional<Operand> Compiler::integer(const ir::Expr* e, int lane) {
  if (e->dtype().is_float()) return std::nullopt;
  return expr(e, lane);
}

std::optional<Operand> Compiler::make(const ir::Expr* e, int lane) {
  switch (e->expr_kind()) {
    case ir::ExprKind::Var:
    case ir::ExprKind::DataflowVar:
      return variable(as<ir::Var>(e), lane);
    case ir::ExprKind::IntImm:
      if (e->dtype().is_float()) return std::nullopt;
      return code_.constant(as<ir::IntImm>(e)->value);
    case ir::ExprKind::FloatImm:
      if (!e->dtype().is_float()) return std::nullopt;
      return constant(as<ir::FloatImm>(e));
    case ir::ExprKind::Binary:
      return binary(as<ir::BinaryExpr>(e), lane);
    case ir::ExprKind::BufferLoad:
      return load(as<ir::BufferLoad>(e), lane);
    case ir::ExprKind::Not: {
      const Value v = integer(as<ir::NotExpr>(e)->a, lane);
      return v ? Value(code_.pure(Op::NotI, {}, *v)) : v;
    }
    case ir::ExprKind::Cast: {
      const auto* c = as<ir::CastExpr>(e);
      const Value v = expr(c->value, lane);
      return v ? convert(*v, c->value->dtype().element(), c->dtype().element()) : v;
    }
    case ir::ExprKind::Select: {
      const auto* s = as<ir::SelectExpr>(e);
      const Value condition = integer(s->cond, lane);
      return condition ? choose(*condition, s->true_value, lane, s->false_value, lane) : condition;
    }
    case ir::ExprKind::Ramp:
      return ramp(as<ir::Ramp>(e), lane);
    case ir::ExprKind::Broadcast: {
      const ir::Expr* value = as<ir::Broadcast>(e)->value;
      return expr(value, lane % lanes_of(value));
    }
    case ir::ExprKind::Shuffle:
      return shuffle(as<ir::Shuffle>(e), lane);
    case ir::ExprKind::Let:
      return let(as<ir::LetExpr>(e), lane);
    case ir::ExprKind::Call:
      return call(as<ir::Call>(e), lane);
#define RLDB_GRAPH(Kind, Struct, doc) case ir::ExprKind::Kind:
#include "rldb/ir/node.def"
      break;
  }
  return std::nullopt;
}

Operand Compiler::constant(const ir::FloatImm* e) {
  const double value = round_to(e->value, e->dtype().element());
  return kind_of(e->dtype().element()) == Kind::Single ? code_.constant(float(value)) : code_.constant(value);
}

std::optional<Operand> Compiler::variable(const ir::Var* v, int lane) {
  if (const auto it = scope_.find(v); it != scope_.end())
    return it->second[std::min(std::size_t(lane), it->second.size() - 1)];
  if (unknown_.contains(v) || v->dtype().lanes > 1 || as<ir::PointerType>(v->type)) return std::nullopt;
  return code_.free(v);
}

std::optional<Operand> Compiler::let(const ir::LetExpr* e, int lane) {
  const Value value = expr(e->value, lane);
  if (!value || !same_kind(e->var, e->value)) return std::nullopt;
  scope_[e->var] = {*value};
  const Value body = expr(e->body, lane);
  scope_.erase(e->var);
  return body;
}

// ---- operators ----

std::optional<Operand> Compiler::binary(const ir::BinaryExpr* e, int lane) {
  if (ir::is_logic(e->op())) return logic(e, lane);
  const DType t = e->a->dtype().element();
  if (!same_kind(e->a, e->b) || (!ir::is_comparison(e->op()) && !same_kind(e, e->a))) return std::nullopt;
  const Value a = expr(e->a, lane);
  const Value b = a ? expr(e->b, lane) : std::nullopt;
  if (!b) return std::nullopt;
  return t.is_float() ? float_binary(e->op(), *a, *b, t) : int_binary(e->op(), *a, *b, t, e->b);
}

Operand Compiler::truth(Operand v) { return code_.pure(Op::NeI, {}, v, code_.constant(std::int64_t(0))); }

// The right side is evaluated only if the left one does not decide.
std::optional<Operand> Compiler::logic(const ir::BinaryExpr* e, int lane) {
  const Value a = integer(e->a, lane);
  if (!a) return std::nullopt;
  Value b;
  Assembler::Lines right = code_.apart([&] { b = integer(e->b, lane); });
  if (!b) return std::nullopt;
  const bool is_and = e->op() == BinaryKind::And;
  if (right.empty()) return code_.pure(is_and ? Op::AndI : Op::OrI, {}, *a, *b);
  const std::uint32_t end = code_.new_label();
  const Operand decided = is_and ? *a : code_.pure(Op::NotI, {}, *a);
  const Operand to = code_.here(Op::Move, {}, truth(*a).reg);
  code_.emit({Op::JumpIfZero, {}, end, decided.reg});
  code_.append(std::move(right));
  code_.emit({Op::Move, {}, to.reg, truth(*b).reg});
  code_.place_label(end);
  return to;
}

std::optional<Operand> Compiler::choose(Operand condition, const ir::Expr* a, int lane_a, const ir::Expr* b,
                                        int lane_b) {
  if (!same_kind(a, b)) return std::nullopt;
  Value x, y;
  Assembler::Lines left = code_.apart([&] { x = expr(a, lane_a); });
  Assembler::Lines right = code_.apart([&] { y = expr(b, lane_b); });
  if (!x || !y) return std::nullopt;
  if (left.empty() && right.empty()) return code_.select(condition, *x, *y);
  const std::uint32_t other = code_.new_label(), end = code_.new_label();
  code_.emit({Op::JumpIfZero, {}, other, condition.reg});
  code_.append(std::move(left));
  const Operand to = code_.here(Op::Move, {}, x->reg);
  code_.emit({Op::Jump, {}, end});
  code_.place_label(other);
  code_.append(std::move(right));
  code_.emit({Op::Move, {}, to.reg, y->reg});
  code_.place_label(end);
  return to;
}

Operand Compiler::wrapped(Operand v, DType t) { return t.bits >= 64 || t.bits == 0 ? v : code_.pure(Op::Wrap, t, v); }

Operand Compiler::rounded(Operand v, DType t) {
  if (t == DType::Float(64)) return v;
  return kind_of(t) == Kind::Single ? code_.pure(Op::ToF32, {}, v)
                                    : code_.pure(is_half(t) ? Op::RoundHalf : Op::Round, t, v);
}

Operand Compiler::widened(Operand v, DType t) {
  return kind_of(t) == Kind::Single ? code_.pure(Op::FromF32, {}, v) : v;
}

std::optional<Operand> Compiler::float_binary(BinaryKind kind, Operand a, Operand b, DType t) {
  const bool single = kind_of(t) == Kind::Single;
  const auto arithmetic = [&](Op plain, Op in_single) {
    return single ? code_.pure(in_single, {}, a, b) : rounded(code_.pure(plain, {}, a, b), t);
  };
  const auto exact = [&](Op plain, Op in_single, Operand x, Operand y) {
    return code_.pure(single ? in_single : plain, {}, x, y);
  };
  switch (kind) {
    case BinaryKind::Add:
      return single ? code_.add_single(a, b) : arithmetic(Op::AddF, Op::AddF32);
    case BinaryKind::Sub:
      return arithmetic(Op::SubF, Op::SubF32);
    case BinaryKind::Mul:
      return arithmetic(Op::MulF, Op::MulF32);
    case BinaryKind::Div:
      return arithmetic(Op::DivF, Op::DivF32);
    case BinaryKind::Min:
      return exact(Op::MinF, Op::MinF32, a, b);
    case BinaryKind::Max:
      return exact(Op::MaxF, Op::MaxF32, a, b);
    case BinaryKind::EQ:
      return exact(Op::EqF, Op::EqF32, a, b);
    case BinaryKind::NE:
      return exact(Op::NeF, Op::NeF32, a, b);
    case BinaryKind::LT:
      return exact(Op::LtF, Op::LtF32, a, b);
    case BinaryKind::LE:
      return exact(Op::LeF, Op::LeF32, a, b);
    case BinaryKind::GT:
      return exact(Op::LtF, Op::LtF32, b, a);
    case BinaryKind::GE:
      return exact(Op::LeF, Op::LeF32, b, a);
    case BinaryKind::Mod:
    case BinaryKind::FloorDiv:
    case BinaryKind::FloorMod:
      return code_.pure(Op::Binary, t, a, b, std::uint32_t(kind));
    case BinaryKind::And:
    case BinaryKind::Or:
      break;
  }
  return std::nullopt;
}

std::optional<Operand> Compiler::int_binary(BinaryKind kind, Operand a, Operand b, DType t, const ir::Expr* divisor) {
  const bool is_unsigned = t.is_uint();
  const auto arithmetic = [&](Op plain, Op in_32) {
    return t == DType::Int(32) ? code_.pure(in_32, {}, a, b) : wrapped(code_.pure(plain, {}, a, b), t);
  };
  const auto comparison = [&](Op with_sign, Op without, Operand x, Operand y) {
    return code_.pure(is_unsigned ? without : with_sign, {}, x, y);
  };
  switch (kind) {
    case BinaryKind::Add:
      return arithmetic(Op::AddI, Op::AddI32);
    case BinaryKind::Sub:
      return arithmetic(Op::SubI, Op::SubI32);
    case BinaryKind::Mul:
      return arithmetic(Op::MulI, Op::MulI32);
    case BinaryKind::Div:
    case BinaryKind::Mod:
    case BinaryKind::FloorDiv:
    case BinaryKind::FloorMod:
      return divide(kind, a, b, t, divisor);
    case BinaryKind::Min:
      return comparison(Op::MinI, Op::MinU, a, b);
    case BinaryKind::Max:
      return comparison(Op::MaxI, Op::MaxU, a, b);
    case BinaryKind::EQ:
      return code_.pure(Op::EqI, {}, a, b);
    case BinaryKind::NE:
      return code_.pure(Op::NeI, {}, a, b);
    case BinaryKind::LT:
      return comparison(Op::LtI, Op::LtU, a, b);
    case BinaryKind::LE:
      return comparison(Op::LeI, Op::LeU, a, b);
    case BinaryKind::GT:
      return comparison(Op::LtI, Op::LtU, b, a);
    case BinaryKind::GE:
      return comparison(Op::LeI, Op::LeU, b, a);
    case BinaryKind::And:
    case BinaryKind::Or:
      break;
  }
  return std::nullopt;
}

std::optional<Operand> Compiler::divide(BinaryKind kind, Operand a, Operand b, DType t, const ir::Expr* divisor) {
  const std::int64_t by = ir::const_int(divisor).value_or(0);
  const bool floor = kind == BinaryKind::FloorDiv, modulo = kind == BinaryKind::FloorMod;
  if (t.is_int() && by > 0 && (floor || modulo)) {
    const Operand result = code_.pure(floor ? Op::FloorDivBy : Op::FloorModBy, {}, a, b);
    return floor ? wrapped(result, t) : result;
  }
  if (t.is_int() && (floor || modulo)) {
    const Operand result = code_.here(floor ? Op::FloorDiv : Op::FloorMod, {}, a.reg, b.reg);
    return floor ? wrapped(result, t) : result;
  }
  if (by > 0) return code_.pure(Op::Binary, t, a, b, std::uint32_t(kind));
  return code_.here(Op::Binary, t, a.reg, b.reg, std::uint32_t(kind));
}

std::optional<Operand> Compiler::convert(Operand v, DType from, DType to) {
  if (to.is_float()) {
    if (from.is_float() && kind_of(from) == Kind::Single && kind_of(to) == Kind::Single) return v;
    if (from.is_float()) return rounded(widened(v, from), to);
    return rounded(code_.pure(from.is_uint() && from.bits == 64 ? Op::UIntToF : Op::IntToF, {}, v), to);
  }
  if (to.is_bool() && from.is_float()) return code_.pure(Op::NeF, {}, widened(v, from), code_.constant(0.0));
  if (to.is_bool()) return truth(v);
  if (from.is_float()) return code_.pure(Op::Convert, from, widened(v, from), {}, code_.type(to));
  return to.is_handle() ? v : wrapped(v, to);
}

// ---- vectors ----

std::optional<Operand> Compiler::ramp(const ir::Ramp* r, int lane) {
  const int inner = lanes_of(r->base);
  const Value base = integer(r->base, lane % inner);
  const Value stride = base ? integer(r->stride, lane % inner) : std::nullopt;
  if (!stride) return std::nullopt;
  const Operand steps = code_.pure(Op::MulI, {}, *stride, code_.constant(std::int64_t(lane / inner)));
  return wrapped(code_.pure(Op::AddI, {}, *base, steps), r->dtype().element());
}

std::optional<Operand> Compiler::shuffle(const ir::Shuffle* s, int lane) {
  const auto index = ir::const_int(s->indices[std::size_t(lane) % s->indices.size()]);
  if (!index || *index < 0) return std::nullopt;
  std::int64_t at = *index;
  for (const ir::Expr* v : s->vectors) {
    if (at < lanes_of(v)) return expr(v, int(at));
    at -= lanes_of(v);
  }
  return std::nullopt;
}

// ---- calls ----

std::optional<Operand> Compiler::call(const ir::Call* c, int lane) {
  const DType result = c->dtype().element();
  if (is_call_of<ir::intrin::IfThenElse>(c)) {
    const Value condition = integer(c->args[0], lane % lanes_of(c->args[0]));
    return condition && same_kind(c, c->args[1]) ? choose(*condition, c->args[1], lane, c->args[2], lane)
                                                 : std::nullopt;
  }
  if (is_call_of<ir::intrin::Reinterpret>(c)) {
    if (c->args[0]->dtype().element().bits != result.bits || lanes_of(c->args[0]) != lanes_of(c)) return std::nullopt;
    const Value v = expr(c->args[0], lane);
    return v ? Value(code_.pure(Op::Reinterpret, c->args[0]->dtype().element(), *v, {}, code_.type(result))) : v;
  }
  if (is_call_of<ir::intrin::Likely>(c)) {
    return same_kind(c, c->args[0]) ? expr(c->args[0], lane) : std::nullopt;
  }
  if (ir::is_multiply_add(c)) return multiply_add(c, lane);
  return function(c, lane);
}

std::optional<Operand> Compiler::multiply_add(const ir::Call* c, int lane) {
  const DType t = c->dtype().element();
  const std::size_t at = ir::first_operand(c);
  for (std::size_t i = at; i < at + 3; ++i)
    if (!t.is_float() || !same_kind(c, c->args[i])) return std::nullopt;
  const Value a = expr(c->args[at], lane), b = expr(c->args[at + 1], lane), sum = expr(c->args[at + 2], lane);
  if (!a || !b || !sum) return std::nullopt;
  const Value product = float_binary(BinaryKind::Mul, *a, *b, t);
  return float_binary(BinaryKind::Add, *product, *sum, t);
}

std::optional<Operand> Compiler::function(const ir::Call* c, int lane) {
  const ir::IntrinsicInfo* row = ir::called_intrinsic(c);
  std::size_t first = 0;
  if (const ir::IntrinsicInfo* named = ir::named_intrinsic(c)) {
    row = named;
    first = ir::first_operand(c);
  }
  if (!row || std::size_t(row->arity) + first > c->args.size() || !body_of(*row)) return std::nullopt;
  Function f{body_of(*row), c->args[first]->dtype().element(), c->dtype().element(), {}};
  std::vector<Operand> operands;
  for (int i = 0; i < row->arity; ++i) {
    const ir::Expr* operand = c->args[first + std::size_t(i)];
    const OperandKind kind = operand_kind(*row, i);
    const bool is_float = operand->dtype().is_float();
    if ((kind == OperandKind::Float && !is_float) || (kind == OperandKind::Integer && is_float)) return std::nullopt;
    const Value v = expr(operand, lane);
    if (!v) return v;
    operands.push_back(*v);
    f.operands.push_back(kind_of(operand->dtype().element()));
  }
  return code_.call(std::move(f), operands);
}

// ---- memory ----

std::optional<Access> Compiler::access(const ir::Buffer* b, ir::Span<const ir::Expr*> of, int lane) {
  if (b->dtype.lanes != 1 || of.size() != b->shape.size() || of.size() > kMaxRank) return std::nullopt;
  std::vector<Operand> operands;
  for (const ir::Expr* e : of) {
    const Value index = integer(e, lanes_of(e) > 1 ? lane : 0);
    if (!index) return std::nullopt;
    operands.push_back(*index);
  }
  return code_.access(b, std::move(operands));
}

std::optional<Operand> Compiler::load(const ir::BufferLoad* l, int lane) {
  const DType t = l->buffer->dtype.element();
  if (!is_number(t) || t.is_void() || kind_of(t) != kind_of(l->dtype().element())) return std::nullopt;
  const Value on = l->predicate ? integer(l->predicate, lane) : std::nullopt;
  if (l->predicate && !on) return std::nullopt;
  const std::uint32_t end = code_.new_label();
  Operand to{};
  if (on) {
    to = code_.here(Op::Move, {}, code_.constant(std::int64_t(0)).reg);
    code_.emit({Op::JumpIfZero, {}, end, on->reg});
  }
  const auto at = access(l->buffer, l->indices, lane);
  if (!at) return std::nullopt;
  const Operand loaded = code_.here(load_op(t), t, *at);
  if (!on) return loaded;
  code_.emit({Op::Move, {}, to.reg, loaded.reg});
  code_.place_label(end);
  return to;
}

}  // namespace rldb::eval
