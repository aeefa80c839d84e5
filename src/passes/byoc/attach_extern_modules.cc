// AttachExternModules: records in the module which of its functions are those of a shared library. The library's
// symbols are read from the file; none of its code runs. It is loaded when the user asks for it (`--plugin`).
#include "passes/common.h"
#include "passes/pass_functions.h"
#include "rldb/passes/codegen.h"
#include "rldb/passes/external_module.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/runtime/plugin.h"
#include "rldb/source/diagnostic_byoc.h"
#include "rldb/support/file.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

constexpr std::size_t kMaxLibrary = std::size_t(1) << 30;

Result<const Attr*> library_module(Context& ctx, const std::string& path) {
  const auto bytes = support::read_regular_file(path, kMaxLibrary);
  if (!bytes.ok()) return Failure(message(diag::ExternalLibrary, path, bytes.error().reason));
  auto names = runtime::list_plugin_functions(*bytes, path);
  if (!names.ok()) return Failure(message(diag::ExternalLibrary, path, names.error().message));
  if (names->empty()) return Failure(message(diag::ExternalLibrary, path, "it exports no function"));
  std::vector<const Attr*> symbols;
  for (const std::string& name : *names) symbols.push_back(ctx.attr(std::string_view(name)));
  return ctx.attr_dict(std::vector<NamedAttr>{ctx.named(external::kKind, ctx.attr(codegen_name::Plugin)),
                                              ctx.named(external::kLibrary, ctx.attr(std::string_view(path))),
                                              ctx.named(external::kSymbols, ctx.attr_list(symbols))});
}

}  // namespace

Result<const Module*> attach_extern_modules(PassEnv& env, const Module* module,
                                            const AttachExternModulesOptions& options) {
  std::vector<const Attr*> added;
  for (const std::string& path : options.extern_modules) {
    if (!may_rewrite([&] { return "attaches `" + path + "`"; })) continue;
    RLDB_TRY(added.emplace_back(), library_module(env.ctx, path));
  }
  return attach_external(env.ctx, module, added);
}

}  // namespace rldb::passes
