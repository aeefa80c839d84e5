// Which integers may be made up for the parameters of a function: an index must lie in what it indexes, a divisor is
// not zero. Where nothing can be concluded, 0 to 9. Room-private.
#pragma once

#include "session/inputs/kernel_ranges.h"

namespace rldb::session {

// A range for a parameter; for a tuple a row for each field.
struct MadeUp {
  Leaf range;
  std::vector<MadeUp> fields;
};

// Of the parameters of `function`, where symbolic dims have the values `dims`. `legal`: the module after LegalizeOps.
std::vector<MadeUp> made_up_ranges(const ir::Module* legal, std::string_view function,
                                   const std::unordered_map<const ir::Var*, std::int64_t>& dims);

}  // namespace rldb::session
