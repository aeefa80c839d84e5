// Random programs: every call that has a definition (operator_opinion.h) gives what the definition gives on the
// operands that it had in the run. This is an oracle outside rldb: it does not know LegalizeOps.
#include "repro/operator_opinion.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "repro/loaded.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/compare.h"
#include "rldb/repro/generate.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

std::optional<Array> array_of(const runtime::Value& v) {
  if (!v.is(runtime::ValueKind::Tensor)) return std::nullopt;
  const runtime::Tensor& t = v.as_tensor();
  Array a{t.shape(), {}, t.dtype()};
  for (std::int64_t i = 0; i < t.element_count(); ++i) a.data.push_back(t.at(i));
  return a;
}

// The values of the variables of one run.
using Values = std::map<std::string, const runtime::Value*>;

bool add_operand(const ir::Expr* e, const Values& values, std::vector<Array>& out) {
  std::optional<Array> a;
  if (const auto* v = ir::as<ir::Var>(e)) {
    const auto it = values.find(std::string(v->name));
    if (it != values.end()) a = array_of(*it->second);
  } else if (const auto* c = ir::as<ir::Constant>(e)) {
    a = array_of(*c->value);
  } else if (const auto* i = ir::as<ir::IntImm>(e)) {
    a = Array{{}, {double(i->value)}, i->dtype()};
  } else if (const auto* f = ir::as<ir::FloatImm>(e)) {
    a = Array{{}, {f->value}, f->dtype()};
  } else if (ir::as<ir::ShapeExpr>(e)) {
    return true;  // the shape of the result says the same
  } else if (const auto* t = ir::as<ir::Tuple>(e)) {
    for (const ir::Expr* item : t->items)
      if (!add_operand(item, values, out)) return false;
    return true;
  }
  if (a) out.push_back(std::move(*a));
  return a.has_value();
}

// The rounding that a result may have: of its dtype, growing with the number of elements that went into it.
double allowed(const KnownCall& c, double most) {
  std::int64_t n = 16;
  int bits = c.dtype.bits;
  for (const Array& a : c.args) {
    n = std::max(n, a.size());
    if (a.dtype.is_float()) bits = std::min<int>(bits, a.dtype.bits);
  }
  const double epsilon = bits >= 64 ? 1e-13 : bits == 32 ? 1e-6 : 2e-3;
  return epsilon * double(n) * (1 + most);
}

// Empty: the result is that of the definition.
std::string compared(const KnownCall& c, const Array& got, const std::vector<double>& wanted) {
  if (got.data.size() != wanted.size()) return fmt::format("{} elements, not {}", got.data.size(), wanted.size());
  double most = 0;
  for (const Array& a : c.args)
    for (const double x : a.data)
      if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  for (const double x : wanted)
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  const double off = c.dtype.is_float() ? allowed(c, most) : 0;
  const double limit = c.dtype.is_float() ? (c.dtype.bits == 16 ? 65504 : 1e38) : std::ldexp(1, c.dtype.bits - 1);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!std::isfinite(wanted[i]) || std::fabs(wanted[i]) >= limit) continue;  // undefined, or does not fit
    if (!(std::fabs(got.data[i] - wanted[i]) <= off))
      return fmt::format("element {} is {}, by its definition {}", i, got.data[i], wanted[i]);
  }
  return {};
}

struct Checked {
  std::set<std::string> operators;
  int calls = 0;
};

void check_program(session::Session& s, const repro::Generated& program, Checked& checked) {
  s.options().default_dim = program.dim;
  repro::Program p;
  p.module = program.module;
  p.function = "main";
  p.kernels = session::Engine::Vm;
  for (const auto& [name, value] : repro::inputs_of(s, program)) p.args.push_back(value);
  const repro::Trace trace = repro::record(s, p);
  Values values;
  for (const repro::Event& e : trace.events) {
    if (e.function == "main")
      for (const std::string& name : e.names) values[name] = &e.value;
    const auto* call = e.binding && e.function == "main" ? ir::as<ir::Call>(e.binding->value) : nullptr;
    const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
    const auto* type = call ? ir::as<ir::TensorType>(call->type) : nullptr;
    if (!op || !type) continue;
    const std::string name(op->name.substr(op->name.find('.') + 1));
    const auto definition = definitions().find(name);
    const auto got = array_of(e.value);
    if (definition == definitions().end() || !got) continue;
    KnownCall c{{}, call->attrs, got->shape, got->dtype};
    bool known = true;
    for (const ir::Expr* a : call->args) known = known && add_operand(a, values, c.args);
    const auto wanted = known ? definition->second(c) : std::nullopt;
    if (!wanted) continue;
    ++checked.calls;
    checked.operators.insert(name);
    INFO("seed ", program.seed, ": ", ir::print_binding(e.binding));
    const std::string wrong = compared(c, *got, *wanted);
    CHECK_MESSAGE(wrong.empty(), wrong);
  }
}

}  // namespace

TEST_CASE("operators give what their definitions give, in random programs of each") {
  Quiet quiet;
  session::Session s(on_the_machine(), &quiet);
  Checked checked;
  for (const op::Row& row : op::rows()) {
    const std::string name(row.name.substr(row.name.find('.') + 1));
    if (!definitions().contains(name) || !repro::not_generated_because(row.name).empty()) continue;
    repro::GenerateOptions only;
    only.bindings = 3;
    only.operators = {row.id};
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      if (const auto program = repro::generate(s, seed, only)) check_program(s, *program, checked);
  }
  for (std::uint64_t seed = 100; seed < 130; ++seed)
    if (const auto program = repro::generate(s, seed)) check_program(s, *program, checked);
  std::string missed;
  for (const auto& [name, f] : definitions())
    if (!checked.operators.contains(std::string(name))) missed += std::string(name) + " ";
  MESSAGE(checked.calls, " calls of ", checked.operators.size(), " operators; defined, but never called: ", missed);
  CHECK(checked.operators.size() > 90);
}

TEST_CASE("the definitions notice a result that is wrong") {
  KnownCall c{{{{2}, {1, 2}, runtime::DType::Float(32)}}, {}, {2}, runtime::DType::Float(32)};
  const auto wanted = definitions().at("exp")(c);
  REQUIRE(wanted);
  CHECK(compared(c, {{2}, {std::exp(1.0), std::exp(2.0)}, c.dtype}, *wanted).empty());
  CHECK_FALSE(compared(c, {{2}, {std::exp(1.0), 7.39}, c.dtype}, *wanted).empty());
}
