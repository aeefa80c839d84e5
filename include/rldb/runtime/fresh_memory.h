// The contents of fresh memory while a comparison looks for reads of memory that was never written. Used by eval and
// codegen/llvm.
#pragma once

namespace rldb::runtime {

// In each byte. A float of 32 or 64 bits is a large number then, which shows in sums and in maxima alike: a maximum
// with NaN would be the other operand. float16 is NaN.
inline constexpr unsigned char kFreshByte = 0x7E;

}  // namespace rldb::runtime
