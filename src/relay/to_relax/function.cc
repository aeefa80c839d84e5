// The graph of a function as bindings: each node once, in the scope common to all its uses, operands first. Recursion
// is over scopes only.
#include <fmt/format.h>

#include <algorithm>

#include "relay/to_relax/branches.h"
#include "rldb/bytecode/builtin/relay.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/walk.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/source/diagnostic_translate.h"
#include "rldb/support/cancel.h"

namespace rldb::to_relax {

std::vector<const ir::Var*> FunctionTranslator::make_params(ModuleTranslator& shared, const relay::Function& f,
                                                            ir::BlockBuilder& names) {
  std::vector<const ir::Var*> params;
  const auto open = [&] {
    return static_cast<const Expr*>(shared.ctx.var(names.unique_name("d"), shared.ctx.int64()));
  };
  for (const relay::Var* p : f.params) {
    const ir::Type* type = shared.types.of(shared.typing.of(p), open);
    const ir::Var* v = shared.ctx.var(names.unique_name(name_in_python(p->name)), type);
    shared.ctx.spans().set(v->id, shared.relay.span(p));
    params.push_back(v);
  }
  return params;
}

const ir::Function* FunctionTranslator::function(const relay::Function& f, const std::vector<const ir::Var*>& params,
                                                 std::span<const ir::NamedAttr> attrs) {
  placed_ = ctx_.node_count();
  for (std::size_t i = 0; i < params.size(); ++i) {
    blocks_.reserve_name(params[i]->name);
    std::vector<const ir::Var*> symbols;
    ir::collect_vars(params[i]->type, symbols);
    for (const ir::Var* s : symbols) blocks_.reserve_name(s->name);
    values_[f.params[i]] = params[i];
  }
  blocks_.begin_scope();
  const Expr* v = value(f.body);
  if (v) v = blocks_.normalize_leaf(v);
  const ir::SeqExpr* body = blocks_.end_scope(v ? v : ctx_.tuple({}));
  if (!v) return nullptr;
  const relay::Type* type = shared_.typing.of(f.body);
  const ir::Type* result = shared_.types.closed(f.result ? f.result : type);
  const ir::Function* made = ctx_.function(params, body, result, shared_.types.pure(), attrs);
  place(&f);
  return made;
}

const ir::Function* FunctionTranslator::expression(const relay::Expr* e, std::span<const ir::NamedAttr> attrs) {
  if (const auto* f = relay::as<relay::Function>(e)) return function(*f, make_params(shared_, *f, blocks_), attrs);
  placed_ = ctx_.node_count();
  std::vector<const relay::Var*> free;
  for (const relay::Var* v : free_variables(e)) free.push_back(v);
  std::vector<const ir::Var*> params;
  const auto open = [&] { return static_cast<const Expr*>(ctx_.var(blocks_.unique_name("d"), ctx_.int64())); };
  for (const relay::Var* v : free) {
    const ir::Type* type = shared_.types.of(shared_.typing.of(v), open);
    params.push_back(ctx_.var(blocks_.unique_name(name_in_python(v->name)), type));
    values_[v] = params.back();
  }
  blocks_.begin_scope();
  const Expr* v = value(e);
  if (v) v = blocks_.normalize_leaf(v);
  const ir::SeqExpr* body = blocks_.end_scope(v ? v : ctx_.tuple({}));
  if (!v) return nullptr;
  const ir::Function* made =
      ctx_.function(params, body, shared_.types.closed(shared_.typing.of(e)), shared_.types.pure(), attrs);
  place(e);
  return made;
}

// ---- the walk ----

const Expr* FunctionTranslator::value(const relay::Expr* root) {
  std::vector<std::pair<const relay::Expr*, Stage>> open{{root, Stage::Enter}};
  while (!open.empty()) {
    support::poll();
    const auto [e, stage] = open.back();
    open.pop_back();
    switch (stage) {
      case Stage::Enter:
        if (!relay::is_leaf(e) && !values_.contains(e)) enter(e, open);
        break;
      case Stage::Bind:
        bind_let(relay::cast<relay::Let>(e));
        break;
      case Stage::Done:
        if (values_.contains(e)) break;
        const Expr* v = made(e);
        values_[e] = v;
        place(e);
        break;
    }
  }
  return operand(root, root);
}

void FunctionTranslator::enter(const relay::Expr* e, std::vector<std::pair<const relay::Expr*, Stage>>& open) {
  open.emplace_back(e, Stage::Done);
  const std::size_t first = open.size();
  for (const relay::Expr* x : scopes_.before(e)) open.emplace_back(x, Stage::Enter);
  switch (e->kind) {
    case relay::ExprKind::Let: {
      const auto& let = relay::cast<relay::Let>(e);
      named_.emplace(let.value, let.var);
      open.emplace_back(let.value, Stage::Enter);
      open.emplace_back(e, Stage::Bind);
      open.emplace_back(let.body, Stage::Enter);
      break;
    }
    case relay::ExprKind::If:
      open.emplace_back(relay::cast<relay::If>(e).condition, Stage::Enter);
      break;
    case relay::ExprKind::Match:
      open.emplace_back(relay::cast<relay::Match>(e).value, Stage::Enter);
      break;
    case relay::ExprKind::Function:
      break;
    case relay::ExprKind::Call:
    case relay::ExprKind::Tuple:
    case relay::ExprKind::Projection:
#define RLDB_RELAY_EXPR(...)
#define RLDB_RELAY_LEAF(Kind, ...) case relay::ExprKind::Kind:
#define RLDB_RELAY_REF(Kind, ...) case relay::ExprKind::Kind:
#include "rldb/relay/ir/node.def"
      relay::for_each_operand(e, [&](const relay::Expr* x) { open.emplace_back(x, Stage::Enter); });
  }
  std::reverse(open.begin() + std::ptrdiff_t(first), open.end());
}

void FunctionTranslator::bind_let(const relay::Let& let) {
  const Expr* v = operand(let.value, &let);
  values_[let.var] = v ? refined(v, shared_.typing.of(let.var)) : nullptr;
  place(&let);
}

const Expr* FunctionTranslator::made(const relay::Expr* e) {
  switch (e->kind) {
    case relay::ExprKind::Call:
      return call(relay::cast<relay::Call>(e));
    case relay::ExprKind::Function:
      return local_function(relay::cast<relay::Function>(e));
    case relay::ExprKind::Let:
      return operand(relay::cast<relay::Let>(e).body, e);
    case relay::ExprKind::If:
      return if_expr(relay::cast<relay::If>(e));
    case relay::ExprKind::Tuple: {
      Exprs items;
      for (const relay::Expr* x : relay::cast<relay::Tuple>(e).fields) {
        const Expr* v = operand(x, e);
        if (!v) return nullptr;
        items.push_back(ir::isa<ir::Tuple>(v) ? bound(v) : v);
      }
      return ctx_.tuple(items);
    }
    case relay::ExprKind::Projection:
      return projection(relay::cast<relay::Projection>(e));
    case relay::ExprKind::Match:
      return match(relay::cast<relay::Match>(e));
    case relay::ExprKind::RefCreate:
    case relay::ExprKind::RefRead:
    case relay::ExprKind::RefWrite:
      return reference_call(e);
    case relay::ExprKind::Var:
    case relay::ExprKind::GlobalVar:
    case relay::ExprKind::Constant:
    case relay::ExprKind::Op:
    case relay::ExprKind::Constructor:
      break;
  }
  return leaf_value(e, e);
}

const Expr* FunctionTranslator::operand(const relay::Expr* e, const relay::Expr* user) {
  if (const auto found = values_.find(e); found != values_.end()) return found->second;
  return leaf_value(e, user);
}

const Expr* FunctionTranslator::leaf_value(const relay::Expr* e, const relay::Expr* user) {
  if (const auto* v = relay::as<relay::Var>(e))
    return fail(user, source::message(diag::RelayUnboundHere, fmt::format("%{}", v->name)));
  if (const auto* g = relay::as<relay::GlobalVar>(e)) {
    if (const ir::GlobalVar* known = shared_.global(g->name)) return known;
    return fail(user, source::message(diag::RelayNotTranslated, fmt::format("`@{}`, whose body is missing,", g->name)));
  }
  if (const auto* c = relay::as<relay::Constant>(e)) {
    auto* tensor = const_cast<runtime::Tensor*>(c->tensor);
    const Expr* made = ctx_.constant(runtime::Value(runtime::Ref<runtime::Tensor>(tensor)));
    values_[e] = made;
    return made;
  }
  if (const auto* c = relay::as<relay::Constructor>(e)) return shared_.constructor(*c);
  if (const auto* o = relay::as<relay::Op>(e))
    return fail(user,
                source::message(diag::RelayNotTranslated, fmt::format("the operator `{}` as a value", o->info->name)));
  RLDB_UNREACHABLE("an operand that is neither done nor a leaf");
}

// ---- nodes ----

const Expr* FunctionTranslator::call(const relay::Call& e) {
  Exprs args;
  const auto* op = relay::as<relay::Op>(e.callee);
  if (op && op->info->id == relay::op::CallLowered && e.args.size() == 2) return lowered_call(e);
  for (const relay::Expr* a : e.args) {
    const Expr* v = operand(a, &e);
    if (!v) return nullptr;
    args.push_back(op ? v : bound(v));
  }
  if (op) return op_call(e, *op->info, std::move(args));
  if (const auto* c = relay::as<relay::Constructor>(e.callee)) {
    args.insert(args.begin(), ctx_.string(c->name));
    return packed(builtin::AdtMake, args, ctx_.any());
  }
  return function_call(e, operand(e.callee, &e), std::move(args));
}

const Expr* FunctionTranslator::function_call(const relay::Call& e, const Expr* callee, Exprs args) {
  if (!callee) return nullptr;
  ir::CallSpec spec;
  spec.callee = callee;
  spec.args = std::move(args);
  const auto made = ctx_.call(spec);
  if (!made.ok()) return fail(&e, made.error());
  return refined(bound(*made, hint_of(&e)), shared_.typing.of(&e));
}

// `call_lowered`: the function, and its operands as a tuple.
const Expr* FunctionTranslator::lowered_call(const relay::Call& e) {
  const Expr *callee = operand(e.args[0], &e), *packed = operand(e.args[1], &e);
  if (!callee || !packed) return nullptr;
  const Expr* known = with_known_fields(packed, shared_.typing.of(e.args[1]));
  const auto* tuple = ir::as<ir::Tuple>(known);
  if (!tuple) return fail(&e, source::message(diag::RelayNotTranslated, "a call whose operands are not known"));
  Exprs args;
  for (const Expr* item : tuple->items) args.push_back(bound(item));
  return function_call(e, callee, std::move(args));
}

const Expr* FunctionTranslator::op_call(const relay::Call& e, const relay::OpInfo& op, Exprs args) {
  const Translation row = translation_of(op.id);
  if (!row.make) return fail(&e, source::message(diag::RelayOpNotTranslated, op.name, row.target));
  if (args.empty() && op.operands != 0)
    return fail(&e, source::message(diag::RelayOpNotTranslated, op.name, "it has no operands"));
  for (std::size_t i = 0; i < args.size(); ++i) args[i] = with_known_fields(args[i], shared_.typing.of(e.args[i]));
  OpCall call({ctx_, blocks_, shared_.kernels}, e, op, std::move(args), shared_.typing.of(&e), row.target);
  const Made made = row.make(call);
  if (!made.ok()) return fail(&e, source::message(diag::RelayOpNotTranslated, op.name, made.error().text));
  const Expr* v = *made;
  return refined(ir::isa<ir::Tuple>(v) || ir::is_leaf(v) ? v : bound(v, hint_of(&e)), shared_.typing.of(&e));
}

const Expr* FunctionTranslator::local_function(const relay::Function& f) {
  const std::vector<const ir::Var*> params = make_params(shared_, f, blocks_);
  std::vector<const ir::Type*> types;
  for (std::size_t i = 0; i < params.size(); ++i) {
    types.push_back(params[i]->type);
    values_[f.params[i]] = params[i];
  }
  const ir::Type* result = shared_.types.closed(f.result ? f.result : shared_.typing.of(f.body));
  const auto let = named_.find(&f);
  const std::string name = let == named_.end() ? "fn" : name_in_python(let->second->name);
  const ir::Var* v = ctx_.var(blocks_.unique_name(name), ctx_.func_type(types, result, shared_.types.pure()));
  // It may be recursive.
  if (let != named_.end()) values_[let->second] = v;
  const ir::SeqExpr* body = branch([&] { return value(f.body); });
  if (!body) return nullptr;
  blocks_.append(ctx_.binding(v, ctx_.function(params, body, result, shared_.types.pure(), {})));
  return v;
}

const Expr* FunctionTranslator::projection(const relay::Projection& e) {
  const Expr* tuple = operand(e.tuple, &e);
  if (!tuple) return nullptr;
  if (const auto* t = ir::as<ir::Tuple>(tuple); t && std::size_t(e.index) < t->items.size())
    return t->items[std::size_t(e.index)];
  const auto made = ctx_.tuple_get(tuple, e.index);
  if (!made.ok()) return fail(&e, made.error());
  return refined(bound(*made, hint_of(&e)), shared_.typing.of(&e));
}

const Expr* FunctionTranslator::reference_call(const relay::Expr* e) {
  std::string_view callee = builtin::RefMake;
  if (e->kind == relay::ExprKind::RefRead) callee = builtin::RefRead;
  if (e->kind == relay::ExprKind::RefWrite) callee = builtin::RefWrite;
  Exprs args;
  bool known = true;
  relay::for_each_operand(e, [&](const relay::Expr* x) {
    const Expr* v = known ? operand(x, e) : nullptr;
    known = v != nullptr;
    if (known) args.push_back(bound(v));
  });
  if (!known) return nullptr;
  // Not a pure call: a read returns the value written last.
  const ir::Type* type = ctx_.any();
  if (e->kind == relay::ExprKind::RefWrite) type = ctx_.tuple_type({});
  const std::vector<const ir::Type*> types{type};
  const Expr* made = blocks_.emit(ctx_.call_typed(ctx_.extern_func(callee), args, type, {}, types), hint_of(e));
  return refined(made, shared_.typing.of(e));
}

const Expr* FunctionTranslator::if_expr(const relay::If& e) {
  const Expr* condition = operand(e.condition, &e);
  if (!condition) return nullptr;
  const relay::Type* type = shared_.typing.of(&e);
  const Expr* v = branches(
      condition, [&] { return value(e.consequence); }, [&] { return value(e.alternative); });
  return v ? refined(v, type) : nullptr;
}

// ---- helpers for nodes ----

const Expr* FunctionTranslator::bound(const Expr* e, std::string_view hint) {
  return ir::is_leaf(e) ? e : blocks_.emit(e, hint);
}

std::string_view FunctionTranslator::hint_of(const relay::Expr* e) const {
  const auto let = named_.find(e);
  if (let == named_.end() || let->second->name.empty()) return "gv";
  return ctx_.str(name_in_python(let->second->name));
}

const Expr* FunctionTranslator::packed(std::string_view builtin, const Exprs& args, const ir::Type* type) {
  Exprs all{ctx_.extern_func(builtin)};
  all.insert(all.end(), args.begin(), args.end());
  const std::vector<const ir::Type*> types{type};
  return blocks_.emit(ctx_.call_typed(ctx_.op(op::CallPurePacked), all, type, {}, types), "gv");
}

const ir::Type* FunctionTranslator::with_new_dims(const relay::Type* t) {
  return shared_.types.of(t,
                          [&] { return static_cast<const Expr*>(ctx_.var(blocks_.unique_name("d"), ctx_.int64())); });
}

namespace {

// Is the value's type at least as precise as the wanted one?
bool says_enough(const Types& types, const ir::Type* have, const relay::Type* want) {
  const auto* tensor = relay::as<relay::TensorType>(want);
  if (!tensor) return have->kind != ir::TypeKind::Any || types.closed(want)->kind == ir::TypeKind::Any;
  const auto* t = ir::as<ir::TensorType>(have);
  if (!t || !t->has_shape || t->shape.size() != tensor->shape.size()) return false;
  for (std::size_t i = 0; i < t->shape.size(); ++i)
    if (tensor->shape[i].kind == relay::DimKind::Known && int_of(t->shape[i]) != tensor->shape[i].value) return false;
  return true;
}

}  // namespace

const Expr* FunctionTranslator::refined(const Expr* e, const relay::Type* t) {
  const ir::Type* have = e->type;
  if (!t || t->kind == relay::TypeKind::Hole) {
    // The shape is not annotated: its dims get names if the rank is known.
    const auto* tensor = ir::as<ir::TensorType>(have);
    if (!tensor || tensor->has_shape || tensor->ndim < 0 || tensor->dtype.is_void()) return e;
    Dims dims;
    for (int i = 0; i < tensor->ndim; ++i) dims.push_back(ctx_.var(blocks_.unique_name("d"), ctx_.int64()));
    return blocks_.emit_match_cast(e, ctx_.tensor(dims, tensor->dtype), "gv");
  }
  if (ir::isa<ir::Tuple>(e) || says_enough(shared_.types, have, t)) return e;
  if (const auto* tensor = relay::as<relay::TensorType>(t)) {
    // Dims already known by name keep it.
    const auto* known = ir::as<ir::TensorType>(have);
    Dims dims;
    for (std::size_t i = 0; i < tensor->shape.size(); ++i) {
      const bool literal = tensor->shape[i].kind == relay::DimKind::Known;
      const bool named = known && known->has_shape && known->shape.size() == tensor->shape.size();
      dims.push_back(literal ? static_cast<const Expr*>(ctx_.i64(tensor->shape[i].value))
                     : named ? known->shape[i]
                             : ctx_.var(blocks_.unique_name("d"), ctx_.int64()));
    }
    return blocks_.emit_match_cast(e, ctx_.tensor(dims, tensor->dtype), "gv");
  }
  return blocks_.emit_match_cast(e, with_new_dims(t), "gv");
}

const Expr* FunctionTranslator::with_known_fields(const Expr* e, const relay::Type* t) {
  const auto* wanted = relay::as<relay::TupleType>(t);
  const auto* have = ir::as<ir::TupleType>(e->type);
  if (ir::isa<ir::Tuple>(e) || !wanted || !have || wanted->fields.size() != have->fields.size()) return e;
  Exprs items;
  for (std::size_t i = 0; i < have->fields.size(); ++i) {
    const auto item = ctx_.tuple_get(e, std::int64_t(i));
    RLDB_CHECK(item.ok(), "the field is one of the type");
    items.push_back(refined(blocks_.emit(*item, "gv"), wanted->fields[i]));
  }
  return ctx_.tuple(items);
}

void FunctionTranslator::place(const relay::Expr* e) {
  const source::Span span = shared_.relay.span(e);
  for (std::uint32_t id = placed_ + 1; id <= ctx_.node_count(); ++id) ctx_.spans().set(id, span);
  placed_ = ctx_.node_count();
}

const Expr* FunctionTranslator::fail(const relay::Expr* e, source::Message m) {
  shared_.out.add(shared_.relay.span(e), std::move(m));
  return nullptr;
}

}  // namespace rldb::to_relax
