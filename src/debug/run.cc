#include "debug/run.h"

#include <fmt/format.h>

#include "rldb/bytecode/disassemble.h"

namespace rldb::debug {

using bytecode::Arg;
using bytecode::ArgKind;
using bytecode::Instruction;
using bytecode::Opcode;
using runtime::Value;
using vm::Outcome;
using vm::StopReason;

namespace {

bool ran_out(const Outcome& o) { return o.stopped() && o.reason == StopReason::Stepped; }

Outcome stopped(StopReason reason) {
  Outcome o;
  o.kind = Outcome::Kind::Stopped;
  o.reason = reason;
  return o;
}

// The program's own printing while it is only being repeated.
class Muted {
 public:
  explicit Muted(session::Session& s) : session_(s) { session_.mute(true); }
  ~Muted() { session_.mute(false); }

 private:
  session::Session& session_;
};

class SkipOneCall : public vm::Hook {
 public:
  vm::CallAction before_call(const vm::Machine&, const vm::CallEvent&) override { return vm::CallAction::Skip; }
};

}  // namespace

// ---- forward ----

Outcome Run::advance(const vm::StopSet* stops, std::uint64_t until) {
  // A machine without frames (a bare kernel or packed function) does all it does in one go.
  if (!machine_.running()) return machine_.run();
  std::uint64_t begin = now_ns();
  Outcome o = machine_.step(1);
  while (ran_out(o)) {
    if (time() >= until) break;
    const std::uint64_t count = std::min(until - time(), timeline_.chunk());
    o = stops ? machine_.step(count, *stops) : machine_.step(count);
    const std::uint64_t end = now_ns();
    timeline_.ran(machine_, end - begin);
    begin = end;
  }
  return o;
}

// ---- backwards ----

Run::Seek Run::go_to(std::uint64_t target, Outcome* ended) {
  const vm::Machine* point = timeline_.at_or_before(target);
  const bool can_go_on = machine_.running() && !fault() && !kernel_ && time() <= target;
  const bool restore = point && (!can_go_on || point->instructions() > time());
  if (!restore && !can_go_on) return Seek::NoHistory;
  std::optional<Muted> muted;
  std::optional<vm::Machine> present;
  if (restore) {
    auto copy = point->snapshot();
    if (!copy.ok()) return Seek::NoHistory;
    muted.emplace(session_);
    present = std::move(machine_);
    machine_ = std::move(copy).value();
    timeline_.restored();
  }
  std::uint64_t begin = now_ns();
  while (time() < target) {
    Outcome o = machine_.step(std::min(target - time(), timeline_.chunk()));
    const std::uint64_t end = now_ns();
    timeline_.ran(machine_, end - begin);
    begin = end;
    if (ran_out(o)) continue;
    if (o.stopped()) {
      if (present) machine_ = *std::move(present);
      return Seek::Interrupted;
    }
    kernel_.reset();
    kernel_fault_.reset();
    if (ended) *ended = std::move(o);
    return Seek::Ended;
  }
  kernel_.reset();
  kernel_fault_.reset();
  return Seek::Done;
}

Run::Seek Run::search(const vm::StopSet& stops, const std::function<void(const vm::Machine&)>& visit,
                      const std::function<bool()>& leave) {
  Muted muted(session_);
  for (std::uint64_t end = time(); end > 0;) {
    const vm::Machine* point = timeline_.at_or_before(end - 1);
    if (!point) return Seek::NoHistory;
    const std::uint64_t begin = point->instructions();
    auto copy = point->snapshot();
    if (!copy.ok()) return Seek::NoHistory;
    vm::Machine m = std::move(copy).value();
    if (stops.test(m.frame().pc)) visit(m);
    while (m.instructions() < end) {
      Outcome o = m.step(1);
      if (ran_out(o) && m.instructions() < end) o = m.step(end - m.instructions(), stops);
      if (!o.stopped()) break;  // cannot be: this was executed before
      if (o.reason == StopReason::Interrupted) return Seek::Interrupted;
      if (o.reason == StopReason::Hook) visit(m);
    }
    if (leave()) return Seek::Done;
    end = begin;
  }
  return Seek::NoHistory;
}

// ---- kernels ----

bool Run::next_is_kernel_call() const {
  if (!machine_.running() || fault()) return false;
  const Instruction i = code_->executable().instruction(pc());
  return i.op == Opcode::Call && machine_.program().target_kind(i.callee) == vm::TargetKind::Kernel;
}

const ir::PrimFunc* Run::next_kernel(std::string* name) const {
  if (!next_is_kernel_call()) return nullptr;
  const Instruction i = code_->executable().instruction(pc());
  const std::string& callee = code_->executable().functions[std::size_t(i.callee)].name;
  if (name) *name = callee;
  const ir::Module* lowered = code_->build()->lowered;
  return lowered ? ir::as<ir::PrimFunc>(lowered->find(callee)) : nullptr;
}

std::optional<Value> Run::argument(Arg arg) const {
  switch (arg.kind()) {
    case ArgKind::Register: {
      if (bytecode::is_special(arg.value())) return Value();
      const Value* v = machine_.read_register(depth() - 1, arg.value());
      return v ? std::optional(*v) : std::nullopt;
    }
    case ArgKind::Immediate:
      return Value::of_int(arg.value());
    case ArgKind::Constant:
      return code_->executable().constants[std::size_t(arg.value())];
    case ArgKind::Function:
      return machine_.program().function_value(arg.value());
  }
  RLDB_UNREACHABLE("argument kind");
}

bool Run::enter_kernel() {
  std::string name;
  const ir::PrimFunc* f = next_kernel(&name);
  if (!f) return false;
  const Instruction i = code_->executable().instruction(pc());
  std::vector<Value> args;
  for (std::size_t a = 0; a < i.args.size(); ++a) {
    auto value = argument(i.arg(a));
    if (!value) return false;
    args.push_back(*std::move(value));
  }
  auto stepper =
      std::make_unique<KernelStepper>(KernelStepper{name, f, i.dst, eval::TirMachine(f, &session_.registry())});
  // Bad arguments: the machine says what is wrong with them when it makes the call.
  if (!stepper->machine.start(args).ok()) return false;
  kernel_ = std::move(stepper);
  return true;
}

Outcome Run::kernel_failed(runtime::Error error) {
  vm::Fault f;
  error.notes.push_back(fmt::format("in kernel `{}`", kernel_->name));
  f.error = std::move(error);
  f.function = machine_.frame().function;
  f.function_name = code_->function_name(pc());
  f.pc = pc();
  f.instruction = bytecode::instruction_text(code_->executable(), pc());
  kernel_fault_ = f;
  Outcome o;
  o.kind = Outcome::Kind::Faulted;
  o.fault = std::move(f);
  return o;
}

Outcome Run::complete_kernel() {
  SkipOneCall skip;
  const bytecode::RegName dst = kernel_->dst;
  const std::size_t frame = depth() - 1;
  kernel_.reset();
  Outcome o = machine_.step(1, skip);
  if (ran_out(o) && !bytecode::is_special(dst)) machine_.write_register(frame, dst, Value());
  return o;
}

Outcome Run::step_kernel() {
  if (kernel_->machine.running()) {
    auto done = kernel_->machine.step();
    if (!done.ok()) return kernel_failed(std::move(done).error());
  }
  return kernel_->machine.running() ? stopped(StopReason::Stepped) : complete_kernel();
}

Outcome Run::finish_kernel() {
  constexpr int kPollEvery = 1024;
  for (int left = kPollEvery; kernel_->machine.running();) {
    auto done = kernel_->machine.step();
    if (!done.ok()) return kernel_failed(std::move(done).error());
    if (--left > 0) continue;
    left = kPollEvery;
    if (session_.interrupt().exchange(false)) return stopped(StopReason::Interrupted);
  }
  return complete_kernel();
}

}  // namespace rldb::debug
