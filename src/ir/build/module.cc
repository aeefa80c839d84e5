// The entries of a module, in the order of their names; visibility.
#include "rldb/ir/module.h"

#include <algorithm>
#include <unordered_set>

#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/context.h"
#include "rldb/ir/launched.h"
#include "rldb/ir/walk.h"

namespace rldb::ir {

bool Function::is_private() const { return find_attr(attrs, attr_name::GlobalSymbol) == nullptr; }
bool PrimFunc::is_private() const { return find_attr(attrs, attr_name::GlobalSymbol) == nullptr; }

const Expr* Module::find(std::string_view wanted) const {
  const auto at = std::lower_bound(entries.begin(), entries.end(), wanted,
                                   [](const ModuleEntry& e, std::string_view n) { return e.name < n; });
  return at != entries.end() && at->name == wanted ? at->function : nullptr;
}

ModuleBuilder::ModuleBuilder(Context& ctx, const Module& base)
    : ctx_(ctx), attrs_(base.attrs), infos_(base.global_infos), vdevices_(base.vdevices), name_(base.name) {
  for (const ModuleEntry& e : base.entries) functions_.emplace_hint(functions_.end(), e.name, e.function);
}

void ModuleBuilder::set(std::string_view name, const Expr* function) {
  RLDB_CHECK(function != nullptr, "a module entry needs a function");
  const auto at = functions_.lower_bound(name);
  if (at != functions_.end() && at->first == name) {
    at->second = function;
  } else {
    functions_.emplace_hint(at, ctx_.str(name), function);
  }
}

void ModuleBuilder::remove(std::string_view name) {
  if (functions_.erase(name) != 0) next_suffix_.clear();
}

const Expr* ModuleBuilder::find(std::string_view name) const {
  const auto at = functions_.find(name);
  return at != functions_.end() ? at->second : nullptr;
}

std::string_view ModuleBuilder::unique_name(std::string_view hint) const {
  if (!find(hint)) return ctx_.str(hint);
  int& next = next_suffix_.try_emplace(ctx_.str(hint), 1).first->second;
  for (;; ++next) {
    const std::string candidate = std::string(hint) + std::to_string(next);
    if (!find(candidate)) return ctx_.str(candidate);
  }
}

const Module* ModuleBuilder::build() const {
  std::vector<ModuleEntry> entries;
  entries.reserve(functions_.size());
  for (const auto& [name, function] : functions_) entries.push_back({name, function});
  std::vector<GlobalInfo> infos;
  infos.reserve(infos_.size());
  for (const GlobalInfo& info : infos_) infos.push_back({ctx_.str(info.key), ctx_.list(info.items)});
  const std::span<const GlobalInfo> info_span(infos);
  return ctx_.arena_.make<Module>(ctx_.list(std::span<const ModuleEntry>(entries)), ctx_.list(attrs_),
                                  ctx_.list(info_span), ctx_.list(vdevices_), ctx_.str(name_));
}

const Module* reachable_from(Context& ctx, const Module* module, std::span<const std::string_view> roots) {
  std::unordered_set<std::string_view> reached;
  std::vector<const Expr*> work;
  const auto reach = [&](std::string_view name) {
    const Expr* f = module->find(name);
    if (f && reached.insert(name).second) work.push_back(f);
  };
  const LaunchedKernels kernels = launched_kernels(module);
  for (const std::string_view name : roots) reach(name);
  while (!work.empty()) {
    const Expr* f = work.back();
    work.pop_back();
    walk(f, [&](const Node* n) {
      if (const auto* g = as<GlobalVar>(n)) reach(g->name);
      const auto launched = kernels.empty() ? kernels.end() : kernels.find(packed_callee(n));
      if (launched != kernels.end()) reach(launched->second);
      return true;
    });
  }
  ModuleBuilder builder(ctx);
  builder.set_attrs(module->attrs);
  builder.set_global_infos(module->global_infos, module->vdevices);
  builder.set_name(module->name);
  for (const ModuleEntry& e : module->entries)
    if (reached.contains(e.name)) builder.set(e.name, e.function);
  return builder.build();
}

}  // namespace rldb::ir
