// Recorder of executables: a hook of the machine reports to a Recorder what the evaluator would report for a module.
#include "repro/compare/executable.h"

#include <fmt/format.h>

#include <cstring>

#include "repro/argument_writes.h"
#include "repro/borrow.h"
#include "repro/values.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using bytecode::FunctionKind;
using runtime::Value;

class MachineRecorder : public vm::Hook {
 public:
  // `others`: the run ends after this call; null: it runs to its end.
  MachineRecorder(const session::Build& build, Recorder& recorder, const CallWithOthers* others)
      : build_(build), recorder_(recorder), others_(others) {}

  bool before_instruction(const vm::Machine&) override { return depth_ == 0 && done_; }

  vm::CallAction before_call(const vm::Machine&, const vm::CallEvent& event) override {
    const bytecode::FunctionEntry& callee = exe().functions[std::size_t(event.callee)];
    std::string text = fmt::format("{}: {}", event.pc, bytecode::instruction_text(exe(), event.pc));
    if (done_) ++depth_;
    if (others_ && !done_ && text == others_->instruction) give_others(event.args);
    recorder_.begin_named(std::move(text));
    if (const auto name = bytecode_name(callee, event.args); !name.empty())
      recorder_.enter_named(name, {}, {});
    else
      (void)recorder_.calling(callee.name, kernel(callee.name), event.args);  // it never refuses
    return vm::CallAction::Run;
  }

  void after_call(const vm::Machine&, const vm::CallEvent& event, const Value& result) override {
    const bytecode::FunctionEntry& callee = exe().functions[std::size_t(event.callee)];
    if (callee.kind == FunctionKind::Bytecode || is_closure_call(callee))
      recorder_.leave(result);
    else
      (void)recorder_.called(callee.name, kernel(callee.name), event.args, result);
    recorder_.bound_named(variable(event.pc), result);
    if (depth_ > 0) --depth_;
  }

 private:
  // If all tensors that it reads are among the arguments. Only contents change: the machine goes on as before.
  void give_others(runtime::PackedArgs args) {
    std::vector<std::pair<const runtime::Tensor*, const runtime::Tensor*>> found;
    for (const CallWithOthers::Input& in : others_->inputs) {
      const std::size_t before = found.size();
      for (const Value& a : args)
        for_each_tensor(a, [&](const runtime::Tensor& t) {
          if (same_bits(t, in.own.as_tensor())) found.emplace_back(&t, &in.other.as_tensor());
        });
      if (found.size() == before) return;
    }
    for (const auto& [to, from] : found) std::memcpy(to->data(), from->peek(), from->byte_size());
    done_ = true;
    depth_ = 1;
  }

  const bytecode::Executable& exe() const { return *build_.executable; }

  const ir::PrimFunc* kernel(const std::string& name) const {
    return build_.lowered ? ir::as<ir::PrimFunc>(build_.lowered->find(name)) : nullptr;
  }

  static bool is_closure_call(const bytecode::FunctionEntry& callee) { return callee.name == builtin::InvokeClosure; }

  // The name of the function being called, if it is one of this program's.
  static std::string bytecode_name(const bytecode::FunctionEntry& callee, runtime::PackedArgs args) {
    if (callee.kind == FunctionKind::Bytecode) return callee.name;
    if (!is_closure_call(callee)) return {};
    for (const Value& a : args)
      if (a.is(runtime::ValueKind::Function)) return a.as_function().name;
    return callee.name;
  }

  // A register name identifies a value here, but means nothing in another program.
  std::string variable(bytecode::Pc pc) const {
    if (const auto* debug = exe().debug.instruction(pc); debug && !debug->variable.empty())
      return debug->variable != "_" ? debug->variable : std::string();
    const bytecode::RegName dst = exe().instruction(pc).dst;
    return bytecode::is_special(dst) ? std::string() : bytecode::register_text(dst);
  }

  const session::Build& build_;
  Recorder& recorder_;
  const CallWithOthers* others_;
  bool done_ = false;
  std::size_t depth_ = 0;  // of calls that have not ended, from the one with other inputs on
};

Trace run_recorded(session::Session& session, const session::Build& build, const Program& program,
                   const CallWithOthers* others, source::Diagnostics& found) {
  const std::vector<Value> args = copies(program.args);
  auto machine = session.start(build, program.function, args, found);
  if (!machine) return {};
  const bytecode::Executable& exe = *build.executable;
  Recorder recorder(memory_for_copies());
  const bytecode::FunctionIndex index = exe.find_function(program.function);
  const std::span<const std::string> parameters =
      index < 0 ? std::span<const std::string>() : exe.functions[std::size_t(index)].param_names;
  recorder.enter_named(program.function, parameters, args);
  MachineRecorder hook(build, recorder, others);
  vm::Outcome outcome = machine->run(hook);
  support::poll_cause();
  if (outcome.finished()) recorder.leave(outcome.value);
  Trace trace = recorder.take();
  trace.arguments = given_tensors(parameters, program.args, args, program.outputs);
  if (outcome.faulted()) {
    trace.error = outcome.fault->error.message;
    trace.error_kind = outcome.fault->error.kind;
  } else if (!outcome.finished()) {
    trace.error = "it did not end";
  }
  return trace;
}

// For a machine without hooks: only its result.
Trace run_plain(session::Session& session, const Program& program, source::Diagnostics& found) {
  Trace trace;
  trace.results_only = true;
  const session::RunResult run = session.run(program.function, copies(program.args), found);
  support::poll_cause();
  if (run.ok) trace.result = run.value;
  if (run.fault) trace.error_kind = run.fault->error.kind;
  return trace;
}

}  // namespace

Trace record_code(session::Session& session, const Program& program) {
  const Borrow borrowed(session);
  session.options().engine = program.kernels;
  session.set_program(program.other->copy());
  Trace trace;
  source::Diagnostics found;
  if (const auto build = session.runnable(found))
    trace = has_abilities(program.other->kind(), session::kCalls)
                ? run_recorded(session, *build, program, nullptr, found)
                : run_plain(session, program, found);
  if (trace.error.empty()) trace.error = found.first_error();
  return trace;
}

std::optional<Value> record_with_others(session::Session& session, const Program& program, const CallWithOthers& call) {
  if (!has_abilities(program.other->kind(), session::kCalls)) return std::nullopt;
  const Borrow borrowed(session);
  session.options().engine = program.kernels;
  session.set_program(program.other->copy());
  source::Diagnostics found;
  const auto build = session.runnable(found);
  if (!build) return std::nullopt;
  const Trace trace = run_recorded(session, *build, program, &call, found);
  if (call.event >= trace.events.size() || trace.events[call.event].instruction != call.instruction)
    return std::nullopt;
  return trace.events[call.event].value;
}

}  // namespace rldb::repro
