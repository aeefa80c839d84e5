#include "rldb/codegen/gpu/driver_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace rldb::codegen {

DriverLibrary::DriverLibrary(const char* name) : name_(name), library_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
  if (library_) return;
  const char* why = dlerror();  // names the file
  why_ = why ? why : fmt::format("{} cannot be opened", name);
}

void* DriverLibrary::address_of(const char* symbol) const { return library_ ? dlsym(library_, symbol) : nullptr; }

void DriverLibrary::note_missing(const char* symbol) {
  if (why_.empty()) why_ = fmt::format("{} has no `{}`", name_, symbol);
}

}  // namespace rldb::codegen
