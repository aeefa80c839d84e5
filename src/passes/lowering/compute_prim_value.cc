// ComputePrimValue: scalar expressions used as values of a program (arguments, conditions, bindings, results) are
// computed by host PrimFuncs, one per expression, shared between equal ones. Shapes are left to VMShapeLower; literals
// and variables stay.
#include "passes/common.h"
#include "passes/lowering/shape_slots.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

class PrimValueLifter : public Rewriter {
 public:
  PrimValueLifter(Context& ctx, ModuleBuilder& builder) : Rewriter(ctx), builder_(builder) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> outer;
    std::swap(outer, before_);
    std::vector<const Binding*> out;
    if (is_compound(b->value)) {
      out = {remake_binding(ctx_, b, b->var, compute(b->value))};
    } else {
      out = default_binding(b);
    }
    std::swap(outer, before_);
    outer.insert(outer.end(), out.begin(), out.end());
    return outer;
  }

  // If the result of a sequence is an expression, it is bound in a final block.
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    std::vector<const Binding*> outer;
    std::swap(outer, before_);
    const SeqExpr* made = default_seq(s);
    std::swap(outer, before_);
    if (outer.empty()) return made;
    std::vector<const BindingBlock*> blocks(made->blocks.begin(), made->blocks.end());
    blocks.push_back(ctx_.block(outer));
    return make_seq(ctx_, blocks, made->body, s);
  }

  const Expr* visit_expr(const Expr* e) override {
    if (isa<ShapeExpr>(e) || isa<Lambda>(e)) return e;  // an index map is data, not computed by the program
    if (!is_compound(e)) return Rewriter::visit_expr(e);
    const Binding* b = bind_new(ctx_, "gv", compute(e), e);
    before_.push_back(b);
    return b->var;
  }

 private:
  static bool is_compound(const Expr* e) { return is_symbolic(e) && !isa<Var>(e); }

  const Call* compute(const Expr* e) {
    std::vector<const Var*> vars;
    collect_vars(e, vars);
    std::vector<PrimParam> params;
    std::vector<const Expr*> args;
    VarMap map;
    for (const Var* v : vars) {
      const Var* p = ctx_.var(v->name, v->type);
      params.push_back({p, nullptr});
      map[v] = p;
      args.push_back(lookup(v));
    }
    const Expr* result = substitute(ctx_, e, map);
    const Stmt* body = ctx_.evaluate(ctx_.intrin(result->dtype(), intrin::Ret, {result}));
    const NamedAttr attrs[] = {ctx_.named(attr_name::IsHostFunc, ctx_.attr(true))};
    const PrimFunc* f = ctx_.prim_func(params, e->type, body, attrs, true);
    ctx_.set_origin(f, e);
    const Call* call = ctx_.call_typed(add(f), args, e->type);
    ctx_.set_origin(call, e);
    return call;
  }

  const GlobalVar* add(const PrimFunc* f) {
    const std::uint64_t hash = structural_hash(f);
    auto [begin, end] = known_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (structural_equal(it->second.first, f)) return it->second.second;
    const std::string_view name = builder_.unique_name("compute_symbolic_expr");
    builder_.set(name, f);
    const GlobalVar* g = ctx_.global_var(name, ctx_.relax_type_of(f));
    known_.emplace(hash, std::pair(f, g));
    return g;
  }

  ModuleBuilder& builder_;
  std::vector<const Binding*> before_;  // bindings to be placed before the one being visited
  std::unordered_multimap<std::uint64_t, std::pair<const PrimFunc*, const GlobalVar*>> known_;
};

}  // namespace

Result<const Module*> compute_prim_value(PassEnv& env, const Module* module, const NoOptions&) {
  ModuleBuilder builder(env.ctx, *module);
  PrimValueLifter lifter(env.ctx, builder);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = lifter.rewrite_function(f);
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::passes
