#include "passes/common.h"

#include <algorithm>

#include "rldb/ir/op_traits.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\n' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\n' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

}  // namespace

std::string_view unquote(std::string_view s) {
  s = trim(s);
  if (s.size() >= 2 && (s.front() == '"' || s.front() == '\'') && s.back() == s.front())
    return s.substr(1, s.size() - 2);
  return s;
}

const PassOption* find_option(const PassOptions& options, std::size_t index, std::string_view name) {
  std::size_t position = 0;
  for (const PassOption& o : options) {
    if (o.name == name) return &o;
    if (o.name.empty() && position++ == index) return &o;
  }
  return nullptr;
}

std::int64_t int_option(const PassOptions& options, std::size_t index, std::string_view name, std::int64_t fallback) {
  const PassOption* o = find_option(options, index, name);
  return o ? std::strtoll(o->value.c_str(), nullptr, 10) : fallback;
}

bool bool_option(const PassOptions& options, std::size_t index, std::string_view name, bool fallback) {
  const PassOption* o = find_option(options, index, name);
  if (!o) return fallback;
  return o->value == "True" || o->value == "true" || o->value == "1";
}

std::vector<std::string> names_option(const PassOptions& options, std::size_t index, std::string_view name) {
  std::vector<std::string> names;
  const PassOption* o = find_option(options, index, name);
  if (!o) return names;
  std::string_view text = trim(o->value);
  if (!text.empty() && text.front() == '[') text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    std::size_t comma = text.find(',');
    std::string_view item = unquote(text.substr(0, comma));
    if (!item.empty()) names.emplace_back(item);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return names;
}

Result<const Module*> map_functions(PassEnv& env, const Module* module, const FunctionFn& f) {
  ModuleBuilder builder(env.ctx, *module);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* function = as<Function>(e.function);
    if (!function) continue;
    support::poll();
    RLDB_TRY(const Function* made, f(e.name, function));
    if (made == function) continue;
    made = refine_result(env.ctx, made);
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

const Function* with_body(Context& ctx, const Function* f, const SeqExpr* body) {
  if (body == f->body) return f;
  const Function* made = ctx.function(f->params, body, f->ret_type, f->is_pure, f->attrs);
  ctx.set_origin(made, f);
  return made;
}

const Function* with_attr(Context& ctx, const Function* f, std::string_view name, const Attr* value) {
  const Function* made =
      ctx.function(f->params, f->body, f->ret_type, f->is_pure, ctx.with_attr(f->attrs, name, value));
  ctx.set_origin(made, f);
  return made;
}

const Function* refine_result(Context& ctx, const Function* f) {
  return is_base_of(ctx, f->ret_type, f->body->body->type) ? derive_result(ctx, f) : f;
}

const Function* derive_result(Context& ctx, const Function* f) {
  const Type* actual = f->body->body->type;
  const bool says_more = is_base_of(ctx, f->ret_type, actual);
  if (actual == f->ret_type || (!says_more && is_base_of(ctx, actual, f->ret_type))) return f;
  std::vector<const Var*> known;
  for (const Var* p : f->params) collect_vars(p->type, known);
  std::vector<const Var*> used;
  collect_vars(actual, used);
  for (const Var* v : used)
    if (std::find(known.begin(), known.end(), v) == known.end()) return f;
  const Function* made = ctx.function(f->params, f->body, actual, f->is_pure, f->attrs);
  ctx.set_origin(made, f);
  return made;
}

const SeqExpr* make_seq(Context& ctx, const std::vector<const BindingBlock*>& blocks, const Expr* body,
                        const Node* origin) {
  std::vector<const BindingBlock*> filled;
  for (const BindingBlock* b : blocks)
    if (!b->bindings.empty()) filled.push_back(b);
  std::vector<const BindingBlock*> merged;
  for (std::size_t i = 0; i < filled.size();) {
    std::size_t end = i + 1;
    while (end < filled.size() && filled[end]->is_dataflow() == filled[i]->is_dataflow()) ++end;
    if (end == i + 1) {
      merged.push_back(filled[i++]);
      continue;
    }
    std::vector<const Binding*> all;
    for (std::size_t k = i; k < end; ++k) all.insert(all.end(), filled[k]->bindings.begin(), filled[k]->bindings.end());
    merged.push_back(ctx.block(all, filled[i]->is_dataflow()));
    ctx.set_origin(merged.back(), filled[end - 1]);
    i = end;
  }
  const SeqExpr* made = ctx.seq(merged, body);
  if (origin) ctx.set_origin(made, origin);
  return made;
}

const Call* as_call_of(const Expr* e, std::string_view op) {
  const auto* call = as<Call>(e);
  if (!call) return nullptr;
  const auto* callee = as<Op>(call->callee);
  return callee && callee->name == op ? call : nullptr;
}

const Call* op_call(Context& ctx, std::string_view op, std::initializer_list<const Expr*> args, const Type* type,
                    std::initializer_list<const Type*> ty_args) {
  return ctx.call_typed(ctx.op(op), std::span(args.begin(), args.size()), type, {},
                        std::span(ty_args.begin(), ty_args.size()));
}

const Call* packed_call(Context& ctx, std::string_view symbol, std::span<const Expr* const> args, const Type* type,
                        std::initializer_list<const Type*> ty_args) {
  return ctx.call_typed(ctx.extern_func(symbol), args, type, {}, std::span(ty_args.begin(), ty_args.size()));
}

const Call* packed_call(Context& ctx, std::string_view symbol, std::initializer_list<const Expr*> args,
                        const Type* type, std::initializer_list<const Type*> ty_args) {
  return packed_call(ctx, symbol, std::span(args.begin(), args.size()), type, ty_args);
}

const Binding* bind_new(Context& ctx, std::string_view name, const Expr* value, const Node* origin) {
  const Var* var = ctx.var(name, value->type);
  const Binding* b = ctx.binding(var, value);
  if (origin) {
    ctx.set_origin(var, origin);
    if (isa<Call>(value) && value != origin) ctx.set_origin(value, origin);
    ctx.set_origin(b, origin);
  }
  return b;
}

const Binding* remake_binding(Context& ctx, const Binding* b, const Var* var, const Expr* value) {
  if (var == b->var && value == b->value) return b;
  const Binding* made = b->is_match_cast() ? ctx.match_cast(var, value, b->cast_type) : ctx.binding(var, value);
  ctx.set_origin(made, b);
  return made;
}

const Var* killed_by(const Expr* value) {
  if (!op::is_call_with(value, op::Trait::Kills)) return nullptr;
  const Span<const Expr*> args = as<Call>(value)->args;
  return args.empty() ? nullptr : as<Var>(args[0]);
}

std::unordered_set<const Var*> killed_variables(const Function* f) {
  std::unordered_set<const Var*> out;
  walk(f, [&](const Node* n) {
    const auto* call = as<Call>(n);
    if (const Var* v = call ? killed_by(call) : nullptr) out.insert(v);
    return true;
  });
  return out;
}

std::optional<Span<const Expr*>> shape_values(const Expr* shape) {
  if (const auto* s = as<ShapeExpr>(shape)) return s->values;
  const auto* t = as<ShapeType>(shape->type);
  if (t && t->has_values) return t->values;
  return std::nullopt;
}

bool all_int_literals(Span<const Expr*> values) {
  for (const Expr* v : values)
    if (!isa<IntImm>(v)) return false;
  return true;
}

bool is_void(const Type* t) {
  const auto* tuple = as<TupleType>(t);
  return tuple && tuple->fields.empty();
}

}  // namespace rldb::passes
