// The tables of a library as bytes, in the layout of src/aot/runtime/library.c, and the data of its constants. Internal
// to the room; independent of LLVM.
#pragma once

#include "rldb/codegen/llvm/aot.h"

namespace rldb::codegen {

struct Facts {
  std::string tables;
  std::string constants;  // each tensor at a multiple of 64
};
// Failure: the constant that a library cannot have.
support::Result<Facts, std::string> facts_of(const AotProgram& program);

}  // namespace rldb::codegen
