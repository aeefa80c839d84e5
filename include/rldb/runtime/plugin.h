// Plugins: a user's shared library whose exported `__tvm_ffi_<name>` symbols, and functions that it registers by
// TVMFFIFunctionSetGlobal, become packed functions.
//
// The symbols are read from the file before any of its code runs. The library stays loaded as long as one of its
// functions or objects is referenced. A plugin is trusted in a call, because it runs in this process; with isolation on
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

// The symbols of an ELF file; no code of it has run. All lists are sorted.
struct PluginSymbols {
  std::vector<std::string> functions;   // without the `__tvm_ffi_` prefix
  std::vector<std::string> signatures;  // of these there is metadata
  std::vector<std::string> docs;
  std::vector<std::string> imports;  // functions of tvm-ffi that it calls
  bool registers() const;            // functions by name, when it is loaded
  bool uses_objects() const;         // calls functions on objects: it is not plain C on plain data
};
Result<PluginSymbols> read_plugin_symbols(std::string_view elf, std::string_view path);
// The functions alone.
Result<std::vector<std::string>> list_plugin_functions(std::string_view elf, std::string_view path);

struct PluginFunction {
  std::string name;
  std::string signature;  // "(Tensor, int) -> float"; empty: the library does not say
  std::string doc;
};
struct PluginInfo {
  std::string path;
  std::vector<PluginFunction> functions;  // sorted
  std::vector<std::string> names() const;
};

// Loads the library and registers its functions, replacing namesakes. With an `isolation`, each call runs where that
// directs at the time.
Result<PluginInfo> load_plugin(PackedRegistry& registry, const std::string& path,
                               std::shared_ptr<const Isolation> isolation = nullptr);

}  // namespace rldb::runtime
