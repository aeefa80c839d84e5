// Numbers that functions name. Where inputs or dims are equal to one of them, or beside it, the functions take other
// ways: a comparison turns round, a loop has a tail. Room-private.
#pragma once

#include <cstdint>
#include <vector>

#include "rldb/ir/module.h"

namespace rldb::repro {

struct NamedNumbers {
  std::vector<double> floats;          // constants other than 0
  std::vector<std::int64_t> integers;  // operands of arithmetic and comparisons; those up to 16 are tried anyway
  // By which they divide, or up to which they count: first those that divide; then the ranges of indices of few bits.
  std::vector<std::int64_t> widths;
};
NamedNumbers named_numbers(const ir::Module* module);
NamedNumbers named_numbers(const std::vector<const ir::Module*>& modules);

// Dims at the widths, and at both sides of their multiples, that `known` does not have.
std::vector<std::int64_t> dims_around(const std::vector<std::int64_t>& widths, const std::vector<std::int64_t>& known);

}  // namespace rldb::repro
