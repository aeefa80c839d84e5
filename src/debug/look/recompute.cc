// Recompute: one function of the bindings without a value, evaluated over the existing values.
#include "debug/look/recompute.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/type.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using runtime::ErrorKind;
using runtime::Result;
using runtime::Value;

namespace {

constexpr std::size_t kMaxBindings = 10'000;

bool is_symbol(const ir::Var* v, const Value& value) {
  return ir::as<ir::PrimType>(v->type) && value.is(runtime::ValueKind::Int);
}

// Its contents are what calls write to it later.
bool makes_memory(const ir::Expr* value) {
  const auto* call = ir::as<ir::Call>(value);
  const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
  return op && op::has(op->name, op::Trait::Allocates);
}

// Does recomputing it have an effect besides its value?
bool has_effect(const ir::Context& ctx, const ir::Expr* value) {
  bool found = false;
  ir::walk(value, [&](const ir::Node* n) {
    const auto* call = ir::as<ir::Call>(n);
    const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
    // A kernel in place is pure as long as nobody has a use for what it overwrites.
    const bool overwrites = op && (op->name == op::CallTirInplace || op->name == op::CallInplacePacked);
    found = found || overwrites || (call && ctx.typer() && !ctx.typer()->is_pure(*call));
    return !found;
  });
  return found;
}

class Recompute {
 public:
  Recompute(session::Session& session, const CodeMap& map, const Lookup& lookup)
      : session_(session), ctx_(session.context()), map_(map), lookup_(lookup) {}

  Result<Recomputed> run(int binding, eval::Watcher* watcher) {
    RLDB_TRY_VOID(collect(binding));
    const ir::Function* f = function(map_.binding(binding).binding);
    source::Diagnostics problems;
    auto value = session_.evaluate_function(f, map_.written_module(), args_, problems, watcher);
    if (value) {
      Recomputed done{*std::move(value), names_, {}};
      for (auto& [v, input] : inputs_) done.inputs.emplace_back(v->name, std::move(input));
      return done;
    }
    const std::string why =
        problems.all().empty() ? std::string("it cannot be evaluated") : problems.all().front().message;
    return runtime::fail(ErrorKind::Raised, why);
  }

 private:
  // Collects the required bindings, and the values from which they are computed.
  Result<support::Unit> collect(int binding) {
    std::vector<int> queue{binding};
    needed_.insert(binding);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      support::poll();
      if (needed_.size() > kMaxBindings) return runtime::fail(ErrorKind::Unsupported, "too many bindings lead to it");
      const ir::Binding* b = map_.binding(queue[i]).binding;
      if (has_effect(ctx_, b->value))
        return runtime::fail(ErrorKind::Unsupported,
                             fmt::format("`{}` would have to be computed again, and that has effects", b->var->name));
      if (makes_memory(b->value))
        return runtime::fail(
            ErrorKind::Unsupported,
            fmt::format("`{}` is memory that is no longer held: only the run knows its contents", b->var->name));
      for (const ir::Var* v : uses_of(b)) {
        if (leaves_.contains(v)) continue;
        const int definition = map_.binding_of_variable(v);
        if (definition >= 0 && needed_.contains(definition)) continue;
        if (auto value = lookup_(v)) {
          leaves_.insert(v);
          (is_symbol(v, *value) ? symbols_ : inputs_).emplace_back(v, *value);
        } else if (const int cast = cast_that_binds(v); definition < 0 && cast >= 0) {
          if (needed_.insert(cast).second) queue.push_back(cast);
        } else if (definition >= 0 && map_.binding(definition).binding) {
          needed_.insert(definition);
          queue.push_back(definition);
        } else {
          return runtime::fail(ErrorKind::Raised,
                               fmt::format("`{}`, which it is computed from, has no value here", v->name));
        }
      }
    }
    return support::Unit{};
  }

  std::vector<const ir::Var*> uses_of(const ir::Binding* b) {
    std::vector<const ir::Var*> vars = ir::free_vars(b->value);
    if (!b->cast_type) ir::collect_vars(b->var->type, vars);
    std::erase_if(vars, [&](const ir::Var* v) { return v == b->var; });
    return vars;
  }

  // A match_cast that defines a symbolic variable, when no value is kept for it: dims derived by passes.
  int cast_that_binds(const ir::Var* symbol) {
    for (std::size_t i = 0; i < map_.bindings().size(); ++i) {
      const ir::Binding* b = map_.binding(int(i)).binding;
      if (!b || !b->cast_type) continue;
      std::vector<const ir::Var*> vars;
      ir::collect_vars(b->cast_type, vars);
      if (std::find(vars.begin(), vars.end(), symbol) != vars.end()) return int(i);
    }
    return -1;
  }

  const ir::Var* fresh(const ir::Var* old) {
    const ir::Var* v = ctx_.var(old->name, ir::substitute(ctx_, old->type, renamed_));
    renamed_[old] = v;
    return v;
  }

  // Everything in it is new: a variable belongs to one function.
  const ir::Function* function(const ir::Binding* wanted) {
    std::vector<const ir::Var*> params;
    for (const auto& [v, value] : inputs_) names_.emplace_back(v->name);
    add_symbols(params);
    for (const auto& [v, value] : inputs_) {
      params.push_back(fresh(v));
      args_.push_back(value);
    }
    std::vector<const ir::Binding*> bindings;
    for (const int i : needed_) {
      const ir::Binding* old = map_.binding(i).binding;
      const ir::Expr* value = ir::substitute(ctx_, old->value, renamed_);
      const ir::Type* cast = old->cast_type ? ir::substitute(ctx_, old->cast_type, renamed_) : nullptr;
      const ir::Var* v = fresh(old->var);
      bindings.push_back(cast ? ctx_.match_cast(v, value, cast) : ctx_.binding(v, value));
    }
    const std::vector<const ir::BindingBlock*> blocks{ctx_.block(bindings)};
    const ir::Expr* result = renamed_.at(wanted->var);
    return ctx_.function(params, ctx_.seq(blocks, result), result->type, false, {});
  }

  // Symbolic variables are bound by one shape that contains them all.
  void add_symbols(std::vector<const ir::Var*>& params) {
    if (symbols_.empty()) return;
    std::vector<const ir::Expr*> dims;
    std::vector<std::int64_t> values;
    for (const auto& [v, value] : symbols_) {
      dims.push_back(fresh(v));
      values.push_back(value.as_int());
      names_.emplace_back(v->name);
    }
    params.push_back(ctx_.var("dims", ctx_.shape_type(dims)));
    args_.push_back(Value::of_shape(values));
  }

  session::Session& session_;
  ir::Context& ctx_;
  const CodeMap& map_;
  const Lookup& lookup_;
  std::set<int> needed_;  // in text order
  std::set<const ir::Var*> leaves_;
  std::vector<std::pair<const ir::Var*, Value>> inputs_, symbols_;
  ir::VarMap renamed_;
  std::vector<Value> args_;
  std::vector<std::string> names_;
};

}  // namespace

Result<Recomputed> recompute(session::Session& session, const CodeMap& map, int binding, const Lookup& lookup,
                             eval::Watcher* watcher) {
  return Recompute(session, map, lookup).run(binding, watcher);
}

}  // namespace rldb::debug
