// Keeps LLVM's loop vectoriser away from loops with an index that may wrap.
#pragma once

#include <llvm/ADT/Any.h>
#include <llvm/IR/PassManager.h>

namespace rldb::codegen {

// Loops in which the address of a load or store depends on the loop's variable through a change of width (as
// `i * 3 & 63` does, which is a 6-bit recurrence) are marked as not to be vectorised.
//
// LLVM 19 takes such an index for one that never wraps, and reads consecutive memory from it, outside of the buffer
// (llvm-project issues 156849 for loads, 191382 for stores). The bounds that were proved are those of the index as
// written. Our own schedules make the vectors of such loops where they can. To run right before the vectoriser.
struct KeepWrappingLoopsScalar : llvm::PassInfoMixin<KeepWrappingLoopsScalar> {
  llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

// A pass over a function that has such loops and that relies on the same analysis: it is left out. To be asked by the
// instrumentation of passes.
bool relies_on_wrapping(llvm::StringRef pass, const llvm::Any& unit);

}  // namespace rldb::codegen
