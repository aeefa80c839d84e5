// Kernels that differ only in their dims: one code for all of them, and the values that each would have by itself.
#include "rldb/schedule/flat_form.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/llvm/both_engines.h"
#include "rldb/ir/printer.h"

using namespace rldb;
using namespace rldb::codegen::testing;
using codegen::Jit;

namespace {

std::string kernel(const std::string& params, const std::string& loops, const std::string& store) {
  return fmt::format(
      "@T.prim_func\ndef kernel({}):\n"
      "    T.func_attr({{\"tirx.noalias\": True}})\n"
      "    for {}:\n        {}\n",
      params, loops, store);
}

std::string halved(const std::string& x, const std::string& y, const std::string& shape, const std::string& loops) {
  const std::string dtype = "\"float32\"";
  return kernel(fmt::format("{0}: T.Buffer({2}, {3}), {1}: T.Buffer({2}, {3})", x, y, shape, dtype),
                fmt::format("i, j in T.grid({})", loops), fmt::format("{}[i, j] = {}[i, j] * T.float32(0.5)", y, x));
}

// The text of the flat form, or that of no form.
std::string flat(const std::string& text) {
  Text t(text);
  REQUIRE_MESSAGE(t.f, t.problem);
  const ir::PrimFunc* made = schedule::flat_form(t.ctx, t.f);
  return made ? ir::print_function("kernel", made) : "";
}

}  // namespace

TEST_CASE("dims and names do not count, what is done to an element does") {
  const std::string one = flat(halved("A", "B", "(64, 100)", "64, 100"));
  CHECK(one != "");
  CHECK(flat(halved("x", "y", "(5, 4096)", "5, 4096")) == one);
  CHECK(flat(kernel("A: T.Buffer((n, 7), \"float32\"), B: T.Buffer((n, 7), \"float32\"), n: T.int64",
                    "i, j in T.grid(n, 7)", "B[i, j] = A[i, j] * T.float32(0.5)")) == "");
  CHECK(flat(kernel("A: T.Buffer((64, 100), \"float32\"), B: T.Buffer((64, 100), \"float32\")",
                    "i, j in T.grid(64, 100)", "B[i, j] = A[i, j] * T.float32(0.25)")) != one);
  CHECK(flat(kernel("A: T.Buffer((T.int64(64), T.int64(100)), \"float32\"), B: T.Buffer((T.int64(6400),), \"float32\")",
                    "i in range(T.int64(6400))", "B[i] = A[i // T.int64(100), i % T.int64(100)] * T.float32(0.5)")) ==
        one);
}

TEST_CASE("kernels without a flat form") {
  // Known to be small.
  CHECK(flat(halved("A", "B", "(8, 100)", "8, 100")) == "");
  const auto of = [](const std::string& dtype, const std::string& value) {
    return flat(kernel(fmt::format("A: T.Buffer((64, 100), \"{0}\"), B: T.Buffer((64, 100), \"{0}\")", dtype),
                       "i, j in T.grid(64, 100)", "B[i, j] = " + value));
  };
  CHECK(of("int32", "A[i, j] + 1") != "");
  CHECK(of("int32", "7 // A[i, j]") == "");  // may stop
  CHECK(of("float32", "A[i, j] / T.float32(3)") != "");
  CHECK(of("float32", "T.exp(A[i, j])") != "");
  CHECK(of("int32", "A[i, j] + i") == "");     // depends on the place
  CHECK(of("float32", "A[63 - i, j]") == "");  // another place
  CHECK(of("float32", "A[i, 0]") == "");
  CHECK(of("float32", "T.call_extern(\"float32\", \"f\", A[i, j])") == "");
  // A row for all rows, a parameter that is not used, a number from the caller.
  const auto with = [](const std::string& param, const std::string& value) {
    return flat(kernel("A: T.Buffer((64, 100), \"float32\"), B: T.Buffer((64, 100), \"float32\"), " + param,
                       "i, j in T.grid(64, 100)", "B[i, j] = " + value));
  };
  CHECK(with("C: T.Buffer((64, 100), \"float32\")", "A[i, j] + C[i, j]") != "");
  CHECK(with("C: T.Buffer((100,), \"float32\")", "A[i, j] + C[j]") == "");
  CHECK(with("C: T.Buffer((64, 100), \"float32\")", "A[i, j]") == "");
  CHECK(with("s: T.float32", "A[i, j] + s") == "");
  // Two nests.
  CHECK(
      flat(kernel("A: T.Buffer((64, 100), \"float32\"), B: T.Buffer((64, 100), \"float32\")", "i, j in T.grid(64, 100)",
                  "B[i, j] = A[i, j]\n    for i, j in T.grid(64, 100):\n        B[i, j] = B[i, j] + A[i, j]")) == "");
}

TEST_CASE("one code for kernels that differ in dims, with the right values") {
  Text first(halved("A", "B", "(64, 100)", "64, 100")), second(halved("x", "y", "(3, 2001)", "3, 2001"));
  auto jit = Jit::create({}).value();
  const auto run = [&](Text& t, const std::string& name) {
    const auto signature = eval::signature_of(t.f, name).value();
    const std::vector<runtime::Value> args = make_arguments(signature, {});
    auto made = jit->add(t.ctx, t.f, name).value();
    REQUIRE(runtime::call_kernel(*made, args).ok());
    const runtime::Tensor &in = args[0].as_tensor(), &out = args[1].as_tensor();
    for (std::int64_t i = 0; i < in.element_count(); ++i) REQUIRE(out.at(i) == in.at(i) * 0.5);
  };
  run(first, "first");
  run(second, "second");
  REQUIRE(jit->stats().size() == 2);
  CHECK_FALSE(jit->stats()[0].from_cache);
  CHECK(jit->stats()[1].from_cache);
  // The other kernel's sizes are its own.
  const auto signature = eval::signature_of(second.f, "second").value();
  auto args = make_arguments(eval::signature_of(first.f, "first").value(), {});
  CHECK_FALSE(runtime::call_kernel(*jit->add(second.ctx, second.f, "second").value(), args).ok());
}

TEST_CASE("flat kernels give the evaluator's values") {
  for (const std::int64_t n : {0, 1, 17, 1000, 300'000}) {
    Case c;
    c.symbols = {{"n", n}};
    const std::string shape = "(n, T.int64(7)), \"float32\"";
    const std::string text =
        "n = T.int64()\n" + kernel(fmt::format("A: T.Buffer({0}), B: T.Buffer({0}), C: T.Buffer({0})", shape),
                                   "i, j in T.grid(n, T.int64(7))",
                                   "C[i, j] = T.max(A[i, j] * B[i, j], T.float32(0)) - T.exp(A[i, j])");
    CHECK(both(text, c) == "");
  }
  // Values that fold to a load.
  const auto folds = [](const std::string& dtype, const std::string& value) {
    return both(kernel(fmt::format("A: T.Buffer((64, 100), \"{0}\"), B: T.Buffer((64, 100), \"{0}\")", dtype),
                       "i, j in T.grid(64, 100)", "B[i, j] = " + value));
  };
  CHECK(folds("float32", "T.Cast(\"float32\", A[i, j])") == "");
  CHECK(folds("bool", "T.And(A[i, j], T.bool(True))") == "");
  CHECK(both(kernel("A: T.Buffer((64, 100), \"int8\"), B: T.Buffer((64, 100), \"float16\")", "i, j in T.grid(64, 100)",
                    "B[i, j] = T.Cast(\"float16\", A[i, j])")) == "");
}
