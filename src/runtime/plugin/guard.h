// The guard process of a plugin: the library is loaded there, and calls go there. Room-private.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rldb/runtime/plugin.h"
#include "runtime/plugin/guard_process.h"
#include "runtime/plugin/wire_value.h"

namespace rldb::runtime {

class PluginGuard {
 public:
  PluginGuard(std::string path, PluginSymbols symbols, RegistryRef registry)
      : path_(std::move(path)), symbols_(std::move(symbols)), registry_(std::move(registry)) {}
  // Starts the guard when there is none, which loads the library.
  Result<support::Unit> load(const Isolation& isolation);
  // Known once it was loaded.
  const std::vector<PluginFunction>& functions() const { return functions_; }
  Result<Value> call(const Isolation& isolation, std::size_t index, PackedArgs args);

 private:
  Result<Value> call_target(const Isolation& isolation, std::uint64_t target, const std::string& name, PackedArgs args);
  Result<std::string> ask(const Isolation& isolation, const std::string& name, std::string_view request);
  void lose();
  std::string path_;
  PluginSymbols symbols_;
  RegistryRef registry_;
  std::vector<PluginFunction> functions_;
  std::shared_ptr<GuardObjects> objects_ = std::make_shared<GuardObjects>();
  // Held by functions of the guard: null when this object has gone.
  std::shared_ptr<PluginGuard*> self_ = std::make_shared<PluginGuard*>(this);
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<GuardProcess> guard_;

 public:
  ~PluginGuard() { *self_ = nullptr; }
  PluginGuard(const PluginGuard&) = delete;
  PluginGuard& operator=(const PluginGuard&) = delete;
};

}  // namespace rldb::runtime
