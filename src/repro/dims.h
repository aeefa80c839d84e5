// Values of the symbolic dims that a function is run with. Room-private.
#pragma once

#include <string>

#include "rldb/ir/context.h"
#include "rldb/session/options.h"

namespace rldb::repro {

// Dims that nobody gave a value: while all of them are the same number, a program that takes one for another is right.
// The first in the parameters' types gets the default, the others the numbers behind it; `falling`: the last one does.
// False: there are fewer than two, and nothing was set.
bool tell_dims_apart(session::Options& options, const ir::Function* f, bool falling = false);
// `n=7, m=8`; where no type names one, the default.
std::string dims_text(const session::Options& options, const ir::Function* f);

}  // namespace rldb::repro
