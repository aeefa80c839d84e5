// Values of another process as copies of one's own.
#pragma once

#include <map>

#include "attach/layout.h"
#include "rldb/bytecode/executable.h"
#include "rldb/runtime/ffi_abi.h"
#include "rldb/runtime/value.h"

namespace rldb::attach {

// Of one stop: an object that is reached twice is one value. One that cannot be read, or is too large, becomes
// an object that says so.
class ValueReader {
 public:
  ValueReader(const Memory& memory, const bytecode::Executable& program, const RemoteWatched& watched)
      : memory_(memory), program_(program), watched_(watched) {}
  runtime::Value read(const TVMFFIAny& any, int depth = 0);

 private:
  runtime::Value object(Address at, int depth);
  runtime::Value object_of_type(Address at, const TVMFFIObject& head, int depth);
  runtime::Value tensor(Address cell);
  runtime::Value sequence(Address cell, int depth);
  runtime::Value function(Address at, const TVMFFIObject& head);

  const Memory& memory_;
  const bytecode::Executable& program_;
  const RemoteWatched& watched_;
  std::map<Address, runtime::Value> known_;
  std::size_t bytes_ = 0;  // of tensors and texts that were read
  std::size_t items_ = 0;
};

}  // namespace rldb::attach
