// Element targets: from `NAME[...]` to a value, and to the moments at which a register holds it.
#include "debug/provenance/element_target.h"

#include <fmt/format.h>

#include <charconv>

#include "debug/look/values.h"
#include "debug/provenance/why_memory.h"
#include "rldb/expression/array.h"
#include "rldb/expression/expression.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using runtime::Value;
using runtime::ValueKind;

namespace {

// The fields at the front of a subscript, while the value is a tuple: it becomes the field's.
std::vector<std::size_t> take_fields(Value& value, std::string_view& subscript) {
  std::vector<std::size_t> fields;
  while (value.is(ValueKind::Tuple) && subscript.starts_with('[')) {
    const auto end = subscript.find(']');
    std::size_t i = 0;
    if (end == std::string_view::npos) break;
    const auto [rest, problem] = std::from_chars(subscript.data() + 1, subscript.data() + end, i);
    if (problem != std::errc() || rest != subscript.data() + end || i >= value.as_tuple().fields.size()) break;
    const Value field = value.as_tuple().fields[i];
    value = field;
    fields.push_back(i);
    subscript.remove_prefix(end + 1);
  }
  return fields;
}

// Names in a subscript are those of the frame: `[n - 1, 0]` becomes `[4, 0]`.
class Subscript {
 public:
  Subscript(const Debugger& debugger, std::string_view name, int frame, source::Diagnostics& out)
      : debugger_(debugger), name_(name), frame_(frame), out_(out) {}

  // Nullopt: diagnosed.
  std::optional<std::string> with_values(std::string_view subscript) {
    text_ = name_ + std::string(subscript);
    const auto parsed = expression::parse(text_);
    if (!parsed.ok()) {
      out_.add({}, source::message(diag::RunFailed, parsed.error().message));
      return std::nullopt;
    }
    if (parsed->root().kind != expression::TermKind::Subscript ||
        parsed->child(parsed->root(), 0).kind != expression::TermKind::Name)
      return std::string(subscript);
    for (std::size_t i = parsed->root().children.size(); i-- > 1;)
      if (!replace(*parsed, parsed->child(parsed->root(), i))) return std::nullopt;
    return text_.substr(name_.size());
  }

 private:
  // From the end on, so that the places of the terms before it stay.
  bool replace(const expression::Expression& e, const expression::Term& t) {
    if (t.kind == expression::TermKind::Slice) {
      for (std::size_t i = t.children.size(); i-- > 0;)
        if (t.children[i] >= 0 && !replace(e, e.child(t, i))) return false;
      return true;
    }
    const std::string term(e.text_of(t));
    const auto alone = expression::parse(term);
    if (!alone.ok() || expression::names_of(*alone).empty()) return true;
    const auto value = debugger_.evaluate(term, frame_, out_);
    if (!value) return false;
    const auto number = expression::number_of(*value);
    if (!number.ok() || !number->is(ValueKind::Int)) {
      out_.add({}, source::message(diag::RunFailed,
                                   fmt::format("`{}` is not an index: one element is followed at a time", term)));
      return false;
    }
    text_.replace(t.begin, t.end - t.begin, fmt::format("{}", number->as_int()));
    return true;
  }

  const Debugger& debugger_;
  std::string name_;
  int frame_;
  source::Diagnostics& out_;
  std::string text_;
};

}  // namespace

std::optional<ElementTarget> element_target(const Debugger::Impl& d, const Debugger& debugger, std::string_view name,
                                            std::string_view subscript, int frame, source::Diagnostics& out) {
  const auto refuse = [&](std::string_view why) -> std::optional<ElementTarget> {
    out.add({}, source::message(diag::RunFailed, why));
    return std::nullopt;
  };
  ElementTarget target;
  if (!d.run || !frame_index(d.run->machine(), debugger.machine_frame(frame), target.frame)) {
    out.add({}, source::message(diag::NotStopped));
    return std::nullopt;
  }
  ValueFinder finder(d, d.run->machine(), d.run->code(), target.frame, d.part, true);
  auto value = finder.find(name);
  support::poll_cause();
  if (!value.ok()) return refuse(value.error().message);
  target.value = *std::move(value);
  target.base = target.shown = name;
  target.fields = take_fields(target.value, subscript);
  for (const std::size_t i : target.fields) target.shown += fmt::format("[{}]", i);
  if (!target.value.is(ValueKind::Tensor)) return refuse(fmt::format("`{}` is not a tensor", target.shown));
  target.binding = finder.binding_of(name);
  if (subscript.empty()) return target;
  const auto indices = Subscript(debugger, name, frame, out).with_values(subscript);
  if (!indices) return std::nullopt;
  auto chosen = expression::positions_of(target.tensor(), *indices);
  if (!chosen.ok()) return refuse(chosen.error().message);
  target.positions = *std::move(chosen);
  return target;
}

bool each_holding(const Debugger::Impl& d, ElementTarget target, const Holding& f) {
  const vm::Machine& m = d.run->machine();
  if (!m.running()) return false;
  if (const auto path = path_to(m, target.frame, target.tensor().storage().get())) return f(d.run->time(), *path);
  const vm::Frame& frame = m.frames()[target.frame];
  constexpr int kMost = 1000;
  for (int hops = 0; hops < kMost; ++hops) {
    for (const UserVariable& v : d.run->code().variables(frame.function)) {
      if (v.name != target.base || v.begin > frame.pc) continue;
      auto time = d.latest_time(d.run->code().value_begins(v), target.frame);
      if (const auto changed = time ? changed_last(d, v, target.frame, *time) : std::nullopt) time = changed;
      if (time && f(*time, {target.frame, v.range->reg, target.fields})) return true;
    }
    // An alias, or a field of a tuple, has no register of its own.
    const ir::Binding* b = target.binding >= 0 ? d.run->code().binding(target.binding).binding : nullptr;
    const auto* field = b ? ir::as<ir::TupleGetItem>(b->value) : nullptr;
    const auto* of = ir::as<ir::Var>(field ? field->tuple : b ? b->value : nullptr);
    const ir::Var* overwritten = b && !of ? d.run->code().overwritten_by(b) : nullptr;
    if (overwritten) {
      const Pc after = d.run->code().computed_at(target.binding, frame.function);
      const auto time = after < 0 ? std::nullopt : d.latest_time(after, target.frame);
      for (const UserVariable& v : d.run->code().variables(frame.function))
        if (v.id == overwritten->id && time && after >= v.begin && after < v.range->end &&
            f(*time, {target.frame, v.range->reg, target.fields}))
          return true;
      return false;
    }
    if (!of) return false;
    if (field) target.fields.insert(target.fields.begin(), std::size_t(field->index));
    target.base = of->name;
    target.binding = d.run->code().binding_of_variable(of);
  }
  return false;
}

}  // namespace rldb::debug
