// Calls of intrinsics.
#include <fmt/args.h>
#include <fmt/format.h>

#include "codegen/opencl/emit/emitter.h"
#include "codegen/opencl/emit/formula_name.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/lowered_name.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/threads.h"

namespace rldb::codegen {

using ir::as;
using ir::DType;

namespace {

enum class Operands : std::uint8_t { Floats, Integers, Any, FloatAndInteger };

// How a function is written.
struct Written {
  enum class How : std::uint8_t { Absent, Library, Formula, Operation, Absolute, Sigmoid, PowerOfTen };
  How how = How::Absent;
  std::string_view name;  // of the function of C's library, or of the formula
  Operands operands = Operands::Floats;
  std::string_view text;  // of an operation
};

namespace operation {
#define RLDB_CL_OPERATION(f, operands, text) constexpr Written f{Written::How::Operation, {}, Operands::operands, text};
#include "codegen/opencl/emit/cl_operation.def"
constexpr Written absolute{Written::How::Absolute, {}, Operands::Any, {}};
constexpr Written sigmoid{Written::How::Sigmoid, {}, Operands::Floats, {}};
constexpr Written exp10{Written::How::PowerOfTen, {}, Operands::Floats, {}};
}  // namespace operation

// By row of intrinsic.def: a function without a row in cl_operation.def does not compile.
#define RLDB_WRITTEN_Libm1(f)                       \
  Written {                                         \
    Written::How::Library, #f, Operands::Floats, {} \
  }
#define RLDB_WRITTEN_Libm2(f)                       \
  Written {                                         \
    Written::How::Library, #f, Operands::Floats, {} \
  }
#define RLDB_WRITTEN_Formula1(f)                    \
  Written {                                         \
    Written::How::Formula, #f, Operands::Floats, {} \
  }
#define RLDB_WRITTEN_Formula2(f)                    \
  Written {                                         \
    Written::How::Formula, #f, Operands::Floats, {} \
  }
#define RLDB_WRITTEN_Native(f) operation::f
#define RLDB_WRITTEN_Own(f) operation::f
#define RLDB_WRITTEN_Form \
  Written {}
#define RLDB_WRITTEN_Eval \
  Written {}
#define RLDB_WRITTEN_None \
  Written {}
constexpr Written kWritten[] = {
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, evaluate) RLDB_WRITTEN_##evaluate,
#include "rldb/ir/intrinsic/intrinsic.def"
};

std::string name_of(const ir::Call* c) {
  if (!ir::is_tir_op(c->callee)) return ir::print_expr(c);
  std::string name = "T." + std::string(as<ir::Op>(c->callee)->name.substr(ir::kTirPrefix.size()));
  if (!c->args.empty())
    if (const auto* s = as<ir::StringImm>(c->args[0])) name += fmt::format("(\"{}\")", s->value);
  return name;
}

bool takes(Operands kind, std::size_t operand, DType t) {
  switch (kind) {
    case Operands::Floats:
      return t.is_float();
    case Operands::Integers:
      return t.is_integral();
    case Operands::FloatAndInteger:
      return operand == 0 ? t.is_float() : t.is_integral();
    case Operands::Any:
      return true;
  }
  RLDB_UNREACHABLE("kind of operands");
}

std::string operation_text(std::string_view text, const std::vector<std::string>& operands, DType t, DType result) {
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  for (const std::string& o : operands) values.push_back(o);
  values.push_back(fmt::arg("U", t.is_bool() ? std::string_view("uchar") : unsigned_type(t)));
  values.push_back(fmt::arg("W", std::string_view(t.is_int() ? "long" : "ulong")));
  values.push_back(fmt::arg("F", t.is_float() ? value_type(t) : std::string_view("float")));
  values.push_back(fmt::arg("R", value_type(result)));
  values.push_back(fmt::arg("S", std::string_view(t.bits == 64 ? "" : "f")));
  return "(" + fmt::vformat(text, values) + ")";
}

}  // namespace

std::string Emitter::call(const ir::Call* c, int lane) {
  if (ir::is_call_of(c, ir::intrin::IfThenElse)) return choice(c->args[0], c->args[1], c->args[2], lane);
  if (ir::is_call_of(c, ir::intrin::Likely)) return value(c->args[0], lane);
  if (ir::is_call_of(c, ir::intrin::Reinterpret)) return reinterpreted(c, lane);
  if (ir::meeting_of(c) != ir::Meeting::None) return exchange(c);
  const DType result = c->dtype().element();
  if (ir::is_multiply_add(c)) {
    const std::size_t at = ir::first_operand(c);
    const std::string product =
        rounded(fmt::format("({} * {})", value(c->args[at], lane), value(c->args[at + 1], lane)), result);
    return rounded(fmt::format("({} + {})", product, value(c->args[at + 2], lane)), result);
  }
  const ir::IntrinsicInfo* row = ir::called_intrinsic(c);
  std::size_t first = 0;
  if (const ir::IntrinsicInfo* named = ir::named_intrinsic(c)) row = named, first = ir::first_operand(c);
  const Written written = row ? kWritten[row->index] : Written{};
  if (written.how == Written::How::Absent || first + std::size_t(std::max(0, row->arity)) > c->args.size()) {
    refuse(fmt::format("`{}` has no form in OpenCL C", name_of(c)));
    return "0";
  }
  std::vector<std::string> operands;
  for (std::size_t i = 0; i < std::size_t(row->arity); ++i) {
    const ir::Expr* operand = c->args[first + i];
    if (!takes(written.operands, i, operand->dtype())) {
      refuse(fmt::format("`{}` does not take {}", name_of(c), to_string(operand->dtype())));
      return "0";
    }
    operands.push_back(value(operand, lane));
  }
  const DType t = c->args[first]->dtype().element();
  return rounded(function_text(row->index, operands, t, result), result);
}

std::string Emitter::function_text(std::size_t row, const std::vector<std::string>& operands, DType t, DType result) {
  const Written& written = kWritten[row];
  const bool formulas = strict() && t.bits <= 32;
  const auto applied = [&](const std::string& function, std::vector<std::string> values) {
    std::string text = function + "(";
    for (const std::string& v : values) text += (text.back() == '(' ? "" : ", ") + bare(v);
    return text + ")";
  };
  // A variable of the kernel may have the name of a function: calls go through helpers, which are outside of kernels.
  const auto library = [&](std::string_view name) -> std::string {
    const std::string_view type = value_type(t);
    const bool two = operands.size() == 2;
    return helper(fmt::format("rldb_{}_{}", name, type),
                  fmt::format("inline {0} $({0} x{1}) {{ return {2}(x{3}); }}", type,
                              two ? fmt::format(", {} y", type) : "", name, two ? ", y" : ""));
  };
  switch (written.how) {
    case Written::How::Library:
      return applied(library(written.name), operands);
    case Written::How::Formula:
      return applied(formulas ? formula(written.name) : library(written.name), operands);
    case Written::How::Operation:
      return applied(operation_function(row, operands.size(), t, result), operands);
    case Written::How::Absolute:
      if (t.is_uint() || t.is_bool()) return operands[0];
      return applied(t.is_float() ? helper(fmt::format("rldb_fabs_{}", value_type(t)),
                                           fmt::format("inline {0} $({0} x) {{ return fabs(x); }}", value_type(t)))
                                  : helper(fmt::format("rldb_abs_{}", value_type(t)),
                                           fmt::format("inline {0} $({0} x) {{ return ({0})abs(x); }}", value_type(t))),
                     operands);
    case Written::How::Sigmoid:
      if (formulas) return applied(formula(formula_name::kSigmoid), operands);
      return applied(helper(fmt::format("rldb_sigmoid_{}", value_type(t)),
                            fmt::format("inline {0} $({0} x) {{ return 1 / (1 + exp(-x)); }}", value_type(t))),
                     operands);
    case Written::How::PowerOfTen:
      if (formulas) return applied(formula(formula_name::kPow), {float_literal(10, t), operands[0]});
      return applied(helper(fmt::format("rldb_exp10_{}", value_type(t)),
                            fmt::format("inline {0} $({0} x) {{ return exp10(x); }}", value_type(t))),
                     operands);
    case Written::How::Absent:
      break;
  }
  RLDB_UNREACHABLE("refused before");
}

// The operation as a function of its own.
std::string Emitter::operation_function(std::size_t row, std::size_t count, DType t, DType result) {
  static constexpr std::string_view kNames[] = {"x", "y", "z"};
  const Written& written = kWritten[row];
  std::string parameters;
  std::vector<std::string> operands;
  for (std::size_t i = 0; i < count && i < std::size(kNames); ++i) {
    const bool integer = written.operands == Operands::FloatAndInteger && i > 0;
    parameters += fmt::format("{}{} {}", i ? ", " : "", integer ? std::string_view("long") : value_type(t), kNames[i]);
    operands.emplace_back(kNames[i]);
  }
  const std::string body =
      t.is_bool() && written.text == operation::bit_not.text ? "!x" : operation_text(written.text, operands, t, result);
  return helper(fmt::format("rldb_{}_{}", ir::all_intrinsics()[row].name, value_type(t)),
                fmt::format("inline {} $({}) {{ return {}; }}", value_type(result), parameters, bare(body)));
}

std::string Emitter::reinterpreted(const ir::Call* c, int lane) {
  const DType from = c->args[0]->dtype().element(), to = c->dtype().element();
  const std::string text = value(c->args[0], lane);
  if (from.bits != to.bits || from.is_bool() || to.is_bool() || value_type(to).empty()) {
    refuse(fmt::format("`T.reinterpret` of {} as {} has no form in OpenCL C here", to_string(from), to_string(to)));
    return "0";
  }
  if (is_rounded(from) || is_rounded(to)) {
    if (from == to) return text;
    refuse(fmt::format("`T.reinterpret` of {} as {} has no form in OpenCL C here", to_string(from), to_string(to)));
    return "0";
  }
  return fmt::format("as_{}({})", value_type(to), bare(text));
}

}  // namespace rldb::codegen
