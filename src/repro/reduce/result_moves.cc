// Moves of the reducer on the result of a Relax function.
#include <algorithm>
#include <unordered_map>

#include "repro/reduce/moves.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;

namespace {

// Makes the result another value: that of the binding which defines it, or of the body if no binding does.
class NewResult : public ir::Rewriter {
 public:
  NewResult(ir::Context& ctx, const ir::Binding* giver, const ir::Expr* value)
      : Rewriter(ctx), giver_(giver), value_(value) {}

  const ir::Function* run(const ir::Function* f) {
    const auto* body = giver_ ? as<ir::SeqExpr>(rewrite(f->body)) : ctx_.seq(f->body->blocks, value_);
    if (!body) return nullptr;
    const std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
    return ctx_.function(params, body, body->type, f->is_pure, f->attrs);
  }

 private:
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override {
    if (b != giver_) return default_binding(b);
    const ir::Var* var =
        b->var->is_dataflow() ? ctx_.dataflow_var(b->var->name, value_->type) : ctx_.var(b->var->name, value_->type);
    remap(b->var, var);
    return {ctx_.binding(var, value_)};
  }
  const ir::Binding* giver_;
  const ir::Expr* value_;
};

struct Result {
  const ir::Binding* giver = nullptr;  // null: the body names its values itself
  const ir::Tuple* tuple = nullptr;
  std::unordered_map<const ir::Var*, const ir::Binding*> made_by;
};

Result result_of(const ir::Function* f) {
  Result r;
  r.tuple = as<ir::Tuple>(f->body->body);
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings) {
      r.made_by[b->var] = b;
      const auto* tuple = as<ir::Tuple>(b->value);
      if (b->var != f->body->body || !tuple) continue;
      r.giver = b;
      r.tuple = tuple;
    }
  return r;
}

// Variables from which a value is computed.
std::vector<const ir::Var*> operands_of(const ir::Binding* b) {
  std::vector<const ir::Var*> out;
  ir::walk(b->value, [&](const ir::Node* n) {
    const auto* v = as<ir::Var>(n);
    if (v && holds_values(v->type) && std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
    return !as<ir::SeqExpr>(n);  // values computed in a branch are not visible outside
  });
  return out;
}

}  // namespace

std::vector<Candidate> simpler_values(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  const Result r = result_of(f);
  if (!r.tuple) return out;
  const auto add = [&](const char* move, const ir::Expr* value) {
    out.push_back({move, [&ctx, module, name, f, giver = r.giver, value]() -> const ir::Module* {
                     const ir::Function* made = NewResult(ctx, giver, value).run(f);
                     return made ? tidy(ctx, with_function(ctx, module, name, made), name) : nullptr;
                   }});
  };
  const auto is_seen = [&](const ir::Var* v) { return r.giver || !v->is_dataflow(); };
  for (const ir::Expr* item : r.tuple->items)
    if (const auto* v = as<ir::Var>(item); v && is_seen(v) && holds_values(v->type)) add("one result", v);
  for (std::size_t i = 0; i < r.tuple->items.size(); ++i) {
    const auto* v = as<ir::Var>(r.tuple->items[i]);
    const auto made = v ? r.made_by.find(v) : r.made_by.end();
    if (made == r.made_by.end()) continue;
    for (const ir::Var* earlier : operands_of(made->second)) {
      if (!is_seen(earlier)) continue;
      std::vector<const ir::Expr*> items(r.tuple->items.begin(), r.tuple->items.end());
      items[i] = earlier;
      add("earlier result", ctx.tuple(items));
    }
  }
  return out;
}

}  // namespace rldb::repro
