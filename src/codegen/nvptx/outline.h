// The launches of a lowered PrimFunc, each as a PrimFunc of its own whose parameters are what it uses. Room-private.
#pragma once

#include <vector>

#include "rldb/codegen/gpu/program.h"
#include "rldb/codegen/llvm/ptx.h"
#include "rldb/source/diagnostic.h"

namespace rldb::codegen {

struct Outlined {
  Program program;  // without its text, the faults, and the sizes of the launches' memory
  std::vector<PtxLaunch> launches;
};

ir::Result<Outlined> outline(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name);

}  // namespace rldb::codegen
