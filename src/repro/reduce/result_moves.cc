// Moves of the reducer on the result of a Relax function.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

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

constexpr std::size_t kMostResults = 64;  // unread values that are tried as the result

bool is_at_the_top(const ir::Function* f, const ir::Binding* b) {
  return std::any_of(f->body->blocks.begin(), f->body->blocks.end(), [&](const ir::BindingBlock* block) {
    return std::find(block->bindings.begin(), block->bindings.end(), b) != block->bindings.end();
  });
}

// Returns the value of a binding that nobody reads (visible outside of its block from now on), or an expression.
class OtherResult : public ir::Rewriter {
 public:
  OtherResult(ir::Context& ctx, const ir::Binding* shown, const ir::Expr* value)
      : Rewriter(ctx), shown_(shown), value_(value) {
    if (shown) value_ = var_ = shown->var->is_dataflow() ? ctx.var(shown->var->name, shown->var->type) : shown->var;
  }

  const ir::Function* run(const ir::Function* f) {
    const auto* body = as<ir::SeqExpr>(rewrite(f->body));
    body = ctx_.seq(body ? body->blocks : f->body->blocks, value_);
    const std::vector<const ir::Var*> params(f->params.begin(), f->params.end());
    return ctx_.function(params, body, body->type, f->is_pure, f->attrs);
  }

 private:
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override {
    if (b != shown_ || b->var == var_) return default_binding(b);
    return {b->is_match_cast() ? ctx_.match_cast(var_, b->value, b->cast_type) : ctx_.binding(var_, b->value)};
  }
  const ir::Binding* shown_;
  const ir::Expr* value_;
  const ir::Var* var_ = nullptr;
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

std::vector<Candidate> other_results(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  if (is_called(module, name)) return out;
  const auto add = [&](const char* move, const ir::Binding* shown, const ir::Expr* value) {
    out.push_back({move, [&ctx, module, name, f, shown, value] {
                     return tidy(ctx, module, with_function(ctx, module, name, OtherResult(ctx, shown, value).run(f)),
                                 name);
                   }});
  };
  std::size_t added = 0;
  for (const ir::Binding* b : unread_bindings(f))
    if (holds_values(b->var->type) && is_at_the_top(f, b) && added++ < kMostResults) add("unread result", b, nullptr);
  std::unordered_set<const ir::Type*> types;
  for (const ir::Var* p : f->params)
    if (f->body->body != p && holds_values(p->type) && types.insert(p->type).second)
      add("parameter as result", nullptr, p);
  // A result that is not read is of use to nobody, unless the symptom is in something else.
  const auto* t = as<ir::TupleType>(f->ret_type);
  if (!unread_bindings(f).empty() && !(t && t->fields.empty())) add("no result", nullptr, ctx.tuple({}));
  return out;
}

std::vector<Candidate> simpler_values(ir::Context& ctx, const ir::Module* module, const std::string& name) {
  std::vector<Candidate> out;
  const auto* f = as<ir::Function>(module->find(name));
  const Result r = result_of(f);
  if (!r.tuple) return out;
  const auto add = [&](const char* move, const ir::Expr* value) {
    out.push_back({move, [&ctx, module, name, f, giver = r.giver, value]() -> const ir::Module* {
                     const ir::Function* made = NewResult(ctx, giver, value).run(f);
                     return made ? tidy(ctx, module, with_function(ctx, module, name, made), name) : nullptr;
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
