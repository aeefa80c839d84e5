// The machine's view of a foreign program, and the choice of the thread that it shows.
#include "attach/foreign.h"

#include <fmt/format.h>

#include "rldb/bytecode/disassemble.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/support/cancel.h"

namespace rldb::attach {

using runtime::ErrorKind;
using vm::Outcome;
using vm::StopReason;

namespace {

Outcome stopped(StopReason reason) {
  Outcome o;
  o.kind = Outcome::Kind::Stopped;
  o.reason = reason;
  return o;
}

// The kernels and functions of the process have names here, and no code.
struct NamedBuild : session::Build {
  runtime::KernelTable kernels;
};

}  // namespace

// ---- the machine's side ----

Outcome ForeignProgram::run(vm::MachineState state, const vm::StopSet* stops, std::uint64_t budget) const {
  if (const auto foreign = foreign_.lock(); foreign && foreign->attached()) return foreign->run(state, stops, budget);
  Outcome o;
  o.kind = Outcome::Kind::Faulted;
  o.fault.emplace();
  o.fault->error = {ErrorKind::Unsupported, "the process is not attached any more", {}};
  state.fault = o.fault;
  return o;
}

runtime::Result<support::Unit> ForeignProgram::place_arguments(bytecode::FunctionIndex,
                                                               std::span<runtime::Value>) const {
  return support::Unit{};
}

runtime::Result<support::Unit> ForeignProgram::copy(std::vector<runtime::Value>&) const {
  return runtime::fail(ErrorKind::Unsupported, "a process cannot be copied");
}

void ForeignProgram::stop_every_thread_at(const vm::StopSet& stops) const {
  if (const auto foreign = foreign_.lock()) foreign->stop_every_thread_at(stops);
}

void ForeignProgram::leave() const {
  if (const auto foreign = foreign_.lock()) foreign->detach();
}

std::shared_ptr<Attached> ForeignProgram::attached() const {
  auto foreign = foreign_.lock();
  return foreign && foreign->attached() ? foreign : nullptr;
}

std::shared_ptr<Attached> attached_to(const vm::Program& program) {
  const auto* foreign = dynamic_cast<const ForeignProgram*>(vm::instructions_of(program));
  return foreign ? foreign->attached() : nullptr;
}

// ---- the program ----

bool Foreign::link(session::Session& session, source::Diagnostics& out) {
  auto build = std::make_shared<NamedBuild>();
  build->executable = image_.program;
  vm::Environment env;
  env.kernels = &build->kernels;
  env.output = &session.output();
  env.interrupt = &support::cancel_flag();
  auto linked = vm::link_other(image_.program, env, std::make_shared<ForeignProgram>(weak_from_this()));
  if (!linked.ok()) {
    out.add({}, source::message(diag::BadExecutable, image_.path, linked.error().message));
    return false;
  }
  build->program = std::move(linked).value();
  build_ = std::move(build);
  return true;
}

std::vector<ThreadInfo> Foreign::threads() {
  std::vector<ThreadInfo> rows;
  if (!attached()) return rows;
  for (const Stack& s : stacks_.all()) {
    const RemoteFrame& top = s.frames.front();
    rows.push_back({s.thread, s.thread == current_, image_.program->functions[std::size_t(top.function)].name,
                    bytecode::Pc(top.pc)});
  }
  return rows;
}

bool Foreign::select(std::int64_t thread) {
  const Stack s = stacks_.of(thread, 0);
  if (s.frames.empty()) return false;
  current_ = thread;
  trail_ = s.trail;
  shown_ = false;
  return true;
}

Stack Foreign::present() {
  Stack s = stacks_.of(current_, trail_);
  if (s.frames.empty()) {
    const std::vector<Stack> all = stacks_.all();
    if (!all.empty()) s = all.front();
  }
  current_ = s.frames.empty() ? 0 : s.thread;
  trail_ = s.trail;
  return s;
}

Outcome Foreign::show(vm::MachineState& state, const Stack& stack, StopReason reason) {
  state.at_stop = reason == StopReason::Hook;
  if (stacks_.fill(stack, state)) return stopped(reason);
  return fail(state, "the frames of the process cannot be read");
}

Outcome Foreign::fail(vm::MachineState& state, std::string why) const {
  vm::Fault f;
  f.error = {ErrorKind::Raised, std::move(why), {}};
  if (!state.frames.empty()) {
    f.function = state.frames.back().function;
    f.function_name = image_.program->functions[std::size_t(f.function)].name;
    f.pc = state.frames.back().pc;
    f.instruction = bytecode::instruction_text(*image_.program, f.pc);
  }
  state.fault = f;
  Outcome o;
  o.kind = Outcome::Kind::Faulted;
  o.fault = std::move(f);
  return o;
}

}  // namespace rldb::attach
