// Looks into a TensorIR function in progress: where elements lie, and the threads of a GPU block.
// Users: debug (provenance, `:threads`).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rldb/eval/eval.h"

namespace rldb::eval {

// Before it starts: its threads meet at the barriers of the text only, not where TVM's lowering will place some.
void keep_to_written_barriers(TirMachine& machine);

// A scalar expression of the function, now; of a vector, one of its lanes.
runtime::Result<runtime::Value> value_of_lane(const TirMachine& machine, const ir::Expr* e, int lane);

// Where an element lies now; with vectors as indices, that of one lane.
struct ElementPlace {
  const runtime::Storage* memory;
  std::int64_t byte;  // its first one
};
runtime::Result<ElementPlace> place_of(const TirMachine& machine, const ir::Buffer* b,
                                       ir::Span<const ir::Expr*> indices, int lane = 0);

// A thread of a GPU block whose threads take turns, because they have barriers.
struct ThreadView {
  enum class State : std::uint8_t { NotBegun, Ready, Waiting, Done } state = State::NotBegun;
  std::string name;         // `threadIdx.x = 3`
  const ir::Stmt* at = {};  // the statement that it runs next, or waits at; null: it has not begun, or is done
  bool current = false;     // its turn
};
// Empty: the kernel has none, or they are loops.
std::vector<ThreadView> threads_of(const TirMachine& machine);
// A copy in which another thread has its turn: to look at, not to step. Null: it is none that has begun.
std::unique_ptr<TirMachine> as_thread(const TirMachine& machine, std::size_t thread);

}  // namespace rldb::eval
