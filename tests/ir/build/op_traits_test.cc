// The constants and traits generated from the rows of ir/op/op.def.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "rldb/ir/context.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/conv.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op/vm.h"
#include "rldb/ir/op_id.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_rule.h"

using namespace rldb;
using op::Trait;

namespace {

std::set<std::string> names_with(Trait t) {
  std::set<std::string> out;
  for (std::size_t i = 0; i < op::kCount; ++i)
    if (op::row(op::Id(i)).has(t)) out.emplace(op::row(op::Id(i)).name);
  return out;
}

// The constant of a row: "nn.conv2d_transpose" is NnConv2dTranspose.
std::string id_of(std::string_view short_name) {
  std::string out;
  bool first = true;
  for (const char c : short_name) {
    const bool gap = c == '.' || c == '_';
    if (!gap) out += first && c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
    first = gap;
  }
  return out;
}

}  // namespace

TEST_CASE("op: ids are made from the names of their rows") {
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) \
  CHECK(std::string(#id) == id_of(name));
#include "rldb/ir/op/op.def"
}

TEST_CASE("op: rows are found by full name, and by id") {
  for (std::size_t i = 0; i < op::kCount; ++i) {
    const op::Row& row = op::row(op::Id(i));
    CHECK(row.id == op::Id(i));
    CHECK(op::find(row.name) == &row);
    CHECK(op::is_relax(row.name));
    CHECK(op::find(op::short_name(row.name)) == nullptr);
    CHECK(op::full_name(op::short_name(row.name)) == row.name);
  }
  CHECK(op::find("relax.no_such_operator") == nullptr);
  CHECK(op::NnConv2dTranspose == "relax.nn.conv2d_transpose");
  CHECK(short_op::NnConv2dTranspose == "nn.conv2d_transpose");
  CHECK(op::short_name("tir.exp") == "tir.exp");
}

TEST_CASE("op: what the traits say is of the right rows") {
  using Names = std::set<std::string>;
  CHECK(names_with(Trait::Kills) ==
        Names{"relax.memory.kill_storage", "relax.memory.kill_tensor", "relax.vm.kill_object"});
  CHECK(names_with(Trait::Storage) == Names{"relax.memory.alloc_storage", "relax.vm.alloc_storage"});
  CHECK(names_with(Trait::Allocates) == Names{"relax.builtin.alloc_tensor", "relax.memory.alloc_storage",
                                              "relax.memory.alloc_tensor", "relax.vm.alloc_storage",
                                              "relax.vm.alloc_tensor"});
  CHECK(names_with(Trait::View) == Names{"relax.memory.ensure_zero_offset", "relax.memory.view", "relax.reshape"});
  CHECK(names_with(Trait::CallTir) ==
        Names{"relax.call_dps_packed", "relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad"});
  CHECK(names_with(Trait::PureOverride) ==
        Names{"relax.call_inplace_packed", "relax.call_pure_packed", "relax.invoke_pure_closure"});
  CHECK(names_with(Trait::TakesTuple) == Names{"relax.call_builtin_with_ctx", "relax.invoke_closure",
                                               "relax.invoke_pure_closure", "relax.make_closure",
                                               "relax.vm.call_tir_dyn"});
  CHECK(names_with(Trait::Commutative) == Names{"relax.add", "relax.multiply"});
  for (const std::string& name : names_with(Trait::Inspects)) CHECK(name.starts_with("relax.inspect."));
  CHECK(names_with(Trait::Inspects).size() == 8);
  for (std::size_t i = 0; i < op::kCount; ++i) {
    const op::Row& row = op::row(op::Id(i));
    if (row.has(Trait::CallTir | Trait::CallsPacked | Trait::CallsClosure)) CHECK(row.has(Trait::GivenType));
  }
  CHECK_FALSE(op::has(op::Add, Trait::GivenType));
}

TEST_CASE("op: a call is asked through its operator") {
  ir::Context ctx;
  const ir::Expr* kill = ctx.call_typed(ctx.op(op::VmKillObject), {}, ctx.void_type());
  CHECK(op::is_call_with(kill, Trait::Kills));
  CHECK(op::is_call_with(kill, Trait::Allocates | Trait::Kills));
  CHECK_FALSE(op::is_call_with(kill, Trait::Allocates));
  CHECK_FALSE(op::is_call_with(ctx.call_typed(ctx.extern_func("vm.builtin.copy"), {}, ctx.void_type()), Trait::Kills));
  CHECK_FALSE(op::is_call_with(ctx.op(op::VmKillObject), Trait::Kills));
  CHECK_FALSE(op::has("relax.no_such_operator", Trait::Kills));
}

TEST_CASE("op: a column of rule.def is a table") {
  using Name = const char*;
  static constexpr op::RuleTable<Name> kGradients{
#define RLDB_OP_GRADIENT(Op, function) {op::Id::Op, #function},
#include "rldb/ir/op/rule.def"
  };
  CHECK(std::string(kGradients.find(op::Add)) == "add_grad");
  CHECK(std::string(kGradients.find(op::Floor)) == "no_gradient");
  CHECK(kGradients.find(op::CallTir) == nullptr);
  CHECK(kGradients.find("relax.no_such_operator") == nullptr);
}
