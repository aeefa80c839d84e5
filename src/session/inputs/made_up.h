// Which numbers may be generated for the parameters of a function: an index must be within bounds, a divisor is not
// zero. A number that is used as an index without arithmetic covers its dimension. Where nothing can be concluded:
// 0 to 9. Floats of which a root or a logarithm is taken have to be positive. Room-private.
#pragma once

#include "session/inputs/kernel_ranges.h"

namespace rldb::session {

// A range for a parameter; for a tuple one entry per field.
struct MadeUp {
  Leaf range;
  std::vector<MadeUp> fields;
};

// For the parameters of `function`, where symbolic dims have the values `dims`. `legal`: the module after LegalizeOps.
std::vector<MadeUp> made_up_ranges(const ir::Module* legal, std::string_view function,
                                   const std::unordered_map<const ir::Var*, std::int64_t>& dims);

// For a tensor whose annotation leaves its shape open: the type of the first `match_cast` of it in the function's body
// that specifies one. Null: there is none, or it needs none.
const ir::Type* shape_it_is_cast_to(const ir::Function* f, const ir::Var* parameter);

}  // namespace rldb::session
