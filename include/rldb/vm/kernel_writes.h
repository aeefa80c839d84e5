// Which of the memory that they are given kernels write: so a machine that shares memory with copies of itself knows
// for what it needs memory of its own before a call. Whoever has the TensorIR tells (debug); without that every
// argument counts as written.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "rldb/vm/machine.h"

namespace rldb::vm {

struct KernelWrites {
  std::vector<bool> written;  // by parameter: it may be
};
// Null: unknown.
using KernelWritesOf = std::function<const KernelWrites*(std::string_view kernel)>;
void set_kernel_writes(const Program& program, KernelWritesOf of);
bool has_kernel_writes(const Program& program);

// Blocks of memory that the machine's values share with others, each once.
struct SharedBlock {
  const runtime::Object* block;
  std::size_t bytes;
};
std::vector<SharedBlock> shared_blocks(const Machine& machine);

}  // namespace rldb::vm
