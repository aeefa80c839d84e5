// Rewriting by patterns from C++, and queries.
#include "rldb/passes/rewrite.h"

#include <doctest/doctest.h>

#include "passes/golden.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/printer.h"

using namespace rldb;
using namespace rldb::passes;

namespace {

constexpr std::string_view kProgram = R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), v: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.matmul(x, v)
            c = R.nn.relu(a)
            d = R.nn.relu(b)
            e = R.add(c, d)
            f = R.add(e, e)
            R.output(f)
        return f
)";

const ir::Function* main_of(testing::Program& program) {
  const ir::Module* module = program.parse(std::string(kProgram));
  REQUIRE(module != nullptr);
  return ir::as<ir::Function>(module->find("main"));
}

std::vector<std::string> values_of(const ir::Function* f) {
  std::vector<std::string> out;
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings) out.push_back(ir::print_expr(b->value));
  return out;
}

std::vector<std::string> found(testing::Program& program, std::string_view text) {
  const ir::Module* module = program.parse(std::string(kProgram));
  auto query = parse_query(text);
  REQUIRE(query.ok());
  std::vector<std::string> out;
  for (const FoundPattern& f : find_pattern(module, *query)) {
    std::string line(f.binding ? f.binding->var->name : "result");
    for (const ir::Binding* b : f.made_of) line += " " + std::string(b->var->name);
    out.push_back(line);
  }
  return out;
}

}  // namespace

TEST_CASE("rewrite_call puts a value in the place of each match, and what is dead goes") {
  testing::Program program;
  const ir::Function* f = main_of(program);
  const Pattern product = is_op("matmul")(wildcard(), wildcard());
  const Pattern relu = is_op("nn.relu")(product);
  const ir::Function* made = rewrite_call(
      program.ctx, relu,
      [&](const ir::Expr*, const PatternMatch& parts) -> const ir::Expr* {
        const auto* call = ir::as<ir::Call>(parts[product]);
        return *program.ctx.call(op::Subtract, {call->args[0], call->args[1]});
      },
      f);
  CHECK(values_of(made) ==
        std::vector<std::string>{"R.subtract(x, w)", "R.subtract(x, v)", "R.add(c, d)", "R.add(e, e)"});
  CHECK(rewrite_call(
            program.ctx, is_op("sin")(wildcard()), [](const ir::Expr* e, const PatternMatch&) { return e; }, f) == f);
}

TEST_CASE("rewrite_bindings gives variables of a graph other values") {
  testing::Program program;
  const ir::Function* f = main_of(program);
  const Pattern product = is_op("matmul")(wildcard(), wildcard());
  const Pattern relu = is_op("nn.relu")(wildcard());
  PatternGraph graph;
  graph.only_used_by(product, relu);
  CHECK(graph.all_matches(f->body->blocks[0]).size() == 2);
  const ir::Function* made = rewrite_bindings(
      program.ctx, graph,
      [&](const PatternGraph::Match& m) {
        return std::unordered_map<const ir::Var*, const ir::Expr*>{{m.at(relu.get()), f->params[0]}};
      },
      f);
  CHECK(values_of(made) == std::vector<std::string>{"x", "x", "R.add(c, d)", "R.add(e, e)"});
}

TEST_CASE("queries: trees, names for parts, and who reads whom") {
  testing::Program program;
  CHECK(found(program, R"(is_op("nn.relu")(is_op("matmul")(wildcard(), wildcard())))") ==
        std::vector<std::string>{"c a", "d b"});
  CHECK(found(program, R"(y = wildcard(); is_op("add")(y, y))") == std::vector<std::string>{"f"});
  CHECK(found(program, "y = wildcard()\nis_op(\"add\")(y, y)") == std::vector<std::string>{"f"});
  CHECK(found(program, R"(is_op("matmul")(...) >> is_op("nn.relu")(wildcard()))") ==
        std::vector<std::string>{"c a", "d b"});
  CHECK(found(program, R"(is_op("nn.relu")(wildcard()) ^ is_op("add")(...))") == std::vector<std::string>{"e c"});
  CHECK(found(program, R"(a = is_op("nn.relu")(wildcard()); a.used_by(is_op("add")(...), 1))") ==
        std::vector<std::string>{"e d"});
  CHECK(found(program, R"(is_var("x") ^ is_op("matmul")(...))") == std::vector<std::string>{"a", "b"});
  CHECK(parse_query("").error().text == "pattern, column 1: the text ends");
  CHECK_FALSE(parse_query("y = ").ok());
  // Precedence is Python's: `|` binds less tightly than `^`, `&` less tightly than `>>`.
  CHECK(parse_query(R"(* | * ^ *)").error().text.ends_with("not parts of one: write `(a | b) ^ c`"));
  CHECK_FALSE(parse_query(R"(* & * >> *)").ok());
  CHECK(parse_query(R"((* | *) ^ * & *)").ok());
  const auto chain = found(program, R"(is_op("matmul")(*, *) >> is_op("nn.relu")(*) ^ is_op("add")(...))");
  CHECK(chain.size() == 1);
  CHECK(chain == found(program, R"((is_op("matmul")(*, *) >> is_op("nn.relu")(*)) ^ is_op("add")(...))"));
}
