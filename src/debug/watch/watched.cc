// Watched: activations, the memory behind names, changes.
#include "debug/watch/watched.h"

#include <fmt/format.h>

#include <algorithm>

#include "debug/look/values.h"
#include "debug/run/skim.h"
#include "debug/watch/later_memory.h"
#include "debug/watch/numeric.h"
#include "rldb/expression/expression.h"
#include "rldb/support/text.h"

namespace rldb::debug {

using bytecode::ArgKind;
using bytecode::Instruction;
using bytecode::Opcode;
using bytecode::RegName;
using runtime::Result;
using runtime::Storage;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

std::vector<std::string> watched_names(std::string_view expression) {
  const auto parsed = expression::parse(storage_operand(expression).value_or(expression));
  return parsed.ok() ? expression::names_of(*parsed) : std::vector<std::string>();
}

Watched::Watched(Debugger::Impl& d, const Run& run, const Breakpoint& b)
    : d_(d),
      map_(run.code()),
      number_(b.number),
      expression_(b.spec),
      parsed_(expression::parse(storage_operand(b.spec).value_or(b.spec))),
      every_(b.every_activation),
      frame_(b.frame),
      entered_(b.entered),
      function_name_(b.function.empty() ? run.function() : b.function),
      definitions_(map_.executable().instruction_count()) {
  function_ = map_.executable().find_function(function_name_);
  if (function_ < 0) return;
  plan_ = plan_of(map_.executable(), function_);
  for (std::string& name : watched_names(b.spec)) names_.push_back({std::move(name), {}});
  add_definitions();
  if (const auto name = storage_operand(b.spec)) find_storage(*name);
}

void Watched::add_definitions() {
  const bytecode::FunctionEntry& f = map_.executable().functions[std::size_t(function_)];
  for (Name& name : names_) {
    std::vector<std::uint32_t> ids;
    for (const int i : map_.find_bindings(function_name_, name.text, -1)) {
      const ir::Binding* b = map_.binding(i).binding;
      if (b && map_.alias_of(b->var) && !map_.has_variable(function_, b->var->id)) name.aliases.push_back(i);
      for (const ir::Var* v = b ? b->var : nullptr; v; v = map_.alias_of(v)) ids.push_back(v->id);
    }
    for (const UserVariable& v : map_.variables(function_)) {
      const bool named = v.name == name.text || std::find(ids.begin(), ids.end(), v.id) != ids.end();
      if (!named || v.begin == 0 || v.range->is_parameter) continue;
      definitions_.set(v.begin - 1);
      // The value of an `if` also comes from the branch that jumps over the other one.
      for (Pc pc = f.start; pc < v.begin; ++pc)
        if (const auto i = map_.executable().instruction(pc);
            i.op == bytecode::Opcode::Goto && pc + i.offset == v.begin)
          definitions_.set(pc);
    }
    // Code not produced by our compiler may give a parameter's register another value.
    for (std::size_t p = 0; p < f.param_names.size(); ++p)
      for (Pc pc = f.start; f.param_names[p] == name.text && pc < f.end; ++pc)
        if (map_.executable().instruction(pc).dst == RegName(p)) definitions_.set(pc);
  }
}

// The storage that the plan assigns to the name's tensor: watched for as long as it exists, whatever it contains.
void Watched::find_storage(std::string_view name) {
  if (!plan_) return;
  std::vector<std::uint32_t> ids;
  for (const int i : map_.find_bindings(function_name_, name, -1))
    for (const ir::Var* v = map_.binding(i).binding ? map_.binding(i).binding->var : nullptr; v; v = map_.alias_of(v))
      ids.push_back(v->id);
  for (const UserVariable& v : map_.variables(function_)) {
    const bool named = v.name == name || std::find(ids.begin(), ids.end(), v.id) != ids.end();
    if (named && storage_ < 0) storage_ = planned_storage(*plan_, v.range->reg, v.range->begin);
  }
  if (storage_ < 0) return;
  const PlannedStorage& s = plan_->storages[std::size_t(storage_)];
  definitions_.set(s.allocated);
  for (const Tenant& t : s.tenants) definitions_.set(t.made);
}

// ---- activations ----

void Watched::follow(const vm::Machine& m, std::size_t frame) {
  Followed f;
  f.frame = frame;
  f.entered = m.frames()[frame].entered;
  f.last.keep(evaluate(f, m));
  f.told = !f.problem.empty();  // it was told when the watchpoint was made, or by the last stop
  followed_.push_back(std::move(f));
}

void Watched::begin(const vm::Machine& m) {
  followed_.clear();
  readers_.clear();
  held_ = learned_of_ == &m ? learned_ : decltype(held_)();
  const auto frames = m.frames();
  if (function_ < 0) return;
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (is_own(m, i)) follow(m, i);
}

bool Watched::is_own(const vm::Machine& m, std::size_t frame) const {
  const vm::Frame& f = m.frames()[frame];
  return f.function == function_ && (every_ || (frame == frame_ && f.entered == entered_));
}

// The one activation, too: a part of the run that is executed again may begin before it.
void Watched::entered(const vm::Machine& m) {
  if (function_ >= 0 && is_own(m, m.frames().size() - 1)) follow(m, m.frames().size() - 1);
}

bool Watched::left(std::size_t frame) {
  if (followed_.empty() || followed_.back().frame != frame) return false;
  forget_uses(followed_.back());
  followed_.pop_back();
  return !every_;
}

// ---- values ----

void Watched::uses(Followed& f, const Storage* s) {
  if (std::find(f.storages.begin(), f.storages.end(), s) != f.storages.end()) return;
  f.storages.push_back(s);
  ++readers_[s];
}

void Watched::forget_uses(Followed& f) {
  for (const Storage* s : f.storages)
    if (const auto it = readers_.find(s); it != readers_.end() && --it->second == 0) readers_.erase(it);
  f.storages.clear();
  f.opaque = false;
}

// The memory that a value reaches; an object that is no tensor has memory that only its functions know.
void Watched::uses_all_of(Followed& f, const Value& value) {
  std::vector<Value> open{value};  // lists are nested as deep as they are long
  while (!open.empty()) {
    support::poll();
    const Value v = std::move(open.back());
    open.pop_back();
    if (v.is(ValueKind::Tensor)) uses(f, v.as_tensor().storage().get());
    if (v.is(ValueKind::Storage)) uses(f, v.storage_ref().get());
    if (v.is(ValueKind::Object)) f.opaque = true;
    if (v.is(ValueKind::Tuple)) open.insert(open.end(), v.as_tuple().fields.begin(), v.as_tuple().fields.end());
  }
}

std::optional<Value> Watched::storage_of(Followed& f, const vm::Machine& m) {
  auto memory = memory_of(plan_->storages[std::size_t(storage_)], m.frames()[f.frame].pc, m.registers(f.frame));
  if (!memory) {  // what a callee returned may have it
    const auto it = held_.find(*storage_operand(expression_));
    if (it == held_.end()) return std::nullopt;
    memory = it->second.is(ValueKind::Tensor) ? it->second.as_tensor().storage() : it->second.storage_ref();
    f.freed = true;
  } else if (!every_) {
    held_.insert_or_assign(std::string(*storage_operand(expression_)), Value(memory));
  }
  uses(f, memory.get());
  return Value(std::move(memory));
}

void Watched::remember(std::string_view name, const Tensor& t, const Followed& f, const vm::Machine& m) {
  if (every_ || !plan_) return;
  for (const PlannedStorage& s : plan_->storages) {
    if (memory_of(s, m.frames()[f.frame].pc, m.registers(f.frame)).get() != t.storage().get()) continue;
    d_.watched_memory[number_].insert_or_assign(std::string(name),
                                                MemoryOfName{f.entered, s.id, t.byte_offset(), t.shape(), t.dtype()});
    return;
  }
}

// Where a name, or what it is another name of, is in a register for the first time.
std::vector<Pc> Watched::beginnings(std::string_view name, Pc before) const {
  std::vector<std::uint32_t> ids;
  for (const int i : map_.find_bindings(function_name_, name, -1))
    for (const ir::Var* v = map_.binding(i).binding ? map_.binding(i).binding->var : nullptr; v; v = map_.alias_of(v))
      ids.push_back(v->id);
  std::vector<Pc> found;
  for (const UserVariable& v : map_.variables(function_))
    if (v.begin <= before && (v.name == name || std::find(ids.begin(), ids.end(), v.id) != ids.end()))
      found.push_back(v.begin);
  return found;
}

void Watched::learn(const Run& run, const vm::Machine& m) {
  learned_.clear();
  if (every_ || !plan_ || function_ < 0 || !m.running()) return;
  if (m.frames().size() <= frame_ || !is_own(m, frame_)) return;
  learned_of_ = &m;
  Followed f;
  f.frame = frame_;
  f.entered = m.frames()[frame_].entered;
  if (storage_ >= 0) {
    const std::string name(*storage_operand(expression_));
    if (storage_of(f, m)) return;
    if (auto value = still_held(name, run, m); value && value->is(ValueKind::Tensor))
      learned_[name] = *std::move(value);
    return;
  }
  ValueFinder finder(d_, m, map_, frame_, 0, false);
  for (const Name& name : names_) {
    auto& known = d_.watched_memory[number_];
    if (const auto it = known.find(name.text); it != known.end() && it->second.activation == f.entered) continue;
    if (finder.held(name.text).ok() || !finder.was_freed(name.text)) continue;
    look_back_for(name.text, f, run, m);
    const auto found = known.find(name.text);
    if (found == known.end() || found->second.activation != f.entered)
      known.insert_or_assign(name.text, MemoryOfName{f.entered});  // there is none: it is looked for once
  }
  for (const Name& name : names_)
    if (!finder.held(name.text).ok() && finder.was_freed(name.text) && !after_freeing(name.text, f, m))
      if (auto value = still_held(name.text, run, m)) learned_.insert_or_assign(name.text, *std::move(value));
}

// The memory of a freed name that something else holds: the run from where it got its value to now is executed again.
std::optional<Value> Watched::still_held(const std::string& name, const Run& run, const vm::Machine& now) {
  MemoryOfName& known = d_.watched_memory[number_][name];
  if (known.changes == run.changed_times() && now.instructions() >= known.dead_since) return std::nullopt;
  for (const Pc begin : beginnings(name, now.frames()[frame_].pc)) {
    const auto time = d_.latest_time(begin, frame_);
    Run::Seek how{};
    auto m = time && *time <= now.instructions() ? run.machine_at(*time, &how) : std::nullopt;
    if (how == Run::Seek::Interrupted) abandon_question();
    if (!m || m->frames().size() <= frame_) continue;
    const auto value = ValueFinder(d_, *m, map_, frame_, 0, false).held(name);
    if (!value.ok()) continue;
    how = run.carry_on(*m, now.instructions());
    if (how == Run::Seek::Interrupted) abandon_question();
    if (how != Run::Seek::Done) continue;
    if (auto found = found_again(*value, *m, now)) return found;
    known.dead_since = now.instructions();
    known.changes = run.changed_times();
    return std::nullopt;
  }
  return std::nullopt;
}

// Throws support::Cancelled where it is interrupted.
void Watched::look_back_for(const std::string& name, const Followed& f, const Run& run, const vm::Machine& m) {
  for (const Pc begin : beginnings(name, m.frames()[frame_].pc)) {
    const auto time = d_.latest_time(begin, frame_);
    if (!time) continue;
    std::optional<Skimmed> skimmed;
    std::optional<vm::Machine> whole;
    Run::Seek how{};
    const SkimEnd end = skim_to(run, *time, skimmed);
    if (end == SkimEnd::Refused) whole = run.machine_at(*time, &how);
    if (end == SkimEnd::Interrupted || how == Run::Seek::Interrupted) abandon_question();
    const vm::Machine* past = skimmed ? &skimmed->machine : whole ? &*whole : nullptr;
    if (!past || past->frames().size() <= frame_) continue;
    const auto value = ValueFinder(d_, *past, map_, frame_, 0, false).held(name);
    if (value.ok() && value->is(ValueKind::Tensor)) remember(name, value->as_tensor(), f, *past);
  }
}

std::optional<Value> Watched::after_freeing(std::string_view name, const Followed& f, const vm::Machine& m) const {
  const auto known = d_.watched_memory.find(number_);
  if (every_ || !plan_ || known == d_.watched_memory.end()) return std::nullopt;
  const auto it = known->second.find(name);
  if (it == known->second.end() || it->second.activation != f.entered || it->second.storage < 0) return std::nullopt;
  const MemoryOfName& at = it->second;
  auto memory = memory_of(plan_->storages[std::size_t(at.storage)], m.frames()[f.frame].pc, m.registers(f.frame));
  if (!memory) return std::nullopt;
  auto view = Tensor::view(std::move(memory), at.offset, at.shape, at.dtype);
  return view.ok() ? std::optional(Value(std::move(view).value())) : std::nullopt;
}

std::optional<Value> Watched::evaluate(Followed& f, const vm::Machine& m) {
  forget_uses(f);
  f.problem.clear();
  f.freed = false;
  f.freed_in = -1;
  if (storage_ >= 0) return storage_of(f, m);
  if (!parsed_.ok()) return std::nullopt;
  ValueFinder finder(d_, m, map_, f.frame, 0, false);
  bool missing = false;
  const auto lookup = [&](std::string_view name) -> Result<Value> {
    auto v = finder.held(name);
    if (!v.ok() && finder.was_freed(name)) {
      if (auto past = after_freeing(name, f, m)) {
        f.freed_in = d_.watched_memory[number_].find(name)->second.storage;
        v = *std::move(past);
      } else if (const auto it = held_.find(name); it != held_.end()) {
        v = it->second;
      }
      f.freed = f.freed || v.ok();
    } else if (v.ok() && !every_) {
      held_.insert_or_assign(std::string(name), *v);
      if (v->is(ValueKind::Tensor)) remember(name, v->as_tensor(), f, m);
    }
    if (!v.ok()) {
      missing = true;
      return v;
    }
    uses_all_of(f, *v);
    // A symbolic variable lives in the shape heap.
    if (v->is(ValueKind::Int))
      if (const auto* debug = map_.executable().debug.function(function_))
        if (const Value* heap = m.read_register(f.frame, debug->heap_register); heap && heap->is(ValueKind::Tensor))
          uses(f, heap->as_tensor().storage().get());
    return v;
  };
  if (storage_operand(expression_)) {
    auto named = lookup(*storage_operand(expression_));
    if (!named.ok()) return std::nullopt;
    return named->is(ValueKind::Tensor) ? Value(named->as_tensor().storage()) : std::move(named).value();
  }
  auto value = expression::evaluate(*parsed_, lookup);
  if (value.ok()) return std::move(value).value();
  if (!missing) f.problem = value.error().message;
  return std::nullopt;
}

// ---- changes ----

bool Watched::concerns(const Followed& f, const vm::Machine& m, std::size_t frame, Pc pc,
                       const Reached& reached) const {
  if (frame == f.frame && definitions_.test(pc)) return true;
  if (frame == f.frame + 1 && m.frames().size() == frame) {  // a call of the program has returned
    const Pc next = m.frames()[f.frame].pc;
    if (next > 0 && definitions_.test(next - 1)) return true;
  }
  if (reached.anything && (f.opaque || !f.storages.empty())) return true;
  return std::any_of(f.storages.begin(), f.storages.end(), [&](const Storage* s) {
    return std::find(reached.storages.begin(), reached.storages.end(), s) != reached.storages.end();
  });
}

// A name for something that exists already (`left = alloc`) has no instruction: it is bound once the program is past
// it. The result of a call in place is there when the call is done.
bool Watched::is_bound(const Followed& f, const vm::Machine& m, std::size_t frame, Pc pc) const {
  Pc at = pc;
  if (frame != f.frame) at = m.frames()[f.frame].pc - (m.frames().size() == f.frame + 1 ? 1 : 0);
  const std::vector<int>& group = map_.group_of(at);
  const int here = group.empty() ? map_.last_binding_before(at) : group.front();
  return std::all_of(names_.begin(), names_.end(), [&](const Name& name) {
    return name.aliases.empty() || std::any_of(name.aliases.begin(), name.aliases.end(), [&](int binding) {
             const Pc done =
                 map_.overwritten_by(map_.binding(binding).binding) ? map_.computed_at(binding, function_) : -1;
             return done > 0 ? at >= done - 1 : binding < here;
           });
  });
}

// The contents of a storage after the instruction.
std::string Watched::tenants(int storage, Pc pc) const {
  std::string names;
  for (const Tenant& t : plan_->storages[std::size_t(storage)].tenants)
    if (t.made <= pc && (t.cleared < 0 || t.cleared > pc))
      names += (names.empty() ? "" : ", ") + tenant_name(map_, function_, t);
  return names;
}

std::vector<std::string> Watched::changes(const vm::Machine& m, std::size_t frame, Pc pc, const Reached& reached) {
  std::vector<std::string> texts;
  const bool memory = reached.anything || std::any_of(reached.storages.begin(), reached.storages.end(),
                                                      [&](const Storage* s) { return readers_.contains(s); });
  for (std::size_t i = followed_.size(); i-- > 0;) {
    Followed& f = followed_[i];
    if (!memory && f.frame + 1 < frame) break;  // only the innermost two can have got a value
    if (!concerns(f, m, frame, pc, reached)) continue;
    const std::string change = renewed(f, m, texts);
    if (change.empty() || !is_bound(f, m, frame, pc)) continue;
    texts.push_back(told(f, change, frame == f.frame ? pc : m.frames()[f.frame].pc));
  }
  return texts;
}

std::vector<std::string> Watched::set(const vm::Machine& m) {
  std::vector<std::string> texts;
  for (Followed& f : followed_)
    if (const std::string change = renewed(f, m, texts); !change.empty())
      texts.push_back(told(f, change, m.frames()[f.frame].pc));
  return texts;
}

// Takes the present value; the text of its change. Empty: it has none, or none that is new.
std::string Watched::renewed(Followed& f, const vm::Machine& m, std::vector<std::string>& texts) {
  auto now = evaluate(f, m);
  if (!f.problem.empty() && !std::exchange(f.told, true))
    texts.push_back(fmt::format("{}\n  it cannot be evaluated: {}", expression_, f.problem));
  if (!now || f.last.is(now)) return {};  // without memory a name keeps its last value
  std::string change = f.last.changes(now);
  f.last.keep(now);
  return change;
}

std::string Watched::told(const Followed& f, std::string_view change, Pc at) const {
  std::string text = fmt::format("{}\n{}", expression_, change);
  if (every_)
    text += fmt::format("\n  in the call of {} at time {}, {} from the outermost", function_name_, f.entered,
                        support::counted(f.frame, "frame"));
  const int storage = storage_ >= 0 ? storage_ : f.freed_in;
  if (f.freed) text += "\n  its register was freed before";
  if (const std::string names = storage < 0 ? "" : tenants(storage, at); !names.empty())
    text += fmt::format("\n  {} holds {}", storage_ >= 0 ? "it" : "its memory", names);
  return text;
}

}  // namespace rldb::debug
