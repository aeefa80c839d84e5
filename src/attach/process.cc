// Moving a process forward: from gate to gate, until a thread comes to a stop.
#include "attach/process.h"

#include <fmt/format.h>

#include <cstddef>

#include "rldb/support/cancel.h"
#include "rldb/support/take_cancel.h"

namespace rldb::attach {

using bytecode::Pc;
using vm::Outcome;
using vm::StopReason;

namespace {

constexpr std::uint64_t kNoBudget = std::uint64_t(1) << 62;  // more is no budget

}  // namespace

struct Process::Going {
  vm::MachineState& state;
  const vm::StopSet* stops;
  std::uint64_t budget;
  bool stepping = false;  // the end of the current thread's call is a stop

  bool is_stop(std::int64_t pc) const { return stops && Pc(pc) < stops->end() && stops->test(Pc(pc)); }
};

Process::Process(pid_t process, std::unique_ptr<TracingThread> thread, std::unique_ptr<Tracer> tracer, Image image,
                 std::vector<std::string> others, const std::vector<LiveThread>& threads)
    : Foreign(std::make_unique<ProcessMemory>(process), std::move(image), std::move(others)),
      process_(process),
      own_id_(own_id(process, process)),
      command_(command_of(process)),
      thread_(std::move(thread)),
      tracer_(std::move(tracer)) {
  recognise(threads);
}

std::string Process::name() const {
  return command_.empty() ? fmt::format("process {}", process_) : fmt::format("process {} ({})", process_, command_);
}

void Process::detach() {
  if (!tracer_) return;
  thread_->run([this] {
    if (!tracer_->ended()) {
      tracer_->stop();
      set_gate(false);
    }
    tracer_.reset();
  });
  thread_.reset();
}

bool Process::set_gate(bool open) {
  const std::uint64_t word = open ? std::uint64_t(own_id_) : 0;
  if (gate_is_open_ == open) return true;
  if (!tracer_->write(image_.watched + offsetof(RemoteWatched, gate), word)) return false;
  gate_is_open_ = open;
  return true;
}

Stack Process::stack_of(pid_t thread) {
  const auto [it, added] = own_ids_.emplace(thread, 0);
  if (added) it->second = own_id(process_, thread);
  return stacks_.of(it->second, it->second == current_ ? trail_ : 0);
}

bool Process::is_stop_everywhere(std::int64_t pc) const {
  return Pc(pc) < everywhere_.end() && everywhere_.test(Pc(pc));
}

// It is nowhere any more.
Outcome Process::ended(vm::MachineState& state) {
  state.frames.clear();
  state.registers.clear();
  return fail(state, fmt::format("process {}: {}", process_, tracer_->how_it_ended()));
}

// The first look, and the stop in which the machine is already, cost the process nothing.
Outcome Process::run(vm::MachineState state, const vm::StopSet* stops, std::uint64_t budget) {
  Outcome outcome;
  thread_->run([&] {
    if (tracer_->ended()) {
      outcome = ended(state);
      return;
    }
    if (!std::exchange(shown_, true)) {
      outcome = show(state, present(), StopReason::Interrupted);
      return;
    }
    Going going{state, stops, budget};
    if (!state.frames.empty() && !state.at_stop && going.is_stop(state.frames.back().pc.value())) {
      state.at_stop = true;
      outcome.kind = Outcome::Kind::Stopped;
      outcome.reason = StopReason::Hook;
      return;
    }
    outcome = go(going);
  });
  return outcome;
}

Outcome Process::go(Going& going) {
  bool own = false;
  for (Pc pc = 0; going.stops && pc < going.stops->end(); ++pc)
    own = own || (going.stops->test(pc) && !is_stop_everywhere(pc.value()));
  going.stepping = own || going.budget < kNoBudget;
  const bool gate = going.stepping || (going.stops && !going.stops->empty());
  if (!set_gate(gate)) return fail(going.state, "the process cannot be written to");
  // Those that came to a breakpoint while another thread stopped.
  const std::vector<pid_t> waiting = std::exchange(waiting_, {});
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const Stack s = stack_of(waiting[i]);
    if (!s.at_gate || s.thread == current_ || !s.is_ours || !is_stop_everywhere(s.frames[0].pc)) continue;
    waiting_.assign(waiting.begin() + std::ptrdiff_t(i) + 1, waiting.end());
    current_ = s.thread;
    trail_ = s.trail;
    return show(going.state, s, StopReason::Hook);
  }
  const auto is_gate = [&](pid_t thread) { return stack_of(thread).at_gate; };
  tracer_->resume(gate);
  for (;;) {
    const Tracer::Event e = tracer_->wait(is_gate);
    if (e.kind == Tracer::Event::Kind::Ended) return ended(going.state);
    if (e.kind == Tracer::Event::Kind::Gate) {
      if (auto outcome = arrived(going, e.thread)) return *std::move(outcome);
      tracer_->resume_thread(e.thread);
    }
    if (support::take_cancel(support::cancel_flag())) return stop(going, StopReason::Interrupted);
  }
}

std::optional<Outcome> Process::arrived(Going& going, pid_t thread) {
  const Stack s = stack_of(thread);
  if (s.innermost != 0 && !s.is_ours) return std::nullopt;  // of another library
  const bool over = s.innermost == 0;
  if (current_ == 0 && !over) {
    current_ = s.thread;
    trail_ = s.trail;
  }
  if (s.thread != current_) {
    if (over || !is_stop_everywhere(s.frames[0].pc)) return std::nullopt;
    current_ = s.thread;
    trail_ = s.trail;
    return stop(going, StopReason::Hook);
  }
  if (over) return left(going, s);
  ++going.state.instructions;
  if (--going.budget == 0) return stop(going, StopReason::Stepped);
  if (going.is_stop(s.frames[0].pc)) return stop(going, StopReason::Hook);
  return std::nullopt;
}

// The outermost call of the current thread is over.
std::optional<Outcome> Process::left(Going& going, const Stack& stack) {
  current_ = 0;
  if (!going.stepping) return std::nullopt;
  Outcome o;
  o.value = stacks_.result(stack);
  const bool failed = stack.result == 0;
  tracer_->stop();
  for (const pid_t thread : tracer_->take_waiting()) waiting_.push_back(thread);
  ++going.state.instructions;
  going.state.frames.clear();
  going.state.registers.clear();
  if (!failed) return o;
  Outcome fault = fail(going.state, "the call has failed: its caller has the error");
  going.state.fault.reset();  // the next call can be waited for
  return fault;
}

Outcome Process::stop(Going& going, StopReason reason) {
  tracer_->stop();
  for (const pid_t thread : tracer_->take_waiting()) waiting_.push_back(thread);
  if (tracer_->ended()) return ended(going.state);
  return show(going.state, present(), reason);
}

}  // namespace rldb::attach
