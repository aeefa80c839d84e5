// Opens the driver's library.
#include "codegen/nvptx/api/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace rldb::codegen::cu {

namespace {

constexpr const char* kLibrary = "libcuda.so.1";

struct Loaded {
  Api api;
  std::string why;  // empty: complete
};

template <class Function>
void find_function(void* library, const char* symbol, Function& out, std::string& why) {
  out = reinterpret_cast<Function>(dlsym(library, symbol));
  if (!out && why.empty()) why = fmt::format("{} has no `{}`", kLibrary, symbol);
}

Loaded open_library() {
  Loaded loaded;
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // stays open: drivers have threads
  if (!library) {
    const char* why = dlerror();  // names the file
    loaded.why = why ? why : fmt::format("{} cannot be opened", kLibrary);
    return loaded;
  }
#define RLDB_CU_FUNCTION(name, symbol, parameters) find_function(library, symbol, loaded.api.name, loaded.why);
#include "codegen/nvptx/api/cu_function.def"
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
