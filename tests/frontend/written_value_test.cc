// Values outside of a module.
#include "rldb/frontend/written_value.h"

#include <doctest/doctest.h>

#include "rldb/ir/printer.h"
#include "rldb/ops/op_info.h"

using namespace rldb;
using Kind = source::WrittenValue::Kind;
using frontend::read_written_value;

TEST_CASE("written values: literals and arithmetic of them") {
  CHECK(read_written_value("0x4").integer == 4);
  CHECK(read_written_value(" 2 ** 2 ").integer == 4);
  CHECK(read_written_value("-1").is(Kind::Int));
  CHECK(read_written_value("1e-3").number == 1e-3);
  CHECK(read_written_value("True").is(Kind::Bool));
  CHECK(read_written_value("None").is(Kind::None));
  CHECK(read_written_value("'a\\n'").text == "a\n");
  CHECK(read_written_value("main").text == "main");
  CHECK(read_written_value("depth-first").name() == "depth-first");
  CHECK(read_written_value("99999999999999999999").is(Kind::Other));
}

TEST_CASE("written values: lists, dictionaries and calls are taken apart") {
  const auto list = read_written_value("[main, 'f', (1, 2)]");
  REQUIRE(list.is(Kind::List));
  CHECK(list.items[1].text == "f");
  CHECK(list.items[2].items[1].integer == 2);
  const auto call = read_written_value("relax.Loss(\"sum\", index=-1)");
  REQUIRE(call.is(Kind::Call));
  CHECK(call.text == "relax.Loss");
  CHECK(call.keys == std::vector<std::string>{"", "index"});
  CHECK(call.items[1].integer == -1);
  // Items that are no expressions.
  const auto files = read_written_value("{\"w\": @w.npy, b: [1, 2]}");
  REQUIRE(files.is(Kind::Dict));
  CHECK(files.keys == std::vector<std::string>{"w", "b"});
  CHECK(files.items[0].text == "@w.npy");
  CHECK(files.items[1].is(Kind::List));
  CHECK(read_written_value("a b").is(Kind::Text));
  CHECK(read_written_value("{").text == "{");
}

TEST_CASE("written values: types in every spelling of a module") {
  ir::Context ctx;
  ops::install(ctx);
  std::vector<const ir::Var*> symbols;
  const ir::Type* t = frontend::read_written_type(ctx, "R.Tensor((4, 4), \"float16\")", symbols);
  REQUIRE(t);
  CHECK(frontend::read_written_type(ctx, "R.Tensor[(2 ** 2, 0x4), \"float16\"]", symbols) == t);
  CHECK(symbols.empty());
  const ir::Type* n = frontend::read_written_type(ctx, "R.Tensor((\"n\", n * 2), \"float32\")", symbols);
  REQUIRE(n);
  CHECK(symbols.size() == 1);
  CHECK(frontend::read_written_type(ctx, "R.Tensor((n, n * 2), \"float32\")", symbols) == n);
  CHECK(symbols.size() == 1);
  CHECK_FALSE(frontend::read_written_type(ctx, "R.Tensor((4, \"float32\")", symbols));
  CHECK_FALSE(frontend::read_written_type(ctx, "float32", symbols));
}

TEST_CASE("written values: attributes") {
  ir::Context ctx;
  ops::install(ctx);
  const ir::Attr* target = frontend::read_written_attr(ctx, "T.target(\"cuda\", host=\"llvm\")");
  REQUIRE(target);
  CHECK(target->items[0]->string == "cuda");
  const ir::Attr* map = frontend::read_written_attr(ctx, "T.index_map(lambda i: (i // 4, i % 4))");
  REQUIRE(map);
  CHECK(map->items.size() == 1);
  CHECK_FALSE(frontend::read_written_attr(ctx, "lambda i: j"));
  CHECK_FALSE(frontend::read_written_attr(ctx, "nothing"));
}
