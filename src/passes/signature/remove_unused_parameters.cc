// RemoveUnusedParameters: private functions lose their unused parameters; their callers follow.
//
// Symbolic variables that the function still needs and that only removed parameters bound become parameters, when every
// call tells their values; else the parameter stays. A function keeps all its parameters when it is used other than in
// calls (its address is taken).
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "passes/signature/call_sites.h"

namespace rldb::passes {

using namespace ir;

namespace {

struct Shrunk {
  const Function* from;
  const Function* made;
  std::vector<bool> kept;
  std::vector<const Var*> symbols;  // parameters in place of removed ones
};
using CallsByName = std::unordered_map<std::string_view, std::vector<const Call*>>;
using ShrunkFunctions = std::unordered_map<std::string_view, Shrunk>;

std::unordered_set<const Var*> variables_of(const Function* f) {
  std::unordered_set<const Var*> used;
  std::vector<const Var*> in_types;
  walk(f->body, [&](const Node* n) {
    if (const auto* v = as<Var>(n)) used.insert(v);
    if (const auto* e = as<Expr>(n)) collect_vars(e->type, in_types);
    if (const auto* b = as<Binding>(n)) collect_vars(b->var->type, in_types);
    return true;
  });
  collect_vars(f->ret_type, in_types);
  used.insert(in_types.begin(), in_types.end());
  return used;
}

// The value that the symbol has in a call, where the type of the parameter names it; null: not known.
const Expr* value_of(const Var* symbol, const Type* param, const Type* arg) {
  const auto find = [&](Span<const Expr*> dims, Span<const Expr*> values) -> const Expr* {
    if (dims.size() != values.size()) return nullptr;
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (dims[i] == symbol) return values[i];
    return nullptr;
  };
  if (const auto* t = as<TensorType>(param), *given = as<TensorType>(arg); t && given)
    return find(t->shape, given->shape);
  if (const auto* t = as<ShapeType>(param), *given = as<ShapeType>(arg); t && given)
    return find(t->values, given->values);
  const auto *t = as<TupleType>(param), *given = as<TupleType>(arg);
  if (!t || !given || t->fields.size() != given->fields.size()) return nullptr;
  for (std::size_t i = 0; i < t->fields.size(); ++i)
    if (const Expr* e = value_of(symbol, t->fields[i], given->fields[i])) return e;
  return nullptr;
}

const Expr* value_of(const Var* symbol, const Function* f, const Call* call) {
  for (std::size_t i = 0; i < f->params.size() && i < call->args.size(); ++i)
    if (const Expr* e = value_of(symbol, f->params[i]->type, call->args[i]->type)) return e;
  return nullptr;
}

CallsByName calls_by_name(const Module* module) {
  CallsByName calls;
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function))
      walk(f->body, [&](const Node* n) {
        if (const auto* c = as<Call>(n))
          if (const auto* g = as<GlobalVar>(c->callee)) calls[g->name].push_back(c);
        return true;
      });
  return calls;
}

void choose_parameters(const Function* f, const std::vector<const Call*>& calls, Shrunk& out) {
  const std::unordered_set<const Var*> used = variables_of(f);
  std::unordered_set<const Var*> known;
  for (const Var* p : f->params) {
    out.kept.push_back(used.count(p) > 0);
    if (!out.kept.back()) continue;
    known.insert(p);
    bound_symbols(p->type, known);
  }
  for (std::size_t i = 0; i < f->params.size(); ++i) {
    if (out.kept[i]) continue;
    std::vector<const Var*> needed;
    std::vector<const Var*> mentioned;
    collect_vars(f->params[i]->type, mentioned);
    std::unordered_set<const Var*> binds;
    bound_symbols(f->params[i]->type, binds);
    for (const Var* v : mentioned)
      if (binds.count(v) && used.count(v) && known.insert(v).second) needed.push_back(v);
    const bool told = std::all_of(needed.begin(), needed.end(), [&](const Var* v) {
      return std::all_of(calls.begin(), calls.end(), [&](const Call* c) { return value_of(v, f, c) != nullptr; });
    });
    out.kept[i] = !told;
    if (told) out.symbols.insert(out.symbols.end(), needed.begin(), needed.end());
  }
}

class CallShortener : public Rewriter {
 public:
  CallShortener(Context& ctx, const ShrunkFunctions& shrunk) : Rewriter(ctx), shrunk_(shrunk) {}

 protected:
  const Expr* visit_call(const Call* call) override {
    const auto* g = as<GlobalVar>(call->callee);
    const auto found = g ? shrunk_.find(g->name) : shrunk_.end();
    if (found == shrunk_.end() || found->second.kept.size() != call->args.size()) return Rewriter::visit_call(call);
    std::vector<const Expr*> args;
    for (std::size_t i = 0; i < call->args.size(); ++i)
      if (found->second.kept[i]) args.push_back(rewrite(call->args[i]));
    for (const Var* v : found->second.symbols) args.push_back(rewrite(value_of(v, found->second.from, call)));
    const Expr* callee = ctx_.global_var(g->name, found->second.made->type);
    const Call* made = ctx_.call_typed(callee, args, call->type, call->attrs, call->ty_args);
    ctx_.set_origin(made, call);
    return made;
  }

 private:
  const ShrunkFunctions& shrunk_;
};

}  // namespace

Result<const Module*> remove_unused_parameters(PassEnv& env, const Module* module, const NoOptions&) {
  Context& ctx = env.ctx;
  const std::unordered_set<std::string_view> escaping = escaping_functions(module);
  CallsByName calls = calls_by_name(module);
  ShrunkFunctions shrunk;
  for (const ModuleEntry& e : module->entries) {
    if (!is_internal(e, escaping)) continue;
    const auto* f = as<Function>(e.function);
    Shrunk row{f, nullptr, {}, {}};
    choose_parameters(f, calls[e.name], row);
    if (std::find(row.kept.begin(), row.kept.end(), false) == row.kept.end()) continue;
    std::vector<const Var*> params;
    for (std::size_t i = 0; i < row.kept.size(); ++i)
      if (row.kept[i]) params.push_back(f->params[i]);
    params.insert(params.end(), row.symbols.begin(), row.symbols.end());
    row.made = ctx.function(params, f->body, f->ret_type, f->is_pure, f->attrs);
    ctx.set_origin(row.made, f);
    shrunk[e.name] = std::move(row);
  }
  if (shrunk.empty()) return module;
  ModuleBuilder builder(ctx, *module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const auto found = shrunk.find(e.name);
    const Function* callee = found == shrunk.end() ? f : found->second.made;
    const Function* made = CallShortener(ctx, shrunk).rewrite_function(callee);
    if (made != callee) made = remove_dead_bindings(ctx, made);  // what only a removed argument read
    if (made != f) builder.set(e.name, made);
  }
  return builder.build();
}

}  // namespace rldb::passes
