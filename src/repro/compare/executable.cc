// Recorder of executables: a hook of the machine reports to a Recorder what the evaluator would report for a module.
#include "repro/compare/executable.h"

#include <fmt/format.h>

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
  MachineRecorder(const session::Build& build, Recorder& recorder) : build_(build), recorder_(recorder) {}

  vm::CallAction before_call(const vm::Machine&, const vm::CallEvent& event) override {
    const bytecode::FunctionEntry& callee = exe().functions[std::size_t(event.callee)];
    recorder_.begin_named(fmt::format("{}: {}", event.pc, bytecode::instruction_text(exe(), event.pc)));
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
  }

 private:
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
};

Trace run_recorded(session::Session& session, const session::Build& build, const Program& program,
                   source::Diagnostics& found) {
  const std::vector<Value> args = copies(program.args);
  auto machine = session.start(build, program.function, args, found);
  if (!machine) return {};
  const bytecode::Executable& exe = *build.executable;
  Recorder recorder(memory_for_copies());
  const bytecode::FunctionIndex index = exe.find_function(program.function);
  recorder.enter_named(program.function,
                       index < 0 ? std::span<const std::string>() : exe.functions[std::size_t(index)].param_names,
                       args);
  MachineRecorder hook(build, recorder);
  vm::Outcome outcome = machine->run(hook);
  support::poll_cause();
  if (outcome.finished()) recorder.leave(outcome.value);
  Trace trace = recorder.take();
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
    trace = has_abilities(program.other->kind(), session::kCalls) ? run_recorded(session, *build, program, found)
                                                                  : run_plain(session, program, found);
  if (trace.error.empty()) trace.error = found.first_error();
  return trace;
}

}  // namespace rldb::repro
