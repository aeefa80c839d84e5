// Queries about a stopped run: frames, locals, shape heap, values of names and expressions.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "debug/impl.h"
#include "debug/look/code_heap.h"
#include "debug/look/function_tables.h"
#include "debug/look/planned.h"
#include "debug/look/script_call.h"
#include "debug/look/values.h"
#include "rldb/debug/rank_values.h"
#include "rldb/expression/language.h"
#include "rldb/ir/printer.h"
#include "rldb/session/process_group.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using runtime::Value;

bool frame_index(const vm::Machine& m, int frame, std::size_t& index) {
  const std::size_t count = m.frames().size();
  if (frame < 0 || std::size_t(frame) >= count) return false;
  index = count - 1 - std::size_t(frame);
  return true;
}

std::vector<FrameInfo> Debugger::frames() const {
  std::vector<FrameInfo> list;
  if (!impl_->run) return list;
  if (impl_->run->in_kernel()) list.push_back(impl_->kernel_frame());
  const auto frames = impl_->run->machine().frames();
  for (std::size_t i = frames.size(); i-- > 0;) {
    const VirtualFrame kind = impl_->virtual_frame(i);
    Position where = impl_->position_of(i);
    if (kind != VirtualFrame::None) {
      list.push_back({int(list.size()), where, false, kind});
      where = impl_->caller_of_virtual(std::move(where), kind);
    }
    list.push_back({int(list.size()), std::move(where)});
  }
  return list;
}

// ---- virtual frames ----

// While a kernel is being stepped, its own frame gives the place.
VirtualFrame Debugger::Impl::virtual_frame(std::size_t index) const {
  const auto frames = run->machine().frames();
  if (run->in_kernel() && index + 1 == frames.size()) return VirtualFrame::None;
  const CodeMap& map = run->code();
  const Pc pc = frames[index].pc;
  const std::vector<int>& group = map.group_of(pc);
  if (group.empty()) return VirtualFrame::None;
  if (group.size() > 1) return map.kernel_of_group(pc).empty() ? VirtualFrame::None : VirtualFrame::Fused;
  const bool elsewhere = map.binding(group[0]).function != map.function_name(pc);
  const ir::Module* written = elsewhere ? map.written_module() : nullptr;
  return written && written->find(map.function_name(pc)) ? VirtualFrame::Inlined : VirtualFrame::None;
}

Position Debugger::Impl::position_of(std::size_t index) const {
  const auto frames = run->machine().frames();
  return run->code().position(frames[index].pc, index + 1 == frames.size() ? part : 0);
}

// A fused kernel is called where its first binding was written. The place of an inlined call is not recorded: it is
// known if the function has just one call of that name.
Position Debugger::Impl::caller_of_virtual(Position where, VirtualFrame kind) const {
  const CodeMap& map = run->code();
  const int call =
      kind == VirtualFrame::Fused ? map.group_of(where.pc)[0] : map.only_call(where.function, where.written_in);
  Position caller;
  caller.function = std::move(where.function);
  caller.pc = where.pc;
  if (call < 0) return caller;
  caller.span = map.binding(call).span;
  caller.node = map.binding(call).node;
  if (kind == VirtualFrame::Inlined) caller.binding = map.binding(call).name;
  return caller;
}

int Debugger::machine_frame(int frame) const {
  const Impl& d = *impl_;
  if (!d.run || frame < 0) return frame;
  if (d.run->in_kernel() && frame > 0) --frame;
  const int count = int(d.run->machine().frames().size());
  for (int i = 0; i < count; ++i) {
    const int size = d.virtual_frame(std::size_t(count - 1 - i)) == VirtualFrame::None ? 1 : 2;
    if (frame < size) return i;
    frame -= size;
  }
  return count + frame;
}

Position Debugger::function_position(int frame) const {
  std::size_t index = 0;
  if (!impl_->run || !frame_index(impl_->run->machine(), machine_frame(frame), index)) return {};
  return impl_->position_of(index);
}

// ---- locals ----

// Nullopt: it is not defined here.
std::optional<Debugger::Impl::LocalRow> Debugger::Impl::local_row(const CodeMap& map, const vm::Frame& f,
                                                                  const UserVariable& v) {
  const bool live = f.pc >= v.begin && f.pc < v.range->end && !is_lent(map, f.function, v, f.pc);
  // Defined on every path to here, unless it is a name in the other branch of an if.
  const bool defined = v.begin <= f.pc && (v.range->is_parameter || map.runs_before(v.begin - 1, f.pc));
  return live || defined ? std::optional(LocalRow{&v, live}) : std::nullopt;
}

// Of two definitions of a name.
Debugger::Impl::LocalRow Debugger::Impl::later_one(const LocalRow& a, const LocalRow& b) {
  return (b.live == a.live ? b.variable->begin >= a.variable->begin : b.live) ? b : a;
}

// One row per name, with the latest definition executed; in definition order.
std::vector<Debugger::Impl::LocalRow> Debugger::Impl::local_rows(const vm::Machine& m, const CodeMap& map,
                                                                 std::size_t frame) const {
  const vm::Frame& f = m.frames()[frame];
  const FunctionTables& tables = map.tables(f.function);
  const std::vector<UserVariable>& variables = map.variables(f.function);
  std::vector<LocalRow> rows;
  std::vector<int> row_of(tables.name_count(), -1);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto here = local_row(map, f, variables[i]);
    if (!here) continue;
    int& row = row_of[std::size_t(tables.variable_names()[i])];
    if (row < 0) {
      row = int(rows.size());
      rows.push_back(*here);
    } else {
      rows[std::size_t(row)] = later_one(rows[std::size_t(row)], *here);
    }
  }
  // Parameters that debug info does not name: their registers are the first ones.
  const auto& names = map.executable().functions[std::size_t(f.function)].param_names;
  std::vector<LocalRow> parameters;
  for (std::size_t i = 0; i < names.size() && i < f.size; ++i)
    if (const int number = tables.number_of(names[i]); number < 0 || row_of[std::size_t(number)] < 0)
      parameters.push_back({nullptr, true, i});
  rows.insert(rows.begin(), parameters.begin(), parameters.end());
  return rows;
}

std::optional<Debugger::Impl::LocalRow> Debugger::Impl::local_named(const vm::Machine& m, const CodeMap& map,
                                                                    std::size_t frame, std::string_view name) const {
  const vm::Frame& f = m.frames()[frame];
  const FunctionTables& tables = map.tables(f.function);
  std::optional<LocalRow> found;
  if (const int number = tables.number_of(name); number >= 0)
    for (const int i : tables.variables_named(number))
      if (const auto here = local_row(map, f, map.variables(f.function)[std::size_t(i)]))
        found = found ? later_one(*found, *here) : *here;
  if (found) return found;
  const auto& names = map.executable().functions[std::size_t(f.function)].param_names;
  for (std::size_t i = 0; i < names.size() && i < f.size; ++i)
    if (names[i] == name) return LocalRow{nullptr, true, i};
  return std::nullopt;
}

LocalInfo Debugger::Impl::local(const vm::Machine& m, const CodeMap& map, std::size_t frame, const LocalRow& row) {
  if (!row.variable) {
    const auto& names = map.executable().functions[std::size_t(m.frames()[frame].function)].param_names;
    const auto reg = bytecode::RegName(row.parameter);
    return {names[row.parameter], *m.read_register(frame, reg), reg, "", true};
  }
  LocalInfo info;
  info.name = row.variable->name;
  info.reg = row.variable->range->reg;
  info.type = row.variable->range->type;
  info.live = row.live;
  if (const Value* v = row.live ? m.read_register(frame, info.reg) : nullptr) info.value = *v;
  return info;
}

std::vector<LocalInfo> Debugger::locals(int frame) const {
  std::size_t index = 0;
  if (!impl_->run || !frame_index(impl_->run->machine(), machine_frame(frame), index)) return {};
  const vm::Machine& m = impl_->run->machine();
  std::vector<LocalInfo> list;
  for (const Impl::LocalRow& row : impl_->local_rows(m, impl_->run->code(), index))
    list.push_back(Impl::local(m, impl_->run->code(), index, row));
  return list;
}

Debugger::LocalsPage Debugger::locals_page(int frame, std::optional<std::size_t> first, std::size_t most) const {
  std::size_t index = 0;
  if (!impl_->run || !frame_index(impl_->run->machine(), machine_frame(frame), index)) return {};
  const vm::Machine& m = impl_->run->machine();
  const std::vector<Impl::LocalRow> rows = impl_->local_rows(m, impl_->run->code(), index);
  LocalsPage page;
  page.total = rows.size();
  page.first = first ? std::min(*first, rows.size()) : rows.empty() ? 0 : (rows.size() - 1) / most * most;
  for (std::size_t i = page.first; i < rows.size() && i - page.first < most; ++i)
    page.list.push_back(Impl::local(m, impl_->run->code(), index, rows[i]));
  return page;
}

// ---- the shape heap ----

std::vector<SlotInfo> Debugger::Impl::heap(const vm::Machine& m, const CodeMap& map, std::size_t frame) const {
  const vm::Frame& f = m.frames()[frame];
  const bytecode::FunctionDebug* debug = map.executable().debug.function(f.function);
  if (!debug || debug->heap_register < 0) return slots_by_code(m, frame);
  const auto values = m.shape_heap(frame);
  std::vector<SlotInfo> slots;
  for (std::size_t i = 0; i < debug->slots.size(); ++i)
    slots.push_back({std::int64_t(i), debug->slots[i].text, 0, false, debug->slots[i].bound_by});
  for (const Pc pc : map.tables(f.function).slot_writers()) {
    if (pc >= f.pc) break;
    support::poll();
    const bool surely = map.runs_before(pc, f.pc);
    for (const std::int32_t slot : map.executable().debug.instruction(pc)->slots_written) {
      if (slot < 0 || std::size_t(slot) >= slots.size() || std::size_t(slot) >= values.size()) continue;
      // Written in a branch: a heap begins with zeros, so another value means that the branch was taken.
      if (surely || values[std::size_t(slot)] != 0) slots[std::size_t(slot)].set = true;
    }
  }
  for (std::size_t i = 0; i < slots.size() && i < values.size(); ++i)
    if (slots[i].set) slots[i].value = values[i];
  return slots;
}

std::vector<SlotInfo> Debugger::heap(int frame) const {
  std::size_t index = 0;
  if (!impl_->run || !frame_index(impl_->run->machine(), machine_frame(frame), index)) return {};
  return impl_->heap(impl_->run->machine(), impl_->run->code(), index);
}

// ---- names and expressions ----

namespace {

bool has_symbol(const CodeMap& map, FunctionIndex function, std::string_view name) {
  const bytecode::FunctionDebug* debug = map.executable().debug.function(function);
  return debug && std::any_of(debug->slots.begin(), debug->slots.end(),
                              [&](const bytecode::SlotDebug& s) { return s.text == name; });
}

}  // namespace

Debugger::Impl::Found Debugger::Impl::find_name(const vm::Machine& m, const CodeMap& map, std::size_t frame,
                                                std::string_view name, Value& out) const {
  const auto row = local_named(m, map, frame, name);
  const bool freed = row && !row->live;
  if (row && row->live) {
    out = local(m, map, frame, *row).value;
    return Found::Yes;
  }
  if (has_symbol(map, m.frames()[frame].function, name)) {
    for (const SlotInfo& slot : heap(m, map, frame)) {
      if (slot.expression != name || !slot.set) continue;
      out = Value::of_int(slot.value);
      return Found::Yes;
    }
  }
  if (freed) return Found::Freed;
  if (const Value* v = session.find_value(name)) {
    out = *v;
    return Found::Yes;
  }
  return Found::No;
}

namespace {

// Does it look like TVMScript rather than the language of conditions?
bool looks_like_script(std::string_view text) {
  for (const std::string_view prefix : {"R.", "T.", "I."})
    if (const auto at = text.find(prefix); at != std::string_view::npos)
      if (at == 0 || !expression::is_name_byte(text[at - 1])) return true;
  return false;
}

}  // namespace

namespace {

// A variable of another rank of a job, which is asked.
runtime::Result<Value> value_of_rank(std::string_view name, std::string_view digits) {
  auto* job = dynamic_cast<session::ProcessGroup*>(runtime::workers());
  if (!job)
    return runtime::fail(
        runtime::ErrorKind::Unsupported,
        fmt::format("`{}@{}` is a variable of another rank, and the program does not run in ranks that "
                    "`mpirun` started",
                    name, digits));
  std::size_t rank = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (read.ec != std::errc() || rank >= job->size())
    return runtime::fail(runtime::ErrorKind::OutOfBounds,
                         fmt::format("rank {} is not one of {} ranks", digits, job->size()));
  if (rank == job->rank())
    return runtime::fail(runtime::ErrorKind::Unsupported, fmt::format("`{}` is of this rank: `print {}`", name, name));
  return job->ask(rank, name);
}

}  // namespace

std::optional<Value> Debugger::evaluate(std::string_view text, int frame, source::Diagnostics& out,
                                        std::vector<std::string>* notes,
                                        const session::Session::EntryRunner& run) const {
  const Impl& d = *impl_;
  std::size_t index = 0;
  std::optional<ValueFinder> finder;
  const bool over = finished();  // values made since then come first
  if (impl_->can_be_asked() && frame_index(d.run->machine(), machine_frame(frame), index))
    finder.emplace(d, d.run->machine(), d.run->code(), index, d.part, true);
  const expression::NameLookup lookup = [&](std::string_view name) -> runtime::Result<Value> {
    Value v;
    if (const auto known = d.rank_values.find(name); known != d.rank_values.end()) return known->second;
    if (const std::size_t at = name.find('@'); at != std::string_view::npos)
      return value_of_rank(name.substr(0, at), name.substr(at + 1));
    if (frame == 0 && d.run && d.run->in_kernel() && Impl::value_in_kernel(d.run->kernel()->seen(), name, v)) return v;
    if (const Value* known = over ? d.session.find_value(name) : nullptr) return *known;
    if (finder) return finder->find(name);
    if (const Value* known = d.session.find_value(name)) return *known;
    return runtime::fail(runtime::ErrorKind::UnknownFunction, fmt::format("`{}` has no value here", name));
  };
  const auto parsed = expression::parse(text);
  const bool ours = parsed.ok() && !expression::is_script(*parsed);
  auto simple = ours ? expression::evaluate(*parsed, lookup, script_calls(d.session, run))
                : parsed.ok()
                    ? runtime::Result<Value>(runtime::fail(runtime::ErrorKind::Unsupported, std::string(text)))
                    : runtime::Result<Value>(support::Failure(parsed.error()));
  if (finder && notes) *notes = finder->notes();
  if (simple.ok()) return std::move(simple).value();

  source::Diagnostics script;
  // Values reached by a plain name need no front end; failing that, the current error is reported.
  if (!ours && (looks_like_script(text) || simple.error().kind == runtime::ErrorKind::Unsupported)) {
    // Names of the frame hide those of the session.
    std::vector<std::pair<std::string, Value>> scope;
    for (const std::string_view word : expression::names_in(text))
      if (auto value = lookup(word); value.ok() && word != "R" && word != "T" && word != "I")
        scope.emplace_back(word, std::move(value).value());
    if (finder && notes) *notes = finder->notes();
    auto value = d.session.evaluate_with(text, scope, script, run);
    if (value) return value;
    if (looks_like_script(text)) {
      for (const source::Diagnostic& diagnostic : script.all()) out.add(diagnostic);
      return std::nullopt;
    }
  }
  source::Message m = source::message(diag::RunFailed, simple.error().message);
  for (const std::string& note : simple.error().notes) m.notes.push_back({{}, note});
  out.add({}, std::move(m));
  return std::nullopt;
}

void set_rank_values(Debugger& debugger, std::map<std::string, Value, std::less<>> values) {
  impl_of(debugger).rank_values = std::move(values);
}

}  // namespace rldb::debug
