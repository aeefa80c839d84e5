// Branches that the second side takes and the first does not. Room-private.
#pragma once

#include <optional>

#include "rldb/repro/compare.h"

namespace rldb::repro {

// The first `if` of the second side, before that event, of which another branch than on the first side computed
// something, and whose condition is another expression there. A condition that reads the same is a matter of what it
// reads.
std::optional<FirstDifference> other_branch(const ir::Module* first, const ir::Module* second, const Trace& a,
                                            const Trace& b, std::size_t before);

}  // namespace rldb::repro
