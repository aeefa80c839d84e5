// Dataflow patterns: text, and matches.
#include "rldb/passes/pattern.h"

#include <doctest/doctest.h>

#include "passes/golden.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/unary.h"

using namespace rldb;
using namespace rldb::passes;

namespace {

constexpr std::string_view kProgram = R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(R.const(1.0, "float32"), a)
            alias = b
            t = R.split(alias, 3, axis=1)
            c = t[1]
            d = R.add(c, c)
            e = R.add(a, y)
            f = R.multiply(d, e)
            R.output(f)
        return f
)";

struct Bound {
  testing::Program program;
  BoundValues values;
  const ir::Expr* value(std::string_view name) const {
    for (const auto& [v, e] : values)
      if (v->name == name) return e;
    return nullptr;
  }
};

void read(Bound& b) {
  const ir::Module* module = b.program.parse(std::string(kProgram));
  REQUIRE(module != nullptr);
  for (const ir::BindingBlock* block : ir::as<ir::Function>(module->find("main"))->body->blocks)
    for (const ir::Binding* binding : block->bindings) b.values[binding->var] = binding->value;
}

bool matches(const Bound& b, const Pattern& p, std::string_view name) {
  PatternMatch found;
  return match(p, b.value(name), b.values, found);
}

std::string round_trip(std::string_view text) {
  auto p = parse_pattern(text);
  return p.ok() ? to_string(*p) : p.error().text;
}

}  // namespace

TEST_CASE("patterns are read as they are written and as TVM prints them") {
  CHECK(round_trip(R"(is_op("nn.relu")(wildcard()))") == R"(is_op("relax.nn.relu")(wildcard()))");
  CHECK(
      round_trip(R"(ir.Op(span=None, ty=ir.Type(span=None), name="relax.add", description="a, (b")(*, is_const()))") ==
      R"(is_op("relax.add")(wildcard(), is_const()))");
  CHECK(round_trip(R"(TupleGetItemPattern(ir.Op(name="relax.split")(*), 0))") ==
        R"(is_tuple_get_item(is_op("relax.split")(wildcard()), 0))");
  CHECK(round_trip(R"((is_op("exp")(...) | is_op("abs")(*)) & ~is_var("x"))") ==
        R"(((is_op("relax.exp")(...) | is_op("relax.abs")(wildcard())) & ~is_var("x")))");
  CHECK(
      round_trip(R"(wildcard()[1].has_dtype("float16").has_shape([2, -1]).has_attr({"axis": 0, "layout": "NCHW"}))") ==
      R"(is_tuple_get_item(wildcard(), 1).has_dtype("float16").has_shape([2, -1]).has_attr({"axis": 0}))"
      R"(.has_attr({"layout": "NCHW"}))");
  CHECK(round_trip(R"(is_call_tir("f", [wildcard()]))") ==
        R"(is_op("relax.call_tir")(is_gv("f"), is_tuple([wildcard()])))");
  CHECK(round_trip(R"(is_call_dps_packed("f", []))") ==
        R"(is_op("relax.call_dps_packed")(is_extern("f"), is_tuple([])))");
}

TEST_CASE("mistakes in a pattern are named with their place") {
  CHECK(round_trip("") == "pattern, column 1: the text ends");
  CHECK(round_trip("is_sum()") == "`is_sum` is not a pattern");
  CHECK(round_trip("is_op(\"add\")(wildcard()") == "pattern, column 13: `(` is never closed");
  CHECK(round_trip("wildcard() wildcard()") == "pattern, column 12: unexpected `wildcard`");
  CHECK(round_trip("wildcard().has_size(1)").starts_with("pattern, column 12: expected `has_dtype`"));
  CHECK(round_trip("wildcard().has_dtype(\"float\", 1)").starts_with("pattern, column 21: expected one argument"));
  CHECK(round_trip("wildcard()[x]").starts_with("pattern, column 12: expected an integer"));
  CHECK(round_trip(std::string(100'000, '(')).ends_with("nested too deeply to be read"));
  CHECK(round_trip(std::string(100'000, '~')).ends_with("nested too deeply to be read"));
  CHECK(round_trip("is_op(\"abs\")(<function f at 0x7f01>)") ==
        "pattern, column 14: an object of Python cannot be read as a pattern");
  CHECK(round_trip("wildcard() | <f").starts_with("pattern, column 14: an object of Python"));
  CHECK(round_trip("wildcard() < wildcard()") == "pattern, column 1: expected a pattern");
  CHECK(round_trip("wildcard() >> wildcard()").find("connect the patterns of a query") != std::string::npos);
  CHECK(round_trip("wildcard().has_attr({'axis': -1_0})") == "wildcard().has_attr({\"axis\": -1_0})");
  std::string calls = "*";
  for (int i = 0; i < 1000; ++i) calls = "is_tuple([" + calls + "])";
  CHECK(round_trip(calls).ends_with("nested too deeply to be read"));
}

TEST_CASE("a variable is seen through, a wildcard is not") {
  Bound b;
  read(b);
  const Pattern inner = wildcard();
  const Pattern exp = is_op(op::Exp)(inner);
  const Pattern chain = is_op(op::Split)(is_op(op::Add)(is_const(), exp));
  PatternMatch found;
  REQUIRE(match(chain, b.value("t"), b.values, found));
  CHECK(found[exp] == b.value("a"));
  CHECK(ir::isa<ir::Var>(found[inner]));
  CHECK(found[is_const()] == nullptr);
  CHECK_FALSE(matches(b, chain, "f"));
}

TEST_CASE("add and multiply match in either order, others do not") {
  Bound b;
  read(b);
  const Pattern exp = is_op(op::Exp)(wildcard());
  CHECK(matches(b, is_op(op::Add)(exp, is_const()), "b"));
  CHECK(matches(b, is_op(op::Add)(is_const(), exp), "b"));
  CHECK(matches(b, is_op(op::Multiply)(is_op(op::Add)(exp, is_var("y")), is_op(op::Add).any_call()), "f"));
  CHECK_FALSE(matches(b, is_op(op::Subtract)(exp, is_const()), "b"));
}

TEST_CASE("a pattern that occurs twice matches the same value twice") {
  Bound b;
  read(b);
  const Pattern same = wildcard();
  CHECK(matches(b, is_op(op::Add)(same, same), "d"));
  CHECK_FALSE(matches(b, is_op(op::Add)(same, same), "e"));
  CHECK(matches(b, is_op(op::Add)(wildcard(), wildcard()), "e"));
}

TEST_CASE("alternatives, fields, dtypes, shapes and attributes") {
  Bound b;
  read(b);
  const Pattern split = is_op(op::Split)(wildcard());
  CHECK(matches(b, split[1], "c"));
  CHECK_FALSE(matches(b, split[0], "c"));
  CHECK(matches(b, is_tuple_get_item(split), "c"));
  CHECK(matches(b, split.has_attr("axis", "1"), "t"));
  CHECK_FALSE(matches(b, split.has_attr("axis", "0"), "t"));
  CHECK(matches(b, wildcard().has_shape({2, -1}).has_dtype(ir::DType::Float(32)), "a"));
  CHECK_FALSE(matches(b, wildcard().has_shape({2, 4}), "a"));
  CHECK_FALSE(matches(b, wildcard().has_dtype(ir::DType::Float(16)), "a"));
  CHECK(matches(b, is_op(op::Abs)(wildcard()) | is_op(op::Exp)(wildcard()), "a"));
  CHECK_FALSE(matches(b, is_op(op::Exp)(wildcard()) & is_op(op::Abs)(wildcard()), "a"));
  CHECK(matches(b, ~is_op(op::Abs)(wildcard()), "a"));
}

TEST_CASE("patterns that are tied by who reads whom") {
  Bound b;
  const ir::Module* module = b.program.parse(std::string(R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32"), v: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            other = R.matmul(w, x)
            a = R.matmul(x, w)
            b = R.matmul(x, v)
            c = R.add(a, b)
            d = R.add(c, other)
            e = R.add(d, other)
            R.output(e)
        return e
)"));
  REQUIRE(module != nullptr);
  const ir::BindingBlock* block = ir::as<ir::Function>(module->find("main"))->body->blocks[0];
  const Pattern input = wildcard();
  const Pattern one = is_op(op::Matmul)(input, wildcard());
  const Pattern two = is_op(op::Matmul)(wildcard(), wildcard());
  const Pattern sum = is_op(op::Add).any_call();
  PatternGraph parallel;
  parallel.used_by(input, one, 0);
  parallel.used_by(input, two, 0);
  parallel.only_used_by(one, sum);
  parallel.only_used_by(two, sum);
  PatternGraph::Match found = parallel.match(block);
  REQUIRE(found.size() == 4);
  CHECK(found[input.get()]->name == "x");
  CHECK(found[one.get()]->name != found[two.get()]->name);
  CHECK(found[sum.get()]->name == "c");

  PatternGraph second;
  second.used_by(input, two, 1);
  found = second.match(block);
  REQUIRE(found.size() == 2);
  CHECK(found[input.get()]->name == "w");
  CHECK(found[two.get()]->name == "a");

  PatternGraph only;  // `other` is read twice, and the reader of `e` is unknown
  only.only_used_by(is_op(op::Matmul)(is_var("w"), wildcard()), sum);
  CHECK(only.match(block).empty());
  PatternGraph last;
  last.only_used_by(sum, wildcard());
  found = last.match(block);
  CHECK(found[sum.get()]->name == "c");
}
