// Loading plugins, and choosing at each call where it runs.
#include "rldb/runtime/plugin.h"

#include <fmt/format.h>

#include "rldb/support/file.h"
#include "runtime/plugin/guard.h"
#include "runtime/plugin/library.h"

namespace rldb::runtime {

namespace {

// One library and the two places where it may be loaded: each when it is first needed there.
class Plugin {
 public:
  Plugin(std::string path, std::vector<std::string> names, std::shared_ptr<const Isolation> isolation)
      : path_(std::move(path)), names_(std::move(names)), isolation_(std::move(isolation)), guard_(path_, names_) {}

  Result<support::Unit> load() {
    if (isolated()) return guard_.load(*isolation_);
    if (library_) return support::Unit{};
    RLDB_TRY(library_, PluginLibrary::open(path_, names_));
    return support::Unit{};
  }

  Result<Value> call(std::size_t index, PackedArgs args) {
    if (isolated()) return guard_.call(*isolation_, index, args);
    RLDB_TRY_VOID(load());
    return library_->call(index, args);
  }

 private:
  bool isolated() const { return isolation_ && isolation_->enabled(); }
  std::string path_;
  std::vector<std::string> names_;
  std::shared_ptr<const Isolation> isolation_;
  std::shared_ptr<PluginLibrary> library_;
  PluginGuard guard_;
};

}  // namespace

Result<std::vector<std::string>> load_plugin(PackedRegistry& registry, const std::string& path,
                                             std::shared_ptr<const Isolation> isolation) {
  auto bytes = support::read_file(path);
  if (!bytes.ok()) {
    return fail(ErrorKind::BadFile, fmt::format("cannot open `{}`: {}", path, bytes.error().reason));
  }
  RLDB_TRY(auto names, list_plugin_functions(*bytes, path));
  if (names.empty()) {
    return fail(ErrorKind::BadFile, fmt::format("`{}` exports no function named `__tvm_ffi_...`", path));
  }
  auto plugin = std::make_shared<Plugin>(path, names, std::move(isolation));
  RLDB_TRY_VOID(plugin->load());
  // All of them or none.
  for (std::size_t i = 0; i < names.size(); ++i) {
    registry.register_function(
        names[i], [plugin, i](PackedArgs args) { return plugin->call(i, args); }, fmt::format("from `{}`", path));
  }
  return names;
}

}  // namespace rldb::runtime
