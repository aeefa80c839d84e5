// WhyMemory: from the bytes of an element to the call, the iteration and the elements behind them.
#include "debug/provenance/why_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "debug/look/element.h"
#include "debug/provenance/names.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/debug/facts.h"
#include "rldb/ir/printer.h"
#include "rldb/runtime/device_error.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::debug {

using bytecode::ArgKind;
using bytecode::RegName;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

// Elements read by a call: of one tensor, in one role.
struct ReadGroup {
  int arg, part;
  ReadRole role;
  const ir::Expr* condition;
  bool prevented;
  std::vector<std::int64_t> positions;
};

std::vector<ReadGroup> group_reads(const std::vector<CallSource>& sources) {
  std::vector<ReadGroup> groups;
  for (const CallSource& s : sources) {
    auto g = std::find_if(groups.begin(), groups.end(), [&](const ReadGroup& x) {
      return x.arg == s.arg && x.part == s.part && x.role == s.role && x.condition == s.condition &&
             x.prevented == s.prevented;
    });
    if (g == groups.end()) g = groups.insert(groups.end(), {s.arg, s.part, s.role, s.condition, s.prevented, {}});
    g->positions.push_back(s.position);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const ReadGroup& a, const ReadGroup& b) {
    return a.role != b.role ? a.role < b.role : a.arg != b.arg ? a.arg < b.arg : a.part < b.part;
  });
  for (ReadGroup& g : groups) {
    std::sort(g.positions.begin(), g.positions.end());
    g.positions.erase(std::unique(g.positions.begin(), g.positions.end()), g.positions.end());
  }
  return groups;
}

std::string role_text(ReadRole role, const ir::Expr* condition, bool prevented) {
  if (role == ReadRole::Index) return "an index";
  if (!condition) return {};
  if (prevented)
    return fmt::format("in the condition {}, which prevented a store",
                       support::one_line(ir::print_expr(condition, {.tensor_ir = true})));
  return fmt::format("{} {}", role == ReadRole::Bound ? "in the bound of a loop" : "in the condition",
                     support::one_line(ir::print_expr(condition, {.tensor_ir = true})));
}

void add_remark(CauseStep& step, std::string_view text) {
  if (!step.remark.empty()) step.remark += "; ";
  step.remark += text;
}

}  // namespace

CauseStep element_step(std::string_view name, const Tensor& t, const std::vector<std::int64_t>& positions,
                       std::size_t depth, bool known) {
  CauseStep step;
  step.depth = depth;
  step.name = std::string(name) + region_text(t.shape(), positions);
  if (known) step.value = elements_text(t, positions);
  return step;
}

std::optional<ValuePath> path_to(const vm::Machine& m, std::size_t frame, const runtime::Storage* storage) {
  std::optional<ValuePath> found;
  for (std::size_t f = 0; f < m.frames().size(); ++f) {
    if (found && f != frame) continue;
    const auto registers = m.registers(f);
    for (std::size_t r = 0; r < registers.size(); ++r) {
      const Value& v = registers[r];
      const bool here = (v.is(ValueKind::Tensor) && v.as_tensor().storage().get() == storage) ||
                        (v.is(ValueKind::Storage) && v.storage_ref().get() == storage);
      if (here) found = ValuePath{f, bytecode::RegName(r), {}};
      const auto held = v.is(ValueKind::Tuple) ? memory_in(v, 0) : std::vector<Touch>();
      if (!here && !found && std::any_of(held.begin(), held.end(), [&](const Touch& t) { return t.memory == storage; }))
        for (std::size_t i = 0; i < v.as_tuple().fields.size(); ++i)
          if (const Value& field = v.as_tuple().fields[i];
              field.is(ValueKind::Tensor) && field.as_tensor().storage().get() == storage)
            found = ValuePath{f, bytecode::RegName(r), {i}};
    }
  }
  return found;
}

bool WhyMemory::tell(std::string_view name, const ValuePath& path, const Tensor& t, std::int64_t position, int depth) {
  if (t.dtype().bytes() == 0 || t.dtype().bits % 8 != 0) return false;
  asker_ = asker_at(run_, path.frame);
  auto range = writers_.history().now(path, t);
  if (!range) return false;
  const std::int64_t width = std::int64_t(t.dtype().bytes());
  range->begin += position * width;
  range->end = range->begin + width;
  Question q{element_step(name, t, {position}, 0), *range, time_, {}};
  q.argument = argument_of(run_.machine(), t, position, name, 1);
  q.chosen = chosen_at(path);
  answer(std::move(q), depth, 0);
  late_.read(steps_);
  return true;
}

void WhyMemory::add(Leaf leaf) {
  if (leaf.late) late_.add(steps_.size(), *std::move(leaf.late));
  steps_.push_back(std::move(leaf.step));
}

void WhyMemory::answer(Question q, int left, std::size_t depth) {
  support::poll_cause();
  if (left < 0) return add({std::move(q.step), std::move(q.late)});
  MemoryRange range = q.range;
  std::vector<Cause> causes;
  Writers::Found found = writers_.last(range, q.time);
  if (!found.unchanged_by.empty())
    q.step.remark =
        fmt::format("{} at time {} was given it since, and left it as it was", found.unchanged_by, found.unchanged_at);
  for (const Writers::Found::Passed& p : found.passed)
    add_remark(q.step, fmt::format("{} at time {} did not store it: {}", p.writer.callee, p.writer.call.time,
                                   p.writer.prevented));
  if (found.end != WriteHistory::End::Chosen) {
    if (found.end == WriteHistory::End::Created) q.step.problem = "nothing has written it since its memory was made";
    if (found.end == WriteHistory::End::Command) {
      q.step.command = found.command.text;
      q.step.time = found.command.time;
    }
    if (found.end == WriteHistory::End::Lost) q.step.problem = "the run has no history of this memory";
    const std::optional<LateValue> late = q.late;
    add({std::move(q.step), late});
    if (found.end == WriteHistory::End::Start && q.argument) add({*std::move(q.argument), late});
    add_passed(found.passed, depth, causes);
    add_decisions(q.chosen, depth, causes);
    return follow(std::move(causes), left, depth);
  }
  describe(found.writer, q.step);
  add({std::move(q.step), std::move(q.late)});
  causes = causes_of(found.writer, range, depth);
  add_passed(found.passed, depth, causes);
  add_decisions(q.chosen, depth, causes);
  add_decisions(decided(found.writer, range), depth, causes);
  found = {};  // its machine is not held while the causes are followed
  follow(std::move(causes), left, depth);
}

void WhyMemory::follow(std::vector<Cause> causes, int left, std::size_t depth) {
  for (Cause& c : causes)
    if (Question* next = std::get_if<Question>(&c))
      answer(std::move(*next), left - 1, depth + 1);
    else
      add(std::get<Leaf>(std::move(c)));
}

// Of the register that was asked about, as its frame saw it at that time.
std::vector<Decision> WhyMemory::chosen_at(const ValuePath& path) {
  const auto frames = run_.machine().frames();
  if (path.frame >= frames.size()) return {};
  const vm::Frame& frame = frames[path.frame];
  decisions_.note_frames(run_.machine());
  RegisterPlace at{path.reg, frame.pc, frame.entered, time_};
  if (time_ == run_.time()) return decisions_.of_register(at);
  // As of the definition of a name whose register was freed since.
  const auto last = writers_.history().last_place_in(path.frame, frame.entered, time_);
  if (!last) return {};
  at.pc = *last + 1;
  std::vector<Decision> all = decisions_.left_since(at, frame.pc);
  for (Decision& d : decisions_.of_register(at)) all.push_back(std::move(d));
  return all;
}

// The conditions because of which kernels did not store it.
void WhyMemory::add_passed(const std::vector<Writers::Found::Passed>& passed, std::size_t depth,
                           std::vector<Cause>& causes) {
  for (const Writers::Found::Passed& p : passed)
    for (Cause& c : causes_of(p.writer, p.range, depth)) causes.push_back(std::move(c));
}

// That the call was made, and that it was given this memory.
std::vector<Decision> WhyMemory::decided(const Writer& w, const MemoryRange& range) {
  if (w.before) decisions_.note_frames(w.before->machine);
  std::vector<Decision> all = decisions_.of_call(w.call);
  const bytecode::Instruction i = map_.executable().instruction(w.call.pc);
  std::set<std::int64_t> registers;
  for (const Touch& t : w.call.args) {
    const bool written = t.memory == range.memory && t.begin < range.end && range.begin < t.end;
    const bool read =
        std::any_of(w.sources.begin(), w.sources.end(), [&](const CallSource& s) { return s.arg == t.arg; });
    const RegName reg = i.arg(std::size_t(t.arg)).reg();
    if ((!written && !read && w.followed) || !registers.insert(reg.value()).second) continue;
    for (Decision& d : decisions_.of_register({reg, w.call.pc, w.call.activation, w.call.time}))
      all.push_back(std::move(d));
  }
  return all;
}

// Each decision once in an answer: of a recursion there is one for every call.
void WhyMemory::add_decisions(const std::vector<Decision>& all, std::size_t depth, std::vector<Cause>& causes) {
  constexpr std::size_t kMostTold = 8;
  std::size_t told = 0, more = 0;
  for (const Decision& d : all) {
    if (told_.contains(d.read.time)) continue;
    if (told == kMostTold) {
      ++more;
      continue;
    }
    told_.insert(d.read.time);
    ++told;
    causes.push_back(condition_cause(d, depth + 1));
  }
  if (more == 0) return;
  CauseStep step;
  step.depth = depth + 1;
  step.name = "...";
  step.value = fmt::format("{}{} conditions more", all.size() >= Decisions::kMost ? "at least " : "", more);
  causes.push_back(Leaf{std::move(step), {}});
}

WhyMemory::Cause WhyMemory::condition_cause(const Decision& d, std::size_t depth) const {
  CauseStep step;
  step.depth = depth;
  step.value = d.taken ? "True" : "False";
  step.role = "the condition of an `if`";
  const std::vector<int>& group = map_.group_of(d.branch);
  const UserBinding* u = group.empty() ? nullptr : &map_.binding(group.back());
  if (u && u->line)
    step.role = fmt::format("the condition of the {} at {}:{}", u->binding ? "`if`" : "branch", u->file, u->line);
  // Other code branches on what it has computed, on the constructor of a value, on numbers.
  const bytecode::Executable& exe = map_.executable();
  const std::string& reader = exe.functions[std::size_t(exe.instruction(d.read.pc).callee)].name;
  if (d.read.args.size() != 1 || reader != builtin::ReadIfCond) {
    const auto* branch = u && u->binding ? ir::as<ir::If>(u->binding->value) : nullptr;
    step.name = branch ? support::one_line(ir::print_expr(branch->cond)) : std::string("condition");
    return Leaf{std::move(step), {}};
  }
  const Touch& touch = d.read.args[0];
  step.name = name_of_argument(map_, d.read, touch.arg);
  if (map_.function_of(d.read.pc) != asker_.function)
    step.name = fmt::format("{}:{}", map_.function_name(d.read.pc), step.name);
  step.name += region_text({}, {0});
  Question q;
  q.step = std::move(step);
  q.range = {d.interval, touch.memory, touch.begin, touch.end};
  q.time = d.read.time;
  return q;
}

std::optional<CauseStep> WhyMemory::argument_of(const vm::Machine& m, const Tensor& element, std::int64_t position,
                                                std::string_view known_as, std::size_t depth, bool known) const {
  if (!m.running()) return std::nullopt;
  const auto registers = m.registers(0);
  const auto& names = map_.executable().functions[std::size_t(m.frames()[0].function)].param_names;
  const std::string& function = map_.function_name(m.frames()[0].pc);
  for (std::size_t p = 0; p < names.size() && p < registers.size(); ++p) {
    if (!registers[p].is(ValueKind::Tensor)) continue;
    const Tensor& t = registers[p].as_tensor();
    if (t.storage() != element.storage()) continue;
    const bool outside = asker_.frame != 0;
    const std::string name = outside ? fmt::format("{}:{}", function, names[p]) : names[p];
    const auto width = std::int64_t(t.dtype().bytes());
    const std::int64_t byte = std::int64_t(element.byte_offset()) + position * std::int64_t(element.dtype().bytes()) -
                              std::int64_t(t.byte_offset());
    if (name == known_as || width == 0 || byte < 0 || byte >= std::int64_t(t.byte_size())) return std::nullopt;
    return element_step(name, t, {byte / width}, depth, known);
  }
  return std::nullopt;
}

void WhyMemory::describe(const Writer& w, CauseStep& step) const {
  step.kernels = {w.callee};
  step.problem = w.problem;
  if (!w.others.empty()) add_remark(step, w.others);
  if (!w.prevented.empty()) add_remark(step, w.prevented);
  step.time = w.call.time;
  step.iteration = iteration_text(w.last.loops);
  step.writes = w.writes;
  const std::vector<int>& group = map_.group_of(w.call.pc);
  if (group.empty()) return;
  const UserBinding& u = map_.binding(group.back());
  step.line = u.line;
  if (u.line) step.file = u.file;
}

std::string WhyMemory::name_of(const Writer& w, const Touch& touch) const {
  return name_for(asker_, map_, w.before->machine, w.call, touch);
}

WhyMemory::Given WhyMemory::given(const Writer& w, const Touch& touch, std::size_t interval) {
  if (Value v = writers_.contents(w, touch, interval); !v.is_null()) return {std::move(v), {}};
  return {Writers::argument(run_, w.before->machine, w.call, touch), LateValue{w.call, touch, {}}};
}

// Its reads are not known: all that it was given, without what it wrote.
std::vector<WhyMemory::Cause> WhyMemory::arguments_of(const Writer& w, const MemoryRange& range, std::size_t depth) {
  std::vector<Cause> causes;
  for (const Touch& t : w.call.args) {
    if (t.begin >= t.end || (t.memory == range.memory && t.begin < range.end && range.begin < t.end)) continue;
    Given given = this->given(w, t, range.interval);
    if (!given.value.is(ValueKind::Tensor)) continue;
    CauseStep step;
    step.depth = depth + 1;
    step.name = name_of(w, t);
    if (!given.late) step.value = runtime::format_brief(given.value);
    causes.push_back(Leaf{std::move(step), std::move(given.late)});
  }
  return causes;
}

std::vector<WhyMemory::Cause> WhyMemory::causes_of(const Writer& w, const MemoryRange& range, std::size_t depth) {
  if (!w.problem.empty() || !w.before) return {};
  if (!w.followed) return arguments_of(w, range, depth);
  std::vector<Cause> causes;
  for (const ReadGroup& g : group_reads(w.sources)) {
    const auto touch = std::find_if(w.call.args.begin(), w.call.args.end(),
                                    [&](const Touch& x) { return x.arg == g.arg && x.part == g.part; });
    // A constant of the executable is no register.
    const bool constant = touch == w.call.args.end();
    Given given = constant ? Given{constant_at(w.call, g.arg), {}} : this->given(w, *touch, range.interval);
    if (!given.value.is(ValueKind::Tensor)) continue;
    const Tensor& t = given.value.as_tensor();
    const std::string name = constant ? name_of_argument(map_, w.call, g.arg) : name_of(w, *touch);
    if (given.late) given.late->positions = g.positions;
    CauseStep step = element_step(name, t, g.positions, depth + 1, !given.late);
    step.role = role_text(g.role, g.condition, g.prevented);
    if (g.positions.size() != 1 || constant) {
      causes.push_back(Leaf{std::move(step), std::move(given.late)});
      continue;
    }
    const std::int64_t width = std::int64_t(t.dtype().bytes());
    const std::int64_t at = touch->begin + g.positions[0] * width;
    Question q;
    q.step = std::move(step);
    q.range = {range.interval, touch->memory, at, at + width};
    q.time = w.call.time;
    q.argument = argument_of(w.before->machine, t, g.positions[0], name, depth + 2, !given.late);
    q.late = std::move(given.late);
    causes.push_back(std::move(q));
  }
  return causes;
}

Value WhyMemory::constant_at(const CallMoment& call, int arg) const {
  const bytecode::Arg a = map_.executable().instruction(call.pc).arg(std::size_t(arg));
  return a.kind() == ArgKind::Constant ? map_.executable().constants[std::size_t(a.value())] : Value();
}

}  // namespace rldb::debug
