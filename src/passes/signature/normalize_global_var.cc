// NormalizeGlobalVar: a public function is renamed to its symbol, `global_symbol`; a private one that had that name
// gets another. All uses follow.
#include <algorithm>

#include "passes/common.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

using NewNames = std::unordered_map<std::string_view, std::string_view>;

std::string_view symbol_of(const Expr* e) {
  const auto* f = as<Function>(e);
  const auto* p = as<PrimFunc>(e);
  const Attr* symbol = f ? find_attr(f->attrs, attr_name::GlobalSymbol) : nullptr;
  if (p) symbol = find_attr(p->attrs, attr_name::GlobalSymbol);
  return symbol ? symbol->string : std::string_view();
}

class Renamer : public Rewriter {
 public:
  Renamer(Context& ctx, const NewNames& names) : Rewriter(ctx), names_(names) {}

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto* g = as<GlobalVar>(e);
    if (!g) return Rewriter::visit_expr(e);
    const auto found = names_.find(g->name);
    return found == names_.end() ? g : ctx_.global_var(found->second, g->type);
  }

 private:
  const NewNames& names_;
};

// New names by old ones, of the renamed functions.
Result<NewNames> new_names(Context& ctx, const Module* module) {
  std::unordered_map<std::string_view, std::string_view> owner;  // by symbol: the name of its function
  for (const ModuleEntry& e : module->entries) {
    const std::string_view symbol = symbol_of(e.function);
    if (symbol.empty()) continue;
    const auto [other, fresh] = owner.try_emplace(symbol, e.name);
    if (!fresh) return Failure(message(diag::PassSymbolTwice, other->second, e.name, symbol));
  }
  NewNames names;
  std::unordered_set<std::string_view> taken;
  for (const ModuleEntry& e : module->entries) taken.insert(e.name);
  for (const auto& [symbol, name] : owner) {
    taken.insert(symbol);
    if (symbol != name) names[name] = symbol;
  }
  for (const ModuleEntry& e : module->entries) {
    const auto other = owner.find(e.name);
    if (other == owner.end() || other->second == e.name || names.count(e.name)) continue;
    std::string free;
    for (int i = 1; free.empty() || taken.count(free); ++i) free = std::string(e.name) + std::to_string(i);
    names[e.name] = *taken.insert(ctx.str(free)).first;
  }
  return names;
}

}  // namespace

Result<const Module*> normalize_global_var(PassEnv& env, const Module* module, const NoOptions&) {
  RLDB_TRY(const NewNames names, new_names(env.ctx, module));
  if (names.empty()) return module;
  ModuleBuilder builder(env.ctx);
  builder.set_attrs(module->attrs);
  builder.set_global_infos(module->global_infos, module->vdevices);
  builder.set_name(module->name);
  for (const ModuleEntry& e : module->entries) {
    const auto found = names.find(e.name);
    const Expr* function = e.function;
    if (isa<Function>(function) || isa<PrimFunc>(function)) function = Renamer(env.ctx, names).rewrite(function);
    builder.set(found == names.end() ? e.name : found->second, function);
  }
  return builder.build();
}

}  // namespace rldb::passes
