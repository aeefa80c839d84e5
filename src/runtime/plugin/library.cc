// A library in this process: loading, its functions by symbol and by registration, calls.
#include "runtime/plugin/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/ffi/backend.h"

namespace rldb::runtime {

namespace {

static_assert(sizeof(TVMFFIAny) == 16 && sizeof(DLTensor) == 48 && sizeof(TVMFFIObject) == 24, "the C ABI of tvm-ffi");

// Functions of libtvm_ffi itself, which a library that is linked with it brings along.
constexpr std::string_view kOwnNames = "ffi.";

// Functions that libraries of this process registered, by their handles. Such a library stays loaded.
std::map<void*, std::vector<ffi::Registered>>& registered_by() {
  static auto* made = new std::map<void*, std::vector<ffi::Registered>>();
  return *made;
}

std::string symbol_of(std::string_view infix, const std::string& name) {
  return fmt::format("__tvm_ffi_{}{}", infix, name);
}

}  // namespace

Result<std::shared_ptr<PluginLibrary>> PluginLibrary::open(const std::string& path, const PluginSymbols& symbols,
                                                           RegistryRef registry) {
  ffi::link_exports();
  // Without a slash dlopen would search the system's folders for another file of that name.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  std::vector<ffi::Registered> registered;
  const ffi::Scope loading{path, nullptr, registry, &registered};
  void* opened = nullptr;
  {
    const ffi::EnterScope enter(loading);
    opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (!opened) {
    const char* why = dlerror();
    return fail(ErrorKind::BadFile, fmt::format("cannot load `{}`: {}", path, why ? why : "unknown reason"));
  }
  ffi::set_context_symbols(opened);
  std::shared_ptr<PluginLibrary> library(new PluginLibrary(opened));
  library->registry_ = std::move(registry);
  library->form_ = symbols.uses_objects() ? ffi::TensorForm::Object : ffi::TensorForm::DLTensor;
  RLDB_TRY_VOID(library->find(path, symbols));
  // The system initialises a library once, also if it is opened again.
  auto& known = registered_by()[opened];
  if (!registered.empty()) known = std::move(registered);
  library->unloads_ = known.empty();
  library->add_registered(known);
  return library;
}

Result<support::Unit> PluginLibrary::find(const std::string& path, const PluginSymbols& symbols) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::binary_search(names.begin(), names.end(), name);
  };
  for (const std::string& name : symbols.functions) {
    void* symbol = dlsym(handle_, symbol_of("", name).c_str());
    if (!symbol) return fail(ErrorKind::BadFile, fmt::format("`{}`: `__tvm_ffi_{}` cannot be found", path, name));
    PluginFunction f{name, {}, {}};
    if (has(symbols.signatures, name)) f.signature = signature_text(text_of(symbol_of("_metadata_", name)));
    if (has(symbols.docs, name)) f.doc = text_of(symbol_of("_doc_", name));
    functions_.push_back(std::move(f));
    entries_.push_back({reinterpret_cast<TVMFFISafeCallType>(symbol), {}});
  }
  return support::Unit{};
}

// An exported symbol goes before a registered function of the same name.
void PluginLibrary::add_registered(const std::vector<ffi::Registered>& registered) {
  for (const ffi::Registered& r : registered) {
    const auto at = std::lower_bound(functions_.begin(), functions_.end(), r.name,
                                     [](const PluginFunction& f, const std::string& name) { return f.name < name; });
    if (r.name.starts_with(kOwnNames) || (at != functions_.end() && at->name == r.name)) continue;
    entries_.insert(entries_.begin() + (at - functions_.begin()), {nullptr, r.function});
    functions_.insert(at, {r.name, signature_text(r.metadata), r.doc});
  }
}

PluginLibrary::~PluginLibrary() {
  if (unloads_) dlclose(handle_);
}

ffi::Scope PluginLibrary::scope_for(const std::string& name) const {
  return {name, shared_from_this(), registry_, nullptr};
}

Result<Value> PluginLibrary::call(std::size_t index, PackedArgs args) const {
  const ffi::Scope scope = scope_for(functions_[index].name);
  const Entry& entry = entries_[index];
  if (entry.code) return ffi::call_foreign(scope, entry.code, nullptr, args, form_);
  TVMFFIObject* function = entry.function.get();
  return ffi::call_foreign(scope, ffi::cell_of<TVMFFIFunctionCell>(function).safe_call, function, args, form_);
}

// The text that a function without arguments returns; empty if it does not.
std::string PluginLibrary::text_of(const std::string& symbol) const {
  void* code = dlsym(handle_, symbol.c_str());
  if (!code) return {};
  const ffi::Scope scope{symbol, nullptr, registry_, nullptr};
  const auto text = ffi::call_foreign(scope, reinterpret_cast<TVMFFISafeCallType>(code), nullptr, {}, form_);
  return text.ok() && text->is(ValueKind::String) ? text->as_string() : std::string();
}

}  // namespace rldb::runtime
