// UpdateParamType(types={"w": R.Tensor((4, 4), "float16")}, func_name): parameters get new types, and values computed
// from them the types that follow. TVM takes a function from a parameter to its type.
//
// Names of symbolic variables refer to those of the function; a name that it does not have is a new variable.
#include "passes/text/option_text.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_pass_option.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

class ParamTypes : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Function* run(const Function* f, const std::unordered_map<const Var*, const Type*>& types) {
    std::vector<const Var*> params;
    for (const Var* p : f->params) {
      const auto found = types.find(p);
      params.push_back(define_var(p, found == types.end() ? nullptr : found->second));
    }
    const auto* body = cast<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
    const Function* made = ctx_.function(params, body, rewrite_type(f->ret_type), f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return derive_result(ctx_, made);
  }
};

NamedVars symbols_of(const Function* f) {
  NamedVars names;
  std::vector<const Var*> vars;
  for (const Var* p : f->params) collect_vars(p->type, vars);
  for (const Var* v : vars) names.emplace(v->name, v);
  return names;
}

}  // namespace

Result<const Module*> update_param_type(PassEnv& env, const Module* module, const PassOptions& options) {
  const PassOption* given = find_option(options, 0, "types");
  const PassOption* only = find_option(options, 1, "func_name");
  const std::string_view name = only ? unquote(only->value) : std::string_view();
  if (!name.empty() && !as<Function>(module->find(name))) return Failure(message(diag::PassNoFunction, name));
  const auto wanted = given ? split_dict(given->value) : std::nullopt;
  if (!wanted)
    return Failure(message(diag::PassOptionValue, "types", "`{\"parameter\": R.Tensor(...)}`",
                           given ? std::string_view(given->value) : "nothing"));
  std::vector<bool> used(wanted->size(), false);
  auto made = map_functions(env, module, [&](std::string_view at, const Function* f) -> Result<const Function*> {
    if (!name.empty() && at != name) return f;
    OptionReader reader(env.ctx, symbols_of(f));
    std::unordered_map<const Var*, const Type*> types;
    for (const Var* p : f->params)
      for (std::size_t i = 0; i < wanted->size(); ++i) {
        if ((*wanted)[i].key != p->name) continue;
        const Type* type = reader.type((*wanted)[i].value);
        if (!type)
          return Failure(message(diag::PassOptionValue, "types", "a type", (*wanted)[i].value)
                             .with_hint("write `R.Tensor((n, 4), \"float32\")`"));
        if (type != p->type) types[p] = type;
        used[i] = true;
      }
    return types.empty() ? f : ParamTypes(env.ctx).run(f, types);
  });
  for (std::size_t i = 0; made.ok() && i < used.size(); ++i)
    if (!used[i]) env.diagnostics.add({}, message(diag::PassParamUnknown, (*wanted)[i].key));
  return made;
}

}  // namespace rldb::passes
