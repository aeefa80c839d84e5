// The parts of a library, or why it cannot be made. Room-private.
#pragma once

#include <string>
#include <vector>

#include "rldb/codegen/llvm/aot.h"
#include "rldb/session/session.h"

namespace rldb::aot {

struct PlannedKernel {
  std::string name;
  const ir::PrimFunc* function = nullptr;
  const ir::PrimFunc* scheduled = nullptr;
};

struct Plan {
  std::shared_ptr<const session::Build> build;
  std::vector<codegen::AotTarget> targets;  // of the executable's function table
  std::vector<PlannedKernel> kernels;
  std::vector<std::string> externals;  // functions that whoever uses the library registers
  codegen::JitOptions options;
};

// Nullopt: diagnosed, everything that is refused by its name.
std::optional<Plan> plan(session::Session& session, source::Diagnostics& out);

}  // namespace rldb::aot
