// The elementary functions of float32 as OpenCL C: the formulas of runtime/float_formula.h, one operation a line, so
// that the device computes the bits that the evaluator does.
#include <fmt/format.h>

#include "codegen/opencl/emit/emitter.h"
#include "codegen/opencl/emit/formula_name.h"
#include "rldb/runtime/float_formula.h"

namespace rldb::codegen {

namespace {

// The operations of float_formula.h; a value is the name of a variable, or a literal.
class FormulaText {
 public:
  template <int kind>
  struct Typed {
    std::string v;
  };
  using F = Typed<0>;
  using D = Typed<1>;
  using I = Typed<2>;
  using L = Typed<3>;
  using M = Typed<4>;

  F f(float v) { return {float_literal(double(v), ir::DType::Float(32))}; }
  D d(double v) { return {float_literal(v, ir::DType::Float(64))}; }
  I i(std::int32_t v) { return {int_literal(v, ir::DType::Int(32))}; }
  L l(std::int64_t v) { return {int_literal(v, ir::DType::Int(64))}; }
  F constant(const F&, float v) { return f(v); }
  D constant(const D&, double v) { return d(v); }

  template <int k>
  Typed<k> add(Typed<k> a, Typed<k> b) {
    return infix<k>(a.v, "+", b.v);
  }
  template <int k>
  Typed<k> sub(Typed<k> a, Typed<k> b) {
    return infix<k>(a.v, "-", b.v);
  }
  template <int k>
  Typed<k> mul(Typed<k> a, Typed<k> b) {
    return infix<k>(a.v, "*", b.v);
  }
  template <int k>
  Typed<k> div(Typed<k> a, Typed<k> b) {
    return infix<k>(a.v, "/", b.v);
  }
  template <int k>
  Typed<k> fma(Typed<k> a, Typed<k> b, Typed<k> c) {
    return line<k>(fmt::format("fma({}, {}, {})", a.v, b.v, c.v));
  }
  template <int k>
  Typed<k> neg(Typed<k> a) {
    return line<k>("-" + a.v);
  }
  template <int k>
  Typed<k> abs(Typed<k> a) {
    return line<k>(fmt::format("fabs({})", a.v));
  }
  template <int k>
  Typed<k> trunc(Typed<k> a) {
    return line<k>(fmt::format("trunc({})", a.v));
  }
  D sqrt(D a) { return line<1>(fmt::format("sqrt({})", a.v)); }
  template <int k>
  Typed<k> copysign(Typed<k> a, Typed<k> b) {
    return line<k>(fmt::format("copysign({}, {})", a.v, b.v));
  }
  template <int k>
  M less(Typed<k> a, Typed<k> b) {
    return infix<4>(a.v, "<", b.v);
  }
  template <int k>
  M equal(Typed<k> a, Typed<k> b) {
    return infix<4>(a.v, "==", b.v);
  }
  M both(M a, M b) { return infix<4>(a.v, "&&", b.v); }
  M either(M a, M b) { return infix<4>(a.v, "||", b.v); }
  M negated(M a) { return line<4>("!" + a.v); }
  template <int k>
  Typed<k> select(M m, Typed<k> a, Typed<k> b) {
    return line<k>(fmt::format("{} ? {} : {}", m.v, a.v, b.v));
  }

  I bits(F v) { return line<2>(fmt::format("as_int({})", v.v)); }
  L bits(D v) { return line<3>(fmt::format("as_long({})", v.v)); }
  F floating(I v) { return line<0>(fmt::format("as_float({})", v.v)); }
  D floating(L v) { return line<1>(fmt::format("as_double({})", v.v)); }
  template <int k>
  Typed<k> plus(Typed<k> a, Typed<k> b) {
    return wrapping<k>(a.v, "+", b.v);
  }
  template <int k>
  Typed<k> minus(Typed<k> a, Typed<k> b) {
    return wrapping<k>(a.v, "-", b.v);
  }
  template <int k>
  Typed<k> bit_and(Typed<k> a, Typed<k> b) {
    return infix<k>(a.v, "&", b.v);
  }
  template <int k>
  Typed<k> shl(Typed<k> a, int n) {
    return wrapping<k>(a.v, "<<", std::to_string(n));
  }
  template <int k>
  Typed<k> sar(Typed<k> a, int n) {
    return infix<k>(a.v, ">>", std::to_string(n));
  }
  F number(I v) { return line<0>("(float)" + v.v); }
  D number(L v) { return line<1>("(double)" + v.v); }
  D wide(F v) { return line<1>("(double)" + v.v); }
  F narrow(D v) { return line<0>("(float)" + v.v); }
  M odd(L v, int bit) { return line<4>(fmt::format("(({} >> {}) & 1) != 0", v.v, bit)); }
  // `function` is that of C's library for float, whose name ends in f; OpenCL's has the name without it.
  F rare(M m, F x, std::string_view function, F y) {
    return line<0>(fmt::format("{} ? {}({}) : {}", m.v, function.substr(0, function.size() - 1), x.v, y.v));
  }

  std::string text;
  bool doubles = false;

 private:
  static constexpr std::string_view kTypes[] = {"float", "double", "int", "long", "bool"};
  static constexpr std::string_view kUnsigned[] = {"", "", "uint", "ulong", ""};

  template <int k>
  Typed<k> line(const std::string& expression) {
    doubles = doubles || k == 1 || k == 3;
    std::string name = fmt::format("t{}", ++count_);
    text += fmt::format("  const {} {} = {};\n", kTypes[k], name, expression);
    return {std::move(name)};
  }
  template <int k>
  Typed<k> infix(const std::string& a, std::string_view symbol, const std::string& b) {
    return line<k>(fmt::format("{} {} {}", a, symbol, b));
  }
  template <int k>
  Typed<k> wrapping(const std::string& a, std::string_view symbol, const std::string& b) {
    return line<k>(fmt::format("({0})(({1}){2} {3} ({1}){4})", kTypes[k], kUnsigned[k], a, symbol, b));
  }
  int count_ = 0;
};

using Unary = FormulaText::F (*)(FormulaText&, FormulaText::F);
using Binary = FormulaText::F (*)(FormulaText&, FormulaText::F, FormulaText::F);

// By the columns Formula1(f) and Formula2(f) of intrinsic.def.
struct FormulaRow {
  std::string_view name;
  Unary one = nullptr;
  Binary two = nullptr;
};
#define RLDB_FORMULA_Libm1(f)
#define RLDB_FORMULA_Libm2(f)
#define RLDB_FORMULA_Formula1(f) {#f, &runtime::formula::f<FormulaText>, nullptr},
#define RLDB_FORMULA_Formula2(f) {#f, nullptr, &runtime::formula::f<FormulaText>},
#define RLDB_FORMULA_Native(f)
#define RLDB_FORMULA_Own(f)
#define RLDB_FORMULA_Form
#define RLDB_FORMULA_Eval
#define RLDB_FORMULA_None
constexpr FormulaRow kFormulas[] = {
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, evaluate) RLDB_FORMULA_##evaluate
#include "rldb/ir/intrinsic/intrinsic.def"
    {formula_name::kSigmoid, &runtime::formula::sigmoid<FormulaText>, nullptr},
};

}  // namespace

std::string Emitter::formula(std::string_view name) {
  for (const FormulaRow& row : kFormulas) {
    if (row.name != name) continue;
    FormulaText code;
    const FormulaText::F x{"x"}, y{"y"};
    const FormulaText::F result = row.one ? row.one(code, x) : row.two(code, x, y);
    if (code.doubles) need_float64();
    return helper(fmt::format("rldb_{}", name), fmt::format("inline float $(float x{}) {{\n{}  return {};\n}}",
                                                            row.one ? "" : ", float y", code.text, result.v));
  }
  RLDB_UNREACHABLE("the names of formulas come from their table");
}

}  // namespace rldb::codegen
