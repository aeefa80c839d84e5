// Launches of a PrimFunc -> PTX, by LLVM's NVPTX back end: the code of a thread is lowered as that of a kernel of the
// CPU is, with the numbers of threads from registers, barriers, and memory of the block. Nothing is run, and no driver
// is needed. User: codegen/nvptx.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/codegen/llvm/jit.h"
#include "rldb/ir/context.h"
#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

inline constexpr std::string_view kPtxProcessor = "sm_70";  // PTX of one is compiled for all later ones

// One launch. `f` has its statements as body; its parameters are first the scalars that these use, and all sizes of the
// buffers, then the buffers. The kernel function takes the parameters in this order, then the record of faults
// (address), the number of the thread that is asked for (uint32), and the address of the word that asks to stop.
struct PtxLaunch {
  std::string name;
  const ir::PrimFunc* f = nullptr;
  std::vector<std::string_view> axes;  // thread tags in the order in which threads are numbered, the slowest first
};

struct PtxOptions {
  bool check_bounds = true;
  bool fast_math = false;
  runtime::NumericEvents events = 0;  // numbers to look for among those that are written
};

// `text` and `note` have `{}` places for the numbers of the record.
struct PtxFault {
  runtime::ErrorKind kind;
  std::string text, note;
};
struct PtxFunction {
  std::size_t shared_bytes = 0, private_bytes = 0;
};
struct Ptx {
  std::string text;
  std::vector<PtxFunction> functions;  // by launch
  std::vector<PtxFault> faults;        // by number - 1
};

// Why there is no code.
struct PtxProblem {
  std::string text;
};
support::Result<Ptx, PtxProblem> make_ptx(ir::Context& ctx, std::span<const PtxLaunch> launches,
                                          const PtxOptions& options);

}  // namespace rldb::codegen
