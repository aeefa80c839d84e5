// The machine code of a library that TVM exported, as functions: loaded like a plugin (runtime/plugin.h), but for one
// program instead of a registry. Its user trusts it. Used by session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rldb/runtime/isolate.h"
#include "rldb/runtime/packed.h"

namespace rldb::runtime {

struct LibraryFunction {
  std::string name;  // without the `__tvm_ffi_` prefix
  PackedFn run;
};
// Sorted by name, at least one. `registry`: what they find by name. With an `isolation`, each call runs where that
// directs at the time.
Result<std::vector<LibraryFunction>> load_library_code(const std::string& path, RegistryRef registry,
                                                       std::shared_ptr<const Isolation> isolation = nullptr);

}  // namespace rldb::runtime
