// The column of intrinsic.def that describes the evaluator's support.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "rldb/eval/eval.h"
#include "rldb/ir/context.h"
#include "rldb/ir/intrinsic.h"

using namespace rldb;

namespace {

struct Row {
  std::string_view name;
  std::string_view evaluate;
};
constexpr Row kRows[] = {
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, evaluate) {name, #evaluate},
#include "rldb/ir/intrinsic/intrinsic.def"
};

// The evaluator's refusal of `T.evaluate(T.<name>())`, with that many integers (or floats) as operands; empty: none.
std::string refusal(std::string_view name, int operands = 0, bool floats = false) {
  ir::Context ctx;
  const ir::Expr* four =
      floats ? static_cast<const ir::Expr*>(ctx.float_imm(runtime::DType::Float(32), 4)) : ctx.i32(4);
  const std::vector<const ir::Expr*> args(std::size_t(operands), four);
  const ir::Expr* call = ctx.call_typed(ctx.op(ir::find_intrinsic(name)->op), args, ctx.prim(runtime::DType::Int(32)));
  const ir::PrimFunc* f = ctx.prim_func({}, ctx.void_type(), ctx.evaluate(call), {});
  eval::TirMachine machine(f, nullptr);
  if (auto started = machine.start({}); !started.ok()) return started.error().message;
  while (machine.running())
    if (auto stepped = machine.step(); !stepped.ok()) return stepped.error().message;
  return {};
}

}  // namespace

TEST_CASE("what the table does not give the evaluator is refused by name") {
  int refused = 0;
  for (const Row& row : kRows) {
    if (row.evaluate != "None") continue;
    CAPTURE(row.name);
    const std::string text = refusal(row.name);
    CHECK(text.find("has no meaning") != std::string::npos);
    CHECK(text.find(row.name) != std::string::npos);
    ++refused;
  }
  CHECK(refused > 50);
}

TEST_CASE("functions of floats refuse integers, by name") {
  int refused = 0;
  for (const Row& row : kRows) {
    const bool of_floats =
        row.evaluate.starts_with("Libm") || row.evaluate.starts_with("Native") || row.evaluate.starts_with("Formula");
    if (!of_floats && row.name != "rsqrt" && row.name != "sigmoid") continue;
    CAPTURE(row.name);
    const std::string said = refusal(row.name, ir::find_intrinsic(row.name)->arity);
    CHECK(said.find("is a function of floats: its operand is int32") != std::string::npos);
    CHECK(said.find("T." + std::string(row.name)) != std::string::npos);
    ++refused;
  }
  CHECK(refused > 20);
}

TEST_CASE("functions of integers refuse floats, by name") {
  for (const char* name : {"ldexp", "shift_left", "bitwise_and", "bitwise_not", "popcount", "clz"}) {
    CAPTURE(name);
    const std::string said = refusal(name, ir::find_intrinsic(name)->arity, /*floats=*/true);
    CHECK(said.find("must be an integer: it is float32") != std::string::npos);
    CHECK(said.find("T." + std::string(name)) != std::string::npos);
  }
}
