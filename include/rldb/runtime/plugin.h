// Plugins: a user's shared library whose exported `__tvm_ffi_<name>` symbols become packed functions.
//
// The symbols are read from the file before any of its code runs. The library stays loaded as long as one of its
// functions is referenced. What a plugin does in a call is trusted: it runs in this process. Used by session.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/packed.h"

namespace rldb::runtime {

// Names (without the `__tvm_ffi_` prefix) that an ELF file defines for others, sorted.
Result<std::vector<std::string>> list_plugin_functions(std::string_view elf, std::string_view path);

// Loads the library and registers its functions (namesakes are replaced); returns their names.
Result<std::vector<std::string>> load_plugin(PackedRegistry& registry, const std::string& path);

}  // namespace rldb::runtime
