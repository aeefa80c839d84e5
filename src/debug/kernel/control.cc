// Moving inside a kernel: to a place, to a breakpoint, backwards; and how a run enters one.
#include <fmt/format.h>

#include <algorithm>

#include "debug/impl.h"
#include "debug/kernel/condition.h"
#include "debug/kernel/place.h"

namespace rldb::debug {

using runtime::Value;

// ---- targets ----

// Group 0 is the verb's own, if it has probes.
Debugger::Impl::KernelTargets Debugger::Impl::kernel_targets(const ir::PrimFunc* f, const vm::Machine& m,
                                                             std::vector<Probe> mine) {
  KernelTargets t;
  if (!mine.empty()) {
    t.search.probes = std::move(mine);
    t.search.pass.emplace_back(0);
    t.numbers.push_back(kOwn);
  }
  for (const auto& [number, b] : breakpoints) {
    if (!b.enabled || !b.in_kernel || b.in_kernel->function != f) continue;
    for (Probe p : b.in_kernel->probes) {
      p.group = t.numbers.size();
      if (!b.condition.empty()) p.condition = compiled_condition(b, p, m);
      p.asks = !b.condition.empty() && !p.condition;
      t.search.probes.push_back(p);
    }
    t.search.pass.emplace_back(b.hits_to_pass());
    t.numbers.push_back(number);
  }
  t.note = std::make_shared<std::string>();
  t.search.condition = [this, &m, numbers = t.numbers, note = t.note](std::size_t group, const eval::TirMachine& k) {
    const auto b = breakpoints.find(numbers[group]);
    return b == breakpoints.end() || condition_holds(b->second, m, part, note.get(), &k);
  };
  return t;
}

// Whether a part of a condition looks at memory that the call about to be made may write.
bool Debugger::Impl::reads_memory_of_call(std::string_view text, const vm::Machine& m) const {
  const auto args = run->kernel_arguments(m);
  const auto parsed = expression::parse(text);
  if (!args || !parsed.ok()) return true;
  for (const std::string& name : expression::names_of(*parsed)) {
    const auto v = evaluate_at(name, m, part);
    if (!v.ok() || v->is(runtime::ValueKind::Tuple)) return true;
    if (!v->is(runtime::ValueKind::Tensor)) continue;
    for (const Value& a : *args)
      if (a.is(runtime::ValueKind::Tensor) && a.as_tensor().storage() == v->as_tensor().storage()) return true;
  }
  return false;
}

namespace {

bool same_place(const runtime::Tensor& a, const runtime::Tensor& b) {
  return a.storage() == b.storage() && a.byte_offset() == b.byte_offset() && a.shape() == b.shape() &&
         a.dtype() == b.dtype();
}

}  // namespace

// None: the evaluator decides.
ConditionCode Debugger::Impl::compiled_condition(const Breakpoint& b, const Probe& probe, const vm::Machine& m) {
  using Condition = KernelCode::Condition;
  const auto number_of_name = [&](std::string_view text) -> std::optional<Value> {
    auto v = evaluate_at(text, m, part);
    if (!v.ok() || reads_memory_of_call(text, m)) return std::nullopt;
    const auto is = [&](runtime::ValueKind kind) { return v->is(kind); };
    const bool one = is(runtime::ValueKind::Tensor) && v->as_tensor().element_count() == 1;
    if (!one && !is(runtime::ValueKind::Int) && !is(runtime::ValueKind::Float) && !is(runtime::ValueKind::Bool))
      return std::nullopt;
    return std::move(v).value();
  };
  const auto tensor_of_name = [&](std::string_view text) -> std::optional<Value> {
    auto v = evaluate_at(text, m, part);
    const bool usable = v.ok() && v->is(runtime::ValueKind::Tensor) && v->as_tensor().dtype().is_scalar();
    return usable && !reads_memory_of_call(text, m) ? std::optional(std::move(v).value()) : std::nullopt;
  };
  std::vector<Condition>& known = run->kernel_code().conditions;
  const auto same = [&](const Condition& c) {
    return c.at == probe.at && c.arrival == probe.arrival && c.text == b.condition &&
           std::all_of(c.numbers.begin(), c.numbers.end(),
                       [&](const auto& row) {
                         const auto now = number_of_name(row.first);
                         return now && now->kind() == row.second.kind() &&
                                runtime::compare(*now, row.second, {.atol = 0, .rtol = 0}).empty();
                       }) &&
           std::all_of(c.tensors.begin(), c.tensors.end(), [&](const auto& row) {
             const auto now = tensor_of_name(row.first);
             return now && same_place(now->as_tensor(), row.second.as_tensor());
           });
  };
  if (const auto it = std::find_if(known.begin(), known.end(), same); it != known.end()) return it->made;
  Condition c{probe.at, probe.arrival, b.condition, {}, {}, {}};
  if (auto read = expression::parse(b.condition); read.ok()) {
    ConditionScope scope = scope_of(KernelText(session, b.in_kernel->kernel, b.in_kernel->function), probe);
    scope.number = [&](std::string_view name) {
      auto v = number_of_name(name);
      if (v) c.numbers.emplace_back(name, *v);
      return v;
    };
    scope.tensor = [&](std::string_view name) {
      auto v = tensor_of_name(name);
      if (v) c.tensors.emplace_back(name, *v);
      return v;
    };
    c.made = compile_condition(session.context(), *read, scope);
  }
  // Each keeps the tensors that it reads: of those for other values of the names a few remain, the newest.
  constexpr std::ptrdiff_t kMostVariants = 8;
  const auto variant = [&](const Condition& k) { return k.at == c.at && k.arrival == c.arrival && k.text == c.text; };
  if (std::count_if(known.begin(), known.end(), variant) >= kMostVariants)
    known.erase(std::find_if(known.begin(), known.end(), variant));
  known.push_back(c);
  return c.made;
}

bool Debugger::Impl::has_breakpoints_in(const ir::PrimFunc* f) const {
  return f && std::any_of(breakpoints.begin(), breakpoints.end(), [f](const auto& row) {
           return row.second.enabled && row.second.in_kernel && row.second.in_kernel->function == f;
         });
}

// ---- forward ----

// Nullopt: the call finishes first.
std::optional<StopReport> Debugger::Impl::kernel_forward(std::vector<Probe> mine, bool from_beginning,
                                                         std::optional<std::uint64_t> before) {
  KernelStepper& k = *run->kernel();
  KernelTargets t = kernel_targets(k.function(), run->machine(), std::move(mine));
  if (t.search.probes.empty()) return std::nullopt;
  for (;; from_beginning = false) {
    std::vector<Arrivals> met;
    const KernelStepper::Found found = run->quietly([&] { return k.forward(t.search, from_beginning, before, met); });
    if (found == KernelStepper::Found::Interrupted) {
      run->give_kernel_up();
      return report(StopKind::Interrupted);
    }
    const bool stopped = found == KernelStepper::Found::Yes;
    bool own = false;
    std::vector<int> hits = count_hits(t, met, stopped, own);
    if (!stopped) return std::nullopt;
    // A log point alone does not stop.
    if (own || !hits.empty()) return report_in_kernel(std::move(hits), *t.note);
  }
}

// Counts the hits on the way to a stop, or to the end; returns the breakpoints that stop. Log points print their text.
std::vector<int> Debugger::Impl::count_hits(KernelTargets& t, const std::vector<Arrivals>& met, bool stopped,
                                            bool& own) {
  std::vector<int> hits;
  const KernelStepper& k = *run->kernel();
  for (std::size_t g = 0; g < t.numbers.size() && g < met.size(); ++g) {
    const auto it = breakpoints.find(t.numbers[g]);
    if (it == breakpoints.end()) {
      own = own || met[g].hits > 0;
      continue;
    }
    Breakpoint& b = it->second;
    const bool stops = met[g].hits > b.hits_to_pass();
    b.hits += met[g].hits;
    b.ignore -= std::min(b.ignore, met[g].hits);
    t.search.pass[g] = b.hits_to_pass();
    if (!stops || !stopped) continue;
    if (!b.log.empty()) {
      log(b, run->machine(), part, &k.machine());
      continue;
    }
    hits.push_back(t.numbers[g]);
    // If machine code evaluated the condition, this reports whether it could.
    if (t.note->empty()) condition_holds(b, run->machine(), part, t.note.get(), &k.machine());
  }
  return hits;
}

StopReport Debugger::Impl::report_in_kernel(std::vector<int> hits, std::string note) {
  for (const int n : hits)
    if (const auto it = breakpoints.find(n); it != breakpoints.end() && it->second.temporary) breakpoints.erase(it);
  StopReport r = report(hits.empty() ? StopKind::Step : StopKind::Breakpoint);
  r.breakpoints = std::move(hits);
  add_note(r, note);
  return last = r;
}

// Before the next instruction is executed: is it a call with a breakpoint inside that stops?
std::optional<StopReport> Debugger::Impl::stop_in_next_kernel() {
  if (run->in_kernel() || !has_breakpoints_in(run->next_kernel()) || !run->enter_kernel()) return std::nullopt;
  if (auto r = kernel_forward({}, true)) return r;
  run->give_kernel_up();
  return std::nullopt;
}

// A kernel that is run by itself has no call at which a breakpoint of its name could stop: before its first statement.
std::optional<StopReport> Debugger::Impl::stop_in_lone_kernel() {
  std::string name;
  const bool alone = !run->machine().running() && run->next_kernel(&name);
  const auto stops = [&](const auto& at) {
    const Breakpoint& b = at.second;
    return b.enabled && b.kind == PointKind::Break && !b.in_kernel && b.spec == name;
  };
  if (!alone || std::none_of(breakpoints.begin(), breakpoints.end(), stops) || !run->enter_kernel())
    return std::nullopt;
  const eval::TirMachine& inside = run->kernel()->machine();
  std::vector<int> hits;
  std::string note;
  for (auto& at : breakpoints) {
    Breakpoint& b = at.second;
    if (!stops(at) || !condition_holds(b, run->machine(), 0, &note, &inside)) continue;
    const bool passes = b.hits_to_pass() > 0;
    ++b.hits;
    if (b.ignore > 0) --b.ignore;
    if (passes) continue;
    if (b.log.empty())
      hits.push_back(b.number);
    else
      log(b, run->machine(), 0, &inside);
  }
  if (!hits.empty()) return report_in_kernel(std::move(hits), std::move(note));
  run->give_kernel_up();
  return std::nullopt;
}

// The rest of a call being stepped: to a breakpoint in it, or its end.
std::optional<StopReport> Debugger::Impl::stop_in_this_kernel() {
  if (!run->in_kernel() || run->fault() || !has_breakpoints_in(run->kernel()->function())) return std::nullopt;
  const std::uint64_t here = run->kernel()->machine().steps();
  if (auto r = kernel_forward({}, false)) return r;
  // Quietly: its statements print their own output.
  if (run->in_kernel()) run->quietly([&] { return run->kernel()->go_to(here); });
  return std::nullopt;
}

StopReport Debugger::Impl::kernel_ended() {
  const std::string name = run->kernel()->name();
  if (auto r = leave_kernel()) return *r;
  StopReport r = report(StopKind::Step);
  r.returned_from = name;
  return last = r;
}

StopReport Debugger::Impl::until_in_kernel(const std::shared_ptr<const KernelPlace>& place) {
  if (run->in_kernel() && run->kernel()->function() == place->function) {
    if (auto r = kernel_forward(place->probes, false)) return *r;
    return kernel_ended();
  }
  // From outside it is a hidden breakpoint.
  Breakpoint& b = breakpoints[kOwn];
  b.in_kernel = place;
  StopReport r = forward(no_stops(), [] { return false; });
  breakpoints.erase(kOwn);
  if (std::erase(r.breakpoints, kOwn) > 0 && r.breakpoints.empty()) r.kind = StopKind::Step;
  return last = r;
}

// ---- backward ----

std::optional<Debugger::Impl::KernelMoment> Debugger::Impl::last_in_kernel(KernelStepper& k, const vm::Machine& m,
                                                                           std::vector<Probe> mine,
                                                                           std::optional<std::uint64_t> before) {
  KernelTargets t = kernel_targets(k.function(), m, std::move(mine));
  if (t.search.probes.empty()) return std::nullopt;
  std::vector<Arrivals> met;
  const auto steps = run->quietly([&] { return k.last_arrival(t.search, before, met); });
  if (!steps) return std::nullopt;
  KernelMoment moment{*steps, {}, *t.note};
  for (std::size_t g = 0; g < met.size(); ++g)
    if (met[g].last == steps && t.numbers[g] != kOwn) moment.numbers.push_back(t.numbers[g]);
  return moment;
}

// Inside the call being stepped; nullopt: only moments before it remain.
std::optional<StopReport> Debugger::Impl::kernel_backward(std::vector<Probe> mine) {
  KernelStepper& k = *run->kernel();
  const std::uint64_t here = k.machine().steps();
  const auto moment = last_in_kernel(k, run->machine(), std::move(mine), here);
  if (!moment) return std::nullopt;
  return stop_at(*moment);
}

StopReport Debugger::Impl::stop_at(const KernelMoment& moment) {
  const auto found = run->quietly([&] { return run->kernel()->go_to(moment.steps); });
  if (found != KernelStepper::Found::Yes) {
    run->give_kernel_up();
    return report(found == KernelStepper::Found::Interrupted ? StopKind::Interrupted : StopKind::Step);
  }
  return report_in_kernel(moment.numbers, moment.note);
}

// The last stop in the whole call that a machine would make next.
std::optional<Debugger::Impl::KernelMoment> Debugger::Impl::last_in_next_kernel(const vm::Machine& m) {
  if (!has_breakpoints_in(run->kernel_of(m))) return std::nullopt;
  const auto k = run->look_into(m);
  if (!k) return std::nullopt;
  auto moment = last_in_kernel(*k, m, {}, std::nullopt);
  k->put_back();
  return moment;
}

StopReport Debugger::Impl::before_the_call(StopKind kind) {
  run->give_kernel_up();
  return report(kind);
}

// ---- verbs ----

namespace {

constexpr std::string_view kAnyBlock = "block";

// The target of `stept`: the name of a block, loop, axis or buffer, or the word `block` for any.
std::shared_ptr<const KernelPlace> aim_of(const KernelText& text, std::string_view said, source::Diagnostics& out) {
  std::optional<source::Message> problem;
  auto place = find_place(text, said, problem);
  if (place) return place;
  if (said != kAnyBlock) {
    out.add({}, *std::move(problem));
    return nullptr;
  }
  auto any = std::make_shared<KernelPlace>();
  for (const KernelText::Row& row : text.statements()) {
    if (!ir::isa<ir::SBlockRealize>(row.stmt) || !row.parent) continue;  // the root is entered anyway
    Probe p;
    p.arrival = Probe::Arrival::Block;
    p.at = row.stmt;
    any->probes.push_back(p);
  }
  return any;
}

}  // namespace

std::optional<StopReport> Debugger::Impl::into_kernel() {
  if (run->fault()) return leave_kernel();
  if (!run->next_is_kernel_call()) {
    StopReport r = to_kernel_of_binding();
    if (r.kind != StopKind::Step || !run->next_is_kernel_call()) return r;
  }
  std::string name;
  if (!run->next_kernel(&name)) {
    StopReport r = forward(
        no_stops(), [] { return true; }, run->time() + 1);
    r.note = fmt::format("kernel `{}` has no TensorIR here, its call was made as a whole", name);
    return last = r;
  }
  if (run->enter_kernel()) return std::nullopt;
  // Arguments that do not fit: the call itself reports it.
  return forward(
      no_stops(), [] { return true; }, run->time() + 1);
}

StopReport Debugger::step_to_in_kernel(std::string_view said, std::uint64_t count, source::Diagnostics& out) {
  Impl& d = *impl_;
  if (!d.run || d.last.kind == StopKind::Finished) return d.not_running();
  const bool entered = !d.run->in_kernel();
  if (entered)
    if (auto r = d.into_kernel()) return *r;
  const KernelStepper& k = *d.run->kernel();
  const auto aim = aim_of(KernelText(d.session, k.name(), k.function()), said, out);
  if (!aim) {
    if (entered) d.run->give_kernel_up();
    return d.last;
  }
  StopReport r = d.last;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto there = d.kernel_forward(aim->probes, entered && i == 0);
    if (!there) return d.kernel_ended();
    r = *std::move(there);
    if (r.kind != StopKind::Step) break;
  }
  return r;
}

StopReport Debugger::reverse_step_to_in_kernel(std::string_view said, std::uint64_t count, source::Diagnostics& out) {
  Impl& d = *impl_;
  if (!d.run) return d.not_running();
  if (!d.run->in_kernel()) return d.not_in_kernel();
  const KernelStepper& k = *d.run->kernel();
  const auto aim = aim_of(KernelText(d.session, k.name(), k.function()), said, out);
  if (!aim) return d.last;
  StopReport r = d.last;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto there = d.kernel_backward(aim->probes);
    if (!there) return d.before_the_call(StopKind::Step);
    r = *std::move(there);
    if (r.kind != StopKind::Step) break;
  }
  return r;
}

StopReport Debugger::Impl::not_in_kernel() {
  StopReport r = last;
  r.kind = StopKind::HistoryEnd;
  r.note = "not inside a kernel";
  return r;
}

StopReport Debugger::step_statement(std::uint64_t count) {
  Impl& d = *impl_;
  if (!d.run || d.last.kind == StopKind::Finished || count == 0) return d.not_running();
  if (d.run->fault()) return *d.leave_kernel();
  if (!d.run->in_kernel()) {
    if (auto r = d.into_kernel()) return *r;
    --count;
  }
  constexpr std::uint64_t kFew = 64;
  if (count > kFew || d.has_breakpoints_in(d.run->kernel()->function())) return d.step_far(count);
  for (; count > 0 && d.run->in_kernel(); --count) {
    vm::Outcome o = d.run->step_kernel();
    if (!(o.stopped() && o.reason == vm::StopReason::Stepped)) return d.report_outcome(std::move(o));
  }
  return d.report(StopKind::Step);
}

// Many statements, or with breakpoints in between.
StopReport Debugger::Impl::step_far(std::uint64_t count) {
  if (count == 0) return report(StopKind::Step);
  KernelStepper& k = *run->kernel();
  const std::uint64_t here = k.machine().steps();
  const std::uint64_t target = count > Run::kForever - here ? Run::kForever : here + count;
  if (auto r = kernel_forward({}, false, target)) return *r;
  const auto found = k.go_to(target);
  if (found == KernelStepper::Found::Yes) return report(StopKind::Step);
  if (found == KernelStepper::Found::Interrupted) return before_the_call(StopKind::Interrupted);
  // It ends earlier, or stops there with a fault.
  run->quietly([&] { return k.go_to(here); });
  vm::Outcome o = run->walk_kernel_out();
  if (!(o.stopped() && o.reason == vm::StopReason::Stepped)) return report_outcome(std::move(o));
  return report(StopKind::Step);
}

StopReport Debugger::reverse_step_statement(std::uint64_t count) {
  Impl& d = *impl_;
  if (!d.run) return d.not_running();
  if (!d.run->in_kernel()) return d.not_in_kernel();
  const std::uint64_t steps = d.run->kernel()->machine().steps();
  if (count > steps) return d.before_the_call(StopKind::Step);
  const std::uint64_t target = steps - count;
  if (d.has_breakpoints_in(d.run->kernel()->function())) {
    const auto moment = d.last_in_kernel(*d.run->kernel(), d.run->machine(), {}, steps);
    if (moment && moment->steps >= target) return d.stop_at(*moment);
  }
  return d.stop_at({target, {}, {}});
}

}  // namespace rldb::debug
