// Where and when a value was computed: `:when`, `:why`, and the text on history and in a report.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "debug/impl.h"
#include "debug/look/element.h"
#include "debug/look/expression_story.h"
#include "debug/look/values.h"
#include "debug/provenance/element_target.h"
#include "debug/provenance/why_memory.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/debug/facts.h"
#include "rldb/expression/array.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/text.h"

namespace rldb::debug {

using runtime::Tensor;
using runtime::Value;

namespace {

// For `:why`: a value, then the operands of its binding.
class Why {
 public:
  Why(ValueFinder& finder, const CodeMap& map, std::vector<CauseStep>& steps)
      : finder_(finder), map_(map), steps_(steps) {}

  // `given`: what a line above read under the name, of which a later variable may have another value.
  void tell(std::string_view name, int binding, int left, std::size_t depth,
            const std::optional<runtime::Value>& given = {}) {
    support::poll_cause();
    const ir::Binding* b = binding >= 0 ? map_.binding(binding).binding : nullptr;  // an executable has none
    auto value = b       ? finder_.value_of_binding(binding)
                 : given ? runtime::Result<runtime::Value>(*given)
                         : finder_.find(name);
    CauseStep step;
    step.depth = depth;
    step.name = name;
    step.value = value.ok() ? runtime::format_brief(*value) : "(" + value.error().message + ")";
    if (!b) {
      steps_.push_back(std::move(step));
      return;
    }
    const UserBinding& u = map_.binding(binding);
    step.binding = support::one_line(ir::print_binding(b));
    step.line = u.line;
    if (u.line) step.file = u.file;
    const std::vector<const ir::Var*> uses = ir::free_vars(b->value);
    if (std::find(told_.begin(), told_.end(), binding) != told_.end())
      step.rest = CauseStep::Rest::Above;
    else if (left <= 0 && !uses.empty())
      step.rest = CauseStep::Rest::Deeper;
    const bool ends = step.rest != CauseStep::Rest::None;
    steps_.push_back(std::move(step));
    told_.push_back(binding);
    if (ends) return;
    Lookup operands;
    for (const ir::Var* v : uses) {
      const int definition = map_.binding_of_variable(v);
      if (definition < 0 && !operands) operands = finder_.operands_of(binding);
      tell(v->name, definition, left - 1, depth + 1, definition < 0 ? operands(v) : std::nullopt);
    }
  }

 private:
  ValueFinder& finder_;
  const CodeMap& map_;
  std::vector<CauseStep>& steps_;
  std::vector<int> told_;
};

// The same for one element: the kernels that computed it, and the elements that they read.
class WhyElement {
 public:
  WhyElement(session::Session& session, ValueFinder& finder, const CodeMap& map, std::vector<CauseStep>& steps)
      : session_(session), finder_(finder), map_(map), steps_(steps) {}

  runtime::Result<support::Unit> tell(std::string_view name, int binding, const Value& value, std::int64_t position,
                                      int left, std::size_t depth) {
    support::poll_cause();  // what finds values executes code again, which takes the flag
    CauseStep step = element_step(name, value.as_tensor(), {position}, depth);
    if (binding < 0 || !map_.binding(binding).binding || left < 0) {
      steps_.push_back(std::move(step));
      return support::Unit{};
    }
    const UserBinding& u = map_.binding(binding);
    step.line = u.line;
    if (u.line) step.file = u.file;
    const Lookup operands = finder_.operands_of(binding);
    auto origin = origin_of_element(
        session_, map_, binding,
        [&](const ir::Var* v) -> std::optional<Value> {
          if (auto value = operands(v)) return value;
          const int definition = map_.binding_of_variable(v);
          auto found = definition >= 0 ? finder_.value_of_binding(definition) : finder_.find(v->name);
          return found.ok() ? std::optional(*std::move(found)) : std::nullopt;
        },
        position);
    if (!origin.ok() && depth == 0) return support::Failure(std::move(origin).error());
    if (!origin.ok()) {
      step.problem = origin.error().message;
      steps_.push_back(std::move(step));
      return support::Unit{};
    }
    step.kernels = origin->kernels;
    steps_.push_back(std::move(step));
    const ir::Binding* b = u.binding;
    for (const ElementPart& part : origin->parts) {
      if (part.positions.size() != 1) {
        steps_.push_back(element_step(part.name, part.tensor.as_tensor(), part.positions, depth + 1));
        continue;
      }
      int definition = -1;
      for (const ir::Var* v : ir::free_vars(b->value))
        if (v->name == part.name) definition = map_.binding_of_variable(v);
      RLDB_TRY_VOID(tell(part.name, definition, part.tensor, part.positions[0], left - 1, depth + 1));
    }
    return support::Unit{};
  }

 private:
  session::Session& session_;
  ValueFinder& finder_;
  const CodeMap& map_;
  std::vector<CauseStep>& steps_;
};

}  // namespace

std::vector<CauseStep> Debugger::why(std::string_view target, int frame, int depth, source::Diagnostics& out) const {
  if (!impl_->can_be_asked()) {
    out.add({}, source::message(diag::NotStopped));
    return {};
  }
  if (auto steps = why_expression(*this, target, frame, depth, out)) return *std::move(steps);
  const auto [name, subscript] = expression::split_target(target);
  return subscript.empty() ? impl_->why(*this, name, frame, depth, out)
                           : impl_->why_element(*this, name, subscript, frame, depth, out);
}

// One element of a tensor.
std::vector<CauseStep> Debugger::Impl::why_element(const Debugger& d, std::string_view name, std::string_view subscript,
                                                   int frame, int depth, source::Diagnostics& out) const {
  const auto target = element_target(*this, d, name, subscript, frame, out);
  if (!target) return {};
  const auto refuse = [&](std::string_view why) {
    out.add({}, source::message(diag::RunFailed, why));
    return std::vector<CauseStep>();
  };
  if (target->positions.size() != 1)
    return refuse(
        fmt::format("`{}{}` names {} elements: one is followed at a time", name, subscript, target->positions.size()));
  std::vector<CauseStep> steps;
  const std::int64_t position = target->positions[0];
  const bool known = each_holding(*this, *target, [&](std::uint64_t time, const ValuePath& path) {
    return WhyMemory(*run, time, steps).tell(target->shown, path, target->tensor(), position, depth);
  });
  if (known) return steps;
  if (!target->fields.empty()) return refuse(fmt::format("`{}` is in no register of the run", target->shown));
  ValueFinder finder(*this, run->machine(), run->code(), target->frame, part, true);
  const auto told = WhyElement(session, finder, run->code(), steps)
                        .tell(target->shown, target->binding, target->value, position, depth, 0);
  return told.ok() ? steps : refuse(told.error().message);
}

std::vector<CauseStep> Debugger::Impl::why(const Debugger& debugger, std::string_view name, int frame, int depth,
                                           source::Diagnostics& out) const {
  const Impl& d = *this;
  std::size_t index = 0;
  if (!d.run || !frame_index(d.run->machine(), debugger.machine_frame(frame), index)) {
    out.add({}, source::message(diag::NotStopped));
    return {};
  }
  const CodeMap& map = d.run->code();
  ValueFinder finder(d, d.run->machine(), map, index, d.part, true);
  const int binding = finder.binding_of(name);
  if (binding < 0 || !map.binding(binding).binding)
    if (auto value = finder.find(name); !value.ok()) {
      out.add({}, source::message(diag::RunFailed, value.error().message));
      return {};
    }
  std::vector<CauseStep> steps;
  Why(finder, map, steps).tell(name, binding, depth, 0);
  for (CauseStep& s : steps)
    if (const auto changed = d.commands_on(s.name, index); !changed.empty())
      s.remark = fmt::format("changed by the command {}", fmt::join(changed, ", "));
  return steps;
}

namespace {

// `, by matmul at time 12 (i = 3, k = 7; 8 writes)`.
std::string writer_text(const CauseStep& s) {
  if (s.kernels.empty() && s.command.empty()) return {};
  std::string text =
      fmt::format(", by {}", s.command.empty() ? fmt::to_string(fmt::join(s.kernels, " < ")) : s.command);
  if (s.time) text += fmt::format(" at time {}", *s.time);
  const std::string count = s.writes > 1 ? support::counted(s.writes, "write") : "";
  if (s.iteration.empty() && count.empty()) return text;
  return text + fmt::format(" ({}{}{})", s.iteration, s.iteration.empty() || count.empty() ? "" : "; ", count);
}

}  // namespace

std::vector<std::string> lines_of(const std::vector<CauseStep>& steps) {
  using Rest = CauseStep::Rest;
  std::vector<std::string> lines;
  for (const CauseStep& s : steps) {
    const std::string pad(s.depth * 2, ' ');
    const std::string place = s.line ? fmt::format("   # {}:{}", s.file, s.line) : "";
    const std::string role = s.role.empty() ? "" : fmt::format(" ({})", s.role);
    if (!s.problem.empty()) {
      lines.push_back(fmt::format("{}{} = {}{}{}: {}", pad, s.name, s.value, role, place, s.problem));
    } else if (s.binding.empty()) {
      lines.push_back(fmt::format("{}{} = {}{}{}{}", pad, s.name, s.value, role, writer_text(s), place));
    } else {
      lines.push_back(fmt::format("{}{}{}", pad, s.binding, place));
      lines.push_back(fmt::format("{}  = {}", pad, s.value));
    }
    if (!s.remark.empty()) lines.push_back(fmt::format("{}  ({})", pad, s.remark));
    if (s.rest == Rest::Above) lines.push_back(pad + "  (above)");
    if (s.rest == Rest::Deeper) lines.push_back(pad + "  ...");
  }
  return lines;
}

// The name of a result that a kernel wrote over its argument has no register.
static void add_results_in_place(const Debugger::Impl& d, const CodeMap& map, std::size_t index, NameHistory& history) {
  const vm::Frame& f = d.run->machine().frames()[index];
  for (const int i : map.find_bindings(map.function_name(f.pc), history.name, -1)) {
    const ir::Binding* b = map.binding(i).binding;
    const ir::Var* memory = b ? map.overwritten_by(b) : nullptr;
    const Pc after = memory ? map.computed_at(i, f.function) : -1;
    const auto bound = after < 0       ? std::nullopt
                       : after == f.pc ? std::optional(d.run->time())
                                       : d.latest_time(after, index);
    if (!bound) continue;
    NameMoment moment;
    moment.time = *bound;
    moment.by = after - 1;
    moment.instruction = bytecode::instruction_text(map.executable(), moment.by);
    moment.memory_of = memory->name;
    history.moments.push_back(std::move(moment));
  }
}

NameHistory Debugger::when(std::string_view name, int frame, source::Diagnostics& out) const {
  const Impl& d = *impl_;
  NameHistory history{std::string(name), {}, {}};
  std::size_t index = 0;
  if (!impl_->can_be_asked() || !frame_index(d.run->machine(), machine_frame(frame), index)) {
    out.add({}, source::message(diag::NotStopped));
    return history;
  }
  const CodeMap& map = d.run->code();
  const vm::Frame& f = d.run->machine().frames()[index];
  for (const UserVariable& v : map.variables(f.function)) {
    if (v.name != name || v.begin > f.pc) continue;
    const auto bound = v.begin == f.pc ? std::optional(d.run->time()) : d.latest_time(v.begin, index);
    if (!bound) continue;
    NameMoment moment;
    moment.time = *bound;
    moment.passed = v.range->is_parameter && v.begin == map.executable().functions[std::size_t(f.function)].start;
    if (!moment.passed) {
      moment.by = std::max<Pc>(v.begin - 1, 0);
      moment.instruction = bytecode::instruction_text(map.executable(), moment.by);
    }
    if (f.pc < v.range->end)
      moment.reg = v.range->reg;
    else
      moment.last_used = v.range->end == f.pc ? std::optional(d.run->time()) : d.latest_time(v.range->end, index);
    history.moments.push_back(std::move(moment));
  }
  if (history.moments.empty()) add_results_in_place(d, map, index, history);
  for (const std::string& text : d.commands_on(name, index))
    history.notes.push_back(fmt::format("{}: changed by the command {}", name, text));
  if (!history.moments.empty()) return history;
  ValueFinder finder(d, d.run->machine(), map, index, d.part, true);
  auto value = finder.find(name);
  if (value.ok() && history.notes.empty())
    history.notes =
        finder.notes().empty() ? std::vector{fmt::format("{}: not a binding of this frame", name)} : finder.notes();
  else if (!value.ok())
    out.add({}, source::message(diag::RunFailed, value.error().message));
  return history;
}

std::vector<std::string> lines_of(const NameHistory& history) {
  std::vector<std::string> lines;
  for (const NameMoment& m : history.moments) {
    lines.push_back(m.passed
                        ? fmt::format("{}: passed at time {}", history.name, m.time)
                        : fmt::format("{}: bound at time {} by *{} {}", history.name, m.time, m.by, m.instruction));
    if (!m.memory_of.empty())
      lines.push_back(fmt::format("  in the memory of {}", m.memory_of));
    else if (m.reg >= 0)
      lines.push_back(fmt::format("  in register %{} since", m.reg));
    else
      lines.push_back(m.last_used ? fmt::format("  last used before time {}", *m.last_used)
                                  : "  its register was freed since");
  }
  lines.insert(lines.end(), history.notes.begin(), history.notes.end());
  return lines;
}

std::vector<std::pair<std::uint64_t, Position>> Debugger::last_bindings(std::size_t count) const {
  const Impl& d = *impl_;
  std::vector<std::pair<std::uint64_t, Position>> all, window;
  if (!d.run) return all;
  d.run->search(
      d.run->code().starts(),
      [&](const vm::Machine& m) { window.emplace_back(m.instructions(), d.run->code().position(m.frame().pc)); },
      [&] {
        window.insert(window.end(), all.begin(), all.end());
        all = std::exchange(window, {});
        if (all.size() > count) all.erase(all.begin(), all.end() - std::ptrdiff_t(count));
        return all.size() >= count;
      });
  return all;
}

std::optional<RunHistory> Debugger::history() const {
  const Impl& d = *impl_;
  if (!d.run) return std::nullopt;
  const Timeline& t = d.run->timeline();
  RunHistory h;
  h.time = d.run->time();
  if (!t.empty()) h.first_time = t.first_time();
  h.checkpoints = t.size();
  h.bytes = t.bytes();
  h.limit = t.limit();
  if (const vm::CallLog* log = d.run->machine().call_log()) {
    h.recorded = log->kept();
    h.not_recorded = log->not_kept();
  }
  return h;
}

std::string to_string(const std::optional<RunHistory>& history) {
  if (!history) return "no run";
  const RunHistory& h = *history;
  if (!h.first_time)
    return fmt::format("time {}; no history: the values of the run exceed the limit on checkpoints", h.time);
  std::string text = fmt::format("time {}; the run can go back to time {} ({}, {:.1f} of {:.0f} MiB)", h.time,
                                 *h.first_time, support::counted(h.checkpoints, "checkpoint"),
                                 double(h.bytes) / (1 << 20), double(h.limit) / (1 << 20));
  if (h.recorded + h.not_recorded == 0) return text;
  text += fmt::format("\n{} of packed functions recorded", support::counted(h.recorded, "call"));
  if (h.not_recorded) text += fmt::format(", {} could not be and are made again when time is replayed", h.not_recorded);
  return text;
}

}  // namespace rldb::debug
