// MemoryOfName: the bytes of a name in the storage plan of a function, known after its register was freed. Users:
// Debugger::Impl, Watched.
#pragma once

#include <cstdint>
#include <vector>

#include "rldb/runtime/dtype.h"

namespace rldb::debug {

struct MemoryOfName {
  std::uint64_t activation = 0;  // vm::Frame::entered
  int storage = -1;              // of the function's plan
  std::size_t offset = 0;
  std::vector<std::int64_t> shape;
  runtime::DType dtype;
  // From that time on no register reached the memory; of the run as it was after so many changes by commands.
  std::uint64_t dead_since = ~std::uint64_t(0);
  std::uint64_t changes = 0;
};

}  // namespace rldb::debug
