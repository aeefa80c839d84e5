// Bugs that tests plant into passes, to check that they are found and reduced. A build without RLDB_PLANTED_BUGS has
// none of them: only tests/planted is built with it, together with the few files that query them.
#pragma once

#include <cstdint>

namespace rldb::support {

enum class Bug : std::uint8_t {
  None,
  EarlyRelease,     // the memory plan releases a storage one use too early
  SwappedOperands,  // fusion swaps the operands of a kernel
  SwappedGroup,     // Relay's fusion swaps the operands of a group; its kernels are made by Relax's
  WrongSlot,        // a shape is made from the slot before its own
  LostRest,         // a schedule drops the remainder of a split
};

#ifdef RLDB_PLANTED_BUGS
extern Bug planted_bug;
inline bool planted(Bug b) { return planted_bug == b; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace rldb::support
