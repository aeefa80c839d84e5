// Modules: signatures first, then bodies; constructors that are used as values.
#include <algorithm>
#include <unordered_set>

#include "relay/to_relax/branches.h"
#include "rldb/bytecode/builtin/relay.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/relay/ir/node_set.h"
#include "rldb/support/cancel.h"
#include "rldb/support/entry_function.h"
#include "rldb/support/python_keyword.h"

namespace rldb::to_relax {

std::string name_in_python(std::string_view name) {
  std::string made(name);
  for (char& c : made)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (made.empty() || std::isdigit(static_cast<unsigned char>(made[0]))) made.insert(0, "v");
  if (support::is_python_keyword(made)) made += "_";
  return made;
}

// Then none of its functions is assumed to be pure: a function value may come from anywhere.
static bool uses_references(const relay::Module& module) {
  relay::NodeSet seen;
  std::vector<const relay::Expr*> open;
  for (const relay::Definition& d : module.functions) open.push_back(d.function);
  if (module.body) open.push_back(module.body);
  while (!open.empty()) {
    support::poll();
    const relay::Expr* e = open.back();
    open.pop_back();
    if (e->kind == relay::ExprKind::RefCreate || e->kind == relay::ExprKind::RefRead ||
        e->kind == relay::ExprKind::RefWrite)
      return true;
    if (seen.insert(e)) relay::for_each_operand(e, [&](const relay::Expr* x) { open.push_back(x); });
  }
  return false;
}

ModuleTranslator::ModuleTranslator(ir::Context& ctx, const relay::Context& relay, const relay::Module& module,
                                   const relay::Typing& typing, source::Diagnostics& out)
    : ctx(ctx),
      relay(relay),
      module(module),
      typing(typing),
      out(out),
      types(ctx, !uses_references(module)),
      builder(ctx),
      kernels(ctx, builder) {}

const ir::GlobalVar* ModuleTranslator::global(std::string_view name) const {
  const auto found = globals_.find(name);
  return found == globals_.end() ? nullptr : found->second;
}

bool ModuleTranslator::is_only_constructor(const relay::Constructor& c) const {
  const relay::TypeDefinition* t = module.find_type(c.type_name);
  return t && t->constructors.size() == 1;
}

const ir::Module* ModuleTranslator::run() {
  const std::size_t errors = out.error_count();
  std::unordered_set<std::string> taken;
  for (const relay::Definition& d : module.functions) {
    std::string name = name_in_python(d.name->name);
    while (!taken.insert(name).second) name += "_";
    ir::BlockBuilder names(ctx);
    std::vector<const ir::Var*> params = FunctionTranslator::make_params(*this, *d.function, names);
    std::vector<const ir::Type*> param_types;
    for (const ir::Var* p : params) param_types.push_back(p->type);
    const relay::Type* result = d.function->result ? d.function->result : typing.of(d.function->body);
    const ir::Type* type = ctx.func_type(param_types, types.closed(result), types.pure());
    globals_.emplace(d.name->name, ctx.global_var(name, type));
    params_.emplace(d.name->name, std::move(params));
    builder.set(ctx.str(name), ctx.extern_func(name));  // reserves the name until the body is available
  }
  for (const relay::Definition& d : module.functions) {
    support::poll();
    const std::string_view name = global(d.name->name)->name;
    const ir::NamedAttr attrs[] = {ctx.named(attr_name::GlobalSymbol, ctx.attr(name))};
    FunctionTranslator translator(*this, d.function);
    if (const ir::Function* f = translator.function(*d.function, params_.at(d.name->name), attrs)) builder.set(name, f);
  }
  if (module.body) {
    const ir::NamedAttr attrs[] = {ctx.named(attr_name::GlobalSymbol, ctx.attr(support::kEntryFunction))};
    FunctionTranslator translator(*this, module.body);
    if (const ir::Function* f = translator.expression(module.body, attrs)) builder.set(support::kEntryFunction, f);
  }
  return out.error_count() == errors ? builder.build() : nullptr;
}

const ir::GlobalVar* ModuleTranslator::constructor(const relay::Constructor& c) {
  if (const auto found = constructors_.find(c.name); found != constructors_.end()) return found->second;
  ir::BlockBuilder blocks(ctx);
  std::vector<const ir::Var*> params;
  std::vector<const ir::Type*> field_types;
  Exprs args{ctx.extern_func(builtin::AdtMake), ctx.string(c.name)};
  for (const relay::Type* t : c.fields) {
    const auto open = [&] { return static_cast<const Expr*>(ctx.var(blocks.unique_name("d"), ctx.int64())); };
    params.push_back(ctx.var(blocks.unique_name("field"), types.of(t, open)));
    field_types.push_back(params.back()->type);
    args.push_back(params.back());
  }
  blocks.begin_scope();
  const std::vector<const ir::Type*> result{ctx.any()};
  const Expr* v = blocks.emit(ctx.call_typed(ctx.op(op::CallPurePacked), args, ctx.any(), {}, result), "gv");
  const ir::SeqExpr* body = blocks.end_scope(v);
  const std::string_view name = ctx.str(builder.unique_name(name_in_python(c.name)));
  builder.set(name, ctx.function(params, body, ctx.any(), true, {}));
  return constructors_[c.name] = ctx.global_var(name, ctx.func_type(field_types, ctx.any(), true));
}

std::vector<const relay::Var*> free_variables(const relay::Expr* root) {
  std::vector<const relay::Var*> used;
  std::unordered_set<const relay::Expr*> seen, bound;
  std::vector<const relay::Expr*> open{root};
  const auto bind_parts = [&](const relay::Pattern* p, auto&& self) -> void {
    if (p->var) bound.insert(p->var);
    for (const relay::Pattern* x : p->parts) self(x, self);
  };
  while (!open.empty()) {
    support::poll();
    const relay::Expr* e = open.back();
    open.pop_back();
    if (!seen.insert(e).second) continue;
    if (const auto* v = relay::as<relay::Var>(e)) used.push_back(v);
    if (const auto* l = relay::as<relay::Let>(e)) bound.insert(l->var);
    if (const auto* f = relay::as<relay::Function>(e)) bound.insert(f->params.begin(), f->params.end());
    if (const auto* m = relay::as<relay::Match>(e))
      for (const relay::Arm& a : m->arms) bind_parts(a.pattern, bind_parts);
    relay::for_each_operand(e, [&](const relay::Expr* x) { open.push_back(x); });
  }
  std::erase_if(used, [&](const relay::Var* v) { return bound.contains(v); });
  std::sort(used.begin(), used.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  return used;
}

}  // namespace rldb::to_relax

namespace rldb::relay {

const ir::Module* to_relax(ir::Context& ctx, const Context& relay, const Module& module, const Typing& typing,
                           source::Diagnostics& out) {
  return rldb::to_relax::ModuleTranslator(ctx, relay, module, typing, out).run();
}

const ir::Module* primitive_to_relax(ir::Context& ctx, Context& relay, const Function& function, std::string_view name,
                                     source::Diagnostics& out) {
  const Module* module = relay.module({}, {Definition{relay.global(name), &function}});
  Typing typing;
  if (!infer_types(relay, module, typing, out)) return nullptr;
  return to_relax(ctx, relay, *module, typing, out);
}

}  // namespace rldb::relay
