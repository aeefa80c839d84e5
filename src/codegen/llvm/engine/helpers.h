// Helpers: the functions that compiled code may call, and the state of a run that they work on. Internal to the room.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "codegen/llvm/engine/guard.h"
#include "rldb/runtime/kernel.h"
#include "rldb/runtime/packed.h"

namespace rldb::codegen {

struct HelperSymbol {
  const char* name;
  void* address;
};
std::span<const HelperSymbol> helper_symbols();

// The first word of a row that compiled code passes for an argument of a packed call; the second is the payload: the
// integer, the bits of a double, the address of a string, or of (data, dtype, rank, shape, strides).
enum class PackedArgument : std::int64_t { Int, Bool, Float, String, Buffer };

// One call of a kernel, on this thread. Nests when a packed function calls a kernel.
struct Run {
  runtime::PackedArgs args;
  const runtime::PackedRegistry* registry = nullptr;
  std::vector<runtime::Ref<runtime::Storage>> allocations;
  runtime::Ref<runtime::Storage> panels[2];
  bool panel_turn = false;
  std::optional<runtime::Error> error;  // left by a helper
  Trap trap;                            // in a piece of a parallel loop
  bool check_memory = false;            // unchecked code: whether allocations were written past is to be noted
  bool damaged = false;                 // one was
  Run* outer = nullptr;
};
Run*& current_run();

}  // namespace rldb::codegen
