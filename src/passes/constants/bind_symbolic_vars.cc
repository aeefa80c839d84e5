// BindSymbolicVars(binding_map={"n": 16}, func_name=f): symbolic variables of signatures get values, throughout the
// function. Without func_name, in every function that has them; a name that no function has is an error.
#include <set>

#include "passes/common.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_pass_option.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

struct NamedDim {
  std::string name;
  std::int64_t value = 0;
  bool used = false;
};

// {"n": 16, m: 4}
std::optional<std::vector<NamedDim>> dims_of(const pipeline::option::Dict& map) {
  std::vector<NamedDim> dims;
  for (const auto& [name, value] : map) {
    if (!value.is(pipeline::WrittenValue::Kind::Int)) return std::nullopt;
    dims.push_back({name, value.integer});
  }
  return dims;
}

// The names that there are, for a binding of another one.
std::string known_names(const Module* module, std::string_view wanted) {
  std::string names;
  std::vector<const Var*> vars;
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function); f && (wanted.empty() || e.name == wanted))
      for (const Var* p : f->params) collect_vars(p->type, vars);
  std::set<std::string_view> seen;
  for (const Var* v : vars)
    if (seen.insert(v->name).second) names += (names.empty() ? "`" : ", `") + std::string(v->name) + "`";
  return names.empty() ? "there are no symbolic variables" : "there are " + names;
}

class Binder : public Rewriter {
 public:
  using Rewriter::Rewriter;
  void bind(const Var* v, std::int64_t value) { remap(v, ctx_.int_imm(v->dtype(), value)); }
};

}  // namespace

Result<const Module*> bind_symbolic_vars(PassEnv& env, const Module* module, const BindSymbolicVarsOptions& options) {
  const pipeline::option::MaybeDict& map = options.binding_map;
  std::optional<std::vector<NamedDim>> dims = map ? dims_of(*map) : std::nullopt;
  if (!dims) {
    return Failure(message(diag::PassOptionValue, "binding_map", "a dictionary `{name: integer}`",
                           map ? pipeline::written(*map) : "nothing"));
  }
  const std::string wanted = options.func_name.value_or("");
  RLDB_TRY(const Module* made,
           map_functions(env, module, [&](std::string_view name, const Function* f) -> Result<const Function*> {
             if (!wanted.empty() && name != wanted) return f;
             std::vector<const Var*> vars;
             for (const Var* p : f->params) collect_vars(p->type, vars);
             Binder binder(env.ctx);
             for (const Var* v : vars) {
               for (NamedDim& d : *dims) {
                 if (d.name != v->name) continue;
                 binder.bind(v, d.value);
                 d.used = true;
               }
             }
             return binder.rewrite_function(f);
           }));
  for (const NamedDim& d : *dims) {
    if (d.used) continue;
    const std::string where = wanted.empty() ? "any function" : "`" + wanted + "`";
    return Failure(message(diag::PassNoSymbolicVar, d.name, d.value, where).with_hint(known_names(module, wanted)));
  }
  return made;
}

}  // namespace rldb::passes
