// Relax by the book: environments of values, C++ frames per Relax call (on a stack of its own), symbolic variables
// bound by matching types against values. Operators beyond the calls of RFC 0089 section 4.1 have to be legalised
// before.
//
// It is long because it is one machine: calls, bindings and allocations share its frames, symbols and memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "eval/compiled/statements.h"
#include "eval/relax/lowered.h"
#include "eval/relax/relax_op.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/absent.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/bytecode/builtin_id.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/any_target.h"
#include "rldb/ir/bound_attrs.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op/closure.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/op/vm.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/operator_text.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/copy.h"
#include "rldb/runtime/fresh_memory.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/support/large_stack.h"
#include "rldb/support/text.h"

namespace rldb::eval {

using ir::as;
using runtime::ErrorKind;
using runtime::fail;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

// Reserved, and touched only as far as it is used: some 5 KB per Relax call, more under sanitizers.
constexpr std::size_t kStackBytes = std::size_t(1) << 30;
// For callees that do not recurse: expressions, kernels, packed functions.
constexpr std::size_t kStackReserve = 4 << 20;

// Operators that are calls, and kills: they need the scope, so they are implemented here; the others have a
// function.
bool has_meaning(const op::Row& row) {
  constexpr op::Trait kCore = op::Trait::CallTir | op::Trait::TakesTuple | op::Trait::CallsPacked | op::Trait::Kills;
  return row.has(kCore) || find_relax_op(row.id) != nullptr;
}
bool has_meaning(std::string_view name) {
  const op::Row* row = op::find(name);
  return row && has_meaning(*row);
}

struct Scope {
  std::unordered_map<const ir::Var*, Value> values;
  // Symbolic variables and what bound them.
  struct Symbol {
    std::int64_t value;
    std::string bound_by;
  };
  std::unordered_map<const ir::Var*, Symbol> symbols;
};

// A local function with its captured values.
class Closure : public runtime::Function {
 public:
  Closure(const ir::Function* f, const ir::Var* self, std::shared_ptr<const Scope> scope)
      : runtime::Function("<local>", runtime::PackedFn()), f(f), self(self), scope(std::move(scope)) {}
  const ir::Function* f;
  const ir::Var* self;  // the variable it is bound to, by which it may call itself; null: none
  std::shared_ptr<const Scope> scope;
};

// A call in tail position. `closure`: of `callee`; null: a function of the module.
struct TailCall {
  const ir::Function* f = nullptr;
  const Closure* closure = nullptr;
  std::string name;
  Value callee;
  std::vector<Value> args;
};

class RelaxEval {
 public:
  explicit RelaxEval(const EvalEnv& env) : env_(env) {}

  Result<Value> call_global(std::string_view name, PackedArgs args) {
    const ir::Expr* found = env_.module ? env_.module->find(name) : nullptr;
    if (depth_ == 0) RLDB_TRY_VOID(check_bounds());
    if (const auto* f = as<ir::Function>(found)) return call(f, name, args, nullptr);
    if (const auto* f = as<ir::PrimFunc>(found)) return call_prim_func(f, name, args);
    if (const auto* f = as<ir::ExternFunc>(found)) return call_packed(f->symbol, args);
    return fail(ErrorKind::UnknownFunction, fmt::format("there is no function `{}`", name));
  }

 private:
  // ---- functions ----

  // A module that no other engine can lower is not run here either.
  Result<Unit> check_bounds() {
    if (!env_.module) return Unit{};
    for (const ir::ModuleEntry& e : env_.module->entries) {
      const auto* f = as<ir::Function>(e.function);
      if (const auto why = f ? ir::invalid_bound(f) : std::nullopt)
        return fail(ErrorKind::Unsupported, fmt::format("`{}`: {}", e.name, *why));
    }
    return Unit{};
  }

  // A function, then the calls in tail position that took its place.
  Result<Value> call(const ir::Function* f, std::string_view name, PackedArgs args, const Scope* outer) {
    Result<Value> result = call_once(f, name, args, outer);
    for (std::size_t replaced = 0; result.ok() && tail_call_; ++replaced) {
      const TailCall next = *std::exchange(tail_call_, std::nullopt);
      if (replaced >= env_.max_tail_calls) return overflow(depth_ + replaced, next.name);
      Scope around;
      if (next.closure) around = scope_around(next.callee, *next.closure);
      result = call_once(next.f, next.name, next.args, next.closure ? &around : nullptr);
    }
    return result;
  }

  static Result<Value> overflow(std::size_t calls, std::string_view name) {
    return fail(ErrorKind::StackOverflow,
                fmt::format("stack overflow: {} calls deep at the call of `{}`", calls, name));
  }

  Result<Value> call_once(const ir::Function* f, std::string_view name, PackedArgs args, const Scope* outer) {
    if (depth_ >= env_.max_depth || support::stack_left() < kStackReserve) return overflow(depth_, name);
    if (args.size() != f->params.size()) return wrong_count(f, name, args.size());
    if (env_.interrupt && *env_.interrupt)
      return fail(ErrorKind::Interrupted, fmt::format("interrupted in `{}`", name));
    Scope scope;
    if (outer) scope = *outer;
    for (std::size_t i = 0; i < args.size(); ++i) scope.values[f->params[i]] = args[i];
    // Two rounds: a compound dimension may come before the variables it contains.
    for (const bool compound : {false, true})
      for (std::size_t i = 0; i < args.size(); ++i) {
        const std::string who = fmt::format("parameter `{}` of `{}`", f->params[i]->name, name);
        RLDB_TRY_VOID(match(f->params[i]->type, args[i], scope, who, compound));
      }
    ++depth_;
    if (env_.watcher) env_.watcher->enter(name, f, args);
    const bool deep = depth_ > env_.tail_depth && !env_.watcher;
    Result<Value> result = sequence(f->body, scope, deep ? f : nullptr);
    if (env_.watcher && result.ok()) env_.watcher->leave(*result);
    --depth_;
    if (!result.ok() || tail_call_) return result;
    // As on the machine: facts proved by the types are not checked on the value, which a kill may have taken.
    if (f->body->type == f->ret_type && holds_null(*result)) return result;
    for (const bool compound : {false, true})
      RLDB_TRY_VOID(match(f->ret_type, *result, scope, fmt::format("the result of `{}`", name), compound));
    return result;
  }

  static bool holds_null(const Value& v) {
    if (!v.is(ValueKind::Tuple)) return v.is_null();
    const std::vector<Value>& fields = v.as_tuple().fields;
    return std::any_of(fields.begin(), fields.end(), holds_null);
  }

  static Result<Value> wrong_count(const ir::Function* f, std::string_view name, std::size_t given) {
    std::string names;
    for (const ir::Var* p : f->params) names += (names.empty() ? "" : ", ") + std::string(p->name);
    return fail(ErrorKind::ArgumentCount, fmt::format("`{}` takes {} ({}), {} given", name,
                                                      support::counted(f->params.size(), "argument"), names, given));
  }

  // A call that is reported to the watcher before and after.
  template <class Run>
  Result<Value> watched(std::string_view name, const ir::PrimFunc* f, PackedArgs args, Run run) {
    if (!env_.watcher) return run();
    RLDB_TRY_VOID(env_.watcher->calling(name, f, args));
    RLDB_TRY(Value result, run());
    RLDB_TRY_VOID(env_.watcher->called(name, f, args, result));
    return result;
  }

  // Memory that checkpoints of a run share becomes the storage's own before a kernel may write it.
  static Result<support::Unit> own_written(const ir::PrimFunc* f, PackedArgs args) {
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!args[i].is(ValueKind::Tensor) || !runtime::shared_block(*args[i].as_tensor().storage())) continue;
      const ir::Buffer* b = i < f->params.size() ? f->params[i].buffer : nullptr;
      bool only_read = b != nullptr;
      ir::walk(f->body, [&](const ir::Node* n) {
        const auto* store = as<ir::BufferStore>(n);
        const auto* block = as<ir::SBlock>(n);
        const bool views = block && !block->match_buffers.empty();
        only_read = only_read && !views && n != b->data && !(store && store->buffer->data == b->data);
        return only_read;
      });
      if (!only_read) RLDB_TRY_VOID(runtime::own_all(args[i]));
    }
    return support::Unit{};
  }

  Result<Value> call_prim_func(const ir::PrimFunc* f, std::string_view name, PackedArgs args) {
    RLDB_TRY_VOID(own_written(f, args));
    return watched(name, f, args, [&] {
      if (env_.run_kernel)
        if (auto done = env_.run_kernel(f, name, args)) return std::move(*done);
      return eval_prim_func(f, name, args);
    });
  }

  Result<Value> eval_prim_func(const ir::PrimFunc* f, std::string_view name, PackedArgs args) {
    auto signature = signature_of(f, name);
    if (!signature.ok()) return fail(ErrorKind::Unsupported, signature.error().text);
    std::vector<std::int64_t> variables;
    RLDB_TRY_VOID(runtime::bind_arguments(*signature, args, variables));
    TirMachine machine(f, env_.registry);
    if (env_.poisoned_memory) machine.set_poisoned_memory();
    machine.share(compiled_);
    RLDB_TRY_VOID(machine.start(args));
    RunLimits limits{.interrupt = env_.interrupt};
    if (env_.max_statements != 0) limits.until = env_.max_statements - std::min(statements_, env_.max_statements);
    auto ran = machine.run(limits);
    statements_ += machine.steps();
    if (!ran.ok()) {
      runtime::Error error = std::move(ran).error();
      error.notes.push_back(fmt::format("in kernel `{}`", name));
      return support::Failure(std::move(error));
    }
    if (*ran == TirMachine::Ran::AtLimit)
      return fail(ErrorKind::TooLong, fmt::format("it takes more than {} statements", env_.max_statements));
    if (*ran == TirMachine::Ran::Interrupted)
      return fail(ErrorKind::Interrupted, fmt::format("interrupted in kernel `{}`", name));
    return signature->result.is_void() ? Value::null() : machine.result();
  }

  Result<Value> call_packed(std::string_view name, PackedArgs args) {
    // As on the machine: functions and kernels of the program come before what others registered.
    const ir::Expr* own = env_.module ? env_.module->find(name) : nullptr;
    if (const auto* f = as<ir::Function>(own)) return call(f, name, args, nullptr);
    const auto* kernel = as<ir::PrimFunc>(own);
    if (kernel && !kernel->is_private()) return call_prim_func(kernel, name, args);
    return watched(name, nullptr, args, [&] { return find_and_call_packed(name, args); });
  }

  Result<Value> find_and_call_packed(std::string_view name, PackedArgs args) {
    for (const Value& v : args) RLDB_TRY_VOID(runtime::own_all(v));
    if (auto own = call_runtime_function(name, args, env_.output)) return std::move(*own);
    if (const auto id = bytecode::find_builtin(name)) {
      if (auto own = call_on_devices(*id, args)) return poisoned(std::move(*own), makes_memory(*id));
      if (auto own = call_lowered(*id, args)) return poisoned(std::move(*own), makes_memory(*id));
      if (auto own = call_back(name, args)) return std::move(*own);
    }
    // They call functions of the program, which are not native here.
    if (name == runtime_function::CudaGraphRun && args.size() >= 2 && args[1].is(ValueKind::Tuple))
      return call_value(args[0], args[1].as_tuple().fields);
    if (name == runtime_function::CudaGraphAlloc && !args.empty()) return call_value(args[0], {});
    const runtime::PackedInfo* f = env_.registry ? env_.registry->find(name) : nullptr;
    if (!f) return unknown_packed(name);
    RLDB_TRY_VOID(runtime::check_devices(*f, args));
    std::vector<Value> callable;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!args[i].is(ValueKind::Function) || args[i].as_function().native) continue;
      if (callable.empty()) callable.assign(args.begin(), args.end());
      callable[i] = native_twin(args[i]);
    }
    return f->function->native(callable.empty() ? args : PackedArgs(callable));
  }

  // A function of the program for C++ code to call. It may be kept for longer than this run, and then refuses.
  Value native_twin(const Value& function) {
    auto run = [self = std::weak_ptr<RelaxEval*>(self_), function](PackedArgs args) -> Result<Value> {
      const auto alive = self.lock();
      if (!alive)
        return fail(ErrorKind::Unsupported, fmt::format("the run of `{}` has ended", function.as_function().name));
      return (*alive)->call_value(function, {args.begin(), args.end()});
    };
    return Value(support::make_ref<runtime::Function>(function.as_function().name, std::move(run)));
  }

  // Builtins of lowered programs whose meaning depends on the devices.
  std::optional<Result<Value>> call_on_devices(bytecode::BuiltinId id, PackedArgs args) {
    if (env_.devices.empty()) return std::nullopt;
    const auto integer = [&](std::size_t i) { return i < args.size() && args[i].is(ValueKind::Int); };
    if (id == bytecode::BuiltinId::ToDevice && integer(1) && integer(2))
      return runtime::on_device(args[0], {std::int32_t(args[1].as_int()), std::int32_t(args[2].as_int())});
    if (id != bytecode::BuiltinId::AllocStorage || !integer(1) || args.size() < 3 || !args[0].is(ValueKind::Shape) ||
        !args[2].is(ValueKind::DType))
      return std::nullopt;
    auto made = runtime::Storage::of_shape(args[0].as_shape(), args[2].as_dtype(),
                                           runtime::device_at(env_.devices, args[1].as_int()));
    if (!made.ok()) return support::Failure(std::move(made).error());
    return Result<Value>(Value(*std::move(made)));
  }

  static Result<Value> unknown_packed(std::string_view name) {
    return fail(ErrorKind::UnknownFunction, fmt::format("no packed function `{}` is registered", name));
  }

  // Builtins of lowered programs that call or make functions; without the machine argument that they have there.
  std::optional<Result<Value>> call_back(std::string_view name, PackedArgs args) {
    if (name == builtin::InvokeClosure && !args.empty()) return call_value(args[0], {args.begin() + 1, args.end()});
    if (name == builtin::MakeClosure && !args.empty() && args[0].is(ValueKind::Function))
      return closure_over(args[0].as_function(), args.subspan(1));
    if (name == builtin::CallTirDyn && args.size() >= 2 && args.back().is(ValueKind::Shape)) {
      std::vector<Value> all(args.begin() + 1, args.end() - 1);
      for (const std::int64_t d : args.back().as_shape()) all.push_back(Value::of_int(d));
      return call_value(args[0], std::move(all));
    }
    return std::nullopt;
  }

  static Result<Value> closure_over(const runtime::Function& callee, PackedArgs captured) {
    runtime::Ref<runtime::Function> f(new runtime::Function(callee));
    f->captured.insert(f->captured.end(), captured.begin(), captured.end());
    return Value(std::move(f));
  }

  Result<Value> call_value(const Value& callee, std::vector<Value> args) {
    if (!callee.is(ValueKind::Function))
      return fail(ErrorKind::TypeMismatch, runtime::describe(callee) + " is not callable");
    runtime::Function& f = callee.as_function();
    for (const Value& captured : f.captured) args.push_back(captured);
    if (const auto* closure = dynamic_cast<const Closure*>(&f)) {
      if (!closure->self) return call(closure->f, f.name, args, closure->scope.get());
      const Scope around = scope_around(callee, *closure);
      return call(closure->f, f.name, args, &around);
    }
    if (f.native) return f.native(args);
    return call_global(f.name, args);
  }

  static Scope scope_around(const Value& callee, const Closure& closure) {
    Scope around = *closure.scope;
    if (closure.self) around.values[closure.self] = callee;
    return around;
  }

  // ---- calls in tail position ----

  static bool is_result(const ir::SeqExpr* seq, const ir::Binding* b) {
    return seq->body == b->var && !b->is_match_cast() && b == seq->blocks.back()->bindings.back();
  }

  // The value of `tail_of`, if it is a call of a function with the same type of its result: `call` goes on with it when
  // the frame of `tail_of` is gone.
  Result<Value> eval_result(const ir::Expr* e, Scope& scope, const ir::Function* tail_of) {
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

  // ---- bodies ----

  // `tail_of`: the function whose result it is, if calls in tail position take its place.
  Result<Value> sequence(const ir::SeqExpr* seq, Scope& scope, const ir::Function* tail_of = nullptr) {
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
            auto matched =
                match(b->cast_type, *value, scope, fmt::format("match_cast of `{}`", b->var->name), compound);
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

  static runtime::Error at_binding(runtime::Error error, const ir::Binding* b) {
    // The innermost binding is the one to report.
    if (error.notes.empty() || error.notes.back().find("while computing") == std::string::npos)
      error.notes.push_back(fmt::format("while computing `{}`", b->var->name));
    return error;
  }

  static Value closure_of(const ir::Function* f, const ir::Var* self, const Scope& scope) {
    return Value(runtime::Ref<runtime::Function>(new Closure(f, self, std::make_shared<const Scope>(scope))));
  }

  Result<Value> eval(const ir::Expr* e, Scope& scope) {
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

  Result<Value> constant(const ir::Constant* c) {
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

  Result<Value> variable(const ir::Var* v, const Scope& scope) {
    if (const auto it = scope.values.find(v); it != scope.values.end()) return it->second;
    if (const auto it = scope.symbols.find(v); it != scope.symbols.end()) return Value::of_int(it->second.value);
    return fail(ErrorKind::Raised, fmt::format("`{}` has no value here", v->name));
  }

  Result<Value> extern_value(const ir::ExternFunc* x) {
    const runtime::PackedInfo* f = env_.registry ? env_.registry->find(x->symbol) : nullptr;
    if (f) return Value(f->function);
    return fail(ErrorKind::UnknownFunction, fmt::format("no packed function `{}` is registered", x->symbol));
  }

  Result<Value> conditional(const ir::If* e, Scope& scope, const ir::Function* tail_of = nullptr) {
    RLDB_TRY(const Value c, eval(e->cond, scope));
    RLDB_TRY(const bool taken, condition_of(c));
    Scope inner = scope;  // bindings in a branch are not visible outside; variables it kills are dead
    Result<Value> result = sequence(taken ? e->then_branch : e->else_branch, inner, tail_of);
    for (auto& [var, value] : scope.values)
      if (inner.values[var].is_null()) value = Value::null();
    return result;
  }

  ScalarEnv scalar_env(const Scope& scope) const {
    ScalarEnv env;
    env.var = [&scope](const ir::Var* v) -> std::optional<Value> {
      if (const auto it = scope.symbols.find(v); it != scope.symbols.end()) return Value::of_int(it->second.value);
      if (const auto it = scope.values.find(v); it != scope.values.end()) return it->second;
      return std::nullopt;
    };
    return env;
  }
  Result<Value> scalar(const ir::Expr* e, const Scope& scope) { return eval_scalar(e, scalar_env(scope)); }

  Result<std::vector<std::int64_t>> integers(ir::Span<const ir::Expr*> exprs, const Scope& scope) {
    std::vector<std::int64_t> out;
    for (const ir::Expr* e : exprs) {
      RLDB_TRY(const Value v, scalar(e, scope));
      out.push_back(v.as_int());
    }
    return out;
  }

  Result<std::vector<Value>> values(ir::Span<const ir::Expr*> exprs, Scope& scope) {
    std::vector<Value> out;
    for (const ir::Expr* e : exprs) {
      RLDB_TRY(Value v, eval(e, scope));
      out.push_back(std::move(v));
    }
    return out;
  }

  // ---- calls ----

  Result<Value> call_expr(const ir::Call* c, Scope& scope) {
    if (const auto* op = as<ir::Op>(c->callee)) {
      if (ir::is_tir_op(op)) return scalar(c, scope);
      return call_op(op->name, c, scope);
    }
    RLDB_TRY(std::vector<Value> args, values(c->args, scope));
    if (const auto* g = as<ir::GlobalVar>(c->callee)) return call_global(g->name, args);
    if (const auto* x = as<ir::ExternFunc>(c->callee)) return call_packed(x->symbol, args);
    RLDB_TRY(const Value callee, eval(c->callee, scope));
    return call_value(callee, std::move(args));
  }

  // The inputs of call_tir and friends: an in-line tuple, or one argument.
  Result<std::vector<Value>> inputs_of(const ir::Expr* e, Scope& scope) {
    if (const auto* t = as<ir::Tuple>(e)) return values(t->items, scope);
    RLDB_TRY(Value v, eval(e, scope));
    if (v.is(ValueKind::Tuple)) return v.as_tuple().fields;
    return std::vector<Value>{std::move(v)};
  }

  // A new storage, or a tensor with memory of its own: nothing is written there yet.
  Result<Value> poisoned(Result<Value> made, bool is_new = true) const {
    if (!env_.poisoned_memory || !is_new || !made.ok()) return made;
    const auto fill = [](auto* data, std::size_t bytes) {
      if (bytes > 0) std::memset(data, runtime::kFreshByte, bytes);
    };
    if (made->is(ValueKind::Storage)) fill(made->storage_ref()->data(), made->storage_ref()->size());
    if (made->is(ValueKind::Tensor)) fill(made->as_tensor().data(), made->as_tensor().byte_size());
    return made;
  }

  Result<Value> allocate(const ir::Type* type, Scope& scope) {
    RLDB_TRY(Value made, poisoned(allocate_tensor(type, scope)));
    if (env_.watcher) env_.watcher->allocated(made);
    return made;
  }

  // A device that a text names counts the module's devices of its kind.
  std::optional<runtime::Device> nth_of_kind(std::string_view kind, int n) const {
    for (std::size_t i = 0; i < env_.module->vdevices.size() && i < env_.devices.size(); ++i)
      if (env_.module->vdevices[i]->target_kind == kind && n-- == 0) return env_.devices[i];
    return std::nullopt;
  }

  // As in compiled programs: what names no device is on the first one.
  runtime::Device device_of(const ir::VDevice* d) const {
    if (env_.devices.empty() || !d) return runtime::device_at(env_.devices, 0);
    if (d->global_index >= 0 && std::size_t(d->global_index) < env_.devices.size())
      return runtime::device_at(env_.devices, d->global_index);
    if (d->target_kind == ir::kAnyTarget) return runtime::device_at(env_.devices, d->device_id);
    if (const auto listed = nth_of_kind(d->target_kind, d->device_id)) return *listed;
    return {runtime::device_type_of(d->target_kind), d->device_id};
  }

  // Where `to_vdevice` and `hint_on_device` put their operand. A text counts the module's devices of a kind.
  runtime::Device target_device(const ir::Call* c) const {
    const ir::Attr* where = ir::find_attr(c->attrs, op_attr::DstVdevice);
    if (where && where->is(ir::AttrKind::Opaque)) {
      const auto number = [&](std::string_view name, std::size_t position) {
        const ir::Attr* a = ir::find_attr(where->fields, name);
        if (!a && position < where->items.size()) a = where->items[position];
        return a ? std::int32_t(a->integer) : 0;
      };
      return {number("device_type", 0), number("index", 1)};
    }
    if (where && where->is(ir::AttrKind::String)) {
      const std::string_view text = where->string;
      const std::string_view kind = text.substr(0, text.find(':'));
      const auto named = runtime::parse_device(text.substr(0, text.find(':', std::min(kind.size() + 1, text.size()))));
      std::int32_t nth = named ? named->id : 0;
      for (const ir::VDevice* d : env_.module->vdevices)
        if (d->target_kind == kind && nth-- == 0) return device_of(d);
      if (named) return *named;
    }
    const auto* t = as<ir::TensorType>(c->type);
    return device_of(t ? t->vdevice : nullptr);
  }

  Result<Value> allocate_tensor(const ir::Type* type, Scope& scope) {
    if (const auto* t = as<ir::TensorType>(type); t && t->has_shape) {
      RLDB_TRY(std::vector<std::int64_t> shape, integers(t->shape, scope));
      RLDB_TRY(runtime::Ref<runtime::Tensor> made,
               runtime::Tensor::empty(std::move(shape), t->dtype, device_of(t->vdevice)));
      return Value(std::move(made));
    }
    if (const auto* t = as<ir::TensorType>(type); t && t->shape_var) {
      RLDB_TRY(const Value shape, eval(t->shape_var, scope));
      RLDB_TRY(runtime::Ref<runtime::Tensor> made,
               runtime::Tensor::empty(shape.as_shape(), t->dtype, device_of(t->vdevice)));
      return Value(std::move(made));
    }
    return fail(ErrorKind::Unsupported, fmt::format("the output {} has no shape to allocate", ir::print_type(type)));
  }

  // Allocates every output of the call's type, runs, and returns the outputs.
  template <class Run>
  Result<Value> destination_passing(const ir::Call* c, std::vector<Value> args, Scope& scope, Run run) {
    RLDB_TRY(Value output, allocate_output(c->ty_args.empty() ? c->type : c->ty_args[0], args, scope));
    RLDB_TRY_VOID(run(args));
    return output;
  }

  // The leaves of a tuple are arguments of their own, in order.
  Result<Value> allocate_output(const ir::Type* type, std::vector<Value>& args, Scope& scope) {
    const auto* tuple = as<ir::TupleType>(type);
    if (!tuple) {
      RLDB_TRY(Value made, allocate(type, scope));
      args.push_back(made);
      return made;
    }
    std::vector<Value> fields;
    for (const ir::Type* t : tuple->fields) {
      RLDB_TRY(Value field, allocate_output(t, args, scope));
      fields.push_back(std::move(field));
    }
    return Value::of_tuple(std::move(fields));
  }

  Result<Value> call_tir(const ir::Call* c, Scope& scope) {
    RLDB_TRY(std::vector<Value> args, inputs_of(c->args[1], scope));
    if (c->args.size() > 2) {  // OLD: trailing scalars as a shape
      RLDB_TRY(const Value scalars, eval(c->args[2], scope));
      if (scalars.is(ValueKind::Shape)) {
        // They come after the outputs in the PrimFunc.
        const std::vector<std::int64_t> dims = scalars.as_shape();
        return destination_passing(c, std::move(args), scope, [&](std::vector<Value>& all) {
          for (const std::int64_t d : dims) all.push_back(Value::of_int(d));
          return run_callee(c->args[0], all);
        });
      }
    }
    return destination_passing(c, std::move(args), scope,
                               [&](std::vector<Value>& all) { return run_callee(c->args[0], all); });
  }

  Result<Value> run_callee(const ir::Expr* callee, std::vector<Value>& args) {
    if (const auto* g = as<ir::GlobalVar>(callee)) return call_global(g->name, args);
    if (const auto* x = as<ir::ExternFunc>(callee)) return call_packed(x->symbol, args);
    return fail(ErrorKind::Unsupported, fmt::format("cannot call `{}`", ir::print_expr(callee)));
  }

  Result<Value> call_tir_inplace(const ir::Call* c, Scope& scope) {
    RLDB_TRY(std::vector<Value> args, inputs_of(c->args[1], scope));
    const ir::Attr* indices = ir::find_attr(c->attrs, op_attr::InplaceIndices);
    const ir::Type* out = c->ty_args.empty() ? c->type : c->ty_args[0];
    std::vector<const ir::Type*> types{out};
    const auto* tuple = as<ir::TupleType>(out);
    if (tuple) types.assign(tuple->fields.begin(), tuple->fields.end());
    std::vector<Value> outputs;
    std::vector<Value> all = args;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::int64_t index = indices && i < indices->items.size() ? indices->items[i]->integer : -1;
      if (index >= 0 && std::size_t(index) < args.size()) {
        RLDB_TRY_VOID(runtime::own_all(args[std::size_t(index)]));
        outputs.push_back(args[std::size_t(index)]);
        continue;
      }
      RLDB_TRY(Value fresh, allocate(types[i], scope));
      outputs.push_back(fresh);
      all.push_back(std::move(fresh));
    }
    RLDB_TRY_VOID(run_callee(c->args[0], all));
    return tuple ? Value::of_tuple(std::move(outputs)) : outputs[0];
  }

  Result<Value> call_op(std::string_view name, const ir::Call* c, Scope& scope) {
    const op::Row* row = op::find(name);
    if (!row || !has_meaning(*row)) return call_unknown(name, c, scope);
    if (name == op::CallTirInplace) return call_tir_inplace(c, scope);
    if (row->has(op::Trait::CallTir)) return call_tir(c, scope);
    if (row->has(op::Trait::CallsClosure)) return call_closure(c, scope);
    if (name == op::MakeClosure) return make_closure(c, scope);
    const bool with_machine = name == op::CallBuiltinWithCtx;
    if (with_machine || row->has(op::Trait::CallsPacked)) return call_packed_op(c, with_machine, scope);
    if (row->has(op::Trait::Kills)) return kill(c, scope);
    if (name == op::VmCallTirDyn) return call_tir_dyn(c, scope);
    RLDB_TRY(std::vector<Value> args, values(c->args, scope));
    if ((name == op::ToVdevice || name == op::HintOnDevice) && !env_.devices.empty() && !args.empty())
      return watched(name, nullptr, args, [&] { return runtime::on_device(args[0], target_device(c)); });
    const bool is_new = row->has(op::Trait::Allocates) && (args.empty() || !args[0].is(ValueKind::Storage));
    return watched(name, nullptr, args, [&] {
      return poisoned(find_relax_op(row->id)({name, args, env_.output, env_.devices}), is_new);
    });
  }

  // An operator that was not legalised because of open types gets its code now, if there is a maker.
  Result<Value> call_unknown(std::string_view name, const ir::Call* c, Scope& scope) {
    const runtime::PackedInfo* f = env_.registry ? env_.registry->find(builtin::CallOperator) : nullptr;
    const auto run = [&](const std::vector<Value>& args) {
      std::vector<Value> all = args;
      all.insert(all.begin(), Value::of_string(ir::operator_text(*env_.context, c)));
      return f->function->native(all);
    };
    const bool open = ir::has_open_type(c);
    runtime::Error error{ErrorKind::Unsupported, fmt::format("the evaluator has no meaning for `{}`", name), {}};
    if (!f || !env_.context) return support::Failure(std::move(error));
    RLDB_TRY(std::vector<Value> args, values(c->args, scope));
    if (open) return watched(name, nullptr, args, [&] { return run(args); });
    // Its types are known, and it was not legalised: the maker knows why.
    if (auto made = run(args); !made.ok()) {
      runtime::Error why = std::move(made).error();
      error.notes = why.notes.empty() ? std::vector{std::move(why.message)} : std::move(why.notes);
    }
    return support::Failure(std::move(error));
  }

  // The last argument is a shape whose dims are trailing scalars of the kernel.
  Result<Value> call_tir_dyn(const ir::Call* c, Scope& scope) {
    RLDB_TRY(std::vector<Value> args, inputs_of(c->args[1], scope));
    if (!args.empty() && args.back().is(ValueKind::Shape)) {
      const Value dims = std::move(args.back());
      args.pop_back();
      for (const std::int64_t d : dims.as_shape()) args.push_back(Value::of_int(d));
    }
    return run_callee(c->args[0], args);
  }

  Result<Value> call_closure(const ir::Call* c, Scope& scope) {
    RLDB_TRY(const Value callee, eval(c->args[0], scope));
    RLDB_TRY(std::vector<Value> args, inputs_of(c->args[1], scope));
    return call_value(callee, std::move(args));
  }

  Result<Value> make_closure(const ir::Call* c, Scope& scope) {
    RLDB_TRY(const Value callee, eval(c->args[0], scope));
    RLDB_TRY(std::vector<Value> captured, inputs_of(c->args[1], scope));
    return closure_over(callee.as_function(), captured);
  }

  Result<Value> call_packed_op(const ir::Call* c, bool with_machine, Scope& scope) {
    // call_builtin_with_ctx has its arguments in a tuple; the machine precedes them there.
    const auto* tuple = with_machine && c->args.size() == 2 ? as<ir::Tuple>(c->args[1]) : nullptr;
    RLDB_TRY(std::vector<Value> args, values(tuple ? tuple->items : c->args.subspan(1), scope));
    if (const auto* x = as<ir::ExternFunc>(c->args[0])) return call_packed(x->symbol, args);
    RLDB_TRY(const Value callee, eval(c->args[0], scope));
    return call_value(callee, std::move(args));
  }

  // The variable holds null from here on; aliases of the object keep it.
  static Result<Value> kill(const ir::Call* c, Scope& scope) {
    const auto* v = c->args.size() == 1 ? as<ir::Var>(c->args[0]) : nullptr;
    if (!v) return fail(ErrorKind::Unsupported, fmt::format("only a variable can be killed: `{}`", ir::print_expr(c)));
    scope.values[v] = Value::null();
    return Value::null();
  }

  // ---- types against values ----

  // Checks `value` against a type and binds symbolic variables that occur alone; with `compound` the other dims too.
  Result<Unit> match(const ir::Type* type, const Value& value, Scope& scope, const std::string& who, bool compound) {
    if (const auto* t = as<ir::TensorType>(type)) return match_tensor(t, value, scope, who, compound);
    if (const auto* t = as<ir::ShapeType>(type)) {
      if (!value.is(ValueKind::Shape)) return wrong(who, type, value);
      if (t->ndim != ir::kUnknownNdim && std::size_t(t->ndim) != value.as_shape().size())
        return wrong(who, type, value);
      return t->has_values ? match_dims(t->values, value.as_shape(), scope, who, compound) : Result<Unit>(Unit{});
    }
    if (const auto* t = as<ir::TupleType>(type)) {
      if (t->fields.empty()) return Unit{};
      if (!value.is(ValueKind::Tuple) || value.as_tuple().fields.size() != t->fields.size())
        return wrong(who, type, value);
      for (std::size_t i = 0; i < t->fields.size(); ++i)
        RLDB_TRY_VOID(
            match(t->fields[i], value.as_tuple().fields[i], scope, fmt::format("{}, field {}", who, i), compound));
      return Unit{};
    }
    if (as<ir::PrimType>(type) && !value.is(ValueKind::Int) && !value.is(ValueKind::Bool) &&
        !value.is(ValueKind::Float))
      return wrong(who, type, value);
    if (as<ir::FuncType>(type) && !value.is(ValueKind::Function)) return wrong(who, type, value);
    return Unit{};
  }

  Result<Unit> match_tensor(const ir::TensorType* t, const Value& value, Scope& scope, const std::string& who,
                            bool compound) {
    if (!value.is(ValueKind::Tensor)) return wrong(who, t, value);
    const runtime::Tensor& tensor = value.as_tensor();
    if (!t->dtype.is_void() && t->dtype != tensor.dtype()) return wrong(who, t, value);
    if (t->ndim != ir::kUnknownNdim && t->ndim != tensor.ndim()) return wrong(who, t, value);
    return t->has_shape ? match_dims(t->shape, tensor.shape(), scope, who, compound) : Result<Unit>(Unit{});
  }

  // A match_cast to R.Tensor(s): as the VM checks it, where a type tells how many dims there are.
  Result<Unit> match_shape_var(const ir::Binding* b, const Value& value, Scope& scope) {
    const auto* t = as<ir::TensorType>(b->cast_type);
    if (!t || !t->shape_var) return Unit{};
    const auto* known = as<ir::TensorType>(b->value->type);
    const auto* s = as<ir::ShapeType>(t->shape_var->type);
    const bool ranked =
        t->ndim != ir::kUnknownNdim || (s && s->ndim != ir::kUnknownNdim) || (known && known->ndim != ir::kUnknownNdim);
    if (!ranked) return Unit{};
    RLDB_TRY(const Value shape, eval(t->shape_var, scope));
    if (!shape.is(ValueKind::Shape) || shape.as_shape() == value.as_tensor().shape()) return Unit{};
    return fail(ErrorKind::ShapeMismatch,
                fmt::format("match_cast of `{}`: `{}` is {} but the value is {}", b->var->name,
                            ir::print_expr(t->shape_var), runtime::describe(shape), runtime::describe(value)));
  }

  Result<Unit> match_dims(ir::Span<const ir::Expr*> dims, const std::vector<std::int64_t>& got, Scope& scope,
                          const std::string& who, bool compound) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const auto* v = as<ir::Var>(dims[i]);
      if (v && !scope.symbols.contains(v) && !scope.values.contains(v)) {
        scope.symbols[v] = {got[i], fmt::format("{}, dimension {}", who, i)};
        continue;
      }
      if (!v && !compound && !as<ir::IntImm>(dims[i])) continue;
      RLDB_TRY(const Value known, scalar(dims[i], scope));
      if (known.as_int() == got[i]) continue;
      runtime::Error error{ErrorKind::ShapeMismatch, {}, {}};
      error.message = fmt::format("{}, dimension {}: `{}` is {} but the value has {}", who, i, ir::print_expr(dims[i]),
                                  known.as_int(), got[i]);
      std::vector<const ir::Var*> vars;
      ir::collect_vars(dims[i], vars);
      for (const ir::Var* used : vars)
        if (const auto it = scope.symbols.find(used); it != scope.symbols.end())
          error.notes.push_back(
              fmt::format("`{}` = {}, bound by {}", used->name, it->second.value, it->second.bound_by));
      return support::Failure(std::move(error));
    }
    return Unit{};
  }

  static Result<Unit> wrong(const std::string& who, const ir::Type* type, const Value& value) {
    return fail(ErrorKind::TypeMismatch,
                fmt::format("{}: expected {}, but got {}", who, ir::print_type(type), runtime::describe(value)));
  }

  const EvalEnv& env_;
  std::shared_ptr<RelaxEval*> self_ = std::make_shared<RelaxEval*>(this);
  std::unordered_map<const ir::Constant*, Value> placed_constants_;
  std::size_t depth_ = 0;
  std::optional<TailCall> tail_call_;
  std::uint64_t statements_ = 0;  // of kernels executed so far
  std::shared_ptr<CompiledStatements> compiled_ = std::make_shared<CompiledStatements>();
};

}  // namespace

Result<Value> call_function(const EvalEnv& env, std::string_view name, PackedArgs args) {
  std::optional<Result<Value>> result;
  support::run_on_large_stack(kStackBytes, [&] { result = RelaxEval(env).call_global(name, args); });
  return std::move(*result);
}

std::vector<std::string> unsupported(const ir::Module* module, std::string_view function) {
  std::vector<std::string> names;
  const auto* f = module ? as<ir::Function>(module->find(function)) : nullptr;
  if (!f) return names;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* c = as<ir::Call>(n);
    const auto* op = c ? as<ir::Op>(c->callee) : nullptr;
    if (op && op::is_relax(op->name) && !has_meaning(op->name) &&
        std::find(names.begin(), names.end(), op->name) == names.end())
      names.emplace_back(op->name);
    return true;
  });
  return names;
}

}  // namespace rldb::eval
