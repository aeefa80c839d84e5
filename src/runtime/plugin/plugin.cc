// Loading plugins, and choosing at each call where it runs.
#include "rldb/runtime/plugin.h"

#include <fmt/format.h>

#include "rldb/runtime/library_code.h"
#include "rldb/support/file.h"
#include "runtime/plugin/guard.h"
#include "runtime/plugin/library.h"

namespace rldb::runtime {

namespace {

// One library and the two places where it may be loaded: each when it is first needed there.
class Plugin {
 public:
  Plugin(std::string path, PluginSymbols symbols, RegistryRef registry, std::shared_ptr<const Isolation> isolation)
      : path_(std::move(path)),
        symbols_(std::move(symbols)),
        registry_(std::move(registry)),
        isolation_(std::move(isolation)),
        guard_(path_, symbols_, registry_) {}

  Result<support::Unit> load() {
    if (isolated()) return guard_.load(*isolation_);
    if (library_) return support::Unit{};
    RLDB_TRY(library_, PluginLibrary::open(path_, symbols_, registry_));
    return support::Unit{};
  }

  // Of the place where it was loaded first.
  const std::vector<PluginFunction>& functions() const { return library_ ? library_->functions() : guard_.functions(); }

  Result<Value> call(std::size_t index, const std::string& name, PackedArgs args) {
    if (isolated()) return guard_.call(*isolation_, index, args);
    RLDB_TRY_VOID(load());
    // The functions that it registers may depend on where it runs.
    if (index >= library_->functions().size() || library_->functions()[index].name != name)
      return fail(ErrorKind::UnknownFunction, fmt::format("`{}` is not in `{}` when it is loaded here", name, path_));
    return library_->call(index, args);
  }

 private:
  bool isolated() const { return isolation_ && isolation_->enabled(); }
  std::string path_;
  PluginSymbols symbols_;
  RegistryRef registry_;
  std::shared_ptr<const Isolation> isolation_;
  std::shared_ptr<PluginLibrary> library_;
  PluginGuard guard_;
};

std::string doc_of(const PluginFunction& f, const std::string& path) {
  std::string doc = fmt::format("from `{}`", path);
  if (!f.signature.empty()) doc += ": " + f.signature;
  if (!f.doc.empty()) doc += "; " + f.doc;
  return doc;
}

struct Loaded {
  std::shared_ptr<Plugin> plugin;
  PackedFn function(std::size_t i) const {
    return [plugin = plugin, i, name = plugin->functions()[i].name](PackedArgs args) {
      return plugin->call(i, name, args);
    };
  }
};

Result<Loaded> load(const std::string& path, RegistryRef registry, std::shared_ptr<const Isolation> isolation) {
  auto bytes = support::read_file(path);
  if (!bytes.ok()) return fail(ErrorKind::BadFile, fmt::format("cannot open `{}`: {}", path, bytes.error().reason));
  RLDB_TRY(PluginSymbols symbols, read_plugin_symbols(*bytes, path));
  if (symbols.functions.empty() && !symbols.registers()) {
    return fail(ErrorKind::BadFile,
                fmt::format("`{}` exports no function named `__tvm_ffi_...`, and registers none", path));
  }
  auto plugin = std::make_shared<Plugin>(path, std::move(symbols), std::move(registry), std::move(isolation));
  RLDB_TRY_VOID(plugin->load());
  if (plugin->functions().empty()) return fail(ErrorKind::BadFile, fmt::format("`{}` registered no function", path));
  return Loaded{std::move(plugin)};
}

}  // namespace

std::vector<std::string> PluginInfo::names() const {
  std::vector<std::string> names;
  for (const PluginFunction& f : functions) names.push_back(f.name);
  return names;
}

Result<PluginInfo> load_plugin(PackedRegistry& registry, const std::string& path,
                               std::shared_ptr<const Isolation> isolation) {
  RLDB_TRY(const Loaded loaded, load(path, RegistryRef(registry), std::move(isolation)));
  PluginInfo info{path, loaded.plugin->functions()};
  // All of them or none.
  for (std::size_t i = 0; i < info.functions.size(); ++i) {
    const PluginFunction& f = info.functions[i];
    // It is told where each tensor is.
    registry.register_function(f.name, loaded.function(i), doc_of(f, path)).any_device = true;
  }
  return info;
}

Result<std::vector<LibraryFunction>> load_library_code(const std::string& path, RegistryRef registry,
                                                       std::shared_ptr<const Isolation> isolation) {
  RLDB_TRY(const Loaded loaded, load(path, std::move(registry), std::move(isolation)));
  std::vector<LibraryFunction> functions;
  for (std::size_t i = 0; i < loaded.plugin->functions().size(); ++i)
    functions.push_back({loaded.plugin->functions()[i].name, loaded.function(i)});
  return functions;
}

}  // namespace rldb::runtime
