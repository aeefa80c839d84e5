// Forward: starting, stepping, finishing, stops.
#include <fmt/format.h>

#include "debug/impl.h"
#include "debug/watch/iteration.h"
#include "debug/watch/observer.h"
#include "rldb/debug/kernel_result.h"
#include "rldb/runtime/copy.h"
#include "rldb/runtime/device_error.h"
#include "rldb/session/observed.h"
#include "rldb/source/diagnostic_missing.h"

namespace rldb::debug {

using bytecode::Instruction;
using bytecode::Opcode;
using runtime::Value;
using vm::Outcome;
using vm::StopReason;

namespace {

// The value that a Ret is about to return.
Value value_to_return(const vm::Machine& m) {
  const Instruction i = m.executable().instruction(m.frame().pc);
  if (i.op != Opcode::Ret || bytecode::is_special(i.reg)) return Value();
  const Value* v = m.read_register(m.frames().size() - 1, i.reg);
  return v ? *v : Value();
}

}  // namespace

// ---- reports ----

void add_note(StopReport& r, std::string_view note) {
  if (!note.empty()) r.note = fmt::format("{}{}{}", r.note, r.note.empty() ? "" : "; ", note);
}

StopReport Debugger::Impl::report(StopKind kind) {
  StopReport r;
  r.kind = kind;
  if (run) {
    r.time = run->time();
    if (const auto since = run->apart_since())
      r.note = fmt::format(
          "the run went back, and a plugin keeps memory of what it was before: what it writes there from time {} on "
          "may be missing",
          *since);
    r.where = run->code().position(run->pc(), part);
    if (run->in_kernel()) {
      r.in_kernel = true;
      if (r.where.function.empty()) r.where.function = run->kernel()->name();
      const ir::Stmt* s = run->kernel()->machine().current();
      if (const source::Span span = session.context().span_of(s)) r.where.span = span;
    }
  }
  last = r;
  return r;
}

// Of a kernel that is run by itself. On the way back its arguments get their old contents, the result keeps its own.
void Debugger::Impl::keep_written(StopReport& finished) const {
  auto kept = runtime::copy_of(kernel_result(session, run->function(), run->given()));
  if (kept.ok())
    finished.value = std::move(kept).value();
  else
    finished.note = fmt::format("what the kernel wrote cannot be kept: {}", kept.error().message);
}

StopReport Debugger::Impl::report_outcome(Outcome outcome) {
  if (outcome.finished()) {
    if (auto lost = session::lost_result(run->function(), outcome.value)) {
      run->result_lost(vm::Fault{*std::move(lost), -1, run->function(), -1, {}});
      StopReport r = report(StopKind::Fault);
      r.fault = run->fault();
      if (r.where.function.empty()) r.where.function = run->function();
      last = r;
      catch_up_with_moves();
      return r;
    }
    StopReport r = report(StopKind::Finished);
    r.value = std::move(outcome.value);
    if (r.value.is_null()) keep_written(r);
    last = r;
    catch_up_with_moves();
    return r;
  }
  if (outcome.stopped())
    return report(outcome.reason == StopReason::Interrupted ? StopKind::Interrupted : StopKind::Step);
  // ^C inside a kernel: back to before the call, so that the run can continue. Where that takes long (values too large
  // for checkpoints), the prompt comes first; the user can request it.
  if (outcome.fault && outcome.fault->error.kind == runtime::ErrorKind::Interrupted && run->machine().running()) {
    session.interrupt() = false;
    constexpr std::uint64_t kAtOnce = 50'000'000;  // ns; going back reads cold memory, too
    if (run->cost_of_return() > kAtOnce)
      outcome.fault->error.notes.emplace_back(
          "`reverse-stepi` goes back to before the call, and the run can continue from there");
    else if (run->go_to(run->time()) == Run::Seek::Done)
      return report(StopKind::Interrupted);
  }
  StopReport r = report(StopKind::Fault);
  for (auto& [number, b] : breakpoints)
    if (b.kind == PointKind::Catch && b.enabled && b.spec == kCatchError) {
      ++b.hits;
      r.breakpoints.push_back(number);
    }
  r.fault = std::move(outcome.fault);
  if (r.fault && r.where.function.empty()) r.where.function = r.fault->function_name;
  return last = r;
}

StopReport Debugger::Impl::not_running() { return StopReport{}; }

// ---- the loop behind every verb ----

std::optional<StopReport> Debugger::Impl::report_seen(Observer& observer) {
  std::vector<Observer::Seen> seen = observer.take();
  std::vector<int> numbers;
  std::vector<std::string> details;
  std::string element;
  for (Observer::Seen& s : seen) {
    Breakpoint& b = breakpoints.at(s.number);
    const bool passes = !s.over && b.hits_to_pass() > 0;
    if (!s.over) ++b.hits;
    if (!s.over && b.ignore > 0) --b.ignore;
    if (passes) continue;
    numbers.push_back(s.number);
    if (b.iterations && !s.over && !s.by_command) s.text += "\n" + storing_iteration(*this, b, observer.time());
    details.push_back(std::move(s.text));
    if (element.empty()) element = std::move(s.element);
  }
  if (numbers.empty()) return std::nullopt;
  // A breakpoint at the next instruction is not checked again when the run continues.
  auto also = breakpoint_here();
  StopReport r = also ? *also : report(StopKind::Breakpoint);
  r.breakpoints.insert(r.breakpoints.begin(), numbers.begin(), numbers.end());
  r.details = std::move(details);
  r.element = std::move(element);
  return last = r;
}

std::optional<StopReport> Debugger::Impl::breakpoint_here(int from) {
  if (!run->machine().running()) return std::nullopt;
  std::string note;
  Hit hit = triggered(run->machine(), Order::Forward, from, true, &note);
  if (hit.numbers.empty()) return std::nullopt;
  for (const int n : hit.numbers) {
    const auto it = breakpoints.find(n);
    if (it != breakpoints.end() && it->second.temporary) breakpoints.erase(it);
  }
  part = hit.part;
  StopReport r = report(StopKind::Breakpoint);
  r.breakpoints = std::move(hit.numbers);
  add_note(r, note);
  return last = r;
}

int Debugger::Impl::binding_here() const {
  if (!run->machine().running()) return -1;
  const std::vector<int>& group = run->code().group_of(run->pc());
  return group.empty() ? -1 : group[std::min(std::size_t(part), group.size() - 1)];
}

std::optional<StopReport> Debugger::Impl::next_part() {
  if (!run->machine().running() || run->fault() || run->in_kernel() || !run->code().starts().test(run->pc()))
    return std::nullopt;
  if (std::size_t(part) + 1 >= run->code().group_of(run->pc()).size()) return std::nullopt;
  ++part;
  if (auto r = breakpoint_here(part); r && r->where.part == part) return r;
  return report(StopKind::Step);
}

std::string Debugger::Impl::passed_over(int from, int to) const {
  constexpr std::size_t kShown = 8;
  const CodeMap& map = run->code();
  std::vector<std::string> names;
  for (int i = from + 1; from >= 0 && i < to; ++i) {
    const UserBinding& b = map.binding(i);
    if (b.function != map.binding(from).function || map.has_code(i) || !b.binding ||
        !ir::isa<ir::Call>(b.binding->value))
      continue;
    names.push_back(b.name);
  }
  if (names.empty()) return {};
  const std::size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return fmt::format("optimised away: {}{}", fmt::join(names, ", "), more ? fmt::format(" and {} more", more) : "");
}

std::optional<StopReport> Debugger::Impl::leave_kernel() {
  if (run->fault()) {
    Outcome o;
    o.kind = Outcome::Kind::Faulted;
    o.fault = run->fault();
    return report_outcome(std::move(o));
  }
  if (!run->in_kernel()) return std::nullopt;
  Outcome o = run->finish_kernel();
  if (ran_out(o)) return std::nullopt;
  return report_outcome(std::move(o));
}

StopReport Debugger::Impl::forward(vm::StopSet mine, const Accept& accept, std::uint64_t until) {
  const bool was_in_kernel = run->in_kernel();
  if (auto r = stop_in_this_kernel()) return *r;
  if (auto r = leave_kernel()) return *r;
  if (!was_in_kernel)
    if (auto r = breakpoint_here(part + 1)) return *r;
  part = 0;
  // Finishing a kernel is progress: the next place may already be a stop.
  if (was_in_kernel) {
    if (auto r = breakpoint_here()) return *r;
    if (run->time() >= until || (mine.test(run->pc()) && accept())) return report(StopKind::Step);
  }
  vm::StopSet stops = mine;
  add_breakpoint_sites(stops);
  const bool any = !stops.empty();
  tell_breakpoints();
  Observer observer(*this, *run);
  if (observer.active()) observer.begin(run->machine(), false);
  for (;;) {
    if (auto r = stop_in_next_kernel()) return *r;
    const std::uint64_t before = run->time();
    Outcome o = run->advance(any ? &stops : nullptr, until, observer.active() ? &observer : nullptr);
    if (o.stopped() && observer.hit())
      if (auto r = report_seen(observer)) return *r;
    const bool arrived = o.stopped() && (o.reason == StopReason::Hook || o.reason == StopReason::Stepped);
    // An interruption just where the run would have stopped: whoever goes on from there would miss it.
    const bool at_stop = o.stopped() && o.reason == StopReason::Interrupted && run->time() > before &&
                         run->machine().running() && stops.test(run->pc());
    if (!arrived && !at_stop) return report_outcome(std::move(o));
    if (auto r = breakpoint_here()) return *r;
    if (run->time() >= until || (mine.test(run->pc()) && accept())) return report(StopKind::Step);
    if (!arrived) return report_outcome(std::move(o));
  }
}

template <class Verb>
StopReport Debugger::Impl::repeat(std::uint64_t count, Verb verb) {
  if (!run || last.kind == StopKind::Finished) return not_running();
  StopReport r = last;
  for (std::uint64_t i = 0; i < count; ++i) {
    r = verb();
    if (r.kind != StopKind::Step) break;
  }
  return r;
}

// ---- verbs ----

StopReport Debugger::Impl::step_once() {
  if (auto r = next_part()) return *r;
  const int from = binding_here();
  const std::size_t depth = run->depth();
  StopReport r = forward(run->code().starts(), [] { return true; });
  if (r.kind != StopKind::Step || run->depth() != depth) return r;
  add_note(r, passed_over(from, binding_here()));
  return last = r;
}

StopReport Debugger::Impl::next_once() {
  if (auto r = next_part()) return *r;
  const int from = binding_here();
  const std::size_t depth = run->depth();
  StopReport r = next_start();
  if (r.kind != StopKind::Step || run->depth() != depth) return r;
  add_note(r, passed_over(from, binding_here()));
  return last = r;
}

StopReport Debugger::Impl::next_start() {
  std::size_t limit = run->depth();
  vm::StopSet mine = run->code().starts();
  // When this frame returns, its caller's bindings come next; other calls made there are stepped over again.
  if (run->machine().running())
    for (const Pc pc : run->code().returns(run->machine().frame().function)) mine.set(pc);
  // A Ret never starts a binding, so the two kinds of stops do not overlap. The current instruction is not checked.
  if (run->machine().running() && run->code().executable().instruction(run->pc()).op == Opcode::Ret && limit > 1)
    --limit;
  return forward(std::move(mine), [&] {
    if (run->depth() > limit) return false;
    const bool is_return = run->code().executable().instruction(run->pc()).op == Opcode::Ret;
    if (!is_return || run->code().starts().test(run->pc())) return true;
    if (run->depth() == limit && limit > 1) --limit;
    return false;
  });
}

StopReport Debugger::Impl::next_instruction_once() {
  const std::size_t depth = run->depth();
  const Pc here = run->pc();
  StopReport r = forward(
      no_stops(), [] { return true; }, run->time() + 1);
  if (r.kind != StopKind::Step || run->depth() <= depth || here < 0) return r;
  // It was a call: to the instruction after it, in this frame.
  vm::StopSet mine = no_stops();
  mine.set(here + 1);
  return forward(std::move(mine), [&] { return run->depth() <= depth; });
}

StopReport Debugger::step(std::uint64_t count) {
  return impl_->repeat(count, [this] { return impl_->step_once(); });
}

StopReport Debugger::next(std::uint64_t count) {
  return impl_->repeat(count, [this] { return impl_->next_once(); });
}

StopReport Debugger::step_instruction(std::uint64_t count) {
  Impl& d = *impl_;
  if (!d.run || d.last.kind == StopKind::Finished || count == 0) return d.not_running();
  const std::uint64_t now = d.run->time();
  const std::uint64_t until = count > Run::kForever - now ? Run::kForever : now + count;
  return d.forward(
      d.no_stops(), [] { return true; }, until);
}

StopReport Debugger::next_instruction(std::uint64_t count) {
  return impl_->repeat(count, [this] { return impl_->next_instruction_once(); });
}

StopReport Debugger::resume() {
  Impl& d = *impl_;
  const bool waits = d.run && d.run->is_foreign();  // for the next call
  if (!d.run || (d.last.kind == StopKind::Finished && !waits)) return d.not_running();
  return d.forward(d.no_stops(), [] { return false; });
}

StopReport Debugger::until(std::string_view spec, source::Diagnostics& out) {
  Impl& d = *impl_;
  if (!d.run || d.last.kind == StopKind::Finished) return d.not_running();
  Impl::Resolved to = d.resolve(spec, &d.run->code());
  if (to.in_kernel) return d.until_in_kernel(to.in_kernel);
  if (to.sites.empty()) {
    out.add({}, to.problem ? *std::move(to.problem) : source::message(diag::NoSuchThing, "place", spec));
    return d.last;
  }
  vm::StopSet mine = d.no_stops();
  for (const Site& site : to.sites) {
    if (!d.run->in_kernel() && site.pc == d.run->pc() && site.part > d.part) {
      d.part = site.part;
      return d.report(StopKind::Step);
    }
    mine.set(site.pc);
  }
  StopReport r = d.forward(std::move(mine), [] { return true; });
  if (r.kind != StopKind::Step) return r;
  for (const Site& site : to.sites)
    if (site.pc == d.run->pc()) d.part = site.part;
  return d.report(StopKind::Step);
}

StopReport Debugger::finish(int frame) {
  Impl& d = *impl_;
  if (!d.run || d.last.kind == StopKind::Finished) return d.not_running();
  if (d.run->in_kernel() && frame == 0) {
    if (auto r = d.stop_in_this_kernel()) return *r;
    return d.kernel_ended();
  }
  std::size_t index = 0;
  if (d.run->fault() || !frame_index(d.run->machine(), machine_frame(frame), index)) return resume();
  if (const VirtualFrame kind = d.virtual_frame(index); kind != VirtualFrame::None &&
                                                        frames()[std::size_t(frame)].is_virtual != VirtualFrame::None &&
                                                        index + 1 == d.run->depth())
    return d.finish_virtual(kind);
  const std::size_t depth = index + 1;
  const FunctionIndex function = d.run->machine().frames()[index].function;
  const std::string name = d.run->code().executable().functions[std::size_t(function)].name;
  auto at_return = [&] {
    return d.run->depth() == depth && d.run->code().executable().instruction(d.run->pc()).op == Opcode::Ret;
  };
  if (!at_return()) {
    vm::StopSet mine = d.no_stops();
    for (const Pc pc : d.run->code().returns(function)) mine.set(pc);
    StopReport r = d.forward(std::move(mine), at_return);
    if (r.kind != StopKind::Step) return r;
  }
  const Value value = value_to_return(d.run->machine());
  d.part = 0;
  Outcome o = d.run->advance(nullptr, d.run->time() + 1);
  StopReport r = d.report_outcome(std::move(o));
  r.returned_from = name;
  r.returned = value;
  return d.last = r;
}

// To the first binding of the innermost frame outside its virtual frame; a breakpoint on the way stops.
StopReport Debugger::Impl::finish_virtual(VirtualFrame kind) {
  const std::size_t depth = run->depth();
  const Position from = position_of(depth - 1);
  StopReport r = last;
  do {
    r = next_once();
  } while (r.kind == StopKind::Step && run->depth() == depth &&
           (kind == VirtualFrame::Fused ? r.where.pc == from.pc : r.where.written_in == from.written_in));
  return r;
}

// ---- TensorIR ----

// From the start of a binding to the kernel call that does its work.
StopReport Debugger::Impl::to_kernel_of_binding() {
  const bytecode::Executable& exe = run->code().executable();
  vm::StopSet mine = run->code().starts();
  for (Pc pc = 0; pc < exe.end(); ++pc)
    if (run->is_kernel_call(pc)) mine.set(pc);
  return forward(std::move(mine), [] { return true; });
}

// ---- starting ----

StopReport Debugger::start(std::string_view function, std::span<const Value> args, bool stop_at_entry,
                           source::Diagnostics& out) {
  auto build = impl_->session.runnable(out);
  return build ? start(std::move(build), function, args, stop_at_entry, out) : impl_->not_running();
}

StopReport Debugger::start(std::shared_ptr<const session::Build> build, std::string_view function,
                           std::span<const Value> args, bool stop_at_entry, source::Diagnostics& out) {
  impl_->waiting.clear();
  impl_->beside.reset();
  impl_->parked.clear();
  return impl_->begin(*this, std::move(build), function, args, stop_at_entry, out);
}

StopReport Debugger::Impl::begin(Debugger& debugger, std::shared_ptr<const session::Build> build,
                                 std::string_view function, std::span<const Value> args, bool stop_at_entry,
                                 source::Diagnostics& out) {
  (void)runtime::take_device_error();  // of what ran before
  std::optional<vm::Machine> machine = session.start(*build, function, args, out);
  if (!machine) return not_running();
  part = 0;
  checkpoints.clear();
  watched_memory.clear();
  last = {};  // of the previous run
  run = std::make_shared<Run>(code_of(std::move(build)), *std::move(machine), session, function, args);
  debugger.resolve_breakpoints();
  if (stop_at_entry) {
    StopReport r = report(StopKind::Entry);
    if (r.where.function.empty()) r.where.function = function;
    return last = r;
  }
  if (auto r = breakpoint_here()) return *r;
  if (auto r = stop_in_lone_kernel()) return *r;
  return forward(no_stops(), [] { return false; });
}

StopReport Debugger::start_nested(std::shared_ptr<const session::Build> build, std::string_view function,
                                  std::span<const Value> args, source::Diagnostics& out) {
  if (!active()) return start(std::move(build), function, args, false, out);
  Impl& d = *impl_;
  d.waiting.push_back({d.run, d.last, d.part, d.checkpoints});
  const StopReport r = d.begin(*this, std::move(build), function, args, false, out);
  if (d.run == d.waiting.back().run)
    d.waiting.pop_back();  // it could not begin
  else
    return_to_outer();
  return r;
}

session::Session::EntryRunner Debugger::call_runner(std::optional<StopReport>& stop, source::Diagnostics& out) {
  if (breakpoints().empty() || impl_->session.options().engine == session::Engine::Eval) return {};
  return [&, this](auto build, std::string_view function, auto args) -> std::optional<Value> {
    StopReport r = start_nested(std::move(build), function, args, out);
    if (r.kind == StopKind::Finished) return r.value;
    if (!out.has_errors()) stop = std::move(r);
    return std::nullopt;
  };
}

bool Debugger::return_to_outer() {
  Impl& d = *impl_;
  if (d.waiting.empty() || active()) return false;
  Impl::Waiting back = std::move(d.waiting.back());
  d.waiting.pop_back();
  d.run = std::move(back.run);
  d.last = std::move(back.last);
  d.part = back.part;
  d.checkpoints = std::move(back.checkpoints);
  resolve_breakpoints();
  return true;
}

const StopReport* Debugger::outer_stop() const {
  return impl_->waiting.empty() ? nullptr : &impl_->waiting.back().last;
}

}  // namespace rldb::debug
