// Random programs. Room-private.
#pragma once

#include <cstdint>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/op_traits.h"

namespace rldb::repro {

// The same numbers everywhere (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t n) { return std::size_t(next() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

// An operator with how many tensors it is given.
struct Building {
  op::Id op;
  std::size_t arity;
};

// What takes tensors of the programs' shapes and gives a tensor, by the typer.
std::vector<Building> building_blocks(ir::Context& ctx);
const ir::Module* generate(ir::Context& ctx, const std::vector<Building>& blocks, std::uint64_t seed);

}  // namespace rldb::repro
