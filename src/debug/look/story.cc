// Where a value came from and when: `:when`, `:why`, what is said about history and in a report.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "debug/expression/array.h"
#include "debug/impl.h"
#include "debug/look/element.h"
#include "debug/look/values.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/debug/facts.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_run.h"

namespace rldb::debug {

using runtime::Tensor;
using runtime::Value;

namespace {

std::string first_line(std::string text) {
  if (const auto end = text.find('\n'); end != std::string::npos) text = text.substr(0, end) + " ...";
  return text;
}

// The tree of `:why`: a value, then what its binding reads.
class Why {
 public:
  Why(ValueFinder& finder, const CodeMap& map, std::vector<std::string>& lines)
      : finder_(finder), map_(map), lines_(lines) {}

  void tell(std::string_view name, int binding, int depth, std::size_t indent) {
    const std::string pad(indent * 2, ' ');
    auto value = binding >= 0 ? finder_.value_of_binding(binding) : finder_.find(name);
    const std::string shown = value.ok() ? runtime::format_brief(*value) : "(" + value.error().message + ")";
    const ir::Binding* b = binding >= 0 ? map_.binding(binding).binding : nullptr;
    if (!b) {
      lines_.push_back(fmt::format("{}{} = {}", pad, name, shown));
      return;
    }
    const UserBinding& u = map_.binding(binding);
    const std::string place = u.line ? fmt::format("   # {}:{}", u.file, u.line) : "";
    lines_.push_back(fmt::format("{}{}{}", pad, first_line(ir::print_binding(b)), place));
    lines_.push_back(fmt::format("{}  = {}", pad, shown));
    if (std::find(told_.begin(), told_.end(), binding) != told_.end()) {
      lines_.push_back(pad + "  (above)");
      return;
    }
    told_.push_back(binding);
    const std::vector<const ir::Var*> uses = ir::free_vars(b->value);
    if (depth <= 0 && !uses.empty()) {
      lines_.push_back(pad + "  ...");
      return;
    }
    for (const ir::Var* v : uses) tell(v->name, map_.binding_of_variable(v), depth - 1, indent + 1);
  }

 private:
  ValueFinder& finder_;
  const CodeMap& map_;
  std::vector<std::string>& lines_;
  std::vector<int> told_;
};

// The same for one element: the kernels that made it, and the elements that they read.
class WhyElement {
 public:
  WhyElement(session::Session& session, ValueFinder& finder, const CodeMap& map, std::vector<std::string>& lines)
      : session_(session), finder_(finder), map_(map), lines_(lines) {}

  runtime::Result<support::Unit> tell(std::string_view name, int binding, const Value& value, std::int64_t position,
                                      int depth, std::size_t indent) {
    support::poll();
    const std::string line =
        fmt::format("{}{}{} = {}", std::string(indent * 2, ' '), name,
                    region_text(value.as_tensor().shape(), {position}), elements_text(value.as_tensor(), {position}));
    if (binding < 0 || !map_.binding(binding).binding || depth < 0) {
      lines_.push_back(line);
      return support::Unit{};
    }
    const UserBinding& u = map_.binding(binding);
    const std::string place = u.line ? fmt::format("   # {}:{}", u.file, u.line) : "";
    auto origin = origin_of_element(
        session_, map_, binding,
        [&](const ir::Var* v) -> std::optional<Value> {
          const int definition = map_.binding_of_variable(v);
          auto found = definition >= 0 ? finder_.value_of_binding(definition) : finder_.find(v->name);
          return found.ok() ? std::optional(*std::move(found)) : std::nullopt;
        },
        position);
    if (!origin.ok() && indent == 0) return support::Failure(std::move(origin).error());
    if (!origin.ok()) {
      lines_.push_back(fmt::format("{}{}: {}", line, place, origin.error().message));
      return support::Unit{};
    }
    lines_.push_back(line + (origin->kernels.empty() ? "" : fmt::format(", by {}", fmt::join(origin->kernels, " < "))) +
                     place);
    const ir::Binding* b = u.binding;
    for (const ElementPart& part : origin->parts) {
      if (part.positions.size() != 1) {
        const Tensor& t = part.tensor.as_tensor();
        lines_.push_back(fmt::format("{}{}{} = {}", std::string(indent * 2 + 2, ' '), part.name,
                                     region_text(t.shape(), part.positions), elements_text(t, part.positions)));
        continue;
      }
      int definition = -1;
      for (const ir::Var* v : ir::free_vars(b->value))
        if (v->name == part.name) definition = map_.binding_of_variable(v);
      RLDB_TRY_VOID(tell(part.name, definition, part.tensor, part.positions[0], depth - 1, indent + 1));
    }
    return support::Unit{};
  }

 private:
  static std::string elements_text(const Tensor& t, const std::vector<std::int64_t>& positions) {
    constexpr std::size_t kShown = 8;
    std::string text;
    for (std::size_t i = 0; i < positions.size() && i < kShown; ++i)
      text += (i ? " " : "") + element_text(t, positions[i]);
    if (positions.size() == 1) return text;
    return fmt::format("[{}{}]", text, positions.size() > kShown ? " ..." : "");
  }

  session::Session& session_;
  ValueFinder& finder_;
  const CodeMap& map_;
  std::vector<std::string>& lines_;
};

}  // namespace

std::vector<std::string> Debugger::why(std::string_view target, int frame, int depth, source::Diagnostics& out) const {
  const auto [name, subscript] = split_target(target);
  return subscript.empty() ? impl_->why(*this, name, frame, depth, out)
                           : impl_->why_element(*this, name, subscript, frame, depth, out);
}

// One element of a tensor.
std::vector<std::string> Debugger::Impl::why_element(const Debugger& d, std::string_view name,
                                                     std::string_view subscript, int frame, int depth,
                                                     source::Diagnostics& out) const {
  const auto refuse = [&](std::string_view why) {
    out.add({}, source::message(diag::RunFailed, why));
    return std::vector<std::string>();
  };
  std::size_t index = 0;
  if (!run || last.kind == StopKind::Finished || !frame_index(run->machine(), d.machine_frame(frame), index)) {
    out.add({}, source::message(diag::NotStopped));
    return {};
  }
  const CodeMap& map = run->code();
  ValueFinder finder(*this, run->machine(), map, index, part, true);
  const auto value = finder.find(name);
  if (!value.ok()) return refuse(value.error().message);
  if (!value->is(runtime::ValueKind::Tensor)) return refuse(fmt::format("`{}` is no tensor", name));
  const auto chosen = positions_of(value->as_tensor(), subscript);
  if (!chosen.ok()) return refuse(chosen.error().message);
  if (chosen->size() != 1)
    return refuse(fmt::format("`{}{}` names {} elements: one is followed at a time", name, subscript, chosen->size()));
  std::vector<std::string> lines;
  const auto told =
      WhyElement(session, finder, map, lines).tell(name, finder.binding_of(name), *value, (*chosen)[0], depth, 0);
  return told.ok() ? lines : refuse(told.error().message);
}

std::vector<std::string> Debugger::Impl::why(const Debugger& debugger, std::string_view name, int frame, int depth,
                                             source::Diagnostics& out) const {
  const Impl& d = *this;
  std::size_t index = 0;
  if (!d.run || d.last.kind == StopKind::Finished ||
      !frame_index(d.run->machine(), debugger.machine_frame(frame), index)) {
    out.add({}, source::message(diag::NotStopped));
    return {};
  }
  const CodeMap& map = d.run->code();
  ValueFinder finder(d, d.run->machine(), map, index, d.part, true);
  const int binding = finder.binding_of(name);
  if (binding < 0)
    if (auto value = finder.find(name); !value.ok()) {
      out.add({}, source::message(diag::RunFailed, value.error().message));
      return {};
    }
  std::vector<std::string> lines;
  Why(finder, map, lines).tell(name, binding, depth, 0);
  return lines;
}

std::vector<std::string> Debugger::when(std::string_view name, int frame, source::Diagnostics& out) const {
  const Impl& d = *impl_;
  std::size_t index = 0;
  if (!d.run || d.last.kind == StopKind::Finished || !frame_index(d.run->machine(), machine_frame(frame), index)) {
    out.add({}, source::message(diag::NotStopped));
    return {};
  }
  const CodeMap& map = d.run->code();
  const vm::Frame& f = d.run->machine().frames()[index];
  std::vector<std::string> lines;
  for (const UserVariable& v : map.variables(f.function)) {
    if (v.name != name || v.begin > f.pc) continue;
    const auto bound = v.begin == f.pc ? std::optional(d.run->time()) : d.latest_time(v.begin, index);
    if (!bound) continue;
    const Pc by = std::max<Pc>(v.begin - 1, 0);
    lines.push_back(v.range->is_parameter && v.begin == map.executable().functions[std::size_t(f.function)].start
                        ? fmt::format("{}: passed at time {}", name, *bound)
                        : fmt::format("{}: bound at time {} by *{} {}", name, *bound, by,
                                      bytecode::instruction_text(map.executable(), by)));
    if (f.pc < v.range->end) {
      lines.push_back(fmt::format("  in register %{} since", v.range->reg));
      continue;
    }
    const auto freed = v.range->end == f.pc ? std::optional(d.run->time()) : d.latest_time(v.range->end, index);
    lines.push_back(freed ? fmt::format("  last used before time {}", *freed) : "  its register was freed since");
  }
  if (!lines.empty()) return lines;
  ValueFinder finder(d, d.run->machine(), map, index, d.part, true);
  auto value = finder.find(name);
  if (value.ok()) {
    if (finder.notes().empty()) return {fmt::format("{}: not a binding of this frame", name)};
    return finder.notes();
  }
  out.add({}, source::message(diag::RunFailed, value.error().message));
  return {};
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

std::string Debugger::history() const {
  const Impl& d = *impl_;
  if (!d.run) return "no run";
  const Timeline& t = d.run->timeline();
  if (t.empty())
    return fmt::format("time {}; no history: the values of the run exceed the limit on checkpoints", d.run->time());
  std::string text = fmt::format("time {}; one can go back to time {}: {} checkpoint{}, {:.1f} of {:.0f} MiB",
                                 d.run->time(), t.first_time(), t.size(), t.size() == 1 ? "" : "s",
                                 double(t.bytes()) / (1 << 20), double(t.limit()) / (1 << 20));
  if (const vm::CallLog* log = d.run->machine().call_log(); log && log->kept() + log->not_kept() > 0) {
    text += fmt::format("\n{} call{} of packed functions recorded", log->kept(), log->kept() == 1 ? "" : "s");
    if (log->not_kept())
      text += fmt::format(", {} could not be and are made again when time is replayed", log->not_kept());
  }
  return text;
}

}  // namespace rldb::debug
