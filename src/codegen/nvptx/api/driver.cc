// Opens the driver's library.
#include "codegen/nvptx/api/driver.h"

#include <fmt/format.h>

#include "rldb/codegen/gpu/driver_library.h"

namespace rldb::codegen::cu {

namespace {

constexpr const char* kLibrary = "libcuda.so.1";

struct Loaded {
  Api api;
  std::string why;  // empty: complete
};

Loaded open_library() {
  DriverLibrary library(kLibrary);
  Loaded loaded;
#define RLDB_CU_FUNCTION(name, symbol, parameters) library.find(symbol, loaded.api.name);
#include "codegen/nvptx/api/cu_function.def"
  loaded.why = library.why();
  return loaded;
}

}  // namespace

const Api* api(std::string& why) {
  static const Loaded loaded = open_library();
  why = loaded.why;
  return loaded.why.empty() ? &loaded.api : nullptr;
}

std::string error_name(const Api& api, Result code) {
  const char* name = nullptr;
  if (api.cuGetErrorName(code, &name) != kSuccess || !name) return fmt::format("error {}", code);
  return fmt::format("{} ({})", name, code);
}

}  // namespace rldb::codegen::cu
