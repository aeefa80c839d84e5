// Plugins: a user's shared library whose exported `__tvm_ffi_<name>` symbols become packed functions.
//
// The symbols are read from the file before any of its code runs. The library stays loaded as long as one of its
// functions is referenced. A plugin is trusted in a call, because it runs in this process; with isolation on
// it is loaded and called in a guard process instead (runtime/isolate.h), and a crash there is an Error. Used by
// session.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/isolate.h"
#include "rldb/runtime/packed.h"

namespace rldb::runtime {

// Names (without the `__tvm_ffi_` prefix) that an ELF file defines for others, sorted.
Result<std::vector<std::string>> list_plugin_functions(std::string_view elf, std::string_view path);

// Loads the library and registers its functions, replacing namesakes; returns their names. With an `isolation`,
// each call runs where that directs at the time.
Result<std::vector<std::string>> load_plugin(PackedRegistry& registry, const std::string& path,
                                             std::shared_ptr<const Isolation> isolation = nullptr);

}  // namespace rldb::runtime
