// Runs of programs in other processes.
#include "rldb/debug/foreign_run.h"

#include "debug/impl.h"
#include "rldb/source/diagnostic_attach.h"
#include "rldb/vm/instruction_set.h"

namespace rldb::debug {

StopReport show_foreign(Debugger& debugger, std::shared_ptr<const session::Build> build) {
  Debugger::Impl& d = impl_of(debugger);
  debugger.kill();
  vm::Machine machine(build->program);
  d.part = 0;
  d.checkpoints.clear();
  d.last = {};
  d.run = std::make_shared<Run>(d.code_of(std::move(build)), std::move(machine), d.session, std::string_view(),
                                std::span<const runtime::Value>());
  vm::Outcome o = d.run->advance(nullptr, d.run->time() + 1);  // the first step only looks
  debugger.resolve_breakpoints();
  return d.report_outcome(std::move(o));
}

StopReport look_again(Debugger& debugger) {
  Debugger::Impl& d = impl_of(debugger);
  d.part = 0;
  return d.report_outcome(d.run->advance(nullptr, d.run->time() + 1));
}

bool is_foreign(const Debugger& debugger) {
  const auto& run = impl_of(debugger).run;
  return run && run->is_foreign();
}

bool Debugger::Impl::is_foreign(std::string_view what, source::Diagnostics& out) const {
  if (!run || !run->is_foreign()) return false;
  out.add({}, source::message(diag::AttachReadOnly, what));
  return true;
}

// Breakpoints are for every thread of a foreign program, the stops of a verb for the one that is shown.
void Debugger::Impl::tell_breakpoints() const {
  const vm::InstructionSet* foreign = vm::foreign_program(run->machine().program());
  if (!foreign) return;
  vm::StopSet stops = no_stops();
  add_breakpoint_sites(stops);
  foreign->stop_every_thread_at(stops);
}

}  // namespace rldb::debug
