#include "passes/signature/call_sites.h"

#include <utility>

#include "passes/pass_functions.h"

namespace rldb::passes {

using namespace ir;

std::unordered_set<std::string_view> escaping_functions(const Module* module) {
  std::unordered_map<std::string_view, int> seen;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    walk(f->body, [&](const Node* n) {
      if (const auto* g = as<GlobalVar>(n)) ++seen[g->name];
      if (const auto* c = as<Call>(n))
        if (const auto* g = as<GlobalVar>(c->callee)) --seen[g->name];
      return true;
    });
  }
  std::unordered_set<std::string_view> out;
  for (const auto& [name, count] : seen)
    if (count != 0) out.insert(name);
  return out;
}

bool is_internal(const ModuleEntry& e, const std::unordered_set<std::string_view>& escaping) {
  const auto* f = as<Function>(e.function);
  return f && f->is_private() && !escaping.count(e.name);
}

void collect_leaves(const Type* t, std::vector<const Type*>& out) {
  const auto* tuple = as<TupleType>(t);
  if (!tuple) return out.push_back(t);
  for (const Type* field : tuple->fields) collect_leaves(field, out);
}

std::size_t leaf_count(const Type* t) {
  const auto* tuple = as<TupleType>(t);
  if (!tuple) return 1;
  std::size_t count = 0;
  for (const Type* field : tuple->fields) count += leaf_count(field);
  return count;
}

void flatten_argument(Context& ctx, const Expr* e, bool dataflow, std::vector<const Expr*>& leaves,
                      std::vector<const Binding*>& out) {
  const auto* type = as<TupleType>(e->type);
  if (!type) return leaves.push_back(e);
  const auto* literal = as<Tuple>(e);
  for (std::size_t i = 0; i < type->fields.size(); ++i) {
    if (literal) {
      flatten_argument(ctx, literal->items[i], dataflow, leaves, out);
      continue;
    }
    const Expr* field = *ctx.tuple_get(e, std::int64_t(i));
    const Var* v = dataflow ? ctx.dataflow_var("lv", field->type) : ctx.var("lv", field->type);
    const Binding* b = ctx.binding(v, field);
    for (const Node* n : {static_cast<const Node*>(field), static_cast<const Node*>(v), static_cast<const Node*>(b)})
      ctx.set_origin(n, e);
    out.push_back(b);
    flatten_argument(ctx, v, dataflow, leaves, out);
  }
}

const Expr* from_leaves(Context& ctx, const Type* t, const std::vector<const Expr*>& leaves, std::size_t& next) {
  const auto* tuple = as<TupleType>(t);
  if (!tuple) return leaves[next++];
  std::vector<const Expr*> items;
  for (const Type* field : tuple->fields) items.push_back(from_leaves(ctx, field, leaves, next));
  return ctx.tuple(items);
}

Result<const Module*> canonical_without_dead_code(PassEnv& env, const Module* module) {
  RLDB_TRY(module, canonicalize_bindings(env, module, {}));
  return dead_code_elimination(env, module, {});
}

const BindingBlock* CallSiteRewriter::visit_block(const BindingBlock* b) {
  const bool outer = std::exchange(dataflow_, b->is_dataflow());
  const BindingBlock* made = default_block(b);
  dataflow_ = outer;
  return made;
}

std::vector<const Binding*> CallSiteRewriter::visit_binding(const Binding* b) {
  std::vector<const Binding*> made = default_binding(b);
  if (made.size() != 1) return made;
  const auto* call = as<Call>(made[0]->value);
  const auto* callee = call ? as<GlobalVar>(call->callee) : nullptr;
  if (!callee) return made;
  std::vector<const Binding*> replaced = replace_call(made[0], call, callee->name);
  return replaced.empty() ? made : replaced;
}

}  // namespace rldb::passes
