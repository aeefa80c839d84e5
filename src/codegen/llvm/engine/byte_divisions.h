// Divisions of short vectors of bytes, made in 16 bits.
#pragma once

#include <llvm/IR/Module.h>

namespace rldb::codegen {

// Quotients and remainders of vectors of fewer than 16 bytes are computed in 16 bits. With AVX2, LLVM 19 widens such a
// division by a number to a whole register of bytes, takes bits of the product that it makes of it for known zeros, and
// with a shuffle after it the result is 0. To run after the last pass that narrows operations.
void widen_byte_divisions(llvm::Module& module);

}  // namespace rldb::codegen
