// BundleModelParams: the parameters of a function after its first `num_input` become one, a tuple of all of them.
//
// Symbolic variables that only a bundled parameter binds stay bound: they appear in the tuple's type. Those that are
// bundled scalars cannot; a field whose type mentions one is cast where it is read.
#include "passes/params/late_params.h"
#include "rldb/ir/type_relation.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Bundler : public LateParams {
 public:
  using LateParams::LateParams;

  const Function* bundle(const Function* f, std::size_t inputs, std::string_view name) {
    std::vector<const Var*> params(f->params.begin(), f->params.begin() + std::ptrdiff_t(inputs));
    const std::unordered_set<const Var*> late(f->params.begin() + std::ptrdiff_t(inputs), f->params.end());
    std::vector<const Type*> types;
    for (std::size_t i = inputs; i < f->params.size(); ++i)
      types.push_back(erase(ctx_, f->params[i]->type, [&](const Var* v) { return late.count(v) == 0; }));
    tuple_ = ctx_.var(name, ctx_.tuple_type(types));
    params.push_back(tuple_);
    const SeqExpr* body = rewrite_body(f, inputs);
    const Type* result = erase(ctx_, f->ret_type, [&](const Var* v) { return late.count(v) == 0; });
    const Function* made = ctx_.function(params, body, result, f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Var* fetch(const Var* param, std::size_t index, bool dataflow, std::vector<const Binding*>& out) override {
    const Expr* value = *ctx_.tuple_get(tuple_, std::int64_t(index));
    const Type* type = rewrite_type(param->type);
    const bool cast = type != value->type && depends_on_late(param->type);
    const Var* v = variable(param->name, cast ? type : value->type, dataflow);
    out.push_back(cast ? ctx_.match_cast(v, value, type) : ctx_.binding(v, value));
    ctx_.set_origin(v, param);
    ctx_.set_origin(out.back(), param);
    return v;
  }

 private:
  const Var* tuple_ = nullptr;
};

}  // namespace

const Function* bundle_params(Context& ctx, const Function* f, std::size_t inputs, std::string_view name) {
  return Bundler(ctx).bundle(f, inputs, name);
}

Result<const Module*> bundle_model_params(PassEnv& env, const Module* module, const PassOptions& options) {
  const PassOption* given = find_option(options, 0, "param_tuple_name");
  const std::string_view name = given ? unquote(given->value) : kModelParams;
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    const Attr* count = find_attr(f->attrs, fn_attr::kNumInput);
    if (!count || count->integer < 0 || std::size_t(count->integer) > f->params.size()) return f;
    return bundle_params(env.ctx, f, std::size_t(count->integer), name);
  });
}

}  // namespace rldb::passes
