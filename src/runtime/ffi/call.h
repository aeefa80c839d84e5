// Calls through the C ABI, in both directions. Room-private.
//
// A Scope is where foreign code runs for: which registry it sees, which library has to stay loaded for the objects
// that it makes, and what it registers. Scopes nest with the calls.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/packed.h"
#include "runtime/ffi/object.h"

namespace rldb::runtime::ffi {

struct Registered {
  std::string name;
  Handle function;
  std::string metadata;  // JSON, or empty
  std::string doc;
};

struct Scope {
  std::string name;  // of the function or file, for messages
  std::shared_ptr<const void> library;
  RegistryRef registry;
  std::vector<Registered>* registered = nullptr;  // null: outside of loading, new names are only global
};
// The innermost scope of this thread, or an empty one.
const Scope& current_scope();

class EnterScope {
 public:
  explicit EnterScope(const Scope& scope);
  ~EnterScope();
  EnterScope(const EnterScope&) = delete;
  EnterScope& operator=(const EnterScope&) = delete;

 private:
  const Scope* outer_;
  KeepFreed keep_;
};

// How a library wants tensors as arguments.
enum class TensorForm : std::uint8_t {
  Object,   // as TVM passes them
  DLTensor  // a library in plain C that uses no objects
};

// Calls foreign code in `scope`. The error of a failed call is Raised, or the error of the callback that it passed on.
Result<Value> call_foreign(const Scope& scope, TVMFFISafeCallType code, void* self, PackedArgs args, TensorForm form);

// ---- errors ----

void raise(std::string_view kind, std::string_view message);
void raise(Error error);             // of a callback; comes back unchanged if the caller passes it on
void note_misuse(std::string what);  // a fault even if the call succeeds

// ---- values ----

Result<Value> to_value(const TVMFFIAny& any);  // lent: what it keeps it retains
Result<TVMFFIAny> to_owned(const Value& value);
// The call of a function of rldb from foreign code.
int call_value(void* self, const TVMFFIAny* args, std::int32_t count, TVMFFIAny* result);
// A function registered by name by foreign code, or of the registry in scope.
Handle find_global(std::string_view name);
// A reference to it makes the linker keep the functions that only plugins call.
void link_exports();

}  // namespace rldb::runtime::ffi
