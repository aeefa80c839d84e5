// The structures of src/aot/runtime/aot.h as words of another process. Library::mark says that they have this layout.
#pragma once

#include "attach/memory.h"

namespace rldb::attach {

struct RemoteLibrary {
  char mark[16];
  Address facts;
  std::uint64_t facts_size;
  Address constants, kernels, functions, state, program;
  std::uint64_t program_size, program_hash;
  Address watched;
};

struct RemoteWatched {
  std::int64_t gate;
  Address trails, delete_storage, delete_closure;
};

struct RemoteTrail {
  Address next;
  std::int64_t thread;
  Address frames;
  std::int64_t at_gate;
  Address result;
  std::int64_t calls, passes;
};

struct RemoteFrame {
  Address outer, library;
  std::int64_t function, pc;
  Address registers;
  std::int64_t count, entered;
};

}  // namespace rldb::attach
