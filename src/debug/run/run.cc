// Run: moves the machine forward and, by checkpoint and re-execution, backwards; kernels about to be called.
#include "debug/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "debug/watch/observer.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/runtime/workers.h"
#include "rldb/support/cancel.h"
#include "rldb/support/check.h"
#include "rldb/vm/instruction_set.h"
#include "rldb/vm/value_path.h"

namespace rldb::debug {

using bytecode::Arg;
using bytecode::ArgKind;
using bytecode::Instruction;
using bytecode::Opcode;
using runtime::Value;
using vm::Outcome;
using vm::StopReason;

namespace {

Outcome stopped(StopReason reason) {
  Outcome o;
  o.kind = Outcome::Kind::Stopped;
  o.reason = reason;
  return o;
}

Outcome faulted(vm::Fault f) {
  Outcome o;
  o.kind = Outcome::Kind::Faulted;
  o.fault = std::move(f);
  return o;
}

constexpr std::string_view kDynamicCall = builtin::CallTirDyn;

// Suppresses the program's own printing while it is only being repeated.
}  // namespace

Run::~Run() {
  if (const vm::InstructionSet* foreign = vm::foreign_program(machine_.program())) foreign->leave();
}

void Run::take_part() {
  auto* group = dynamic_cast<session::ProcessGroup*>(runtime::workers());
  if (group && group->take_run()) ranks_ = group;
}

bool Run::is_foreign() const { return vm::foreign_program(machine_.program()) != nullptr; }

// ---- forward ----

bool was_interrupted(const Outcome& o) {
  if (o.stopped()) return o.reason == StopReason::Interrupted;
  return o.fault && o.fault->error.kind == runtime::ErrorKind::Interrupted;
}

void abandon_question() {
  support::cancel_flag() = true;
  support::poll();
  RLDB_UNREACHABLE("the flag is set");
}

Outcome Run::step(vm::Machine& m, std::uint64_t until, const vm::StopSet* stops, Observer* observer) const {
  const auto together = with_ranks();
  const vm::StopSet none(observer && !stops ? code_->executable().instruction_count() : 0);
  const auto step_to = [&](std::uint64_t time) {
    const std::uint64_t count = time - m.instructions();
    return observer ? m.step(count, stops ? *stops : none, *observer, observer->observed())
           : stops  ? m.step(count, *stops)
                    : m.step(count);
  };
  if (changes_.empty()) return step_to(until);
  for (;;) {
    const std::uint64_t now = m.instructions();
    if (auto ended = changes_.apply(m, until)) return *std::move(ended);
    if (m.instructions() >= until) return stopped(StopReason::Stepped);
    if (const std::string by = observer ? changes_.commands_at(now) : ""; !by.empty() && m.running())
      if (observer->after_command(m, by)) return stopped(StopReason::Stepped);
    Outcome o = step_to(changes_.next(m.instructions(), until));
    if (ran_out(o) && !(observer && observer->stops())) {
      // A change that replaces the instruction is not made before a stop at it.
      const bool stop = stops && m.running() && m.instructions() < until && stops->test(m.frame().pc);
      if (!stop || !changes_.moves_at(m.instructions())) continue;
      o = stopped(StopReason::Hook);
    }
    // The moment of the stop is shown with the changes made then.
    if (o.stopped()) (void)changes_.apply(m, m.instructions());
    return o;
  }
}

// The returns of the function that was started: the moment before the last one is often asked about when the run is
// over.
vm::StopSet Run::with_last_return(const vm::StopSet* stops) {
  const bytecode::Executable& exe = code_->executable();
  vm::StopSet all = stops ? *stops : vm::StopSet(exe.instruction_count());
  if (machine_.frames().empty()) return all;
  if (!returns_) {
    returns_.emplace();
    const bytecode::FunctionEntry& f = exe.functions[std::size_t(machine_.frames()[0].function)];
    for (Pc pc = f.start; pc < f.end; ++pc)
      if (exe.instruction(pc).op == Opcode::Ret) returns_->push_back(pc);
  }
  for (const Pc pc : *returns_) all.set(pc);
  return all;
}

bool Run::stands_at_return_only(const Outcome& o, const vm::StopSet* stops) const {
  return o.stopped() && o.reason == StopReason::Hook && machine_.running() && !(stops && stops->test(pc()));
}

Outcome Run::advance(const vm::StopSet* stops, std::uint64_t until, Observer* observer) {
  // A machine without frames (a bare kernel or packed function) does all its work in one go.
  const bool foreign = is_foreign();
  if (!machine_.running() && !foreign) return call_alone();
  const vm::StopSet all = foreign ? vm::StopSet(0) : with_last_return(stops);
  std::uint64_t begin = now_ns();
  Outcome o = step(machine_, time() + 1, nullptr, observer);
  for (;;) {
    if (!foreign && stands_at_return_only(o, stops)) {
      if (machine_.frames().size() == 1) timeline_.before_end(machine_);
      o = time() < until ? step(machine_, time() + 1, nullptr, observer) : stopped(StopReason::Stepped);
    }
    if (!ran_out(o) || time() >= until || (observer && observer->hit())) break;
    const std::uint64_t most = foreign ? until - time() : std::min(until - time(), timeline_.chunk());
    o = step(machine_, time() + most, foreign ? stops : &all, observer);
    const std::uint64_t end = now_ns();
    timeline_.ran(machine_, end - begin);
    begin = end;
  }
  return o;
}

const session::Build* Run::build_of(const vm::Machine& m) const {
  for (const auto& build : builds_)
    if (build->program == m.program_ptr()) return build.get();
  return code_->build().get();
}

std::shared_ptr<const session::Build> Run::replaced_build() const {
  for (const auto& build : builds_)
    if (build->program == machine_.program_ptr()) return build;
  return nullptr;
}

const ir::Module* Run::lowered_of(const vm::Machine& m) const {
  const session::Build* build = build_of(m);
  return build ? build->lowered : nullptr;
}

void Run::replace_build(std::shared_ptr<const session::Build> build) {
  builds_.push_back(build);
  tell_kernel_writes(*build->program, build->lowered);
  change(false, [program = build->program](vm::Machine& m) -> std::optional<Outcome> {
    m.set_program(program);
    return std::nullopt;
  });
}

std::optional<Outcome> Run::change(bool moves, std::function<std::optional<Outcome>(vm::Machine&)> apply,
                                   std::optional<Change::Target> writes, Change::Said said) {
  const std::uint64_t now = time();
  ++changed_times_;
  timeline_.forget_after(now);
  asked_.forget_after(now);
  if (machine_.call_log()) machine_.call_log()->forget_from(now);
  kernel_.reset();
  kernel_fault_.reset();
  changes_.add({now, moves, apply, std::move(writes), std::move(said), pc()});
  return apply(machine_);
}

// ---- backwards ----

// Some memory that the machine reaches. `stepped`: what a kernel that is stepped has pinned, which is no foreign code.
static bool foreign_code_keeps(const vm::Machine& m, const runtime::Pinned* stepped) {
  bool keeps = false;
  if (!runtime::any_pinned()) return keeps;
  vm::each_memory(m, [&](const vm::ValuePath&, const Value& holder) {
    keeps = keeps || runtime::is_pinned_besides(*vm::memory_of(holder), stepped);
  });
  return keeps;
}

Run::Seek Run::go_to(std::uint64_t target, Outcome* ended) { return seek(target, ended, false); }

Run::Seek Run::go_back(std::uint64_t target) { return seek(target, nullptr, true); }

Run::Seek Run::seek(std::uint64_t target, Outcome* ended, bool from_checkpoint) {
  const vm::Machine* point = timeline_.at_or_before(target);
  const bool can_go_on = !from_checkpoint && machine_.running() && !fault() && !kernel_ && time() <= target;
  const bool restore = point && (!can_go_on || point->instructions() > time());
  if ((!restore && !can_go_on) || (over_ && !can_go_back_)) return Seek::NoHistory;
  std::optional<Muted> muted;
  std::optional<vm::Machine> present;
  if (restore) {
    auto copy = point->snapshot();
    if (!copy.ok()) return Seek::NoHistory;
    muted.emplace(*this);
    if (!kept_until_ && foreign_code_keeps(machine_, kernel_ ? &kernel_->pinned() : nullptr)) kept_until_ = time();
    present = std::move(machine_);
    machine_ = std::move(copy).value();
    timeline_.restored();
  }
  // Whoever goes back a step often goes back more of them: checkpoints after the half of a long way, the half of what
  // is left, and so on.
  const auto halfway = [&] { return target - (target - std::min(target, time())) / 2; };
  std::uint64_t mark = restore ? halfway() : target;
  std::uint64_t begin = now_ns();
  while (time() < target) {
    Outcome o = step(machine_, time() + std::min(mark - time(), timeline_.chunk()), nullptr, nullptr);
    const std::uint64_t end = now_ns();
    timeline_.ran(machine_, end - begin);
    begin = end;
    if (time() >= mark && mark < target) {
      timeline_.pass(machine_);
      mark = halfway();
      begin = now_ns();
    }
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
  changes_.apply(machine_, target);
  kernel_.reset();
  kernel_fault_.reset();
  over_ = false;
  if (!machine_.running()) untouched_args_.restore();
  return Seek::Done;
}

Run::Seek Run::search(const vm::StopSet& stops, const std::function<void(const vm::Machine&)>& visit,
                      const std::function<bool()>& leave, Observer* observer) const {
  const Muted muted(*this);
  const Timeline::KeepStart keep(timeline_);
  for (std::uint64_t end = time(); end > 0;) {
    const vm::Machine* point = timeline_.at_or_before(end - 1);
    if (!point) return Seek::NoHistory;
    const std::uint64_t begin = point->instructions();
    auto copy = point->snapshot();
    if (!copy.ok()) return Seek::NoHistory;
    vm::Machine m = std::move(copy).value();
    if (observer) observer->begin(m, true);
    if (stops.test(m.frame().pc)) visit(m);
    while (m.instructions() < end) {
      Outcome o = step(m, m.instructions() + 1, nullptr, observer);
      if (ran_out(o) && m.instructions() < end) o = step(m, end, &stops, observer);
      if (!o.stopped()) break;  // cannot happen: this was executed before
      if (o.reason == StopReason::Interrupted) return Seek::Interrupted;
      if (o.reason == StopReason::Hook) visit(m);
    }
    if (leave()) return Seek::Done;
    end = begin;
  }
  return Seek::NoHistory;
}

Run::Seek Run::replay_before(std::uint64_t end, const vm::StopSet& stops, const Visit& begun, const Visit& visit,
                             const Visit& ended) const {
  const Muted muted(*this);
  const Timeline::KeepStart keep(timeline_);
  const vm::Machine* point = timeline_.at_or_before(end > 0 ? end - 1 : 0);
  if (!point) return Seek::NoHistory;
  auto copy = point->snapshot();
  if (!copy.ok()) return Seek::NoHistory;
  vm::Machine m = std::move(copy).value();
  begun(m);
  if (m.running() && m.instructions() < end && stops.test(m.frame().pc)) visit(m);
  while (m.instructions() < end) {
    Outcome o = step(m, m.instructions() + 1, nullptr, nullptr);
    while (ran_out(o) && m.instructions() < end && !stops.test(m.frame().pc)) o = step(m, end, &stops, nullptr);
    if (was_interrupted(o)) return Seek::Interrupted;
    if (!o.stopped()) return Seek::NoHistory;  // cannot happen: this was executed before
    if (m.instructions() < end) visit(m);
  }
  changes_.apply(m, end);
  ended(m);
  return Seek::Done;
}

std::optional<vm::Machine> Run::machine_at(std::uint64_t target, Seek* how) const {
  if (how) *how = Seek::NoHistory;
  const vm::Machine* point = nearest(target);
  if (!point) return std::nullopt;
  const Timeline::KeepStart keep(timeline_);
  auto copy = point->snapshot();
  if (!copy.ok()) return std::nullopt;
  vm::Machine m = std::move(copy).value();
  const Seek end = carry_on(m, target);
  if (how) *how = end;
  return end == Seek::Done ? std::optional(std::move(m)) : std::nullopt;
}

Run::Seek Run::carry_on(vm::Machine& m, std::uint64_t target) const {
  const Muted muted(*this);
  const Timeline::KeepStart keep(timeline_);
  if (m.instructions() < target && asked_.empty()) asked_.begin(m, Timeline::usual_limit() / 2);
  asked_.restored();
  for (std::uint64_t begin = now_ns(); m.instructions() < target;) {
    const std::uint64_t most = std::min(target - m.instructions(), asked_.chunk());
    const Outcome o = step(m, m.instructions() + most, nullptr, nullptr);
    if (was_interrupted(o)) return Seek::Interrupted;
    if (!ran_out(o)) return Seek::NoHistory;
    const std::uint64_t end = now_ns();
    asked_.ran(m, end - begin);
    begin = end;
  }
  changes_.apply(m, target);
  return Seek::Done;
}

const vm::Machine* Run::nearest(std::uint64_t time) const {
  const vm::Machine* kept = timeline_.at_or_before(time);
  const vm::Machine* asked = asked_.at_or_before(time);
  return kept && asked && asked->instructions() > kept->instructions() ? asked : kept;
}

// ---- kernels ----

FunctionIndex Run::kernel_called_at(Pc pc) const {
  const bytecode::Executable& exe = code_->executable();
  const Instruction i = exe.instruction(pc);
  if (i.op != Opcode::Call) return -1;
  if (machine_.program().target_kind(i.callee) == vm::TargetKind::Kernel) return i.callee;
  if (exe.functions[std::size_t(i.callee)].name != kDynamicCall || i.args.empty()) return -1;
  const Arg kernel = i.arg(0);
  if (kernel.kind() != ArgKind::Function) return -1;
  return machine_.program().target_kind(kernel.function()) == vm::TargetKind::Kernel ? kernel.function()
                                                                                     : FunctionIndex(-1);
}

std::string_view Run::kernel_called(Pc pc) const {
  const FunctionIndex callee = kernel_called_at(pc);
  return callee < 0 ? std::string_view() : code_->executable().functions[std::size_t(callee)].name;
}

bool Run::next_is_kernel_call() const {
  if (fault() || kernel_) return false;
  if (machine_.running()) return is_kernel_call(pc());
  // A kernel that is run alone and has not begun yet.
  const ir::Module* lowered = lowered_of(machine_);
  return lowered && !over_ && ir::isa<ir::PrimFunc>(lowered->find(function_));
}

const ir::PrimFunc* Run::kernel_function(const vm::Machine& m, Pc pc) const {
  const FunctionIndex callee = kernel_called_at(pc);
  const ir::Module* lowered = lowered_of(m);
  return callee < 0 || !lowered
             ? nullptr
             : ir::as<ir::PrimFunc>(lowered->find(code_->executable().functions[std::size_t(callee)].name));
}

const ir::PrimFunc* Run::next_kernel(std::string* name) const {
  return next_is_kernel_call() ? kernel_of(machine_, name) : nullptr;
}

const ir::PrimFunc* Run::kernel_of(const vm::Machine& m, std::string* name) const {
  if (m.running() && !is_kernel_call(m.frame().pc)) return nullptr;
  const std::string& callee =
      m.running() ? code_->executable().functions[std::size_t(kernel_called_at(m.frame().pc))].name : function_;
  if (name) *name = callee;
  const ir::Module* lowered = lowered_of(m);
  return lowered ? ir::as<ir::PrimFunc>(lowered->find(callee)) : nullptr;
}

std::optional<std::vector<Value>> Run::arguments() const {
  const vm::Machine* start = timeline_.at_or_before(0);
  if (!start || !start->running()) return time() == 0 && !over_ ? std::optional(args_) : std::nullopt;
  const std::span<const Value> registers = start->registers(0);
  return std::vector<Value>(registers.begin(),
                            registers.begin() + std::ptrdiff_t(std::min(args_.size(), registers.size())));
}

// The arguments as the kernel gets them; the dynamic form unpacks its trailing shape.
std::optional<std::vector<Value>> Run::kernel_arguments(const vm::Machine& m) const {
  if (!m.running()) return args_;
  const Instruction i = code_->executable().instruction(m.frame().pc);
  std::vector<Value> args;
  for (std::size_t a = 0; a < i.args.size(); ++a) {
    auto value = argument(m, i.arg(a));
    if (!value) return std::nullopt;
    args.push_back(*std::move(value));
  }
  if (kernel_called_at(m.frame().pc) == i.callee) return args;
  const Value shape = args.back();
  args.erase(args.begin());
  if (!shape.is(runtime::ValueKind::Shape)) return std::nullopt;
  args.pop_back();
  for (const std::int64_t d : shape.as_shape()) args.push_back(Value::of_int(d));
  return args;
}

std::string Run::why_no_history() const {
  if (is_foreign()) return "it is another process's, which only goes forward";
  if (over_ && can_go_back_) return "a kernel or a packed function ran by itself";
  return "its values are larger than the limit on checkpoints";
}

std::optional<Value> Run::argument(const vm::Machine& m, Arg arg) const {
  switch (arg.kind()) {
    case ArgKind::Register: {
      if (bytecode::is_special(arg.reg())) return Value();
      const Value* v = m.read_register(m.frames().size() - 1, arg.reg());
      return v ? std::optional(*v) : std::nullopt;
    }
    case ArgKind::Immediate:
      return Value::of_int(arg.value());
    case ArgKind::Constant:
      return code_->executable().constants[std::size_t(arg.value())];
    case ArgKind::Function:
      return machine_.program().function_value(arg.function());
  }
  RLDB_UNREACHABLE("argument kind");
}

// A machine without frames makes its only call. It works on the caller's tensors; going back needs their old contents.
Outcome Run::call_alone() {
  const auto together = with_ranks();
  if (over_) return machine_.run();
  over_ = true;
  if (untouched_args_.empty()) can_go_back_ = untouched_args_.save(args_, {});
  // A machine restored from a checkpoint has copies of the arguments.
  auto started = machine_.start(function_, args_);
  RLDB_CHECK(started.ok(), "a run that was started before cannot be started again");
  return machine_.run();
}

// Bad arguments: the machine reports them when it makes the call.
std::unique_ptr<KernelStepper> Run::look_into(const vm::Machine& m) {
  std::string name;
  const ir::PrimFunc* f = kernel_of(m, &name);
  auto args = f ? kernel_arguments(m) : std::nullopt;
  if (!args) return nullptr;
  return KernelStepper::enter(kernel_code_, std::move(name), f, *std::move(args), code_->executable().constants);
}

bool Run::enter_kernel() {
  if (!next_kernel()) return false;
  if (!machine_.running() && untouched_args_.empty() && !untouched_args_.save(args_, {})) return false;
  kernel_ = look_into(machine_);
  return kernel_ != nullptr;
}

void Run::give_kernel_up() {
  kernel_->put_back();
  kernel_.reset();
}

Outcome Run::kernel_failed(runtime::Error error) {
  vm::Fault f;
  error.notes.push_back(fmt::format("in kernel `{}`", kernel_->name()));
  f.error = std::move(error);
  f.function_name = kernel_->name();
  if (!machine_.running()) {
    kernel_fault_ = f;
    return faulted(std::move(f));
  }
  f.function = machine_.frame().function;
  f.function_name = code_->function_name(pc());
  f.pc = pc();
  f.instruction = bytecode::instruction_text(code_->executable(), pc());
  kernel_fault_ = f;
  return faulted(std::move(f));
}

// The statements have been shown; the call itself is made by the run's own engine, from the initial contents.
Outcome Run::complete_kernel() {
  kernel_->put_back();
  kernel_.reset();
  const Muted muted(*this);  // the kernel's output was printed by its statements
  const auto together = with_ranks();
  if (!machine_.running()) return call_alone();
  Outcome o = machine_.step(1);
  if (o.stopped()) (void)changes_.apply(machine_, time());
  return o;
}

Outcome Run::step_kernel() {
  if (kernel_->machine().running()) {
    auto done = kernel_->step();
    if (!done.ok()) return kernel_failed(std::move(done).error());
  }
  return kernel_->machine().running() ? stopped(StopReason::Stepped) : complete_kernel();
}

Outcome Run::finish_kernel() {
  // Its statements print their own output.
  bool prints = false;
  ir::walk(kernel_->function(), [&](const ir::Node* n) {
    const auto* e = ir::as<ir::Expr>(n);
    prints = prints ||
             (e && (ir::is_call_of(e, ir::intrin::TvmCallPacked) || ir::is_call_of(e, ir::intrin::TvmCallCpacked)));
    return !prints;
  });
  return prints ? walk_kernel_out() : complete_kernel();
}

Outcome Run::walk_kernel_out() {
  constexpr int kPollEvery = 1024;
  for (int left = kPollEvery; kernel_->machine().running();) {
    auto done = kernel_->step();
    if (!done.ok()) return kernel_failed(std::move(done).error());
    if (--left > 0) continue;
    left = kPollEvery;
    if (session_.interrupt().exchange(false)) return stopped(StopReason::Interrupted);
  }
  return complete_kernel();
}

}  // namespace rldb::debug
