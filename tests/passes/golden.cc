#include "passes/golden.h"

#include <doctest/doctest.h>

#include "rldb/frontend/parse.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/ops/op_info.h"

namespace rldb::passes::testing {

namespace {

constexpr std::string_view kHeader =
    "from tvm.script import ir as I\nfrom tvm.script import tirx as T\nfrom tvm.script import relax as R\n";

const ir::Module* run(Program& p, std::string_view pipeline, const ir::Module* module, std::string& error) {
  auto parsed = parse_pipeline(pipeline);
  if (!parsed.ok()) {
    error = parsed.error().text;
    return nullptr;
  }
  PassEnv env{p.ctx, p.diagnostics};
  RunOptions options;
  options.verify_each = true;
  auto result = run_pipeline(env, module, *parsed, options);
  if (!result.ok()) {
    error = result.error().text + "\n" + p.errors();
    return nullptr;
  }
  return *result;
}

}  // namespace

Program::Program() { ops::install(ctx); }

const ir::Module* Program::parse(std::string_view text) {
  const auto file = sources.add("test.py", std::string(kHeader) + std::string(text));
  const auto result = frontend::parse(ctx, sources, file, diagnostics);
  return result.ok ? result.module : nullptr;
}

std::string Program::errors() const { return source::render(diagnostics, sources); }

void check_golden(std::string_view pipeline, std::string_view before, std::string_view after) {
  Program p;
  const ir::Module* from = p.parse(before);
  const ir::Module* wanted = p.parse(after);
  INFO(p.errors());
  REQUIRE(from != nullptr);
  REQUIRE(wanted != nullptr);
  std::string error;
  const ir::Module* got = run(p, pipeline, from, error);
  INFO(error);
  REQUIRE(got != nullptr);
  const auto difference = ir::first_difference(got, wanted);
  const std::string text = ir::print(got);
  if (difference) INFO(difference->path, ": got ", difference->left, ", wanted ", difference->right, "\n", text);
  const std::string path = difference ? difference->path : std::string();
  CHECK_MESSAGE(path.empty(), text);
  // The printed text is the same program.
  Program again;
  const auto file = again.sources.add("printed.py", text);
  const auto printed = frontend::parse(again.ctx, again.sources, file, again.diagnostics);
  INFO(again.errors());
  REQUIRE(printed.ok);
  CHECK(ir::print(printed.module) == text);
}

void check_fails(std::string_view pipeline, std::string_view before, std::string_view text) {
  Program p;
  const ir::Module* from = p.parse(before);
  INFO(p.errors());
  REQUIRE(from != nullptr);
  std::string error;
  CHECK(run(p, pipeline, from, error) == nullptr);
  INFO(error);
  CHECK(error.find(text) != std::string::npos);
}

std::string run_text(std::string_view pipeline, std::string_view before) {
  Program p;
  const ir::Module* from = p.parse(before);
  INFO(p.errors());
  REQUIRE(from != nullptr);
  std::string error;
  const ir::Module* got = run(p, pipeline, from, error);
  INFO(error);
  REQUIRE(got != nullptr);
  return ir::print(got);
}

}  // namespace rldb::passes::testing
