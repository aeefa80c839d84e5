// Workers: the collectives of programs that several workers run (`runtime.disco.*`), and their messages to each other.
// Workers may be divided into equal groups of consecutive numbers; a collective involves one group or all.
//
// A program by itself is the only worker. Whoever runs several of them in this process (session/group.h) defines where
// they meet; one group at a time, just as there is one cancellation.
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
  SendToNextGroup,  // to the worker at the same place there
  Receive,          // from a worker by its number
  ReceiveFromPrevGroup
};

class Workers {
 public:
  virtual ~Workers() = default;
  // The number of the worker whose program is running now.
  virtual std::int64_t id() const = 0;
  // That worker has reached a collective with these arguments, the tensor for its result last.
  virtual Result<Value> meet(Collective what, PackedArgs args) = 0;
};

// Null: the program is the only worker.
Workers* workers();
void set_workers(Workers* group);

// Whether a collective involves only its worker's group. Judged by its arguments.
bool is_in_group(Collective what, PackedArgs args);
// How an all-reduce combines its operands: "sum", "max"; empty for other collectives.
std::string_view reduction_of(Collective what, PackedArgs args);
// Computes the result of a collective for the worker at place `id` of the participants, in the last of its arguments.
// `inputs` are the first arguments of all of them; for Receive, the message sent.
Result<Value> run_collective(Collective what, std::span<const Value> inputs, std::size_t id, PackedArgs args);

}  // namespace rldb::runtime
