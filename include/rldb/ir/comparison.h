// Comparisons: the six of the BinaryKinds, for switches that need not name the others, and their negations and mirror
// images.
#pragma once

#include <optional>

#include "rldb/ir/expr.h"

namespace rldb::ir {

// Values are BinaryKind's.
enum class Comparison : std::uint8_t {
  EQ = std::uint8_t(BinaryKind::EQ),
  NE = std::uint8_t(BinaryKind::NE),
  LT = std::uint8_t(BinaryKind::LT),
  LE = std::uint8_t(BinaryKind::LE),
  GT = std::uint8_t(BinaryKind::GT),
  GE = std::uint8_t(BinaryKind::GE),
};
constexpr BinaryKind binary_kind(Comparison c) { return BinaryKind(c); }
constexpr std::optional<Comparison> as_comparison(BinaryKind kind) {
  return is_comparison(kind) ? std::optional(Comparison(kind)) : std::nullopt;
}
// The comparison of an expression that is one; `e` may be null.
inline std::optional<Comparison> comparison_of(const BinaryExpr* e) {
  return e ? as_comparison(e->op()) : std::nullopt;
}

// The comparison that holds where `c` does not; for floats only if neither operand is a NaN.
inline Comparison opposite(Comparison c) {
  switch (c) {
    case Comparison::EQ:
      return Comparison::NE;
    case Comparison::NE:
      return Comparison::EQ;
    case Comparison::LT:
      return Comparison::GE;
    case Comparison::LE:
      return Comparison::GT;
    case Comparison::GT:
      return Comparison::LE;
    case Comparison::GE:
      return Comparison::LT;
  }
  RLDB_UNREACHABLE("every comparison has its case");
}

// The same with the operands exchanged.
inline Comparison mirrored(Comparison c) {
  switch (c) {
    case Comparison::EQ:
    case Comparison::NE:
      return c;
    case Comparison::LT:
      return Comparison::GT;
    case Comparison::LE:
      return Comparison::GE;
    case Comparison::GT:
      return Comparison::LT;
    case Comparison::GE:
      return Comparison::LE;
  }
  RLDB_UNREACHABLE("every comparison has its case");
}

}  // namespace rldb::ir
