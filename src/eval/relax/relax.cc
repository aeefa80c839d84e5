// Relax by the book: environments of values, C++ frames per Relax call (on a stack of its own), symbolic variables
// bound by matching types against values. Operators beyond the calls of RFC 0089 section 4.1 have to be legalised
// before.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "eval/relax/lowered.h"
#include "eval/relax/relax_eval.h"
#include "eval/relax/relax_op.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/ir/bound_attrs.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/copy.h"
#include "rldb/runtime/fresh_memory.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/support/large_stack.h"
#include "rldb/support/text.h"

namespace rldb::eval {

namespace {

// Reserved, and touched only as far as it is used: some 5 KB per Relax call, more under sanitizers.
constexpr std::size_t kStackBytes = std::size_t(1) << 30;
// For callees that do not recurse: expressions, kernels, packed functions.
constexpr std::size_t kStackReserve = 4 << 20;

}  // namespace

bool has_meaning(const op::Row& row) {
  constexpr op::Trait kCore = op::Trait::CallTir | op::Trait::TakesTuple | op::Trait::CallsPacked | op::Trait::Kills;
  return row.has(kCore) || find_relax_op(row.id) != nullptr;
}
bool has_meaning(std::string_view name) {
  const op::Row* row = op::find(name);
  return row && has_meaning(*row);
}

Result<Value> RelaxEval::call_global(std::string_view name, PackedArgs args) {
  const ir::Expr* found = env_.module ? env_.module->find(name) : nullptr;
  if (depth_ == 0) RLDB_TRY_VOID(check_bounds());
  if (const auto* f = as<ir::Function>(found)) return call(f, name, args, nullptr);
  if (const auto* f = as<ir::PrimFunc>(found)) return call_prim_func(f, name, args);
  if (const auto* f = as<ir::ExternFunc>(found)) return call_packed(f->symbol, args);
  return fail(ErrorKind::UnknownFunction, fmt::format("there is no function `{}`", name));
}

Result<Unit> RelaxEval::check_bounds() {
  if (!env_.module) return Unit{};
  for (const ir::ModuleEntry& e : env_.module->entries) {
    const auto* f = as<ir::Function>(e.function);
    if (const auto why = f ? ir::invalid_bound(f) : std::nullopt)
      return fail(ErrorKind::Unsupported, fmt::format("`{}`: {}", e.name, *why));
  }
  return Unit{};
}

Result<Value> RelaxEval::call(const ir::Function* f, std::string_view name, PackedArgs args, const Scope* outer) {
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

Result<Value> RelaxEval::overflow(std::size_t calls, std::string_view name) {
  return fail(ErrorKind::StackOverflow, fmt::format("stack overflow: {} calls deep at the call of `{}`", calls, name));
}

Result<Value> RelaxEval::call_once(const ir::Function* f, std::string_view name, PackedArgs args, const Scope* outer) {
  if (depth_ >= env_.max_depth || support::stack_left() < kStackReserve) return overflow(depth_, name);
  if (args.size() != f->params.size()) return wrong_count(f, name, args.size());
  if (env_.interrupt && *env_.interrupt) return fail(ErrorKind::Interrupted, fmt::format("interrupted in `{}`", name));
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

bool RelaxEval::holds_null(const Value& v) {
  if (!v.is(ValueKind::Tuple)) return v.is_null();
  const std::vector<Value>& fields = v.as_tuple().fields;
  return std::any_of(fields.begin(), fields.end(), holds_null);
}

Result<Value> RelaxEval::wrong_count(const ir::Function* f, std::string_view name, std::size_t given) {
  std::string names;
  for (const ir::Var* p : f->params) names += (names.empty() ? "" : ", ") + std::string(p->name);
  return fail(ErrorKind::ArgumentCount, fmt::format("`{}` takes {} ({}), {} given", name,
                                                    support::counted(f->params.size(), "argument"), names, given));
}

Result<support::Unit> RelaxEval::own_written(const ir::PrimFunc* f, PackedArgs args) {
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

Result<Value> RelaxEval::call_prim_func(const ir::PrimFunc* f, std::string_view name, PackedArgs args) {
  RLDB_TRY_VOID(own_written(f, args));
  return watched(name, f, args, [&] {
    if (env_.run_kernel)
      if (auto done = env_.run_kernel(f, name, args)) return std::move(*done);
    return eval_prim_func(f, name, args);
  });
}

Result<Value> RelaxEval::eval_prim_func(const ir::PrimFunc* f, std::string_view name, PackedArgs args) {
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

Result<Value> RelaxEval::call_packed(std::string_view name, PackedArgs args) {
  // As on the machine: functions and kernels of the program come before what others registered.
  const ir::Expr* own = env_.module ? env_.module->find(name) : nullptr;
  if (const auto* f = as<ir::Function>(own)) return call(f, name, args, nullptr);
  const auto* kernel = as<ir::PrimFunc>(own);
  if (kernel && !kernel->is_private()) return call_prim_func(kernel, name, args);
  return watched(name, nullptr, args, [&] { return find_and_call_packed(name, args); });
}

Result<Value> RelaxEval::find_and_call_packed(std::string_view name, PackedArgs args) {
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

Value RelaxEval::native_twin(const Value& function) {
  auto run = [self = std::weak_ptr<RelaxEval*>(self_), function](PackedArgs args) -> Result<Value> {
    const auto alive = self.lock();
    if (!alive)
      return fail(ErrorKind::Unsupported, fmt::format("the run of `{}` has ended", function.as_function().name));
    return (*alive)->call_value(function, {args.begin(), args.end()});
  };
  return Value(support::make_ref<runtime::Function>(function.as_function().name, std::move(run)));
}

std::optional<Result<Value>> RelaxEval::call_on_devices(bytecode::BuiltinId id, PackedArgs args) {
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

Result<Value> RelaxEval::unknown_packed(std::string_view name) {
  return fail(ErrorKind::UnknownFunction, fmt::format("no packed function `{}` is registered", name));
}

std::optional<Result<Value>> RelaxEval::call_back(std::string_view name, PackedArgs args) {
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

Result<Value> RelaxEval::closure_over(const runtime::Function& callee, PackedArgs captured) {
  runtime::Ref<runtime::Function> f(new runtime::Function(callee));
  f->captured.insert(f->captured.end(), captured.begin(), captured.end());
  return Value(std::move(f));
}

Result<Value> RelaxEval::call_value(const Value& callee, std::vector<Value> args) {
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

Scope RelaxEval::scope_around(const Value& callee, const Closure& closure) {
  Scope around = *closure.scope;
  if (closure.self) around.values[closure.self] = callee;
  return around;
}

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
