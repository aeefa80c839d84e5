// ValueFinder: the places where the value of a name is searched for, in order.
#include "debug/look/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "debug/look/planned.h"
#include "rldb/ir/type.h"
#include "rldb/onnx/model.h"

namespace rldb::debug {

using runtime::ErrorKind;
using runtime::Result;
using runtime::Value;

ValueFinder::ValueFinder(const Debugger::Impl& d, const vm::Machine& m, const CodeMap& map, std::size_t frame, int part,
                         bool may_go_back)
    : d_(d), m_(m), map_(map), frame_(frame), may_go_back_(may_go_back) {
  at_end_ = map_.executable().instruction(this->frame().pc).op == bytecode::Opcode::Ret;
  const std::vector<int>& group = map_.group_of(this->frame().pc);
  if (group.empty()) {
    here_ = map_.last_binding_before(this->frame().pc);
  } else {
    const bool innermost = frame_ + 1 == m_.frames().size();
    here_ = group[at_end_ ? group.size() - 1 : std::min(innermost ? std::size_t(part) : 0, group.size() - 1)];
  }
}

// The function as written; its code may be part of another one.
std::string_view ValueFinder::function() const {
  return here_ >= 0 ? std::string_view(map_.binding(here_).function) : std::string_view(map_.function_name(frame().pc));
}

const InlinedCalls& ValueFinder::inlined() const {
  if (!inlined_) inlined_.emplace(map_, frame().function, frame().pc, here_, at_end_);
  return *inlined_;
}

int ValueFinder::binding_of(std::string_view name) const {
  if (const int own = nearest(map_.find_bindings(function(), name, here_)); own >= 0) return own;
  const std::vector<int> others = inlined().bindings(name);
  return others.empty() ? map_.find_binding(map_.function_name(frame().pc), name, here_) : others.front();
}

std::optional<Value> ValueFinder::value_of(const ir::Expr* argument) {
  constexpr int kMost = 100;
  if (const auto* constant = ir::as<ir::Constant>(argument)) return *constant->value;
  const auto* v = ir::as<ir::Var>(argument);
  if (!v || depth_ >= kMost) return std::nullopt;
  if (auto value = lookup(v)) return value;
  const int binding = map_.binding_of_variable(v);
  if (binding < 0) return std::nullopt;
  ++depth_;
  auto value = value_of_binding(binding);
  --depth_;
  return value.ok() ? std::optional(*std::move(value)) : std::nullopt;
}

std::optional<Value> ValueFinder::given(const ir::Var* v) {
  if (const ir::Expr* argument = inlined().argument(v)) return value_of(argument);
  const InlinedCalls::Dimension at = inlined().dimension(v);
  const ir::Expr* argument = at.parameter ? inlined().argument(at.parameter) : nullptr;
  const auto value = argument ? value_of(argument) : std::nullopt;
  if (!value || !value->is(runtime::ValueKind::Tensor)) return std::nullopt;
  const auto& shape = value->as_tensor().shape();
  return at.dimension < shape.size() ? std::optional(Value::of_int(shape[at.dimension])) : std::nullopt;
}

std::optional<Result<Value>> ValueFinder::inlined_value(std::string_view name) {
  for (const int binding : inlined().bindings(name)) {
    if (reached(binding) == BindingReach::No) continue;
    auto value = value_of_binding(binding);
    if (value.ok()) notes_.push_back(fmt::format("{} is of {}", name, inlined().place(binding)));
    return value;
  }
  return std::nullopt;
}

Result<Value> ValueFinder::find(std::string_view name) {
  if (here_ >= 0 && map_.binding(here_).function != map_.function_name(frame().pc))
    if (const ir::Var* p = inlined().parameter(name))
      if (auto value = given(p)) return *std::move(value);
  const std::vector<int> same = map_.find_bindings(function(), name, here_);
  const int binding = nearest(same);
  std::optional<support::Failure<runtime::Error>> failure;
  for (const int candidate : same) {
    if (!map_.binding(candidate).binding) continue;
    auto value = value_of_binding(candidate);
    if (value.ok()) return value;
    // A parameter or symbol may have the name of a later binding.
    if (!failure && reached(candidate) != BindingReach::No) failure.emplace(std::move(value).error());
  }
  if (failure) return *std::move(failure);
  Value v;
  switch (d_.find_name(m_, map_, frame_, name, v)) {
    case Debugger::Impl::Found::Yes:
      return v;
    case Debugger::Impl::Found::Freed:
      for (const UserVariable& u : map_.variables(frame().function))
        if (u.name == name)
          if (auto past = from_history(u.id)) return *std::move(past);
      return runtime::fail(ErrorKind::Raised,
                           fmt::format("the register of `{}` was freed after its last use, and the run has no history "
                                       "to fetch the value from",
                                       name));
    case Debugger::Impl::Found::No:
      break;
  }
  // Code without a module does not tell which branch was taken: the run does.
  if (binding >= 0 && !map_.binding(binding).binding)
    for (const UserVariable& u : map_.variables(frame().function))
      if (u.name == name)
        if (auto past = from_history(u.id)) return *std::move(past);
  if (auto value = inlined_value(name)) return *std::move(value);
  // At a place of an inlined function: a name of the function that it was inlined into.
  for (const int i : map_.find_bindings(map_.function_name(frame().pc), name, inlined().call_here()))
    if (map_.binding(i).binding && map_.binding(i).function != function()) return value_of_binding(i);
  if (binding >= 0) return support::Failure(not_computed(binding));
  if (auto value = of_model(name)) return *std::move(value);
  return runtime::fail(ErrorKind::UnknownFunction, fmt::format("`{}` has no value here", name));
}

// A value of the ONNX model that was translated, by its name there.
std::optional<Result<Value>> ValueFinder::of_model(std::string_view name) {
  const onnx::Translation* model = d_.session.program() ? d_.session.program()->onnx() : nullptr;
  const auto known = model ? model->values.find(std::string(name)) : decltype(model->values.end())();
  if (!model || known == model->values.end() || known->second->name == name) return std::nullopt;
  auto value = find(known->second->name);
  if (value.ok()) notes_.push_back(fmt::format("{} of the model is {}", name, known->second->name));
  return value;
}

BindingReach ValueFinder::reached(int binding) const {
  const UserBinding& b = map_.binding(binding);
  if (b.function != map_.function_name(frame().pc) && inlined().contains(binding))
    return inlined().is_reached(binding) ? BindingReach::Yes : BindingReach::No;
  // At a place of an inlined function: the call that was inlined is where its caller is.
  const bool callers = here_ >= 0 && b.function != function() && b.function == map_.function_name(frame().pc);
  const int here = callers ? inlined().call_here() : here_;
  if (here < 0 || (b.function != function() && !callers)) return BindingReach::No;
  if (at_end_) return b.owner < 0 ? BindingReach::Yes : BindingReach::Perhaps;
  return map_.reached(binding, here);
}

int ValueFinder::nearest(const std::vector<int>& same) const {
  if (same.empty() || here_ < 0) return same.empty() ? -1 : same.front();
  int place = here_;
  while (at_end_ && map_.binding(place).owner >= 0) place = map_.binding(place).owner;
  for (int at = place; at >= 0; at = map_.binding(at).owner)
    for (const int i : same)
      if (map_.binding(i).sequence == map_.binding(at).sequence) return i;
  return same.front();
}

runtime::Error ValueFinder::not_computed(int binding) const {
  const UserBinding& b = map_.binding(binding);
  const std::string place = b.line ? fmt::format(" at {}:{}", b.file, b.line) : "";
  return {ErrorKind::Raised,
          reached(binding) != BindingReach::No
              ? fmt::format("`{}` was not computed on the way here: it is bound{}", b.name, place)
              : fmt::format("`{}` is not computed yet: it is bound{}", b.name, place),
          {}};
}

Result<Value> ValueFinder::value_of_binding(int binding) {
  const UserBinding& b = map_.binding(binding);
  if (!b.binding) return find(b.name);  // of a program without Relax module: only its registers have values
  if (auto value = in_register(b.binding->var->id)) return *std::move(value);
  const BindingReach now = reached(binding);
  if (now == BindingReach::No) return support::Failure(not_computed(binding));
  if (auto value = from_history(b.binding->var->id)) return *std::move(value);
  const bool has_variable = map_.has_variable(frame().function, b.binding->var->id);
  if (now == BindingReach::Perhaps || (has_variable && !map_.was_executed(binding, frame().pc)))
    return support::Failure(not_computed(binding));
  if (auto value = overwritten(binding)) return *std::move(value);
  if (!may_go_back_ && map_.computed_at(binding, frame().function) >= 0 && map_.overwrites())
    return runtime::fail(
        ErrorKind::Raised,
        fmt::format("`{}` is not kept by what runs, and its operands may have been overwritten since", b.name));
  auto computed = recompute(d_.session, map_, binding, operands_of(binding));
  if (!computed.ok()) {
    computed.error().notes.push_back(
        fmt::format("`{}` has no code of its own in what runs; it was to be computed from "
                    "values that are there",
                    b.name));
    return support::Failure(std::move(computed).error());
  }
  const auto* alias = ir::as<ir::Var>(b.binding->value);
  notes_.push_back(
      alias ? fmt::format("{} is {}", b.name, alias->name)
            : fmt::format("{} computed by the evaluator from {}: it is not kept by what runs", b.name,
                          computed->from.empty() ? "nothing" : fmt::format("{}", fmt::join(computed->from, ", "))));
  return std::move(computed->value);
}

// The code that computes it with others has run: its operands may have been overwritten since.
Lookup ValueFinder::operands_of(int binding) {
  const auto now = [this](const ir::Var* v) { return lookup(v); };
  const Pc after = may_go_back_ ? map_.computed_at(binding, frame().function) : Pc(-1);
  const auto time = after < 0 ? std::nullopt : d_.latest_time(after, frame_);
  if (!time || *time == m_.instructions()) return now;
  auto past = d_.run->machine_at(*time);
  if (!past || past->frames().size() <= frame_) return now;
  const auto then = std::make_shared<const vm::Machine>(*std::move(past));
  return [this, now, then](const ir::Var* v) -> std::optional<Value> {
    const Pc pc = then->frames()[frame_].pc;
    for (const UserVariable& u : map_.variables(frame().function)) {
      const bool held = u.id == v->id && pc >= u.begin && pc < u.range->end;
      if (const Value* value = held ? then->read_register(frame_, u.range->reg) : nullptr) return *value;
    }
    return now(v);
  };
}

std::optional<Value> ValueFinder::in_register(std::uint32_t variable) {
  const Pc pc = frame().pc;
  const UserVariable* best = nullptr;
  for (const UserVariable& v : map_.variables(frame().function))
    if (v.id == variable && pc >= v.begin && pc < v.range->end && (!best || v.begin > best->begin)) best = &v;
  if (!best || (may_go_back_ && is_lent(map_, frame().function, *best, frame().pc))) return std::nullopt;
  const Value* v = m_.read_register(frame_, best->range->reg);
  return v ? std::optional(*v) : std::nullopt;
}

// In its own register, or in that of the variable of which it is another name.
std::optional<Value> ValueFinder::in_memory(const ir::Var* v) {
  for (; v; v = map_.alias_of(v))
    if (auto value = in_register(v->id)) return value;
  return std::nullopt;
}

std::optional<Value> ValueFinder::overwritten(int binding) {
  const UserBinding& b = map_.binding(binding);
  const ir::Var* of = map_.overwritten_by(b.binding);
  if (!of) return std::nullopt;
  if (auto value = in_memory(of)) {
    notes_.push_back(fmt::format("{} is {}, overwritten", b.name, of->name));
    return value;
  }
  const Pc after = may_go_back_ ? map_.computed_at(binding, frame().function) : Pc(-1);
  const auto time = after < 0 ? std::nullopt : d_.latest_time(after, frame_);
  const auto past = time ? d_.run->machine_at(*time) : std::nullopt;
  if (!past || past->frames().size() <= frame_) return std::nullopt;
  for (const ir::Var* v = of; v; v = map_.alias_of(v))
    for (const UserVariable& u : map_.variables(frame().function)) {
      const Value* held = u.id == v->id && after >= u.begin && after < u.range->end
                              ? past->read_register(frame_, u.range->reg)
                              : nullptr;
      if (!held) continue;
      notes_.push_back(fmt::format("{} as of its definition, time {}", b.name, *time));
      return *held;
    }
  return std::nullopt;
}

Result<Value> ValueFinder::held(std::string_view name) {
  const std::vector<int> same = map_.find_bindings(function(), name, here_);
  for (const int binding : same)
    if (const ir::Binding* b = map_.binding(binding).binding)
      if (auto value = in_memory(b->var)) return *std::move(value);
  if (const auto row = d_.local_named(m_, map_, frame_, name); row && row->live)
    return Debugger::Impl::local(m_, map_, frame_, *row).value;
  Value v;
  // A value of the session does not stand in for a name of the function.
  if (same.empty() && d_.find_name(m_, map_, frame_, name, v) == Debugger::Impl::Found::Yes) return v;
  if (auto value = symbol(name)) return *std::move(value);
  return runtime::fail(ErrorKind::UnknownFunction, fmt::format("`{}` has no value here", name));
}

bool ValueFinder::was_freed(std::string_view name) const {
  std::vector<std::uint32_t> ids;
  for (const int binding : map_.find_bindings(function(), name, here_))
    for (const ir::Var* v = map_.binding(binding).binding ? map_.binding(binding).binding->var : nullptr; v;
         v = map_.alias_of(v))
      ids.push_back(v->id);
  const Pc pc = frame().pc;
  for (const UserVariable& v : map_.variables(frame().function)) {
    const bool named = v.name == name || std::find(ids.begin(), ids.end(), v.id) != ids.end();
    if (named && v.begin <= pc && is_lent(map_, frame().function, v, pc)) return true;
    if (named && v.range->end <= pc && (v.range->is_parameter || map_.runs_before(v.begin - 1, pc))) return true;
  }
  return false;
}

// From the moment after it was computed in this call of the function.
std::optional<Value> ValueFinder::from_history(std::uint32_t variable) {
  if (!may_go_back_) return std::nullopt;
  if (const auto known = fetched_.find(variable); known != fetched_.end()) return known->second;
  std::optional<Value>& result = fetched_[variable];
  // Code that was inlined more than once has a variable for each time: the latest counts.
  const UserVariable* latest = nullptr;
  std::uint64_t bound = 0;
  for (const UserVariable& v : map_.variables(frame().function)) {
    if (v.id != variable || v.begin > frame().pc) continue;
    const auto time = d_.latest_time(map_.value_begins(v), frame_);
    if (!time || (latest && *time < bound)) continue;
    latest = &v;
    bound = *time;
  }
  if (!latest) return result;
  result = changed_since(*latest, bound);
  if (result) return result;
  const auto past = d_.run->machine_at(bound);
  const Value* held = past ? past->read_register(frame_, latest->range->reg) : nullptr;
  if (!held) return result;
  notes_.push_back(fmt::format(
      "{} {}, time {}; its {} since", latest->name,
      map_.value_begins(*latest) == latest->begin ? "as of its definition" : "as it was filled", bound,
      is_lent(map_, frame().function, *latest, frame().pc) ? "memory was used again" : "register was freed"));
  result = *held;
  return result;
}

std::optional<std::uint64_t> changed_last(const Debugger::Impl& d, const UserVariable& v, std::size_t frame,
                                          std::uint64_t since) {
  const std::vector<Change>& changes = d.run->changes().list();
  for (auto c = changes.rbegin(); c != changes.rend(); ++c) {
    if (!c->writes || c->time < since || c->time > d.run->time()) continue;
    const auto past = d.run->machine_at(c->time);
    if (!past || past->frames().size() <= frame) continue;
    const Pc pc = past->frames()[frame].pc;
    if (pc >= v.begin && pc < v.range->end && past->read_register(frame, v.range->reg)) return c->time;
  }
  return std::nullopt;
}

std::optional<Value> ValueFinder::changed_since(const UserVariable& v, std::uint64_t time) {
  const auto changed = changed_last(d_, v, frame_, time);
  const auto past = changed ? d_.run->machine_at(*changed) : std::nullopt;
  if (!past) return std::nullopt;
  notes_.push_back(
      fmt::format("{} as of time {}, with a change by a command; its register was freed since", v.name, *changed));
  return *past->read_register(frame_, v.range->reg);
}

std::optional<Value> ValueFinder::symbol(std::string_view name) {
  for (const SlotInfo& slot : d_.heap(m_, map_, frame_))
    if (slot.set && slot.expression == name) return Value::of_int(slot.value);
  return std::nullopt;
}

std::optional<Value> ValueFinder::lookup(const ir::Var* v) {
  if (auto value = given(v)) return value;
  if (ir::as<ir::PrimType>(v->type) != nullptr)
    if (auto value = symbol(v->name)) return value;
  if (auto value = in_register(v->id)) return value;
  return from_history(v->id);
}

}  // namespace rldb::debug
