// Reads a module, runs a pass on it and prints it, with the two rooms that this needs and no session.
#include <cstdio>

#include "rldb/frontend/parse.h"
#include "rldb/ir/printer.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass.h"

using namespace rldb;

int main() {
  ir::Context ctx;
  ops::install(ctx);  // a context knows no operators by itself
  source::SourceManager sources;
  source::Diagnostics problems;
  const auto file = sources.add("double.py",
                                "@R.function\n"
                                "def main(x: R.Tensor((2,), \"float32\")):\n"
                                "    y = R.add(x, x)\n"
                                "    return y\n");
  const frontend::ParseResult parsed = frontend::parse(ctx, sources, file, problems);
  const auto pipeline = passes::parse_pipeline("LegalizeOps");
  passes::PassEnv env{ctx, problems};
  if (parsed.ok && pipeline.ok()) {
    const auto made = passes::run_pipeline(env, parsed.module, *pipeline);
    if (made.ok()) return std::puts(ir::print(*made).c_str()) < 0;
    std::fprintf(stderr, "%s\n", made.error().text.c_str());
  }
  std::fputs(source::render(problems, sources).c_str(), stderr);
  return 1;
}
