// The runtime in C as object files, which are part of rldb. Room-private.
#pragma once

#include <string_view>

namespace rldb::aot {

std::string_view runtime_object();     // what every library needs
std::string_view standalone_object();  // the main of a program

}  // namespace rldb::aot
