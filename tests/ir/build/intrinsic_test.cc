#include <doctest/doctest.h>

#include "rldb/ir/context.h"
#include "rldb/ir/intrinsic/all.h"

using namespace rldb;

TEST_CASE("intrinsic: rows are found by id, by name and by index") {
  const auto rows = ir::all_intrinsics();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(rows[i].name);
    CHECK(rows[i].index == i);
    CHECK(&ir::info(rows[i].id) == &rows[i]);
    CHECK(rows[i].op == std::string(ir::kTirPrefix) + std::string(rows[i].name));
  }
}

TEST_CASE("intrinsic: the constants of each family are the ids of its rows") {
  struct Row {
    ir::Intrinsic id;
    std::string_view name;
  };
  constexpr Row kRows[] = {
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, evaluate) {ir::intrin::id, name},
#include "rldb/ir/intrinsic/intrinsic.def"
  };
  CHECK(std::size(kRows) == ir::all_intrinsics().size());
  for (const Row& row : kRows) CHECK(ir::info(row.id).name == row.name);
}

TEST_CASE("intrinsic: another spelling is the same row") {
  REQUIRE(ir::find_intrinsic("power"));
  CHECK(ir::find_intrinsic("power")->id == ir::intrin::Pow);
  CHECK(ir::info(ir::intrin::TvmCallPacked).printed == "call_packed");
  CHECK(ir::find_intrinsic("no_such_intrinsic") == nullptr);
}

TEST_CASE("intrinsic: a call is asked through its operator") {
  ir::Context ctx;
  const ir::Expr* x = ctx.float_imm(runtime::DType::Float(32), 1);
  const ir::Call* call = ctx.intrin(runtime::DType::Float(32), ir::intrin::Exp, {x});
  CHECK(ir::is_call_of(call, ir::intrin::Exp));
  CHECK_FALSE(ir::is_call_of(call, ir::intrin::Exp2));
  CHECK_FALSE(ir::is_call_of(x, ir::intrin::Exp));
}
