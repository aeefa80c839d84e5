// Packed functions: the table of named C++ functions that programs call (`R.call_packed`, VM builtins excepted).
//
// A registry is a value owned by the session: `register_function` replaces a namesake. The RFC's custom_* helpers and
// TVM's test.vm.* helpers are registered by register_test_functions (src/runtime/value/test_functions.cc shows how to
// add one). Plugins (`--plugin=LIB.so`) enter through runtime/plugin.h with the tvm-ffi C ABI (docs/plugins.md).
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
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
  // It computes where its tensors are. Any other function computes on the host, and takes tensors of the host only.
  bool any_device = false;
};

class PackedRegistry {
 public:
  PackedRegistry() = default;
  PackedRegistry(const PackedRegistry& o) : functions_(o.functions_) {}
  PackedRegistry& operator=(const PackedRegistry& o) {
    functions_ = o.functions_;
    return *this;
  }
  PackedInfo& register_function(std::string name, PackedFn fn, std::string doc = "", int arity = -1);
  const PackedInfo* find(std::string_view name) const;
  std::vector<std::string_view> names() const;

 private:
  friend class RegistryRef;
  std::map<std::string, PackedInfo, std::less<>> functions_;
  std::shared_ptr<const PackedRegistry* const> self_ = std::make_shared<const PackedRegistry* const>(this);
};

// A registry, or null when it has gone: a function of a plugin may outlive the session that loaded it.
class RegistryRef {
 public:
  RegistryRef() = default;
  explicit RegistryRef(const PackedRegistry& registry) : registry_(registry.self_) {}
  const PackedRegistry* get() const {
    const auto alive = registry_.lock();
    return alive ? *alive : nullptr;
  }

 private:
  std::weak_ptr<const PackedRegistry* const> registry_;
};

// custom_add, custom_tile, custom_print, test.vm.*, ...: `out` must outlive the registry, and so must `called`, which
// gets the name of each of RFC 0089's functions at its first call since it was emptied.
void register_test_functions(PackedRegistry& registry, Output& out, std::vector<std::string>* called = nullptr);

// An error that names both, if a tensor is not on the device where the function computes. Before every call of one.
Result<support::Unit> check_devices(const PackedInfo& packed, PackedArgs args);

}  // namespace rldb::runtime
