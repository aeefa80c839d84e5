// Random Relay programs, as text. Room-private.
//
// `@main` takes and returns tensors of float32 with known dims, and is defined for all inputs in [-1, 1): operands
// outside of an operator's domain are clipped, comparisons (and so conditions) see values without rounding only.
// Besides operators there are `if`, tuples, closures, global functions, recursion, references, and lists with `match`.
// The same seed gives the same text.
#pragma once

#include <cstdint>
#include <string>

namespace rldb::repro {

std::string generate_relay(std::uint64_t seed);

}  // namespace rldb::repro
