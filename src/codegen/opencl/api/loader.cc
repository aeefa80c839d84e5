// Opens the loader library of OpenCL.
#include "codegen/opencl/api/loader.h"

#include <fmt/format.h>

#include "rldb/codegen/gpu/driver_library.h"

namespace rldb::codegen::cl {

namespace {

constexpr const char* kLibrary = "libOpenCL.so.1";

struct Loaded {
  Api api;
  std::string why;  // empty: complete
};

Loaded open_library() {
  DriverLibrary library(kLibrary);
  Loaded loaded;
#define RLDB_CL_LATER(name, result, parameters) library.find_if_there(#name, loaded.api.name);
#define RLDB_CL_FUNCTION(name, result, parameters) library.find(#name, loaded.api.name);
#include "codegen/opencl/api/cl_function.def"
  loaded.why = library.why();
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
