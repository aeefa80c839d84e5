// A plugin's library, loaded in this process (which may be a guard). Room-private.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rldb/runtime/ffi_abi.h"
#include "rldb/runtime/plugin.h"
#include "runtime/ffi/call.h"

namespace rldb::runtime {

class PluginLibrary : public std::enable_shared_from_this<PluginLibrary> {
 public:
  // Runs the library's initialisers. `registry`: what its functions find by name.
  static Result<std::shared_ptr<PluginLibrary>> open(const std::string& path, const PluginSymbols& symbols,
                                                     RegistryRef registry);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;
  // Sorted by name: exported and registered functions.
  const std::vector<PluginFunction>& functions() const { return functions_; }
  Result<Value> call(std::size_t index, PackedArgs args) const;

 private:
  explicit PluginLibrary(void* handle) : handle_(handle) {}
  // Either a symbol, or a function that was registered.
  struct Entry {
    TVMFFISafeCallType code = nullptr;
    ffi::Handle function;
  };
  ffi::Scope scope_for(const std::string& name) const;
  Result<support::Unit> find(const std::string& path, const PluginSymbols& symbols);
  void add_registered(const std::vector<ffi::Registered>& registered);
  std::string text_of(const std::string& symbol) const;

  void* handle_;
  RegistryRef registry_;
  ffi::TensorForm form_ = ffi::TensorForm::Object;
  std::vector<PluginFunction> functions_;
  std::vector<Entry> entries_;  // of the same index
  bool unloads_ = true;
};

// "(Tensor, int) -> float" of tvm-ffi's metadata, empty if it is none.
std::string signature_text(const std::string& metadata);

}  // namespace rldb::runtime
