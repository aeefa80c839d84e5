// Opens the loader library of OpenCL.
#include "codegen/opencl/api/loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace rldb::codegen::cl {

namespace {

constexpr const char* kLibrary = "libOpenCL.so.1";

struct Loaded {
  Api api;
  std::string why;  // empty: complete
};

template <class Function>
void find_function(void* library, const char* name, Function& out, std::string& why) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  if (!out && why.empty()) why = fmt::format("{} has no `{}`", kLibrary, name);
}

Loaded open_library() {
  Loaded loaded;
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // stays open: drivers have threads
  if (!library) {
    const char* why = dlerror();  // names the file
    loaded.why = why ? why : fmt::format("{} cannot be opened", kLibrary);
    return loaded;
  }
#define RLDB_CL_LATER(name, result, parameters) \
  loaded.api.name = reinterpret_cast<result(*) parameters>(dlsym(library, #name));
#define RLDB_CL_FUNCTION(name, result, parameters) find_function(library, #name, loaded.api.name, loaded.why);
#include "codegen/opencl/api/cl_function.def"
  return loaded;
}

}  // namespace

const Api* api(std::string& why) {
  static const Loaded loaded = open_library();
  why = loaded.why;
  return loaded.why.empty() ? &loaded.api : nullptr;
}

std::string error_name(Int code) {
  switch (code) {
#define RLDB_CL_ERROR(number, name) \
  case number:                      \
    return fmt::format("{} ({})", name, number);
#include "codegen/opencl/api/cl_error.def"
    default:  // numbers of a foreign library
      return fmt::format("error {}", code);
  }
}

}  // namespace rldb::codegen::cl
