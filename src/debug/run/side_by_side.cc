// Lockstep, reruns, and the pair of runs that they leave.
#include "rldb/debug/side_by_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "debug/impl.h"
#include "debug/run/skim.h"
#include "rldb/bytecode/builtin/memory.h"
#include "rldb/debug/facts.h"
#include "rldb/runtime/copy.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using runtime::Tensor;
using runtime::Tolerance;
using runtime::Value;
using runtime::ValueKind;
using vm::Outcome;
using vm::StopReason;

namespace {

constexpr std::size_t kMaxKept = std::size_t(512) << 20;  // bytes of the first run's values

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.peek(), b.peek(), a.byte_size()) == 0;
}

constexpr int kDeepest = 100;  // tuples in tuples

// Tensors, numbers, texts and shapes, and tuples of them. Objects and functions have no contents to compare.
bool is_comparable(const Value& v, int depth = 0) {
  switch (v.kind()) {
#define RLDB_VALUE_PLAIN(Kind, ...) case ValueKind::Kind:
#include "rldb/runtime/value_kind.def"
    case ValueKind::Shape:
    case ValueKind::Tensor:
      return true;
    case ValueKind::Tuple: {
      const auto& fields = v.as_tuple().fields;
      return depth < kDeepest &&
             std::all_of(fields.begin(), fields.end(), [&](const Value& f) { return is_comparable(f, depth + 1); });
    }
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  return false;
}

// Of one kind, and neither tensors nor tuples.
bool same_plain(const Value& a, const Value& b, const ToleranceOf& tolerance) {
  if (a.is(ValueKind::Int) || a.is(ValueKind::Bool)) return a.as_int() == b.as_int();
  if (a.is(ValueKind::Float)) {
    const double x = a.as_float(), y = b.as_float();
    const Tolerance t = tolerance(runtime::DType::Float(64));
    const bool near = std::isfinite(x) && std::isfinite(y) && std::abs(x - y) <= t.atol + t.rtol * std::abs(y);
    return near || std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  }
  if (a.is(ValueKind::String)) return a.as_string() == b.as_string();
  if (a.is(ValueKind::Shape)) return a.as_shape() == b.as_shape();
  return !a.is(ValueKind::DType) || a.as_dtype() == b.as_dtype();
}

// Nullopt: they agree, as far as they are comparable.
std::optional<ValueDifference> difference_of(const std::string& name, const Value& a, const Value& b,
                                             const ToleranceOf& tolerance, int depth = 0) {
  const ValueDifference whole{name, {}, runtime::format_brief(a), runtime::format_brief(b), {}};
  if (a.kind() != b.kind()) return whole;
  if (a.is(ValueKind::Tuple)) {
    const auto &left = a.as_tuple().fields, &right = b.as_tuple().fields;
    if (left.size() != right.size()) return whole;
    if (depth == kDeepest) return std::nullopt;
    for (std::size_t i = 0; i < left.size(); ++i)
      if (auto d = difference_of(fmt::format("{}[{}]", name, i), left[i], right[i], tolerance, depth + 1)) return d;
    return std::nullopt;
  }
  if (!a.is(ValueKind::Tensor)) return same_plain(a, b, tolerance) ? std::nullopt : std::optional(whole);
  if (same_bytes(a.as_tensor(), b.as_tensor())) return std::nullopt;
  const auto found = differences(a, b, tolerance(a.as_tensor().dtype()));
  if (!found.ok()) return whole;
  if (found->outside == 0) return std::nullopt;
  const bool exact = found->outside == found->differing;
  const Differences::Element& at = exact ? found->first : found->worst;
  return ValueDifference{name, at.index, at.left, at.right,
                         fmt::format("{} of {} elements, the largest difference is {:g} at {}", found->outside,
                                     found->count, found->max_absolute, found->worst.index)};
}

std::size_t bytes_of(const Value& v) {
  if (v.is(ValueKind::Tensor)) return v.as_tensor().byte_size();
  std::size_t sum = 0;
  if (v.is(ValueKind::Tuple))
    for (const Value& field : v.as_tuple().fields) sum += bytes_of(field);
  return sum;
}

// A variable of the written text where it gets its value: its own register, or that of what it is another name of.
struct Defined {
  const UserVariable* variable;
  std::string name;
  std::uint32_t id;
};

class Definitions {
 public:
  explicit Definitions(const CodeMap& map) : map_(map), stops_(map.executable().instruction_count()) {
    const std::map<std::uint32_t, std::vector<Alias>> aliases = aliases_of(map);
    const auto& functions = map.executable().functions;
    for (FunctionIndex f = 0; f < FunctionIndex(functions.size()); ++f) {
      if (functions[std::size_t(f)].kind != bytecode::FunctionKind::Bytecode) continue;
      for (const UserVariable& v : map.variables(f)) {
        const Pc at = v.range->is_parameter ? Pc(-1) : filled_at(v);
        if (at < 0 || at >= functions[std::size_t(f)].end) continue;
        add(at, {&v, v.name, v.id});
        if (const auto it = aliases.find(v.id); v.id && it != aliases.end())
          for (const Alias& alias : it->second) {
            const Pc there = alias.in_place < 0 ? at : map.computed_at(alias.in_place, f);
            if (there >= 0 && !map.has_variable(f, alias.id)) add(there, {&v, alias.name, alias.id});
          }
      }
    }
  }
  const vm::StopSet& stops() const { return stops_; }
  const std::vector<Defined>& at(Pc pc) const {
    static const std::vector<Defined> none;
    const auto it = by_pc_.find(pc);
    return it == by_pc_.end() ? none : it->second;
  }
  // Versions of one text: their variables are the same.
  bool shares_text_with(const Definitions& other) const {
    return std::any_of(ids_.begin(), ids_.end(), [&](std::uint32_t id) { return other.ids_.contains(id); });
  }

 private:
  struct Alias {
    std::string name;
    std::uint32_t id;
    int in_place = -1;  // the binding whose kernel wrote the value over another one
  };
  // By the variable that has a register.
  static std::map<std::uint32_t, std::vector<Alias>> aliases_of(const CodeMap& map) {
    std::map<std::uint32_t, std::vector<Alias>> found;
    for (const UserBinding& b : map.bindings()) {
      if (!b.binding) continue;
      Alias alias{b.name, b.binding->var->id};
      const ir::Var* of = b.binding->var;
      while (const ir::Var* other = map.alias_of(of)) {
        const int i = map.binding_of_variable(of);
        if (alias.in_place < 0 && map.overwritten_by(map.binding(i).binding)) alias.in_place = i;
        of = other;
      }
      if (of != b.binding->var) found[of->id].push_back(std::move(alias));
    }
    return found;
  }

  void add(Pc pc, Defined d) {
    stops_.set(pc);
    if (d.id) ids_.insert(d.id);
    by_pc_[pc].push_back(std::move(d));
  }
  // Memory that lowered text allocates has the value of a binding once a call has been given it. -1: none is.
  Pc filled_at(const UserVariable& v) const {
    const bytecode::Executable& exe = map_.executable();
    const auto callee = [&](Pc pc) -> std::string_view {
      const bytecode::Instruction i = exe.instruction(pc);
      return i.op == bytecode::Opcode::Call ? exe.functions[std::size_t(i.callee)].name : std::string_view();
    };
    if (v.begin < 1 || callee(v.begin - 1) != builtin::AllocTensor) return v.begin;
    for (Pc pc = v.begin; pc < v.range->end; ++pc) {
      if (callee(pc).empty() || reads_only_headers(callee(pc))) continue;
      const bytecode::Instruction i = exe.instruction(pc);
      for (std::size_t a = 0; a < i.args.size(); ++a)
        if (i.arg(a) == bytecode::Arg::reg(v.range->reg)) return pc + 1;
    }
    return -1;
  }

  const CodeMap& map_;
  vm::StopSet stops_;
  std::map<Pc, std::vector<Defined>> by_pc_;
  std::set<std::uint32_t> ids_;
};

// A run that is executed from one definition to the next.
class Walked {
 public:
  Walked(Run& run, bool by_id) : run_(run), definitions_(run.code()), by_id_(by_id) {}

  // False: it is over, or interrupted.
  bool go_on() {
    support::poll();
    end_ = run_.advance(&definitions_.stops());
    return end_.stopped() && end_.reason == StopReason::Hook;
  }
  const Outcome& end() const { return end_; }
  bool interrupted() const { return end_.stopped(); }

  struct Seen {
    const UserVariable* variable;
    std::string name;
    std::string key;  // with its number
    std::uint64_t occurrence;
    Value value;
  };
  // The variables that have just got a value.
  std::vector<Seen> now() {
    std::vector<Seen> seen;
    const vm::Machine& m = run_.machine();
    const std::size_t frame = m.frames().size() - 1;
    for (const Defined& d : definitions_.at(m.frame().pc)) {
      const Value* value = m.read_register(frame, d.variable->range->reg);
      if (!value || value->is_null()) continue;
      // By name, values of other kinds do not correspond: passes make shapes with names of their own.
      const std::string key =
          by_id_ && d.id ? fmt::format("#{}", d.id)
                         : fmt::format("{}:{}:{}", run_.code().function_name(m.frame().pc), d.name, int(value->kind()));
      const std::uint64_t number = ++count_[key];
      seen.push_back({d.variable, d.name, fmt::format("{}/{}", key, number), number, *value});
    }
    return seen;
  }
  Run& run() { return run_; }

 private:
  Run& run_;
  Definitions definitions_;
  bool by_id_;
  Outcome end_;
  std::map<std::string, std::uint64_t> count_;
};

std::string ending(const std::string& label, const Outcome& o) {
  if (o.faulted()) return fmt::format("{} stopped with an error: {}", label, o.fault ? o.fault->error.message : "");
  return o.finished() ? fmt::format("{} finished", label) : fmt::format("{} was interrupted", label);
}

class Lockstepper {
 public:
  Lockstepper(Side& left, Side& right, const ToleranceOf& tolerance, bool by_id)
      : left_side_(left),
        right_side_(right),
        left_(*left.run, by_id),
        right_(*right.run, by_id),
        tolerance_(tolerance) {}

  Lockstep run() {
    keep_left();
    if (left_.interrupted()) return cannot_tell(ending(left_side_.label, left_.end()));
    while (right_.go_on())
      for (Walked::Seen& seen : right_.now())
        if (differs(seen)) return std::move(out_);
    if (right_.interrupted()) return cannot_tell(ending(right_side_.label, right_.end()));
    for (const auto& [key, moment] : kept_) out_.only_left += !moment.met;
    return compare_ends();
  }

 private:
  struct Moment {
    std::uint64_t time = 0;
    std::string name;
    bytecode::RegName reg = -1;
    std::optional<Value> copy;  // none: there was no room for it
    bool met = false;
  };

  void keep_left() {
    while (left_.go_on())
      for (const Walked::Seen& seen : left_.now()) {
        Moment moment{left_.run().time(), seen.name, seen.variable->range->reg, std::nullopt, false};
        if (const std::size_t bytes = bytes_of(seen.value); kept_bytes_ + bytes <= kMaxKept)
          if (auto copy = runtime::deep_copy(seen.value); copy.ok()) {
            moment.copy = *std::move(copy);
            kept_bytes_ += bytes;
          }
        kept_.emplace(seen.key, std::move(moment));
      }
  }

  bool differs(const Walked::Seen& seen) {
    const auto it = kept_.find(seen.key);
    if (it == kept_.end()) {
      ++out_.only_right;
      return false;
    }
    Moment& moment = it->second;
    moment.met = true;
    std::optional<vm::Machine> machine;
    if (!moment.copy && (machine = left_.run().machine_at(moment.time)))
      if (const Value* v = machine->read_register(machine->frames().size() - 1, moment.reg)) moment.copy = *v;
    if (!moment.copy) {
      ++out_.only_right;
      return false;
    }
    auto difference = difference_of(seen.name, *moment.copy, seen.value, tolerance_);
    if (!difference) {
      out_.compared += is_comparable(seen.value);
      if (machine) moment.copy.reset();
      return false;
    }
    out_.verdict = Lockstep::Verdict::Differs;
    out_.function = right_.run().code().function_name(right_.run().pc());
    out_.binding = seen.name;
    out_.occurrence = seen.occurrence;
    out_.first = std::move(difference);
    (void)left_.run().go_to(moment.time);
    return true;
  }

  // All values that both have agree.
  Lockstep compare_ends() {
    const Outcome &a = left_.end(), &b = right_.end();
    if (a.faulted() != b.faulted()) {
      out_.verdict = Lockstep::Verdict::Differs;
      out_.why = fmt::format("{}; {}", ending(left_side_.label, a), ending(right_side_.label, b));
      return std::move(out_);
    }
    if (a.faulted())
      return cannot_tell(fmt::format("{}; {}", ending(left_side_.label, a), ending(right_side_.label, b)));
    auto difference = difference_of("the result", a.value, b.value, tolerance_);
    if (!difference && !is_comparable(a.value))
      return cannot_tell("the result holds an object or a function, which has no contents to compare");
    out_.verdict = difference ? Lockstep::Verdict::Differs : Lockstep::Verdict::Equal;
    out_.first = std::move(difference);
    if (!out_.first) return std::move(out_);
    for (Run* run : {&left_.run(), &right_.run()})
      if (run->time() > 0) (void)run->go_to(run->time() - 1);
    return std::move(out_);
  }
  Lockstep cannot_tell(std::string why) {
    out_.verdict = Lockstep::Verdict::CannotTell;
    out_.why = std::move(why);
    return std::move(out_);
  }

  Side &left_side_, &right_side_;
  Walked left_, right_;
  const ToleranceOf& tolerance_;
  Lockstep out_;
  std::map<std::string, Moment> kept_;
  std::size_t kept_bytes_ = 0;
};

// As a stop, or as the end that it came to.
StopReport presented(Debugger::Impl& d, std::shared_ptr<Run> run) {
  d.run = std::move(run);
  d.part = 0;
  d.checkpoints.clear();
  if (d.run->fault()) {
    Outcome o;
    o.kind = Outcome::Kind::Faulted;
    o.fault = d.run->fault();
    return d.report_outcome(std::move(o));
  }
  return d.report(d.run->machine().running() ? StopKind::Step : StopKind::Finished);
}

// `first` waits, `second` is the present run.
StopReport keep_pair(Debugger& debugger, Debugger::Impl::Waiting first, std::string first_label, Side second) {
  Debugger::Impl& d = impl_of(debugger);
  d.waiting.clear();
  d.beside = Debugger::Impl::Beside{std::move(first), {std::move(first_label), std::move(second.label)}, 1};
  const StopReport stop = presented(d, std::move(second.run));
  debugger.resolve_breakpoints();
  return stop;
}

}  // namespace

std::optional<Side> prepare_side(Debugger& debugger, std::string label, std::string_view function,
                                 std::span<const Value> args, source::Diagnostics& out) {
  Debugger::Impl& d = impl_of(debugger);
  auto build = d.session.runnable(out);
  if (!build) return std::nullopt;
  std::vector<Value> own;
  for (const Value& v : args) {
    auto copy = runtime::deep_copy(v);
    if (!copy.ok()) {
      out.add({}, source::message(diag::RunFailed, copy.error().message));
      return std::nullopt;
    }
    own.push_back(*std::move(copy));
  }
  auto machine = d.session.start(*build, function, own, out);
  if (!machine) return std::nullopt;
  return Side{std::move(label),
              std::make_shared<Run>(d.code_of(std::move(build)), *std::move(machine), d.session, function, own)};
}

Lockstep run_in_lockstep(Debugger& debugger, Side left, Side right, const ToleranceOf& tolerance) {
  const bool by_id = Definitions(left.run->code()).shares_text_with(Definitions(right.run->code()));
  Lockstep result = Lockstepper(left, right, tolerance, by_id).run();
  if (result.verdict != Lockstep::Verdict::Differs) return result;
  Debugger::Impl& d = impl_of(debugger);
  const StopReport first = presented(d, left.run);
  keep_pair(debugger, {left.run, first, 0, {}}, std::move(left.label), std::move(right));
  return result;
}

namespace {

// The present run's function on other arguments, up to the same place.
struct Again {
  std::shared_ptr<Run> run;
  Rerun result;
  Outcome end;
};

// The values that commands set in a run, to be set in another one: each where it comes to the same place as often.
class Repeated {
 public:
  Repeated(const Run& from, Rerun& result) : from_(from), result_(result) {
    for (const Change& c : from.changes().list())
      if (c.time <= from.time()) changes_.push_back({&c, 0});
  }
  void add_places(vm::StopSet& stops) const {
    for (const Row& row : changes_)
      if (row.change->pc >= 0) stops.set(row.change->pc);
  }
  // Of the run before: a moment at which it came to one of the places.
  void count(const vm::Machine& m) {
    for (Row& row : changes_)
      row.times += m.frame().pc == row.change->pc && m.instructions() <= row.change->time ? 1 : 0;
  }
  // The other one is at a place.
  void at(Run& run) {
    const std::uint64_t times = ++met_[run.pc()];
    for (Row& row : changes_)
      if (row.change->pc == run.pc() && row.times == times && (row.done = set(run, *row.change)))
        result_.repeated.emplace_back(row.change->time, run.time());
  }
  void finish() {
    for (const Row& row : changes_) {
      const std::string what =
          row.change->said.command.empty() ? "a new kernel" : fmt::format("`{}`", row.change->said.command);
      if (!row.done) result_.left_out.push_back(fmt::format("{} at time {}", what, row.change->time));
    }
  }

 private:
  struct Row {
    const Change* change;
    std::uint64_t times = 0;  // that the run before had been there
    bool done = false;
  };
  bool set(Run& run, const Change& c) const {
    if (c.moves || !c.writes) return false;
    const auto then = from_.machine_at(c.time);
    const Value* was = then ? then->read_register(c.writes->frame, c.writes->reg) : nullptr;
    const Value* is = run.machine().read_register(c.writes->frame, c.writes->reg);
    if (!was || !is || was->kind() != is->kind() || run.depth() <= c.writes->frame) return false;
    if (is->is(ValueKind::Tensor) &&
        (was->as_tensor().shape() != is->as_tensor().shape() || was->as_tensor().dtype() != is->as_tensor().dtype()))
      return false;
    return !run.change(false, c.apply, c.writes, c.said);
  }

  const Run& from_;
  Rerun& result_;
  std::vector<Row> changes_;
  std::map<Pc, std::uint64_t> met_;
};

// `repeats`: what commands have changed.
std::optional<Again> run_again(Debugger::Impl& d, std::span<const Value> args, bool repeats,
                               const std::function<void()>& begins, source::Diagnostics& out) {
  if (!d.run || d.last.kind == StopKind::None) {
    out.add({}, source::message(diag::NotStopped));
    return std::nullopt;
  }
  (void)d.can_be_asked();  // a finished run: the moment before it returned
  if (!d.run->machine().running() || d.run->timeline().empty()) {
    out.add({}, source::message(diag::RunFailed, "the run keeps no history, or is of one kernel alone"));
    return std::nullopt;
  }
  const Pc place = d.run->pc();
  vm::StopSet stops(d.run->code().executable().instruction_count());
  stops.set(place);
  Again again;
  std::optional<Repeated> repeated;
  if (repeats) repeated.emplace(*d.run, again.result);
  if (repeated) repeated->add_places(stops);
  const auto seen = [&](const vm::Machine& m) {
    again.result.times += m.frame().pc == place ? 1 : 0;
    if (repeated) repeated->count(m);
  };
  d.run->search(stops, seen, [] { return false; });
  if (repeated) repeated->count(d.run->machine());
  begins();
  const auto build = d.run->code().build();
  auto machine = d.session.start(*build, d.run->function(), args, out);
  if (!machine) return std::nullopt;
  again.run = std::make_shared<Run>(d.code_of(build), *std::move(machine), d.session, d.run->function(), args);
  std::uint64_t left = again.result.times;
  const auto arrive = [&] {
    left -= again.run->pc() == place ? 1 : 0;
    if (repeated && stops.test(again.run->pc())) repeated->at(*again.run);
  };
  arrive();
  while (left > 0) {
    again.end = again.run->advance(&stops);
    if (!again.end.stopped() || again.end.reason != StopReason::Hook) break;
    arrive();
  }
  again.result.arrived = left == 0;
  if (repeated) repeated->finish();
  return again;
}

// The report of a run that has just become the present one.
StopReport report_again(Debugger::Impl& d, StopReport stop, Again& again) {
  if (again.result.arrived || !again.end.finished()) return stop;
  stop.value = std::move(again.end.value);
  return d.last = stop;
}

}  // namespace

std::optional<Rerun> rerun(Debugger& debugger, std::string label, std::span<const Value> args,
                           source::Diagnostics& out) {
  Debugger::Impl& d = impl_of(debugger);
  auto again = run_again(
      d, args, true, [] {}, out);
  if (!again) return std::nullopt;
  const std::vector<LocalInfo> were = debugger.locals(0);
  Debugger::Impl::Waiting waiting{d.run, d.last, d.part, d.checkpoints};
  Rerun& result = again->result;
  result.stop = report_again(
      d, keep_pair(debugger, std::move(waiting), "the run before", {std::move(label), again->run}), *again);
  if (!result.arrived) return result;
  for (const LocalInfo& now : debugger.locals(0)) {
    const auto was = std::find_if(were.begin(), were.end(), [&](const LocalInfo& l) { return l.name == now.name; });
    if (was == were.end() || !was->live || !now.live) continue;
    result.compared += is_comparable(was->value);
    if (auto difference = difference_of(now.name, was->value, now.value, [](runtime::DType) {
          return Tolerance{0, 0, true};
        }))
      result.differences.push_back(*std::move(difference));
  }
  return result;
}

bool exchange_run(Debugger& debugger, int own, int other) {
  Debugger::Impl& d = impl_of(debugger);
  const auto found = d.parked.find(other);
  if (found == d.parked.end()) return false;
  Debugger::Impl::Waiting next = std::move(found->second);
  d.parked.erase(found);
  d.parked.insert_or_assign(own, Debugger::Impl::Waiting{d.run, d.last, d.part, d.checkpoints});
  d.take(std::move(next));
  debugger.resolve_breakpoints();
  return true;
}

std::optional<Rerun> begin_beside(Debugger& debugger, int own, std::span<const Value> args,
                                  const std::function<void()>& begins, source::Diagnostics& out) {
  Debugger::Impl& d = impl_of(debugger);
  auto again = run_again(d, args, false, begins, out);
  if (!again) return std::nullopt;
  d.parked.insert_or_assign(own, Debugger::Impl::Waiting{d.run, d.last, d.part, d.checkpoints});
  again->result.stop = report_again(d, presented(d, again->run), *again);
  debugger.resolve_breakpoints();
  return std::move(again->result);
}

std::optional<Pair> pair_of(const Debugger& debugger) {
  const auto& beside = impl_of(debugger).beside;
  if (!beside) return std::nullopt;
  return Pair{{beside->labels[0], beside->labels[1]}, beside->present};
}

bool select_side(Debugger& debugger, int side) {
  Debugger::Impl& d = impl_of(debugger);
  if (!d.beside) return false;
  if (side == d.beside->present) return true;
  Debugger::Impl::Waiting now{d.run, d.last, d.part, d.checkpoints};
  Debugger::Impl::Waiting other = std::exchange(d.beside->other, std::move(now));
  d.beside->present = side;
  d.waiting.clear();
  d.take(std::move(other));
  debugger.resolve_breakpoints();
  return true;
}

}  // namespace rldb::debug
