// LLVM's code generator for the CPU that rldb runs on, and its passes. Internal to the room.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "codegen/llvm/engine/job.h"

namespace rldb::codegen {

// Null: LLVM has none for this machine.
std::unique_ptr<llvm::TargetMachine> make_machine(int opt_level);
// Triple, layout, and the CPU of each function.
void aim(llvm::Module& module, const llvm::TargetMachine& machine);
void optimise(llvm::Module& module, llvm::TargetMachine& machine, int level, const JobState& job);

}  // namespace rldb::codegen
