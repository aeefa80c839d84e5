// A kernel at three levels, line beside line: TensorIR as it is compiled (with its schedule), optimised LLVM IR,
// assembly.
//
// The lines come from debug information, which is taken out of the texts again: they are those of `:llvm` and `:asm`,
// except that LLVM may number its values otherwise. Nothing is run. User: session.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/codegen/llvm/jit.h"

namespace rldb::codegen {

struct LinkedText {
  std::string text;
  std::vector<std::uint32_t> lines;  // for each line of the text, from the first: that of the TensorIR; 0: none
};

struct KernelListing {
  std::string tir;
  LinkedText llvm, assembly;
};

ir::Result<KernelListing> kernel_listing(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                         const JitOptions& options);

}  // namespace rldb::codegen
