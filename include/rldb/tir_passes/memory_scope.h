// The scopes of memory that passes ask for by name.
#pragma once

#include <string_view>

namespace rldb::passes::memory_scope {

inline constexpr std::string_view kGlobal = "global", kShared = "shared", kSharedDynamic = "shared.dyn", kWarp = "warp";

}  // namespace rldb::passes::memory_scope
