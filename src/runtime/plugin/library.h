// A plugin's library, loaded in this process (which may be a guard). Room-private.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rldb/runtime/ffi_abi.h"
#include "rldb/runtime/value.h"

namespace rldb::runtime {

class PluginLibrary {
 public:
  // Runs the library's initialisers.
  static Result<std::shared_ptr<PluginLibrary>> open(const std::string& path, const std::vector<std::string>& names);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;
  Result<Value> call(std::size_t index, PackedArgs args) const;

 private:
  explicit PluginLibrary(void* handle) : handle_(handle) {}
  struct Entry {
    std::string name;
    TVMFFISafeCallType code;
  };
  void* handle_;
  std::vector<Entry> functions_;
};

// The error of both ways of calling for a value that the ABI cannot represent.
support::Failure<Error> cannot_pass(std::string_view name, std::size_t argument, const Value& value);

}  // namespace rldb::runtime
