#include "rldb/runtime/kernel.h"

#include <doctest/doctest.h>

#include <limits>

#include "runtime/helpers.h"

using namespace rldb::runtime;
using namespace rldb::runtime::testing;
using Code = DimOp::Code;

namespace {

const DType kF32 = DType::Float(32);

DimExpr constant(std::int64_t v) { return {{{Code::Const, v}}, std::to_string(v)}; }
DimExpr variable(int index, std::string name) { return {{{Code::Var, index}}, std::move(name)}; }
DimExpr binary(Code code, std::int64_t a, std::int64_t b) {
  return {{{Code::Const, a}, {Code::Const, b}, {code}}, "a op b"};
}

KernelParam tensor_param(std::string name, std::vector<DimExpr> shape, DType dtype = kF32) {
  KernelParam p;
  p.name = std::move(name);
  p.dtype = dtype;
  p.shape = std::move(shape);
  return p;
}
KernelParam scalar_param(std::string name, DType dtype, int variable = -1) {
  KernelParam p;
  p.name = std::move(name);
  p.is_tensor = false;
  p.dtype = dtype;
  p.variable = variable;
  return p;
}

// f(C: (m, n * 2), A: (m, n), B: (n, 3), k: int32 = m)
KernelSignature example() {
  KernelSignature s;
  s.name = "f";
  s.variables = {"m", "n"};
  s.variable_dtypes = {DType::Int(64), DType::Int(64)};
  const DimExpr twice{{{Code::Var, 1}, {Code::Const, 2}, {Code::Mul}}, "n * 2"};
  s.params = {tensor_param("C", {variable(0, "m"), twice}), tensor_param("A", {variable(0, "m"), variable(1, "n")}),
              tensor_param("B", {variable(1, "n"), constant(3)}), scalar_param("k", DType::Int(32), 0)};
  return s;
}

Value zeros(std::vector<std::int64_t> shape, DType t = kF32) {
  std::int64_t n = 1;
  for (const auto d : shape) n *= d;
  return Value(tensor(std::move(shape), t, std::vector<double>(std::size_t(n), 0)));
}

std::string message_of(const KernelSignature& s, const std::vector<Value>& args) {
  std::vector<std::int64_t> variables;
  const auto result = bind_arguments(s, args, variables);
  return result.ok() ? "" : result.error().message;
}

std::int64_t run(Code code, std::int64_t a, std::int64_t b) {
  const auto r = evaluate(binary(code, a, b), {});
  REQUIRE(r.ok());
  return *r;
}

}  // namespace

TEST_CASE("dims: operators") {
  CHECK(run(Code::Add, 2, 3) == 5);
  CHECK(run(Code::Sub, 2, 3) == -1);
  CHECK(run(Code::Mul, 2, 3) == 6);
  CHECK(run(Code::FloorDiv, -7, 2) == -4);
  CHECK(run(Code::FloorDiv, 7, -2) == -4);
  CHECK(run(Code::FloorMod, -7, 2) == 1);
  CHECK(run(Code::FloorMod, 7, -2) == -1);
  CHECK(run(Code::TruncDiv, -7, 2) == -3);
  CHECK(run(Code::TruncMod, -7, 2) == -1);
  CHECK(run(Code::FloorDiv, 7, -1) == -7);
  CHECK(run(Code::FloorMod, 7, -1) == 0);
  CHECK(run(Code::Min, 2, 3) == 2);
  CHECK(run(Code::Max, 2, 3) == 3);
  CHECK(run(Code::Eq, 2, 2) == 1);
  CHECK(run(Code::Ne, 2, 2) == 0);
  CHECK(run(Code::Lt, 2, 3) == 1);
  CHECK(run(Code::Le, 3, 3) == 1);
  CHECK(run(Code::Gt, 2, 3) == 0);
  CHECK(run(Code::Ge, 3, 3) == 1);
  CHECK(run(Code::And, 5, 0) == 0);
  CHECK(run(Code::Or, 5, 0) == 1);
  const DimExpr select{{{Code::Const, 0}, {Code::Not}, {Code::Const, 7}, {Code::Const, 8}, {Code::Select}}, "s"};
  CHECK(*evaluate(select, {}) == 7);
}

TEST_CASE("dims: errors, not crashes") {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  for (const DimExpr& e :
       {binary(Code::FloorDiv, 1, 0), binary(Code::TruncMod, 1, 0), binary(Code::Add, kMax, 1),
        binary(Code::Sub, kMin, 1), binary(Code::Mul, kMax, 2), binary(Code::FloorDiv, kMin, -1), DimExpr{{}, "empty"},
        DimExpr{{{Code::Add}}, "no operands"}, DimExpr{{{Code::Const, 1}, {Code::Const, 2}}, "two values"},
        DimExpr{{{Code::Var, 3}}, "no such variable"}, DimExpr{{{Code::Var, -1}}, "negative"}}) {
    CAPTURE(e.text);
    const auto r = evaluate(e, {});
    REQUIRE_FALSE(r.ok());
    CHECK(r.error().kind == ErrorKind::TypeMismatch);
  }
  CHECK(evaluate(binary(Code::FloorDiv, 4, 0), {}).error().message == "cannot compute `a op b`: 4 is divided by zero");
}

TEST_CASE("dims: an expression deeper than the inline stack") {
  DimExpr e;
  for (int i = 0; i < 100; ++i) e.code.push_back({Code::Const, 1});
  for (int i = 0; i < 99; ++i) e.code.push_back({Code::Add});
  CHECK(*evaluate(e, {}) == 100);
}

TEST_CASE("bind: variables get their values, compound dims are checked after all bare ones") {
  const KernelSignature s = example();
  std::vector<std::int64_t> variables;
  const std::vector<Value> args = {zeros({2, 8}), zeros({2, 4}), zeros({4, 3}), Value::of_int(2)};
  REQUIRE(bind_arguments(s, args, variables).ok());
  CHECK(variables == std::vector<std::int64_t>{2, 4});
  const std::vector<Value> none = {zeros({0, 0}), zeros({0, 0}), zeros({0, 3}), Value::of_int(0)};
  CHECK(bind_arguments(s, none, variables).ok());
}

TEST_CASE("bind: each error names argument, dimension, symbol, value, and who bound it") {
  const KernelSignature s = example();
  const Value k = Value::of_int(2);
  CHECK(message_of(s, {k}) == "`f` takes 4 arguments (`C`, `A`, `B`, `k`), got 1");
  CHECK(message_of(s, {zeros({2, 8}), k, zeros({4, 3}), k}) == "`f`: argument 1 (`A`): expected a tensor, got 2");
  CHECK(message_of(s, {zeros({2, 8}), zeros({2}), zeros({4, 3}), k}) ==
        "`f`: argument 1 (`A`): rank is 1, expected 2, shape (m, n)");
  CHECK(message_of(s, {zeros({2, 8}), zeros({2, 4}, DType::Int(32)), zeros({4, 3}), k}) ==
        "`f`: argument 1 (`A`): dtype is `int32`, expected `float32`");
  CHECK(message_of(s, {zeros({2, 8}), zeros({5, 4}), zeros({4, 3}), k}) ==
        "`f`: argument 1 (`A`): dimension 0 is 5, but `m` is 2 (bound by argument 0 (`C`), "
        "dimension 0)");
  CHECK(message_of(s, {zeros({2, 8}), zeros({2, 4}), zeros({5, 3}), k}) ==
        "`f`: argument 2 (`B`): dimension 0 is 5, but `n` is 4 (bound by argument 1 (`A`), "
        "dimension 1)");
  CHECK(message_of(s, {zeros({2, 8}), zeros({2, 4}), zeros({4, 9}), k}) ==
        "`f`: argument 2 (`B`): dimension 1 is 9, expected 3");
  CHECK(message_of(s, {zeros({2, 7}), zeros({2, 4}), zeros({4, 3}), k}) ==
        "`f`: argument 0 (`C`): dimension 1 is 7, expected `n * 2` = 8 where `n` is 4 (bound by "
        "argument 1 (`A`), dimension 1)");
  CHECK(message_of(s, {zeros({2, 8}), zeros({2, 4}), zeros({4, 3}), Value::of_int(3)}) ==
        "`f`: argument 3 (`k`): value is 3, but `m` is 2 (bound by argument 0 (`C`), dimension 0)");
  CHECK(message_of(s, {zeros({2, 8}), zeros({2, 4}), zeros({4, 3}), Value::of_int(1LL << 40)}) ==
        "`f`: argument 3 (`k`): 1099511627776 does not fit into `int32`");
  CHECK(message_of(s, {zeros({2, 8}), zeros({2, 4}), zeros({4, 3}), Value::of_float(1)}) ==
        "`f`: argument 3 (`k`): expected an int, got 1.0");
}

TEST_CASE("bind: a variable that no argument binds") {
  KernelSignature s;
  s.name = "g";
  s.variables = {"n"};
  s.variable_dtypes = {DType::Int(64)};
  s.params = {tensor_param("A", {{{{Code::Var, 0}, {Code::Const, 1}, {Code::Add}}, "n + 1"}})};
  CHECK(message_of(s, {zeros({3})}) == "`g`: no argument binds `n`: no parameter has it as a dimension by itself");
}

TEST_CASE("bind: scalars, opaque handles, unknown dtype") {
  KernelSignature s;
  s.name = "h";
  KernelParam opaque;
  opaque.name = "p";
  opaque.opaque = true;
  s.params = {opaque, scalar_param("x", kF32), scalar_param("b", DType::Bool()), scalar_param("u", DType::UInt(8)),
              tensor_param("A", {}, DType::Void())};
  CHECK(message_of(s, {Value::null(), Value::of_float(1), Value::of_bool(true), Value::of_int(255),
                       zeros({}, DType::Int(8))}) == "");
  CHECK(message_of(s, {zeros({2}), Value::of_int(1), Value::of_int(1), Value::of_int(0), zeros({})}) == "");
  CHECK_FALSE(
      message_of(s, {Value::null(), Value::of_float(1), Value::of_int(2), Value::of_int(0), zeros({})}).empty());
  CHECK_FALSE(
      message_of(s, {Value::null(), Value::of_float(1), Value::of_int(0), Value::of_int(-1), zeros({})}).empty());
}

TEST_CASE("bind: tensors on two devices, behind arguments that are no tensors") {
  KernelSignature s;
  s.name = "g";
  s.params = {scalar_param("x", DType::Int(32)), tensor_param("A", {constant(3)}), tensor_param("B", {constant(3)})};
  const Value elsewhere(Tensor::empty({3}, kF32, Device{2, 0}).value());
  CHECK(message_of(s, {Value::of_int(3), zeros({3}), zeros({3})}) == "");
  CHECK(message_of(s, {Value::of_int(3), zeros({3}), elsewhere}) ==
        "`g`: argument 2 (`B`): it is on cuda:0, but argument 1 is on cpu");
}

TEST_CASE("bind: more variables than bits in a word") {
  KernelSignature s;
  s.name = "wide";
  KernelParam p = tensor_param("A", {});
  for (int i = 0; i < 64; ++i) {
    s.variables.push_back("a" + std::to_string(i));
    p.shape.push_back(variable(i, s.variables.back()));
  }
  s.params.push_back(p);
  s.variables.push_back("last");
  s.variable_dtypes.assign(65, DType::Int(64));
  s.params.push_back(tensor_param("B", {variable(64, "last"), variable(63, "a63")}));
  const std::vector<std::int64_t> ones(64, 1);
  CHECK(message_of(s, {zeros(ones), zeros({7, 1})}) == "");
  CHECK(message_of(s, {zeros(ones), zeros({7, 2})}).find("`a63` is 1") != std::string::npos);
}

TEST_CASE("kernel table and call_kernel") {
  struct Twice : Kernel {
    KernelSignature s;
    int calls = 0;
    const KernelSignature& signature() const override { return s; }
    Result<Value> run(PackedArgs args, std::span<const std::int64_t> variables) override {
      ++calls;
      CHECK(variables.size() == 1);
      CHECK(variables[0] == args[0].as_tensor().shape()[0]);
      return Value();
    }
  };
  auto kernel = std::make_shared<Twice>();
  kernel->s.name = "twice";
  kernel->s.variables = {"n"};
  kernel->s.variable_dtypes = {DType::Int(64)};
  kernel->s.params = {tensor_param("A", {variable(0, "n")})};
  KernelTable table;
  table.set("twice", kernel);
  CHECK(table.find("none") == nullptr);
  CHECK(table.names() == std::vector<std::string_view>{"twice"});
  REQUIRE(table.find("twice") == kernel.get());
  const std::vector<Value> good = {zeros({3})};
  const std::vector<Value> bad = {zeros({3, 3})};
  CHECK(call_kernel(*table.find("twice"), good).ok());
  CHECK_FALSE(call_kernel(*table.find("twice"), bad).ok());
  CHECK(kernel->calls == 1);
}
