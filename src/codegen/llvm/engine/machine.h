// LLVM's code generator for the CPU that rldb runs on, and its passes. Internal to the room.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <memory>

#include "codegen/llvm/engine/job.h"

namespace rldb::codegen {

// Null: LLVM has none for this machine.
std::unique_ptr<llvm::TargetMachine> make_machine(int opt_level);
// Triple, layout, and the CPU of each function.
void aim(llvm::Module& module, const llvm::TargetMachine& machine);

enum class Passes : std::uint8_t {
  None,
  Few,     // LLVM's level 1: code without loops that count
  Kernel,  // those that kernels are faster for
  All,     // LLVM's level 3: code that is compiled once and run elsewhere
};
void optimise(llvm::Module& module, llvm::TargetMachine& machine, Passes wanted, const JobState& job);

}  // namespace rldb::codegen
