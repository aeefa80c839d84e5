// Workers: the collectives of programs that several workers run (`runtime.disco.*`), and what they send each other.
// Workers may be divided into groups of one size, consecutive numbers together; a collective is of one group or of all.
//
// A program by itself is the only worker. Whoever runs a group of them in this process (session/group.h) says where
// they meet; one group at a time, as there is one cancellation.
#pragma once

#include "rldb/runtime/value.h"

namespace rldb::runtime {

enum class Collective : std::uint8_t {
  Allreduce,
  Allgather,
  Broadcast,
  Scatter,
  Gather,
  Send,             // to a worker by its number
  SendToNextGroup,  // to the worker of the same place there
  Receive,          // from a worker by its number
  ReceiveFromPrevGroup
};

class Workers {
 public:
  virtual ~Workers() = default;
  // Of the worker whose program is running now.
  virtual std::int64_t id() const = 0;
  // That worker has come to a collective with these arguments, the tensor for its result last.
  virtual Result<Value> meet(Collective what, PackedArgs args) = 0;
};

// Null: the program is the only worker.
Workers* workers();
void set_workers(Workers* group);

// Is a collective of its worker's group only? By its arguments.
bool is_in_group(Collective what, PackedArgs args);
// What a collective gives the worker at place `id` of those that take part, written to the last of its arguments.
// `inputs` are the first arguments of all of them; of Receive, what was sent.
Result<Value> run_collective(Collective what, std::span<const Value> inputs, std::size_t id, PackedArgs args);

}  // namespace rldb::runtime
