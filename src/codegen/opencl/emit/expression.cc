// Expressions as C: each value is computed as the evaluator computes it, and rounded where it rounds.
#include <fmt/format.h>

#include "codegen/opencl/emit/emitter.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;
using ir::BinaryKind;
using ir::DType;

namespace {

constexpr int kMaxNesting = 1'200;  // as deep as the evaluator follows an expression

int lanes_in(const ir::Expr* e) { return std::max(1, int(e->dtype().lanes)); }

std::string_view symbol_of(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::Add:
      return "+";
    case BinaryKind::Sub:
      return "-";
    case BinaryKind::Mul:
      return "*";
    case BinaryKind::Div:
    case BinaryKind::FloorDiv:
      return "/";
    case BinaryKind::Mod:
    case BinaryKind::FloorMod:
      return "%";
    case BinaryKind::Min:
    case BinaryKind::LT:
      return "<";
    case BinaryKind::Max:
    case BinaryKind::GT:
      return ">";
    case BinaryKind::LE:
      return "<=";
    case BinaryKind::GE:
      return ">=";
    case BinaryKind::EQ:
      return "==";
    case BinaryKind::NE:
      return "!=";
    case BinaryKind::And:
      return "&&";
    case BinaryKind::Or:
      return "||";
  }
  RLDB_UNREACHABLE("every binary kind has its case");
}

bool gives_truth(BinaryKind kind) { return kind >= BinaryKind::EQ && kind <= BinaryKind::Or; }
bool is_division(BinaryKind kind) {
  return kind == BinaryKind::Div || kind == BinaryKind::Mod || kind == BinaryKind::FloorDiv ||
         kind == BinaryKind::FloorMod;
}

}  // namespace

int Emitter::lanes_of_operand(const ir::Expr* e, int lane) const { return lane % lanes_in(e); }

std::string Emitter::value(const ir::Expr* e, int lane) {
  if (!refused_.empty()) return "0";
  struct Nesting {
    explicit Nesting(int& n) : n(n) { ++n; }
    ~Nesting() { --n; }
    int& n;
  } nesting(nesting_);
  if (nesting_ > kMaxNesting) refuse("an expression is nested too deeply");
  const DType t = e->dtype().element();
  if (value_type(t).empty() && !as<ir::Call>(e)) {
    refuse(fmt::format("{} has no type in OpenCL C here: `{}`", to_string(t), ir::print_expr(e)));
    return "0";
  }
  if (t.code == runtime::TypeCode::Float && t.bits == 64) need_float64();
  if (const auto* v = as<ir::Var>(e)) return variable(v, lane);
  if (const auto* i = as<ir::IntImm>(e)) return int_literal(i->value, t);
  if (const auto* f = as<ir::FloatImm>(e)) return rounded(float_literal(f->value, t), t);
  if (const auto* b = as<ir::BinaryExpr>(e)) return binary(b, lane);
  if (const auto* l = as<ir::BufferLoad>(e)) return load(l, lane);
  if (const auto* n = as<ir::NotExpr>(e)) return fmt::format("(!{})", value(n->a, lane));
  if (const auto* c = as<ir::CastExpr>(e)) return converted(value(c->value, lane), c->value->dtype().element(), t);
  if (const auto* s = as<ir::SelectExpr>(e)) return choice(s->cond, s->true_value, s->false_value, lane);
  if (const auto* r = as<ir::Ramp>(e)) {
    const int inner = lanes_in(r->base);
    const std::string base = value(r->base, lane % inner), stride = value(r->stride, lane % inner);
    if (lane / inner == 0) return base;
    return fmt::format("({})({} + {} * {})", value_type(t), base, lane / inner, stride);
  }
  if (const auto* b = as<ir::Broadcast>(e)) return value(b->value, lane % lanes_in(b->value));
  if (const auto* s = as<ir::Shuffle>(e)) {
    auto index = ir::const_int(s->indices[std::size_t(lane) % s->indices.size()]);
    for (const ir::Expr* v : s->vectors) {
      if (index && *index >= 0 && *index < lanes_in(v)) return value(v, int(*index));
      if (index) *index -= lanes_in(v);
    }
    refuse(fmt::format("the lanes of a shuffle are not constants: `{}`", ir::print_expr(e)));
    return "0";
  }
  if (const auto* l = as<ir::LetExpr>(e)) {
    lets_[l->var] = l->value;
    return value(l->body, lane);
  }
  if (const auto* c = as<ir::Call>(e)) return call(c, lane);
  refuse(fmt::format("`{}` has no form in OpenCL C", ir::print_expr(e)));
  return "0";
}

std::string Emitter::variable(const ir::Var* v, int lane) {
  if (const auto it = local_vectors_.find(v); it != local_vectors_.end())
    return it->second[std::min(std::size_t(lane), it->second.size() - 1)];
  if (const auto it = local_vars_.find(v); it != local_vars_.end()) return it->second;
  if (const auto it = lets_.find(v); it != lets_.end()) return value(it->second, lane % lanes_in(it->second));
  if (v->dtype().is_handle() || as<ir::PointerType>(v->type)) {
    refuse(fmt::format("the pointer `{}` is used as a value", v->name));
    return "0";
  }
  argument({LaunchArgument::Kind::Scalar, v});
  const std::string name = names_.of(v, v->name);
  if (v->dtype().is_bool()) return fmt::format("({} != 0)", name);
  return name;
}

bool Emitter::fits(const ir::Expr* e) {
  const DType t = e->dtype();
  if (!proves_ || !t.is_integral() || t.is_bool() || t.bits < 32) return false;
  bool all = true;
  ir::walk(e, [&](const ir::Node* n) {
    const auto* part = as<ir::Expr>(n);
    if (!all || !part || as<ir::IntImm>(n) || as<ir::Var>(n) || as<ir::Op>(n) || !part->dtype().is_integral())
      return all && !as<ir::BufferLoad>(n);
    const ir::Bounds b = analyzer_.bounds(part);
    const DType own = part->dtype();
    const int bits = std::min<int>(own.bits, 62);
    const std::int64_t most = own.is_uint() ? (std::int64_t(1) << bits) - 1 : (std::int64_t(1) << (bits - 1)) - 1;
    const std::int64_t least = own.is_uint() ? 0 : -most - 1;
    all = own.is_bool() || (b.min && b.max && *b.min >= least && *b.max <= most);
    return all && !as<ir::BufferLoad>(n);
  });
  return all;
}

bool Emitter::at_least(const ir::Expr* e, std::int64_t least) {
  if (!e->dtype().is_scalar()) return false;
  if (const auto known = ir::const_int(e)) return *known >= least;
  if (as<ir::Var>(e)) {
    const ir::Bounds b = bounds_of(e);
    return b.min && *b.min >= least;
  }
  if (!fits(e)) return false;
  const ir::Bounds b = analyzer_.bounds(e);
  return b.min && *b.min >= least;
}

std::string Emitter::binary(const ir::BinaryExpr* e, int lane) {
  std::string a = value(e->a, lane), b = value(e->b, lane);
  const BinaryKind kind = e->op();
  if (gives_truth(kind)) return fmt::format("({} {} {})", a, symbol_of(kind), b);
  if (e->dtype().is_float()) return float_operation(e, std::move(a), std::move(b));
  if (is_division(kind)) return division(e, a, b);
  return int_operation(e, std::move(a), std::move(b));
}

std::string Emitter::float_operation(const ir::BinaryExpr* e, std::string a, std::string b) {
  const DType t = e->dtype().element();
  const std::string_view type = value_type(t);
  const BinaryKind kind = e->op();
  if (kind == BinaryKind::Min || kind == BinaryKind::Max) return smaller_or_larger(e, a, b);
  if (kind == BinaryKind::Mod) {
    const std::string& mod = helper(fmt::format("rldb_mod_{}", type),
                                    fmt::format("inline {0} $({0} a, {0} b) {{ return fmod(a, b); }}", type));
    return rounded(call_function(mod, {a, b}), t);
  }
  if (!is_division(kind) || kind == BinaryKind::Div)
    return rounded(fmt::format("({} {} {})", a, symbol_of(kind), b), t);
  // In double, as the evaluator.
  need_float64();
  const bool quotient = kind == BinaryKind::FloorDiv;
  const std::string_view formula =
      quotient ? "floor((double)a / (double)b)" : "((double)a - floor((double)a / (double)b) * (double)b)";
  const std::string& floors = helper(fmt::format("rldb_floor{}_{}", quotient ? "div" : "mod", type),
                                     fmt::format("inline {0} $({0} a, {0} b) {{ return ({0}){1}; }}", type, formula));
  return rounded(call_function(floors, {a, b}), t);
}

std::string Emitter::smaller_or_larger(const ir::BinaryExpr* e, const std::string& a, const std::string& b) {
  const std::string_view type = value_type(e->dtype().element());
  const std::string& choose =
      helper(fmt::format("rldb_{}_{}", e->op() == BinaryKind::Min ? "min" : "max", type),
             fmt::format("inline {0} $({0} a, {0} b) {{ return a {1} b ? a : b; }}", type, symbol_of(e->op())));
  return call_function(choose, {a, b});
}

// Integers wrap: signed ones are computed as unsigned where they might.
std::string Emitter::int_operation(const ir::BinaryExpr* e, std::string a, std::string b) {
  const DType t = e->dtype().element();
  const std::string_view type = value_type(t);
  const BinaryKind kind = e->op();
  if (kind == BinaryKind::Min || kind == BinaryKind::Max) return smaller_or_larger(e, a, b);
  if (t.is_bool()) return fmt::format("(({} {} {}) != 0)", a, symbol_of(kind), b);
  if (t.bits < 32) return fmt::format("(({})({} {} {}))", type, a, symbol_of(kind), b);
  if (t.is_uint() || fits(e)) return fmt::format("({} {} {})", a, symbol_of(kind), b);
  return fmt::format("(({0})(({1}){2} {3} ({1}){4}))", type, unsigned_type(t), a, symbol_of(kind), b);
}

std::string Emitter::division(const ir::BinaryExpr* e, const std::string& a, const std::string& b) {
  const DType t = e->dtype().element();
  const BinaryKind kind = e->op();
  const bool remainder = kind == BinaryKind::Mod || kind == BinaryKind::FloorMod;
  const bool floors = kind == BinaryKind::FloorDiv || kind == BinaryKind::FloorMod;
  const bool positive = at_least(e->b, 1);
  if (positive && (t.is_uint() || at_least(e->a, 0) || !floors)) {
    const std::string plain = fmt::format("({} {} {})", a, symbol_of(kind), b);
    return t.bits < 32 ? fmt::format("(({}){})", value_type(t), plain) : plain;
  }
  const bool down = floors && !t.is_uint();
  const std::string& function = down ? floor_division(t, remainder) : truncated_division(t, remainder);
  return fmt::format("{}({}, {}, {})", function, faults(), bare(a), bare(b));
}

std::string Emitter::choice(const ir::Expr* cond, const ir::Expr* a, const ir::Expr* b, int lane) {
  const std::string c = value(cond, lane % lanes_in(cond));
  ++divergent_;  // only one of them is computed
  const std::string x = value(a, lane), y = value(b, lane);
  --divergent_;
  return fmt::format("({} ? {} : {})", c, x, y);
}

std::string Emitter::call_function(const std::string& name, std::initializer_list<std::string> arguments) {
  std::string text = name + "(";
  for (const std::string& a : arguments) text += (text.back() == '(' ? "" : ", ") + bare(a);
  return text + ")";
}

std::string Emitter::rounded(std::string text, DType t) {
  if (is_half(t))
    return call_function(helper("rldb_half", R"(inline float $(float x) {
  ushort bits;
  vstore_half_rte(x, 0, (half*)&bits);
  return vload_half(0, (const half*)&bits);
})"),
                         {text});
  if (!t.is_bfloat16()) return text;
  return call_function(helper("rldb_bfloat16", R"(inline float $(float x) {
  const uint bits = as_uint(x);
  if (isnan(x)) return as_float((bits & 0xffff0000u) | 0x00400000u);
  return as_float((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
})"),
                       {text});
}

std::string Emitter::converted(std::string text, DType from, DType to) {
  const std::string_view type = value_type(to);
  if (type.empty()) {
    refuse(fmt::format("{} has no type in OpenCL C here", to_string(to)));
    return "0";
  }
  if (from == to) return text;
  if (to.is_bool()) return fmt::format("({} != 0)", text);
  if (to.is_float()) {
    const bool wide = from.is_float() ? from.bits == 64 : from.bits == 64 && !from.is_bool();
    if (to.bits == 64) return fmt::format("(double){}", text);
    // Rounded once, from the double: where halves are concerned, a float in between would round twice.
    if (wide && is_half(to)) {
      need_float64();
      return call_function(helper("rldb_half_of_double", R"(inline float $(double x) {
  ushort bits;
  vstore_half_rte(x, 0, (half*)&bits);
  return vload_half(0, (const half*)&bits);
})"),
                           {"(double)" + text});
    }
    if (from.is_float() && !wide) return rounded(text, to);
    return rounded(fmt::format("(float){}", text), to);
  }
  if (!from.is_float()) return fmt::format("({}){}", type, text);
  // Saturated at 64 bits, then wrapped.
  return fmt::format(
      "({}){}", type,
      call_function(to.is_uint() && to.bits == 64 ? "convert_ulong_sat_rtz" : "convert_long_sat_rtz", {text}));
}

}  // namespace rldb::codegen
