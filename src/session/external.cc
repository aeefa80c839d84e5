// External modules as packed functions: those of a session, and those that the runtimes create from the modules in a
// program.
#include "rldb/session/external.h"

#include <fmt/format.h>

#include "rldb/passes/codegen.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/support/check.h"
#include "session/engines.h"

namespace rldb::session {

using runtime::PackedArgs;
using runtime::PackedRegistry;
using runtime::Result;

namespace {

Result<std::vector<ExternalPacked>> graph_runtime(const ir::Attr* module, const PackedRegistry& functions) {
  auto graph = passes::read_graph(module);
  if (!graph.ok()) return runtime::fail(runtime::ErrorKind::BadFile, graph.error());
  RLDB_TRY(GraphFunction made, GraphFunction::make(std::move(*graph), functions));
  const auto function = std::make_shared<const GraphFunction>(std::move(made));
  return std::vector<ExternalPacked>{
      {function->graph().symbol, [function](PackedArgs args) { return function->call(args); }}};
}

// A function that reports why it is missing.
ExternalPacked missing(std::string_view symbol, std::string why) {
  return {std::string(symbol), [why = std::move(why)](PackedArgs) -> Result<runtime::Value> {
            return runtime::fail(runtime::ErrorKind::UnknownFunction, why);
          }};
}

// Its functions become the session's once the plugin is loaded.
Result<std::vector<ExternalPacked>> plugin_runtime(const ir::Attr* module, const PackedRegistry& functions) {
  std::vector<ExternalPacked> made;
  const ir::Attr* symbols = ir::find_attr(module->fields, passes::external::kSymbols);
  if (!symbols || !symbols->is(ir::AttrKind::List))
    return runtime::fail(runtime::ErrorKind::BadFile, "it has no symbols");
  const std::string_view library = passes::string_of(module, passes::external::kLibrary);
  for (const ir::Attr* s : symbols->items)
    if (s->is(ir::AttrKind::String) && !functions.find(s->string))
      made.push_back(missing(
          s->string,
          fmt::format("function `{}` is of {}, which is not loaded: `--plugin=FILE` or `:plugin FILE` does that",
                      s->string, library.empty() ? "a plugin" : fmt::format("`{}`", library))));
  return made;
}

// Its function is one of the program's kernels (external_kernels.cc).
Result<std::vector<ExternalPacked>> kernel_runtime(const ir::Attr*, const PackedRegistry&) {
  return std::vector<ExternalPacked>{};
}

struct RuntimeOfKind {
  std::string_view kind;
  ExternalRuntime make;
};

std::vector<RuntimeOfKind>& runtimes() {
  static std::vector<RuntimeOfKind> table{{passes::codegen_name::Json, graph_runtime},
                                          {passes::codegen_name::Plugin, plugin_runtime},
                                          {passes::kernel_codegen_name::Tir, kernel_runtime}};
  return table;
}

ExternalRuntime find_runtime(std::string_view kind) {
  for (const RuntimeOfKind& r : runtimes())
    if (r.kind == kind) return r.make;
  return nullptr;
}

std::string known_kinds() {
  std::vector<std::string> kinds;
  for (const RuntimeOfKind& r : runtimes()) kinds.push_back(fmt::format("`{}`", r.kind));
  return fmt::format("{}", fmt::join(kinds, ", "));
}

// The name of a module in messages.
std::string name_of(const ir::Attr* external) {
  const std::string_view symbol = passes::string_of(external, passes::external::kSymbol);
  const std::string_view library = passes::string_of(external, passes::external::kLibrary);
  return std::string(!symbol.empty() ? symbol : library.empty() ? passes::external::kModules : library);
}

}  // namespace

void register_external_runtime(std::string_view kind, ExternalRuntime runtime) {
  RLDB_CHECK(!kind.empty() && runtime, "a runtime that is registered has a kind and a function");
  RLDB_CHECK(!find_runtime(kind), "external modules of kind `" + std::string(kind) + "` have a runtime already");
  runtimes().push_back({kind, runtime});
}

const PackedRegistry* Session::Engines::functions_of(const ir::Module* module, const PackedRegistry& own,
                                                     Diagnostics& out) {
  const std::vector<const ir::Attr*> modules =
      module ? passes::external_modules(module) : std::vector<const ir::Attr*>();
  if (modules.empty()) return &own;
  const auto [known, fresh] = externals.try_emplace(ir::find_attr(module->attrs, passes::external::kModules), nullptr);
  if (!fresh && known->second) return known->second.get();
  auto all = std::make_shared<PackedRegistry>(own);
  for (const ir::Attr* external : modules) {
    const std::string_view kind = passes::string_of(external, passes::external::kKind);
    const ExternalRuntime make = find_runtime(kind);
    if (!make) {
      const ExternalPacked f =
          missing(name_of(external),
                  fmt::format("external function `{}` is of kind `{}`, for which there is no runtime (known: {})",
                              name_of(external), kind, known_kinds()));
      all->register_function(f.symbol, f.run);
      continue;
    }
    auto made = make(external, own);
    if (!made.ok()) {
      out.add({}, source::message(diag::ExternalUnusable, name_of(external), made.error().message));
      return nullptr;
    }
    for (ExternalPacked& f : *made)
      all->register_function(std::move(f.symbol), std::move(f.run), "of an external module of the program");
  }
  known->second = all;
  kept_externals.push_back(all);
  return all.get();
}

}  // namespace rldb::session
