// The guard process of a plugin: the library is loaded there, and calls go there. Room-private.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/plugin/guard_process.h"

namespace rldb::runtime {

class PluginGuard {
 public:
  PluginGuard(std::string path, std::vector<std::string> names) : path_(std::move(path)), names_(std::move(names)) {}
  // Starts the guard when there is none, which loads the library.
  Result<support::Unit> load(const Isolation& isolation);
  Result<Value> call(const Isolation& isolation, std::size_t index, PackedArgs args);

 private:
  Result<std::string> ask(const Isolation& isolation, std::size_t index, std::string_view request);
  std::string path_;
  std::vector<std::string> names_;
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<GuardProcess> guard_;
};

}  // namespace rldb::runtime
