// Memory that is set to zero where its bytes are: a tensor that is cleared before a kernel writes it need not come from
// a device for that. Used by vm; codegen/gpu has the copies.
#pragma once

#include "rldb/runtime/value.h"

namespace rldb::runtime {

class ClearableCopy : public DeviceCopy {
 public:
  // Bytes of the copy, which is up to date. False: the device refuses.
  virtual bool clear(std::size_t at, std::size_t bytes) = 0;
};

// Errors: OutOfMemory, of memory of its own.
Result<support::Unit> clear(const Tensor& t);

}  // namespace rldb::runtime
