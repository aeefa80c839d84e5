// Backwards: every verb searches for the latest earlier moment that fits, then restores and runs to it.
#include <algorithm>
#include <limits>

#include "debug/impl.h"
#include "debug/run/skim.h"
#include "debug/watch/iteration.h"
#include "debug/watch/observer.h"

namespace rldb::debug {

using bytecode::Opcode;

namespace {

// The latest fitting moment of a search, and (on request) only in frames that still exist now.
//
// Moments come window by window, the latest window first, in time order within each. A frame of depth d has returned
// when a Ret of depth d runs later.
class Latest {
 public:
  Latest(bool frames_alive, std::size_t depth_now) : frames_alive_(frames_alive), alive_(depth_now) {}

  void found(std::size_t depth, std::uint64_t time) {
    if (!frames_alive_) {
      best_ = time;
      return;
    }
    if (depth > alive_) return;  // later windows saw it return
    if (by_depth_.size() <= depth) by_depth_.resize(depth + 1);
    by_depth_[depth] = time;
  }
  void returns(std::size_t depth) {
    if (!frames_alive_) return;
    if (by_depth_.size() > depth) by_depth_.resize(depth);
    lowest_return_ = std::min(lowest_return_, depth);
  }
  bool end_of_window() {
    for (const auto& t : by_depth_)
      if (t && (!best_ || *t > *best_)) best_ = t;
    by_depth_.clear();
    alive_ = std::min(alive_, lowest_return_ == kNone ? alive_ : lowest_return_ - 1);
    lowest_return_ = kNone;
    return best_.has_value();
  }
  const std::optional<std::uint64_t>& best() const { return best_; }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  bool frames_alive_;
  std::size_t alive_;
  std::size_t lowest_return_ = kNone;
  std::vector<std::optional<std::uint64_t>> by_depth_;
  std::optional<std::uint64_t> best_;
};

}  // namespace

std::optional<std::uint64_t> Debugger::Impl::latest_time(Pc pc, std::size_t frame) const {
  vm::StopSet stops = no_stops();
  stops.set(pc);
  const bytecode::Executable& exe = run->code().executable();
  for (Pc at = 0; at < stops.end(); ++at)
    if (exe.instruction(at).op == Opcode::Ret) stops.set(at);
  Latest latest(true, run->depth()), before = latest;
  const Run::Seek seek = search_frames(
      *run, stops,
      [&](const vm::Machine& m) {
        if (m.frame().pc == pc && m.frames().size() == frame + 1) latest.found(frame + 1, m.instructions());
        if (exe.instruction(m.frame().pc).op == Opcode::Ret) latest.returns(m.frames().size());
      },
      [&] { latest = before; },
      [&] {
        const bool found = latest.end_of_window();
        before = latest;
        return found;
      });
  if (seek == Run::Seek::Interrupted) abandon_question();
  return latest.best();
}

StopReport Debugger::Impl::arrive(std::uint64_t time, StopKind kind, int at_part) {
  vm::Outcome ended;
  part = 0;
  switch (run->go_to(time, &ended)) {
    case Run::Seek::Done:
      break;
    case Run::Seek::Interrupted:
      return report(StopKind::Interrupted);
    case Run::Seek::Ended:
      return report_outcome(std::move(ended));
    case Run::Seek::NoHistory: {
      StopReport r = report(run->fault() ? StopKind::Fault : StopKind::HistoryEnd);
      r.note = "this run keeps no history: " + run->why_no_history();
      if (run->fault()) r.fault = run->fault();
      return last = r;
    }
  }
  if (at_part > 0 && run->machine().running()) part = std::min(at_part, last_part(run->pc()));
  return report(kind);
}

int Debugger::Impl::last_part(Pc pc) const {
  return run->code().starts().test(pc) ? std::max(0, int(run->code().group_of(pc).size()) - 1) : 0;
}

// Whether the stops at breakpoints depend on the contents of tensors.
bool Debugger::Impl::looks_at_contents() const {
  return std::any_of(breakpoints.begin(), breakpoints.end(), [](const auto& row) {
    const Breakpoint& b = row.second;
    return b.enabled && (b.kind != PointKind::Break || !b.condition.empty() || b.in_kernel);
  });
}

StopReport Debugger::Impl::backward(vm::StopSet mine, const Candidate& candidate, bool frames_alive) {
  to_end();
  if (part > 0 && !run->in_kernel() && !run->fault()) {
    std::string ignored;
    Hit hit = triggered(run->machine(), Order::Backward, part - 1, false, &ignored);
    const bool stepping = mine.test(run->pc()) && candidate(run->machine());
    if (stepping && hit.part != part - 1) hit.numbers.clear();
    if (stepping || !hit.numbers.empty()) {
      part = stepping ? part - 1 : hit.part;
      StopReport r = report(hit.numbers.empty() ? StopKind::Step : StopKind::Breakpoint);
      r.breakpoints = std::move(hit.numbers);
      return last = r;
    }
  }
  // From the middle of a kernel, back means before its call.
  if (run->timeline().empty()) {
    const bool was_over = !run->in_kernel();
    StopReport r = arrive(0, StopKind::HistoryEnd);
    const auto inside = was_over && r.kind == StopKind::HistoryEnd ? last_in_next_kernel(run->machine()) : std::nullopt;
    return inside && run->enter_kernel() ? stop_at(*inside) : r;
  }
  const CodeMap& map = run->code();
  vm::StopSet stops = mine;
  add_breakpoint_sites(stops);
  const std::size_t depth_now = run->depth();
  if (frames_alive)
    for (Pc pc = 0; pc < stops.end(); ++pc)
      if (map.executable().instruction(pc).op == Opcode::Ret) stops.set(pc);
  Latest latest(frames_alive, depth_now), before = latest;
  std::optional<std::uint64_t> breakpoint;
  std::optional<KernelMoment> inside;
  Hit hit;
  Observer observer(*this, *run, true);
  const auto visit = [&](const vm::Machine& m) {
    const Pc pc = m.frame().pc;
    std::string ignored;
    Hit here = triggered(m, Order::Backward, kLastPart, false, &ignored);
    if (!here.numbers.empty()) {
      breakpoint = m.instructions();
      hit = std::move(here);
      inside.reset();
    }
    // Moments inside a call come after everything before it.
    if (auto moment = last_in_next_kernel(m)) {
      breakpoint = m.instructions();
      inside = std::move(moment);
    }
    if (mine.test(pc) && candidate(m)) latest.found(m.frames().size(), m.instructions());
    if (frames_alive && map.executable().instruction(pc).op == Opcode::Ret) latest.returns(m.frames().size());
  };
  const auto leave = [&] {
    const bool found = latest.end_of_window();
    before = latest;
    return found || breakpoint.has_value() || observer.hit();
  };
  // Nothing found yet: `leave` would have ended the search.
  const auto again = [&] {
    latest = before;
    breakpoint.reset();
    inside.reset();
    hit = {};
  };
  const Run::Seek seek = observer.active() || looks_at_contents()
                             ? run->search(stops, visit, leave, observer.active() ? &observer : nullptr)
                             : search_frames(*run, stops, visit, again, leave);
  if (seek == Run::Seek::Interrupted) return report(StopKind::Interrupted);
  const auto& best = latest.best();
  // Back to before the instruction responsible.
  if (const std::uint64_t before = observer.time();
      observer.hit() && (!breakpoint || before >= *breakpoint) && (!best || before >= *best)) {
    StopReport r = arrive(before, StopKind::Breakpoint, kLastPart);
    if (r.kind != StopKind::Breakpoint) return last = r;
    for (Observer::Seen& s : observer.take()) {
      r.breakpoints.push_back(s.number);
      if (const auto& b = breakpoints.at(s.number); b.iterations && !s.over && !s.by_command)
        s.text += "\n" + storing_iteration(*this, b, before);
      r.details.push_back(std::move(s.text));
      if (r.element.empty()) r.element = std::move(s.element);
    }
    return last = r;
  }
  if (breakpoint && inside && (!best || *breakpoint >= *best)) {
    StopReport r = arrive(*breakpoint, StopKind::Breakpoint);
    return r.kind == StopKind::Breakpoint && run->enter_kernel() ? stop_at(*inside) : r;
  }
  if (breakpoint && (!best || *breakpoint >= *best)) {
    // A step goes to the last binding of an instruction, which may come after the breakpoint's.
    const bool both = best && *best == *breakpoint;
    StopReport r = arrive(*breakpoint, StopKind::Breakpoint, both ? kLastPart : hit.part);
    if (r.kind != StopKind::Breakpoint) return last = r;
    if (part != hit.part) return report(StopKind::Step);
    r.breakpoints = std::move(hit.numbers);
    return last = r;
  }
  if (best) return arrive(*best, StopKind::Step, kLastPart);
  return arrive(0, StopKind::HistoryEnd);
}

template <class Verb>
StopReport Debugger::Impl::repeat_back(std::uint64_t count, Verb verb) {
  if (!run) return not_running();
  StopReport r = last;
  for (std::uint64_t i = 0; i < count; ++i) {
    r = verb();
    if (r.kind != StopKind::Step) break;
  }
  return r;
}

StopReport Debugger::reverse_step(std::uint64_t count) {
  Impl& d = *impl_;
  return d.repeat_back(count, [&] {
    return d.backward(
        d.run->code().starts(), [](const vm::Machine&) { return true; }, false);
  });
}

StopReport Debugger::reverse_next(std::uint64_t count) {
  Impl& d = *impl_;
  return d.repeat_back(count, [&] {
    // From the end of the run, where no frame is left: to the last binding of the outermost function.
    d.to_end();
    const bool ended = d.run->depth() == 0;
    return d.backward(
        d.run->code().starts(), [ended](const vm::Machine& m) { return !ended || m.frames().size() == 1; }, !ended);
  });
}

StopReport Debugger::reverse_finish() {
  Impl& d = *impl_;
  if (!d.run) return d.not_running();
  d.to_end();
  if (d.run->in_kernel()) return d.before_the_call(StopKind::Step);
  const auto frames = d.run->machine().frames();
  if (frames.size() < 2)
    return d.backward(
        d.no_stops(), [](const vm::Machine&) { return false; }, false);
  // The caller is at its Call.
  const std::size_t depth = frames.size() - 1;
  const Pc call = frames[depth - 1].pc;
  vm::StopSet mine = d.no_stops();
  mine.set(call);
  return d.backward(
      std::move(mine), [depth](const vm::Machine& m) { return m.frames().size() == depth; }, false);
}

StopReport Debugger::reverse_resume() {
  Impl& d = *impl_;
  if (!d.run) return d.not_running();
  if (d.run->in_kernel())
    if (auto r = d.kernel_backward({})) return *r;
  return d.backward(
      d.no_stops(), [](const vm::Machine&) { return false; }, false);
}

StopReport Debugger::reverse_step_instruction(std::uint64_t count) {
  Impl& d = *impl_;
  if (!d.run) return d.not_running();
  d.to_end();
  const std::uint64_t now = d.run->time();
  // Inside a kernel: going back to before its call counts as the first.
  if (d.run->in_kernel() && count > 0) --count;
  if (count > now) return d.arrive(0, StopKind::HistoryEnd);
  return d.arrive(now - count, StopKind::Step);
}

StopReport Debugger::go_to(std::uint64_t time) {
  Impl& d = *impl_;
  if (!d.run) return d.not_running();
  return d.arrive(time, time == 0 ? StopKind::Entry : StopKind::Step);
}

StopReport Debugger::restart_frame(int frame) {
  Impl& d = *impl_;
  if (!d.run) return d.not_running();
  if (d.run->in_kernel() && frame == 0) {
    const StopReport before = d.before_the_call(StopKind::Step);
    return d.run->in_kernel() ? before : step_statement();
  }
  std::size_t index = 0;
  if (!frame_index(d.run->machine(), machine_frame(frame), index)) return d.not_running();
  // Behind its call: the checks of arguments and the shape heap come before the first binding.
  const vm::Frame f = d.run->machine().frames()[index];
  const std::uint64_t begin = index == 0 && f.replaced == 0 ? 0 : f.entered + 1;
  const Pc first = d.run->code().entry(f.function);
  const StopReport r = d.arrive(begin, StopKind::Step);
  if (r.kind != StopKind::Step || r.time != begin || d.run->pc() == first) return r;
  vm::StopSet mine = d.no_stops();
  mine.set(first);
  return d.forward(std::move(mine), [] { return true; });
}

}  // namespace rldb::debug
