// The stacks of a program in another process: read from the trails of its threads, and given to a machine.
#pragma once

#include <map>

#include "attach/image.h"
#include "attach/values.h"
#include "rldb/vm/instruction_set.h"

namespace rldb::attach {

struct Stack {
  std::int64_t thread = 0;  // as the process counts
  Address trail = 0;
  bool at_gate = false;
  Address result = 0;
  Address innermost = 0;            // its innermost frame, of any library; 0: its call is over
  bool is_ours = false;             // that frame is of the image
  std::vector<RemoteFrame> frames;  // of the image's functions, innermost first
};

// A thread that there is: its id as the process counts, and the part of its stack that is in use.
struct LiveThread {
  std::int64_t id = 0;
  Address stack = 0, stack_end = 0;
};

class Stacks {
 public:
  Stacks(const Memory& memory, const Image& image) : memory_(memory), image_(image) {}
  // A child of fork has the trails of its parent's threads. They are nobody's, but for the one of a thread that forked
  // in the middle of a call: its frames are on the stack of a thread that there is.
  void recognise(const std::vector<LiveThread>& threads);
  std::vector<Stack> all() const;  // of threads that run a program
  bool was_called() const { return watched().trails != 0; }
  // Of one thread; no frames: it runs none. `trail`: where it was before.
  Stack of(std::int64_t thread, Address trail) const;
  // Frames and registers with their values. False: the stack is damaged.
  bool fill(const Stack& stack, vm::MachineState& state) const;
  // Of the call that has just returned.
  runtime::Value result(const Stack& stack) const;

 private:
  bool is_frame(const RemoteFrame& f) const;
  bool read_trail(Address at, Stack& out, Address& next) const;
  void read_frames(Stack& stack) const;
  RemoteWatched watched() const;

  const Memory& memory_;
  const Image& image_;
  struct Copied {
    std::int64_t was = 0, is = 0;  // whose it was, and is; 0: nobody's
  };
  std::map<Address, Copied> copied_;  // trails
};

}  // namespace rldb::attach
