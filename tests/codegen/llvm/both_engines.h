// A kernel's text, run by the evaluator and by the JIT on the same inputs: the basis of every test of this room.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rldb/codegen/llvm/jit.h"
#include "rldb/eval/eval.h"
#include "rldb/frontend/parse.h"
#include "rldb/ops/op_info.h"
#include "rldb/source/diagnostic.h"

namespace rldb::codegen::testing {

struct Text {
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  const ir::PrimFunc* f = nullptr;
  std::string problem;

  explicit Text(std::string text);
};

struct Case {
  JitOptions jit;
  std::map<std::string, std::int64_t> symbols;  // values of symbolic dimensions and integer scalars
  runtime::Tolerance tolerance{0, 0, true};     // exact
  double low = -4, high = 4;                    // of the inputs
  const runtime::PackedRegistry* registry = nullptr;
};

// Arguments made for a signature: pseudo-random, the same each time.
std::vector<runtime::Value> make_arguments(const runtime::KernelSignature& s, const Case& c);
// Empty if both engines, and both tiers of the JIT, leave the same values in all arguments (or fail with the same kind
// of error).
std::string both(const std::string& text, const Case& c = {});
// Fails the test unless two functions leave the same values, bit for bit: on the evaluator, and from machine code of
// both as written.
void check_same_values(ir::Context& ctx, const ir::PrimFunc* before, const ir::PrimFunc* after, const Case& c);
// The same for several arguments; each function is compiled once, with the options of the first case.
void check_same_values(ir::Context& ctx, const ir::PrimFunc* before, const ir::PrimFunc* after,
                       const std::vector<Case>& cases);
// Runs on the JIT; the error's message and notes, or empty.
std::string jit_error(const std::string& text, const Case& c = {});
// Wraps statements in a function over A, B: (n,) with the given dtypes and C: (n,).
std::string elementwise(const std::string& expr, const std::string& a, const std::string& b, const std::string& c);

}  // namespace rldb::codegen::testing
