#include "passes/lowering/shape_var_casts.h"

#include <fmt/format.h>

#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

class ShapeVarCasts : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::unordered_map<const Binding*, const Type*> written;

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> made = default_binding(b);
    if (made.size() != 1 || !made[0]->is_match_cast()) return made;
    const auto* cast = as<TensorType>(made[0]->cast_type);
    const Expr* value = made[0]->value;
    const auto* known = as<TensorType>(value->type);
    if (!cast || !cast->shape_var || (known && known->shape_var == cast->shape_var)) return made;
    const int ndim = rank_of(cast, known);
    if (ndim == kUnknownNdim) return made;
    std::vector<const Expr*> dims;
    for (int i = 0; i < ndim; ++i) dims.push_back(ctx_.var(fmt::format("{}_{}", name_of(cast), i), ctx_.int64()));
    std::vector<const Binding*> all;
    all.push_back(checked(b, "dims", cast->shape_var, ctx_.shape_type(dims)));
    all.push_back(checked(b, "same", value, ctx_.tensor(dims, cast->dtype)));
    all.push_back(made[0]);
    return all;
  }

 private:
  static int rank_of(const TensorType* cast, const TensorType* known) {
    if (cast->ndim != kUnknownNdim) return cast->ndim;
    const auto* s = as<ShapeType>(cast->shape_var->type);
    if (s && s->ndim != kUnknownNdim) return s->ndim;
    return known ? known->ndim : kUnknownNdim;
  }
  static std::string_view name_of(const TensorType* cast) {
    const auto* v = as<Var>(cast->shape_var);
    return v ? v->name : std::string_view("s");
  }
  const Binding* checked(const Binding* at, std::string_view name, const Expr* value, const Type* type) {
    const Var* v =
        at->var->is_dataflow() ? static_cast<const Var*>(ctx_.dataflow_var(name, type)) : ctx_.var(name, type);
    ctx_.set_origin(v, at);
    const Binding* made = ctx_.match_cast(v, value, type);
    ctx_.set_origin(made, at);
    written[made] = at->cast_type;
    return made;
  }
};

}  // namespace

ShapeVarChecks with_dims_of_shape_vars(Context& ctx, const Function* f) {
  ShapeVarCasts casts(ctx);
  const Function* made = casts.rewrite_function(f);
  return {made, std::move(casts.written)};
}

}  // namespace rldb::passes
