// Runs a build on the selected engine, and reports how it ended.
#include <fmt/format.h>

#include <chrono>

#include "rldb/eval/eval.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_id.h"
#include "rldb/passes/system_lib_prefix.h"
#include "rldb/runtime/device_error.h"
#include "rldb/session/observed.h"
#include "rldb/source/diagnostic_run.h"
#include "session/engines.h"
#include "session/linked_calls.h"

namespace rldb::session {

using runtime::Value;

namespace {

std::uint64_t now_ns() {
  return std::uint64_t(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

// The error of a run as a diagnostic, at the binding that was executing.
void report(const vm::Fault& fault, const bytecode::Executable* exe, Diagnostics& out) {
  source::Message m = source::message(diag::RunFailed, fault.error.message);
  source::Span span;
  if (exe) {
    if (const auto* debug = exe->debug.instruction(fault.pc)) {
      span = debug->span;
      if (debug->variable == "_")
        m.notes.push_back(
            {{}, "in function `" + fault.function_name + "`, instruction " + fmt::format("{}", fault.pc)});
      else if (!debug->variable.empty())
        m.notes.push_back({{}, "while computing `" + debug->variable + "` in function `" + fault.function_name + "`"});
    }
    if (!span && fault.function >= 0)
      if (const auto* debug = exe->debug.function(fault.function)) span = debug->span;
  }
  for (const std::string& note : fault.error.notes) m.notes.push_back({{}, note});
  out.add(span, std::move(m));
}

}  // namespace

RunResult Session::run(std::string_view function, std::span<const Value> args, Diagnostics& out) {
  if (options_.engine == Engine::Eval && (!program_ || module())) {
    const ir::Module* module = evaluable(out);
    return module ? run_evaluator(module, function, args, out) : RunResult{};
  }
  auto built = runnable(out);
  if (!built) return {};
  return run_build(*built, function, args, out);
}

const ir::Module* Session::evaluable(Diagnostics& out) {
  Engines& e = *engines_;
  if (e.evaluable && e.evaluated == module()) return e.evaluable;
  if (!module()) {
    out.add({}, no_module("running on the evaluator"));
    return nullptr;
  }
  const ir::Module* legal = with_kernels(module(), out);
  if (!legal) return nullptr;
  e.evaluated = module();
  return e.evaluable = legal;
}

const ir::Module* Session::with_kernels(const ir::Module* module, Diagnostics& out) {
  module = engines_->with_external_kernels(*ctx_, sources_, module, out);
  if (!module) return nullptr;
  passes::PassEnv env{*ctx_, out};
  const ir::Module* placed = with_hints_realized(*ctx_, module, options_.verify_each, out);
  if (!placed) return nullptr;
  auto legal =
      passes::run_pipeline(env, placed, passes::pipeline_of(passes::PassId::LegalizeOps), {options_.verify_each, {}});
  // Problems of its external modules are found here: an evaluation takes the modules from the engines.
  if (legal.ok()) {
    const ir::Module* linked = with_linked_calls(*ctx_, *legal, registry_);
    engines_->check_dims(*ctx_, placed, linked);
    return engines_->functions_of(linked, registry_, out) ? linked : nullptr;
  }
  out.add({}, std::move(legal).error());
  return nullptr;
}

const ir::Module* with_hints_realized(ir::Context& ctx, const ir::Module* module, bool verify_each, Diagnostics& out) {
  if (!has_device_hints(*module)) return module;
  passes::PassEnv env{ctx, out};
  auto placed =
      passes::run_pipeline(env, module, passes::pipeline_of(passes::PassId::RealizeVDevice), {verify_each, {}});
  if (placed.ok()) return *placed;
  out.add({}, std::move(placed).error());
  return nullptr;
}

bool has_device_hints(const ir::Module& module) {
  bool found = false;
  if (module.vdevices.empty()) return false;
  for (const ir::ModuleEntry& e : module.entries) {
    const auto* f = ir::as<ir::Function>(e.function);
    if (f)
      ir::walk(f, [&](const ir::Node* n) {
        const auto* call = ir::as<ir::Call>(n);
        const auto* callee = call ? ir::as<ir::Op>(call->callee) : nullptr;
        found = found || (callee && callee->name == op::HintOnDevice);
        return !found;
      });
  }
  return found;
}

std::optional<Value> Session::evaluate_function(const ir::Function* function, const ir::Module* module,
                                                std::span<const Value> args, Diagnostics& out, eval::Watcher* watcher) {
  ir::ModuleBuilder builder = module ? ir::ModuleBuilder(*ctx_, *module) : ir::ModuleBuilder(*ctx_);
  const std::string_view name = builder.unique_name("__value__");
  builder.set(name, function);
  const std::vector<std::string_view> roots{name};
  const ir::Module* legal = with_kernels(ir::reachable_from(*ctx_, builder.build(), roots), out);
  if (!legal) return std::nullopt;
  eval::EvalEnv env = evaluation_of(legal);
  env.watcher = watcher;
  RunResult result = run_in(env, name, args, out);
  if (!result.ok) return std::nullopt;
  return std::move(result.value);
}

eval::EvalEnv Session::evaluation_of(const ir::Module* module) {
  eval::EvalEnv env;
  env.module = module;
  env.context = ctx_.get();
  Diagnostics reported;  // by `with_kernels`, or when the module was built
  env.registry = engines_->functions_of(module, registry_, reported);
  if (!env.registry) env.registry = &registry_;
  env.output = output_;
  env.max_statements = options_.eval_statements;
  env.poisoned_memory = options_.poisoned_memory;
  env.interrupt = &support::cancel_flag();
  env.devices = devices_of(module);
  if (const auto found = engines_->dim_checks.find(module); found != engines_->dim_checks.end())
    env.run_kernel = [checks = found->second](const ir::PrimFunc*, std::string_view name,
                                              runtime::PackedArgs args) -> std::optional<runtime::Result<Value>> {
      auto fits = checks->check(name, args);
      if (fits.ok()) return std::nullopt;
      return support::Failure(std::move(fits).error());
    };
  return env;
}

RunResult Session::run_evaluator(const ir::Module* module, std::string_view function, std::span<const Value> args,
                                 Diagnostics& out) {
  const auto values = placed(module, function, {args.begin(), args.end()});
  return run_in(evaluation_of(module), function, values.ok() ? std::span<const Value>(*values) : args, out);
}

RunResult Session::run_in(const eval::EvalEnv& env, std::string_view function, std::span<const Value> args,
                          Diagnostics& out) {
  RunResult result;
  const std::uint64_t begin = now_ns();
  (void)runtime::take_device_error();  // of what ran before
  auto value = eval::call_function(env, function, args);
  result.nanoseconds = now_ns() - begin;
  if (value.ok())
    if (auto lost = lost_result(function, *value)) value = support::Failure(*std::move(lost));
  result.ok = value.ok();
  if (value.ok()) {
    result.value = std::move(value).value();
  } else {
    result.fault = vm::Fault{value.error(), -1, std::string(function), -1, {}};
    report(*result.fault, nullptr, out);
  }
  return result;
}

RunResult Session::run_watched(const ir::Module* module, std::string_view function, std::span<const Value> args,
                               eval::Watcher& watcher, Diagnostics& out) {
  const ir::Module* legal = with_kernels(module, out);
  if (!legal) return {};
  PassKernels kernels(*this);
  eval::EvalEnv env = evaluation_of(legal);
  env.watcher = &watcher;
  env.run_kernel = [&, check = std::move(env.run_kernel)](
                       const ir::PrimFunc* f, std::string_view name,
                       runtime::PackedArgs kernel_args) -> std::optional<runtime::Result<Value>> {
    if (check)
      if (auto misfit = check(f, name, kernel_args)) return misfit;
    if (const Engine engine = engine_of(name); engine != Engine::Jit && !is_on_device(engine)) return std::nullopt;
    return kernels.try_call(f, name, kernel_args);
  };
  const auto values = placed(legal, function, {args.begin(), args.end()});
  return run_in(env, function, values.ok() ? std::span<const Value>(*values) : args, out);
}

// The name of a function in the lowered module: AttachGlobalSymbol gives kernels of a module with a prefix other names.
static std::string lowered_name(const Build& build, std::string_view function) {
  if (!build.lowered || build.lowered->find(function)) return std::string(function);
  const ir::Attr* prefix = ir::find_attr(build.lowered->attrs, passes::kSystemLibPrefix);
  if (!prefix || !prefix->is(ir::AttrKind::String)) return std::string(function);
  std::string renamed = std::string(prefix->string) + std::string(function);
  return build.lowered->find(renamed) ? renamed : std::string(function);
}

RunResult Session::run_build(const Build& build, std::string_view function, std::span<const Value> args,
                             Diagnostics& out) {
  if (options_.engine == Engine::Eval && build.legal) return run_evaluator(build.legal, function, args, out);
  const auto values = placed(build.legal ? build.legal : module(), function, {args.begin(), args.end()});
  return run_observed(build, function, values.ok() ? std::span<const Value>(*values) : args, nullptr, out);
}

std::optional<runtime::Error> lost_result(std::string_view function, const Value& result) {
  const auto there = runtime::read_back(result);
  if (!there.ok()) {
    runtime::Error error = there.error();
    error.notes.push_back(fmt::format("the result of function `{}` is not readable", function));
    return error;
  }
  auto earlier = runtime::take_device_error();
  if (earlier) earlier->notes.push_back(fmt::format("in function `{}`, where a tensor's bytes were needed", function));
  return earlier;
}

RunResult run_observed(const Build& build, std::string_view function, std::span<const Value> args, vm::Hook* hook,
                       Diagnostics& out) {
  RunResult result;
  const std::uint64_t begin = now_ns();
  (void)runtime::take_device_error();  // of what ran before
  vm::Machine machine(build.program);
  auto started = machine.start(lowered_name(build, function), args);
  if (!started.ok()) {
    result.fault = vm::Fault{started.error(), -1, std::string(function), -1, {}};
    report(*result.fault, build.executable.get(), out);
    return result;
  }
  vm::Outcome outcome = hook ? machine.run(*hook) : machine.run();
  result.nanoseconds = now_ns() - begin;
  result.instructions = machine.instructions();
  if (outcome.finished()) {
    result.ok = true;
    result.value = std::move(outcome.value);
    if (auto lost = lost_result(function, result.value)) {
      result.ok = false;
      result.value = {};
      result.fault = vm::Fault{std::move(*lost), -1, std::string(function), -1, {}};
      report(*result.fault, build.executable.get(), out);
    }
  } else if (outcome.faulted()) {
    result.fault = std::move(outcome.fault);
    report(*result.fault, build.executable.get(), out);
  } else {
    out.add({}, source::message(diag::RunInterrupted, machine.instructions()));
  }
  return result;
}

std::optional<vm::Machine> Session::start(std::string_view function, std::span<const Value> args, Diagnostics& out) {
  auto built = runnable(out);
  return built ? start(*built, function, args, out) : std::nullopt;
}

std::optional<vm::Machine> Session::start(const Build& build, std::string_view function, std::span<const Value> args,
                                          Diagnostics& out) {
  vm::Machine machine(build.program);
  auto started = machine.start(function, args);
  if (started.ok()) return machine;
  report(vm::Fault{started.error(), -1, std::string(function), -1, {}}, build.executable.get(), out);
  return std::nullopt;
}

}  // namespace rldb::session
