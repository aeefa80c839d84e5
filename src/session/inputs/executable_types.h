// The functions of an executable and their parameters, with the types that its debug information has. Room-private.
#pragma once

#include <optional>
#include <vector>

#include "rldb/bytecode/executable.h"
#include "rldb/session/program.h"
#include "rldb/source/buffer.h"

namespace rldb::session {

std::vector<std::string> function_names_of(const bytecode::Executable& exe);

// A type is null where the file has none, or none that is valid. nullopt: there is no such function.
std::optional<std::vector<Parameter>> parameters_of(ir::Context& ctx, source::SourceManager& sources,
                                                    const bytecode::Executable& exe, std::string_view function);

}  // namespace rldb::session
