// Packed functions: the table of named C++ functions that programs call (`R.call_packed`, VM builtins excepted).
//
// A registry is a value owned by the session: `register_function` replaces a namesake. The RFC's custom_* helpers and
// TVM's test.vm.* helpers are registered by register_test_functions (src/runtime/value/test_functions.cc shows how to
// add one). Plugins (`--plugin=LIB.so`) enter through runtime/plugin.h with the tvm-ffi C ABI (docs/plugins.md).
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// Where `R.print` and the printing helpers write; the session points it at its own stream.
class Output {
 public:
  virtual ~Output() = default;
  virtual void write(std::string_view text) = 0;
};
Output& stdout_output();

struct PackedInfo {
  Ref<Function> function;
  std::string doc;
  int arity = -1;  // -1: any
};

class PackedRegistry {
 public:
  void register_function(std::string name, PackedFn fn, std::string doc = "", int arity = -1);
  const PackedInfo* find(std::string_view name) const;
  std::vector<std::string_view> names() const;

 private:
  std::map<std::string, PackedInfo, std::less<>> functions_;
};

// custom_add, custom_tile, custom_print, test.vm.*, ...: `out` must outlive the registry.
void register_test_functions(PackedRegistry& registry, Output& out);

}  // namespace rldb::runtime
