// The operators of operator.def that oneDNN has too, with the same shapes and plain layouts, on one thread.
#pragma once

#include <functional>
#include <string_view>

namespace rldb::bench {

// Empty: it has none of that name, or this program was built without oneDNN.
std::function<void()> onednn_call(std::string_view name);

}  // namespace rldb::bench
