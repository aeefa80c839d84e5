// The types of the parameters of an executable's functions, from the names and types in its debug information.
#pragma once

#include <vector>

#include "rldb/bytecode/executable.h"
#include "rldb/ir/context.h"
#include "rldb/source/buffer.h"

namespace rldb::session {

// One type for each parameter; null where the file has none, or none that is valid.
std::vector<const ir::Type*> parameter_types(ir::Context& ctx, source::SourceManager& sources,
                                             const bytecode::Executable& exe, bytecode::FunctionIndex function);

}  // namespace rldb::session
