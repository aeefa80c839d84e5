// Tells a program what its kernels do with the memory they are given, so that a checkpoint keeps only what is written.
#pragma once

#include "rldb/ir/module.h"
#include "rldb/vm/kernel_writes.h"

namespace rldb::debug {

// `lowered`: the module with the TensorIR of the kernels; null: nothing is known about them.
void tell_kernel_writes(const vm::Program& program, const ir::Module* lowered);

}  // namespace rldb::debug
