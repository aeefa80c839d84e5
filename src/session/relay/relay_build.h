// Code of the Relay VM as a build: its instructions as a map for debuggers (relay/vm/on_machine.h), its primitives as
// kernels for stepping. It runs, stops and is stepped like any other; it has no module. Room-private.
#pragma once

#include "rldb/session/relay_code.h"

namespace rldb::session {

struct RelayBuild : Build {
  std::shared_ptr<const void> kept;  // what the code refers to
  std::unique_ptr<RelayCode> code;
  runtime::KernelTable primitives;
};

// Null: diagnosed. `code` may be null: then it has been.
std::shared_ptr<const RelayBuild> relay_build(Session& session, std::string_view path, std::unique_ptr<RelayCode> code,
                                              std::shared_ptr<const void> kept, Diagnostics& out);

// The code's own form of a build of `relay_build`.
const RelayCode& relay_code(const Build& build);

// Nullopt: diagnosed.
std::optional<std::string> relay_file(const RelayCode& code, Diagnostics& out);

// Whether code that was compiled with these options is the same with those.
bool same_code(const Options& a, const Options& b);

}  // namespace rldb::session
