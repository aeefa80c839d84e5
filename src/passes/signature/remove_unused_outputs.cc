// RemoveUnusedOutputs: a private function that returns a tuple returns only the fields that some caller reads; if there
// is only one, the field itself. All calls follow. Bindings are then canonical in every function, and dead ones
// removed.
#include <algorithm>
#include <optional>

#include "passes/signature/call_sites.h"

namespace rldb::passes {

using namespace ir;

namespace {

struct Outputs {
  std::vector<bool> used;
  bool called = false;
  const Function* made = nullptr;
  std::size_t kept() const { return std::size_t(std::count(used.begin(), used.end(), true)); }
};
using AllOutputs = std::unordered_map<std::string_view, Outputs>;

// Marks the fields that a function reads of the results of its calls.
void mark_used(const Function* f, AllOutputs& outputs) {
  std::unordered_map<const Var*, Outputs*> results;
  const auto all = [](Outputs& o) { o.used.assign(o.used.size(), true); };
  // Definitions come before uses in the walk, so the results are known when they are read.
  walk(f->body, [&](const Node* n) {
    if (const auto* b = as<Binding>(n)) {
      const auto* call = as<Call>(b->value);
      const auto* callee = call ? as<GlobalVar>(call->callee) : nullptr;
      const auto found = callee ? outputs.find(callee->name) : outputs.end();
      if (found == outputs.end()) return true;
      found->second.called = true;
      if (b->is_match_cast())
        all(found->second);
      else
        results[b->var] = &found->second;
    }
    if (const auto* get = as<TupleGetItem>(n)) {
      const auto* v = as<Var>(get->tuple);
      const auto found = v ? results.find(v) : results.end();
      if (found == results.end()) return true;
      found->second->used[std::size_t(get->index)] = true;
      return false;
    }
    if (const auto* v = as<Var>(n))
      if (const auto found = results.find(v); found != results.end()) all(*found->second);
    return true;
  });
}

const Function* with_outputs(Context& ctx, const Function* f, const Outputs& outputs) {
  std::vector<const BindingBlock*> blocks(f->body->blocks.begin(), f->body->blocks.end());
  std::vector<const Expr*> kept;
  std::vector<const Binding*> fields;
  const auto* literal = as<Tuple>(f->body->body);
  for (std::size_t i = 0; i < outputs.used.size(); ++i) {
    if (!outputs.used[i]) continue;
    if (literal) {
      kept.push_back(literal->items[i]);
      continue;
    }
    fields.push_back(bind_new(ctx, "gv", *ctx.tuple_get(f->body->body, std::int64_t(i)), f->body->body));
    kept.push_back(fields.back()->var);
  }
  if (!fields.empty()) blocks.push_back(ctx.block(fields));
  const Expr* result = kept.size() == 1 ? kept[0] : ctx.tuple(kept);
  // The declared types of the remaining fields.
  const auto* declared = as<TupleType>(f->ret_type);
  std::vector<const Type*> types;
  for (std::size_t i = 0; i < outputs.used.size(); ++i)
    if (outputs.used[i]) types.push_back(declared->fields[i]);
  const Type* ret_type = types.size() == 1 ? types[0] : ctx.tuple_type(types);
  const Function* made =
      ctx.function(f->params, make_seq(ctx, blocks, result, f->body), ret_type, f->is_pure, f->attrs);
  ctx.set_origin(made, f);
  return refine_result(ctx, remove_dead_bindings(ctx, made));
}

class ResultShortener : public CallSiteRewriter {
 public:
  ResultShortener(Context& ctx, const AllOutputs& outputs) : CallSiteRewriter(ctx), outputs_(outputs) {}

 protected:
  std::vector<const Binding*> replace_call(const Binding* b, const Call* call, std::string_view name) override {
    const auto found = outputs_.find(name);
    if (found == outputs_.end()) return {};
    const Expr* callee = ctx_.global_var(name, found->second.made->type);
    auto made = ctx_.call(CallSpec{callee, call->args, call->attrs, call->ty_args});
    const Call* shorter =
        made.ok() ? *made : ctx_.call_typed(callee, call->args, found->second.made->ret_type, call->attrs);
    ctx_.set_origin(shorter, call);
    const Var* var = define_var(b->var, shorter->type);
    std::vector<const Binding*> made_bindings{remake_binding(ctx_, b, var, shorter)};
    std::vector<const Expr*>& fields = results_[var];
    fields.resize(found->second.used.size());
    const bool one = found->second.kept() == 1;
    for (std::size_t i = 0, at = 0; i < fields.size(); ++i) {
      if (!found->second.used[i]) continue;
      fields[i] = one ? var : field(var, at++, b, made_bindings);
    }
    return made_bindings;
  }

  const Expr* visit_expr(const Expr* e) override {
    const auto* get = as<TupleGetItem>(e);
    const Expr* tuple = get ? rewrite(get->tuple) : nullptr;
    const auto found = isa<Var>(tuple) ? results_.find(as<Var>(tuple)) : results_.end();
    return found == results_.end() ? Rewriter::visit_expr(e) : found->second[std::size_t(get->index)];
  }

 private:
  const Var* field(const Var* tuple, std::size_t index, const Binding* from, std::vector<const Binding*>& out) {
    const Expr* value = *ctx_.tuple_get(tuple, std::int64_t(index));
    const Var* v = tuple->is_dataflow() ? ctx_.dataflow_var("lv", value->type) : ctx_.var("lv", value->type);
    out.push_back(ctx_.binding(v, value));
    for (const Node* n :
         {static_cast<const Node*>(value), static_cast<const Node*>(v), static_cast<const Node*>(out.back())})
      ctx_.set_origin(n, from);
    return v;
  }

  const AllOutputs& outputs_;
  // By the result of a shorter call, the values of the fields that it had.
  std::unordered_map<const Var*, std::vector<const Expr*>> results_;
};

}  // namespace

Result<const Module*> remove_unused_outputs(PassEnv& env, const Module* module, const NoOptions&) {
  Context& ctx = env.ctx;
  const std::unordered_set<std::string_view> escaping = escaping_functions(module);
  AllOutputs outputs;
  for (const ModuleEntry& e : module->entries)
    if (is_internal(e, escaping))
      if (const auto* t = as<TupleType>(as<Function>(e.function)->ret_type))
        outputs[e.name].used.assign(t->fields.size(), false);
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function)) mark_used(f, outputs);
  std::erase_if(outputs, [](const auto& o) { return !o.second.called || o.second.kept() == o.second.used.size(); });
  if (outputs.empty()) return canonical_without_dead_code(env, module);
  for (auto& [name, o] : outputs) o.made = with_outputs(ctx, as<Function>(module->find(name)), o);
  ModuleBuilder builder(ctx, *module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const auto found = outputs.find(e.name);
    const Function* made =
        ResultShortener(ctx, outputs).rewrite_function(found == outputs.end() ? f : found->second.made);
    if (made != f) builder.set(e.name, refine_result(ctx, made));
  }
  return canonical_without_dead_code(env, builder.build());
}

}  // namespace rldb::passes
