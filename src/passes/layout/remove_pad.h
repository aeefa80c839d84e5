// The kernel that AlterOpImpl puts in to drop the padding of a layout, and that OptimizeLayoutTransform looks for.
#pragma once

#include <string_view>

namespace rldb::passes {

inline constexpr std::string_view kRemovePad = "remove_pad";  // its name, and its attribute `operator_name`

}  // namespace rldb::passes
