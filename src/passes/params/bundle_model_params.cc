// BundleModelParams: the parameters of a function after its first `num_input` become one tuple.
//
// As in TVM a field is read at every use, in the branch that uses it; CSE is left to another pass. Symbolic variables
// that only a bundled parameter binds stay bound: they appear in the tuple's type. Those that are bundled scalars
// cannot: such a scalar is read at the beginning, and a field whose type mentions one is cast where it is read.
#include <unordered_set>
#include <utility>

#include "passes/common.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Bundler : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Function* bundle(const Function* f, std::size_t inputs, std::string_view name) {
    std::vector<const Var*> params(f->params.begin(), f->params.begin() + std::ptrdiff_t(inputs));
    for (std::size_t i = inputs; i < f->params.size(); ++i) index_[f->params[i]] = i - inputs;
    std::vector<const Type*> types;
    for (std::size_t i = inputs; i < f->params.size(); ++i) types.push_back(without_late(f->params[i]->type));
    tuple_ = ctx_.var(name, ctx_.tuple_type(types));
    params.push_back(tuple_);
    read_dims(f, inputs);
    const SeqExpr* body = with_first(visit_seq(f->body), f->body);
    const Function* made = ctx_.function(params, body, without_late(f->ret_type), f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Expr* visit_var(const Var* v) override {
    const auto found = index_.find(v);
    if (found == index_.end() || lookup(v) != v) return Rewriter::visit_var(v);
    support::poll();
    return fetch(v, found->second, in_dataflow(), waiting_);
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const std::vector<const Binding*> outer = std::exchange(waiting_, {});
    const std::vector<const Binding*> made = default_binding(b);
    std::vector<const Binding*> out = std::exchange(waiting_, outer);
    out.insert(out.end(), made.begin(), made.end());
    return out;
  }

  // Fields read by the result itself.
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    const std::vector<const Binding*> outer = std::exchange(waiting_, {});
    const SeqExpr* made = default_seq(s);
    const std::vector<const Binding*> last = std::exchange(waiting_, outer);
    if (last.empty()) return made;
    std::vector<const BindingBlock*> blocks(made->blocks.begin(), made->blocks.end());
    blocks.push_back(ctx_.block(last, false));
    return make_seq(ctx_, blocks, made->body, s);
  }

  // As the normal form requires, the type of a branch does not mention variables bound by a computation.
  const Expr* visit_expr(const Expr* e) override {
    const Expr* made = default_expr(e);
    const auto* branch = as<If>(made);
    if (!branch || dims_.empty()) return made;
    const Type* type = erase(ctx_, branch->type, [&](const Var* v) { return dims_.count(v) == 0; });
    return type == branch->type ? made : ctx_.if_expr(branch->cond, branch->then_branch, branch->else_branch, type);
  }

 private:
  const Type* without_late(const Type* t) {
    return erase(ctx_, t, [&](const Var* v) { return index_.count(v) == 0; });
  }

  // Parameters that types mention are read first, once.
  void read_dims(const Function* f, std::size_t inputs) {
    std::unordered_set<const Var*> mentioned;
    const auto note = [&](const Type* t) {
      std::vector<const Var*> used;
      collect_vars(t, used);
      mentioned.insert(used.begin(), used.end());
    };
    for (const Var* p : f->params) note(p->type);
    for (const Var* v : free_vars(f->body)) mentioned.insert(v);
    for (std::size_t i = inputs; i < f->params.size(); ++i) {
      const Var* p = f->params[i];
      if (p->type->kind != TypeKind::Prim || !mentioned.count(p)) continue;
      const Var* made = fetch(p, i - inputs, false, first_);
      remap(p, made);
      dims_.insert(made);
    }
  }

  const Var* fetch(const Var* param, std::size_t index, bool dataflow, std::vector<const Binding*>& out) {
    const Expr* value = *ctx_.tuple_get(tuple_, std::int64_t(index));
    const Type* type = rewrite_type(param->type);
    const bool cast = type != value->type && without_late(param->type) != param->type;
    const auto bind = [&](std::string_view name, const Type* declared) {
      const Var* v = dataflow ? static_cast<const Var*>(ctx_.dataflow_var(name, declared)) : ctx_.var(name, declared);
      ctx_.set_origin(v, param);
      return v;
    };
    // The operand of a cast is a leaf in normal form.
    const Var* v = bind(cast ? "gv" : param->name, value->type);
    out.push_back(ctx_.binding(v, value));
    ctx_.set_origin(out.back(), param);
    if (!cast) return v;
    const Var* field = std::exchange(v, bind(param->name, type));
    out.push_back(ctx_.match_cast(v, field, type));
    ctx_.set_origin(out.back(), param);
    return v;
  }

  const SeqExpr* with_first(const SeqExpr* body, const Node* origin) {
    if (first_.empty()) return body;
    std::vector<const BindingBlock*> blocks{ctx_.block(first_, false)};
    blocks.insert(blocks.end(), body->blocks.begin(), body->blocks.end());
    return make_seq(ctx_, blocks, body->body, origin);
  }

  const Var* tuple_ = nullptr;
  std::unordered_map<const Var*, std::size_t> index_;  // of every parameter that is bundled
  std::unordered_set<const Var*> dims_;                // scalars read at the beginning
  std::vector<const Binding*> first_;                  // the bindings that read them
  std::vector<const Binding*> waiting_;                // reads to be placed before the binding being visited
};

}  // namespace

const Function* bundle_params(Context& ctx, const Function* f, std::size_t inputs, std::string_view name) {
  return Bundler(ctx).bundle(f, inputs, name);
}

Result<const Module*> bundle_model_params(PassEnv& env, const Module* module, const BundleModelParamsOptions& options) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    const Attr* count = find_attr(f->attrs, attr_name::NumInput);
    if (!count || count->integer < 0 || std::size_t(count->integer) > f->params.size()) return f;
    return bundle_params(env.ctx, f, std::size_t(count->integer), options.param_tuple_name);
  });
}

}  // namespace rldb::passes
