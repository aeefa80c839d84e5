// The attribute of a module that prefixes the symbols of its kernels. Users: AttachGlobalSymbol, which renames them,
// and session, which runs them by the names of the text.
#pragma once

#include <string_view>

namespace rldb::passes {

inline constexpr std::string_view kSystemLibPrefix = "system_lib_prefix";

}  // namespace rldb::passes
