// UpdateParamType(types={"w": R.Tensor((4, 4), "float16")}, func_name): parameters get new types, and values computed
// from them the types that follow. TVM takes a function from a parameter to its type.
//
// Names of symbolic variables refer to those of the function; a name that it does not have is a new variable.
#include "passes/common.h"
#include "rldb/frontend/written_value.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
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

std::vector<const Var*> symbols_of(const Function* f) {
  std::vector<const Var*> vars;
  for (const Var* p : f->params) collect_vars(p->type, vars);
  return vars;
}

}  // namespace

Result<const Module*> update_param_type(PassEnv& env, const Module* module, const UpdateParamTypeOptions& options) {
  const std::string name = options.func_name.value_or("");
  if (!name.empty() && !as<Function>(module->find(name))) return Failure(message(diag::PassNoFunction, name));
  if (!options.types)
    return Failure(message(diag::PassOptionValue, "types", "`{\"parameter\": R.Tensor(...)}`", "nothing"));
  const pipeline::option::Dict& wanted = *options.types;
  std::vector<bool> used(wanted.size(), false);
  auto made = map_functions(env, module, [&](std::string_view at, const Function* f) -> Result<const Function*> {
    if (!name.empty() && at != name) return f;
    std::vector<const Var*> symbols = symbols_of(f);
    std::unordered_map<const Var*, const Type*> types;
    for (const Var* p : f->params)
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].first != p->name) continue;
        const Type* type = frontend::read_written_type(env.ctx, wanted[i].second.name(), symbols);
        if (!type)
          return Failure(message(diag::PassOptionValue, "types", "a type", wanted[i].second.written)
                             .with_hint("write `R.Tensor((n, 4), \"float32\")`"));
        if (type != p->type) types[p] = type;
        used[i] = true;
      }
    return types.empty() ? f : ParamTypes(env.ctx).run(f, types);
  });
  for (std::size_t i = 0; made.ok() && i < used.size(); ++i)
    if (!used[i]) env.diagnostics.add({}, message(diag::PassParamUnknown, wanted[i].first));
  return made;
}

}  // namespace rldb::passes
