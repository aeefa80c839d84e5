// RelaxEval: the bodies of functions: bindings, expressions, and calls in tail position.
#include <fmt/format.h>

#include <optional>

#include "eval/relax/lowered.h"
#include "eval/relax/relax_eval.h"
#include "rldb/ir/printer.h"
#include "rldb/runtime/copy.h"

namespace rldb::eval {

bool RelaxEval::is_result(const ir::SeqExpr* seq, const ir::Binding* b) {
  return seq->body == b->var && !b->is_match_cast() && b == seq->blocks.back()->bindings.back();
}

Result<Value> RelaxEval::eval_result(const ir::Expr* e, Scope& scope, const ir::Function* tail_of) {
  if (const auto* i = as<ir::If>(e)) return conditional(i, scope, tail_of);
  const auto* c = as<ir::Call>(e);
  if (!c || as<ir::Op>(c->callee) || as<ir::ExternFunc>(c->callee)) return eval(e, scope);
  RLDB_TRY(std::vector<Value> args, values(c->args, scope));
  TailCall next;
  if (const auto* g = as<ir::GlobalVar>(c->callee)) {
    next.name = g->name;
    next.f = env_.module ? as<ir::Function>(env_.module->find(g->name)) : nullptr;
    if (!next.f) return call_global(g->name, args);
  } else {
    RLDB_TRY(next.callee, eval(c->callee, scope));
    const bool callable = next.callee.is(ValueKind::Function);
    next.closure = callable ? dynamic_cast<const Closure*>(&next.callee.as_function()) : nullptr;
    if (!next.closure || !next.closure->captured.empty()) return call_value(next.callee, std::move(args));
    next.name = next.closure->name;
    next.f = next.closure->f;
  }
  if (next.f->ret_type != tail_of->ret_type || next.f->ret_type->has_vars)
    return next.closure ? call_value(next.callee, std::move(args)) : call_global(next.name, args);
  next.args = std::move(args);
  tail_call_ = std::move(next);
  return Value::null();
}

Result<Value> RelaxEval::sequence(const ir::SeqExpr* seq, Scope& scope, const ir::Function* tail_of) {
  for (const ir::BindingBlock* block : seq->blocks)
    for (const ir::Binding* b : block->bindings) {
      if (env_.watcher) env_.watcher->begin(b);
      const auto* local = as<ir::Function>(b->value);
      const bool last = tail_of && is_result(seq, b);
      auto value = local  ? Result<Value>(closure_of(local, b->var, scope))
                   : last ? eval_result(b->value, scope, tail_of)
                          : eval(b->value, scope);
      if (tail_call_) return value;
      if (!value.ok()) return support::Failure(at_binding(std::move(value).error(), b));
      if (b->is_match_cast()) {
        for (const bool compound : {false, true}) {
          auto matched = match(b->cast_type, *value, scope, fmt::format("match_cast of `{}`", b->var->name), compound);
          if (!matched.ok()) return support::Failure(std::move(matched).error());
        }
        RLDB_TRY_VOID(match_shape_var(b, *value, scope));
      }
      if (env_.watcher) {
        auto seen = env_.watcher->bound(b, *value);
        if (!seen.ok()) return support::Failure(at_binding(std::move(seen).error(), b));
      }
      scope.values[b->var] = std::move(value).value();
    }
  return eval(seq->body, scope);
}

runtime::Error RelaxEval::at_binding(runtime::Error error, const ir::Binding* b) {
  // The innermost binding is the one to report.
  if (error.notes.empty() || error.notes.back().find("while computing") == std::string::npos)
    error.notes.push_back(fmt::format("while computing `{}`", b->var->name));
  return error;
}

Value RelaxEval::closure_of(const ir::Function* f, const ir::Var* self, const Scope& scope) {
  return Value(runtime::Ref<runtime::Function>(new Closure(f, self, std::make_shared<const Scope>(scope))));
}

Result<Value> RelaxEval::eval(const ir::Expr* e, Scope& scope) {
  if (const auto* v = as<ir::Var>(e)) return variable(v, scope);
  if (const auto* c = as<ir::Constant>(e)) return constant(c);
  if (const auto* c = as<ir::Call>(e)) return call_expr(c, scope);
  if (const auto* t = as<ir::Tuple>(e)) {
    RLDB_TRY(std::vector<Value> fields, values(t->items, scope));
    return Value::of_tuple(std::move(fields));
  }
  if (const auto* t = as<ir::TupleGetItem>(e)) {
    RLDB_TRY(const Value tuple, eval(t->tuple, scope));
    if (!tuple.is(ValueKind::Tuple) || t->index < 0 || std::size_t(t->index) >= tuple.as_tuple().fields.size())
      return fail(ErrorKind::TypeMismatch, fmt::format("{} has no field {}", runtime::describe(tuple), t->index));
    return tuple.as_tuple().fields[std::size_t(t->index)];
  }
  if (const auto* s = as<ir::ShapeExpr>(e)) {
    RLDB_TRY(std::vector<std::int64_t> dims, integers(s->values, scope));
    return Value::of_shape(std::move(dims));
  }
  if (const auto* i = as<ir::If>(e)) return conditional(i, scope);
  if (const auto* s = as<ir::SeqExpr>(e)) return sequence(s, scope);
  if (const auto* f = as<ir::Function>(e)) return closure_of(f, nullptr, scope);
  if (const auto* g = as<ir::GlobalVar>(e))
    return Value(runtime::Ref<runtime::Function>(new runtime::Function(std::string(g->name), -1)));
  if (const auto* x = as<ir::ExternFunc>(e)) return extern_value(x);
  if (const auto* s = as<ir::StringImm>(e)) return Value::of_string(std::string(s->value));
  if (const auto* d = as<ir::DTypeImm>(e)) return Value::of_dtype(d->value);
  // A literal True is the number 1 in an executable, which has no other form for it.
  if (const auto* n = as<ir::IntImm>(e); n && n->dtype().is_bool()) return Value::of_int(n->value);
  if (as<ir::PrimType>(e->type)) return scalar(e, scope);
  return fail(ErrorKind::Unsupported, fmt::format("the evaluator has no meaning for `{}`", ir::print_expr(e)));
}

Result<Value> RelaxEval::constant(const ir::Constant* c) {
  const auto* t = as<ir::TensorType>(c->type);
  if (env_.devices.empty() || !t) return *c->value;
  const runtime::Device device = device_of(t->vdevice);
  if (device.is_host()) return *c->value;
  const auto known = placed_constants_.find(c);
  if (known != placed_constants_.end()) return known->second;
  RLDB_TRY(Value placed, runtime::on_device(*c->value, device));
  placed_constants_.emplace(c, placed);
  return placed;
}

Result<Value> RelaxEval::variable(const ir::Var* v, const Scope& scope) {
  if (const auto it = scope.values.find(v); it != scope.values.end()) return it->second;
  if (const auto it = scope.symbols.find(v); it != scope.symbols.end()) return Value::of_int(it->second.value);
  return fail(ErrorKind::Raised, fmt::format("`{}` has no value here", v->name));
}

Result<Value> RelaxEval::extern_value(const ir::ExternFunc* x) {
  const runtime::PackedInfo* f = env_.registry ? env_.registry->find(x->symbol) : nullptr;
  if (f) return Value(f->function);
  return fail(ErrorKind::UnknownFunction, fmt::format("no packed function `{}` is registered", x->symbol));
}

Result<Value> RelaxEval::conditional(const ir::If* e, Scope& scope, const ir::Function* tail_of) {
  RLDB_TRY(const Value c, eval(e->cond, scope));
  RLDB_TRY(const bool taken, condition_of(c));
  Scope inner = scope;  // bindings in a branch are not visible outside; variables it kills are dead
  Result<Value> result = sequence(taken ? e->then_branch : e->else_branch, inner, tail_of);
  for (auto& [var, value] : scope.values)
    if (inner.values[var].is_null()) value = Value::null();
  return result;
}

ScalarEnv RelaxEval::scalar_env(const Scope& scope) const {
  ScalarEnv env;
  env.var = [&scope](const ir::Var* v) -> std::optional<Value> {
    if (const auto it = scope.symbols.find(v); it != scope.symbols.end()) return Value::of_int(it->second.value);
    if (const auto it = scope.values.find(v); it != scope.values.end()) return it->second;
    return std::nullopt;
  };
  return env;
}

Result<std::vector<std::int64_t>> RelaxEval::integers(ir::Span<const ir::Expr*> exprs, const Scope& scope) {
  std::vector<std::int64_t> out;
  for (const ir::Expr* e : exprs) {
    RLDB_TRY(const Value v, scalar(e, scope));
    out.push_back(v.as_int());
  }
  return out;
}

Result<std::vector<Value>> RelaxEval::values(ir::Span<const ir::Expr*> exprs, Scope& scope) {
  std::vector<Value> out;
  for (const ir::Expr* e : exprs) {
    RLDB_TRY(Value v, eval(e, scope));
    out.push_back(std::move(v));
  }
  return out;
}

}  // namespace rldb::eval
