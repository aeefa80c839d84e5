// The rows of domain.def. Room-private.
#pragma once

#include <optional>

#include "repro/fuzz/value.h"
#include "rldb/ir/op_traits.h"

namespace rldb::repro {

enum class Steadiness { Smooth, Exact, Jumps };

struct Domain {
  Range operand;
  bool hull = false;  // the result is not larger than the operand
  Range image;
  double slope = 1;
  Steadiness steadiness = Steadiness::Smooth;
};

std::optional<Domain> domain_of(op::Id id);
// Of the result for an operand.
Image image_of(const Domain& domain, const Known& x);

}  // namespace rldb::repro
