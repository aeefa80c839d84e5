// Values of the symbolic dims with which a function is run. Room-private.
#pragma once

#include <string>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/runtime/value.h"
#include "rldb/session/options.h"

namespace rldb::repro {

// Dims without a given value: as long as all of them are the same number, a program that confuses two of them is right.
// The first in the parameters' types gets the default, the others the numbers after it; `falling`: the last one does.
// False: there are fewer than two, and nothing was set.
bool tell_dims_apart(session::Options& options, const ir::Function* f, bool falling = false);
bool tell_dims_apart(session::Options& options, const ir::PrimFunc* f);
bool has_symbolic_dims(const ir::Function* f);
bool has_free_dims(const session::Options& options, const ir::Function* f);  // without a given value
// `n=7, m=8`; if no type names any, the default.
std::string dims_text(const session::Options& options, const ir::Function* f);
std::string dims_text(const session::Options& options, const ir::PrimFunc* f);
// As the values of its parameters have them; those that they do not tell, as above.
std::string dims_text(session::Options options, const ir::Function* f, const std::vector<runtime::Value>& values);

// Of all tensors that the function takes and binds, with these dims; sizes that no dim decides count as 1.
double elements_with(ir::Context& ctx, const session::Options& options, const ir::Function* f);

}  // namespace rldb::repro
