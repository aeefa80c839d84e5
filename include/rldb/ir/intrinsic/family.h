// The numbers of the families of intrinsics, in the order of intrinsic.def, from 1: intrinsic.cc finds rows by them.
// The ids of a family follow its number and are constants of its header: intrin::Sqrt of intrinsic/math.h.
#pragma once

#include <cstdint>

namespace rldb::ir {

enum class IntrinsicFamily : std::uint16_t {
  Control = 0x100,
  Choice = 0x200,
  Logic = 0x300,
  Hint = 0x400,
  Cast = 0x500,
  Vector = 0x600,
  Math = 0x700,
  Bits = 0x800,
  Rounding = 0x900,
  Trigonometry = 0xa00,
  Host = 0xb00,
  Device = 0xc00,
};

}  // namespace rldb::ir
