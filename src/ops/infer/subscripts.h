// The subscripts of an Einstein summation, taken apart.
#pragma once

#include "ops/infer/util.h"

namespace rldb::ops::infer {

// "ij,jk->ik" taken apart. A term is its letters with one '.' for an ellipsis. A result that is not written is
// filled in: the broadcast dims, then the letters that occur once, in order.
struct Subscripts {
  std::vector<std::string> terms;
  std::string result;
};
Result<Subscripts> read_subscripts(const OpInfo& info, std::string_view written);

}  // namespace rldb::ops::infer
