// Scopes, and the lists behind references.
#include "protocol/dap/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "rldb/debug/facts.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::protocol::dap {

using runtime::Value;
using runtime::ValueKind;

namespace {

struct ScopeRow {
  ScopeKind kind;
  std::string_view name, hint;
  bool expensive;
};
constexpr ScopeRow kKernelScopes[] = {{ScopeKind::Kernel, "Kernel", "locals", false},
                                      {ScopeKind::Buffers, "Buffers", "arguments", false},
                                      {ScopeKind::Accesses, "Accesses", "", false}};
constexpr ScopeRow kFrameScopes[] = {{ScopeKind::Locals, "Locals", "locals", false},
                                     {ScopeKind::Symbols, "Symbols", "arguments", false},
                                     {ScopeKind::ShapeHeap, "Shape heap", "", false},
                                     {ScopeKind::Registers, "Registers", "registers", true},
                                     {ScopeKind::Storage, "Storage", "", true}};
constexpr ScopeRow kEndScopes[] = {{ScopeKind::Result, "Result", "locals", false}};

bool is_identifier(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c >= 0x80; });
}

Json text_row(std::string name, std::string value) {
  return {{"name", std::move(name)}, {"value", std::move(value)}, {"variablesReference", 0}};
}

std::string joined(const std::vector<std::int64_t>& index) { return fmt::format("{}", fmt::join(index, ", ")); }

// Of an axis, or a range of it: elements in one row. An axis of at most kMostRows has a row for each, others a row for
// a range, of ranges in turn. Clients cut more than a hundred rows into pages of their own, which they number from 0: a
// range has no more.
std::int64_t row_width(std::int64_t begin, std::int64_t end, std::int64_t extent) {
  constexpr auto kRows = std::int64_t(Variables::kOfRange);
  std::int64_t width = 1;
  if (begin == 0 && end == extent && extent <= Variables::kMostRows) return width;
  while ((end - begin - 1) / width >= kRows) width *= kRows;
  return width;
}
std::int64_t row_count(std::int64_t begin, std::int64_t end, std::int64_t extent) {
  const std::int64_t width = row_width(begin, end, extent);
  return (end - begin + width - 1) / width;
}

// The elements of the axes behind the first `axes`.
std::int64_t stride_behind(const runtime::Tensor& t, std::size_t axes) {
  std::int64_t count = 1;
  for (std::size_t d = axes; d < t.shape().size(); ++d) count *= t.shape()[d];
  return count;
}

// A view of the part of a tensor at an index.
std::optional<Value> part_of(const runtime::Tensor& t, const std::vector<std::int64_t>& index) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < index.size(); ++d) flat += index[d] * stride_behind(t, d + 1);
  std::vector<std::int64_t> shape(t.shape().begin() + std::ptrdiff_t(index.size()), t.shape().end());
  auto view = runtime::Tensor::view(t.storage(), t.byte_offset() + std::size_t(flat) * t.dtype().bytes(),
                                    std::move(shape), t.dtype());
  return view.ok() ? std::optional<Value>(std::move(*view)) : std::nullopt;
}

// A number as such, whatever holds it.
std::string summary_of(const Value& value) {
  if (value.is_null()) return "None";
  if (value.is(ValueKind::Tensor) && value.as_tensor().ndim() == 0 && value.as_tensor().dtype().is_scalar() &&
      !value.as_tensor().dtype().is_handle() && !value.as_tensor().dtype().is_void())
    return debug::element_text(value.as_tensor(), 0);
  return runtime::format_brief(value);
}

std::string type_of(const Value& value) {
  const bool has_parts = value.is(ValueKind::Tensor) || value.is(ValueKind::Tuple) || value.is(ValueKind::Shape) ||
                         value.is(ValueKind::Function);
  return has_parts ? runtime::describe(value) : std::string(runtime::to_string(value.kind()));
}

bool can_be_split(const runtime::Tensor& t) {
  return t.ndim() > 0 && t.element_count() > 0 && !t.dtype().is_handle() && !t.dtype().is_void();
}

}  // namespace

void Variables::forget() {
  const auto is_own = [&](std::int64_t reference) { return std::size_t(reference) % ranks_ == rank_; };
  std::erase_if(nodes_, [&](const auto& node) { return is_own(node.first); });
  std::erase_if(memory_, [&](const auto& memory) { return is_own(memory.second.reference); });
}

void Variables::forget_all() {
  nodes_.clear();
  memory_.clear();
}

std::int64_t Variables::add(Node node) {
  const std::int64_t reference = next_++ * std::int64_t(ranks_) + std::int64_t(rank_);
  nodes_.emplace(reference, std::move(node));
  return reference;
}

const Variables::Memory* Variables::memory(const std::string& reference) const {
  const auto it = memory_.find(reference);
  return it == memory_.end() ? nullptr : &it->second;
}

// ---- scopes ----

Json Variables::scopes(int frame) {
  const debug::Debugger& debugger = repl_.debugger();
  const std::vector<debug::FrameInfo> frames = debugger.frames();
  const bool ended = !debugger.active();
  const bool in_kernel = !ended && std::size_t(frame) < frames.size() && frames[std::size_t(frame)].in_kernel;
  Json list = Json::array();
  const auto scope = [&](const ScopeRow& row) {
    Json one{{"name", row.name}, {"variablesReference", add(Scope{row.kind, frame})}, {"expensive", row.expensive}};
    if (!row.hint.empty()) one["presentationHint"] = row.hint;
    list.push_back(std::move(one));
  };
  if (ended)
    for (const ScopeRow& row : kEndScopes) scope(row);
  else if (in_kernel)
    for (const ScopeRow& row : kKernelScopes) scope(row);
  else
    for (const ScopeRow& row : kFrameScopes) scope(row);
  return list;
}

std::vector<Json> Variables::rows_of(const Scope& scope) {
  switch (scope.kind) {
    case ScopeKind::Result:
      return {named("result", repl_.debugger().last_stop().value, {}, scope.frame)};
    case ScopeKind::Kernel:
    case ScopeKind::Buffers:
    case ScopeKind::Accesses:
      return kernel_rows(scope.kind);
    case ScopeKind::Locals:
      return local_rows(scope.frame);
    case ScopeKind::Symbols:
      return slot_rows(scope.frame, true);
    case ScopeKind::ShapeHeap:
      return slot_rows(scope.frame, false);
    case ScopeKind::Registers:
      return rows_of(Registers{0, register_count(scope.frame), std::size_t(kMostRows), scope.frame});
    case ScopeKind::Storage:
      return storage_rows(scope.frame);
  }
  RLDB_UNREACHABLE("scope");
}

std::vector<Json> Variables::kernel_rows(ScopeKind kind) {
  std::vector<Json> rows;
  const auto at = repl_.debugger().kernel_position();
  if (!at) return rows;
  if (kind == ScopeKind::Buffers) {
    for (const auto& [name, value] : at->buffers) rows.push_back(named(name, value, name, 0));
    return rows;
  }
  if (kind == ScopeKind::Kernel) {
    for (const auto& [name, value] : at->loops) rows.push_back(named(name, value, name, 0));
    for (const auto& [name, value] : at->variables)
      if (std::none_of(at->loops.begin(), at->loops.end(), [&](const auto& loop) { return loop.first == name; }))
        rows.push_back(named(name, value, name, 0));
    return rows;
  }
  for (const debug::Debugger::KernelAccess& a : at->accesses) {
    const auto shown = [](const std::optional<Value>& v) {
      return v ? runtime::format_brief(*v) : std::string("(out of bounds)");
    };
    const std::string name = a.element == a.at ? a.at : fmt::format("{} = {}", a.element, a.at);
    rows.push_back(text_row(fmt::format("{} {}", a.write ? "write" : "read", name),
                            a.write && a.after ? shown(a.before) + " -> " + shown(a.after) : shown(a.before)));
  }
  return rows;
}

std::vector<Json> Variables::local_rows(int frame) {
  auto all = std::make_shared<std::vector<Local>>();
  std::vector<Local>& locals = *all;
  std::unordered_set<std::string> names;
  for (debug::LocalInfo& local : repl_.debugger().locals(frame)) {
    names.insert(local.name);
    locals.push_back({std::move(local), true});
  }
  for (std::string& name : debug::other_names(repl_.debugger(), frame).not_kept)
    if (is_identifier(name) && !names.contains(name)) {
      debug::LocalInfo fused;
      fused.name = std::move(name);
      locals.push_back({std::move(fused), false});
    }
  if (std::int64_t(locals.size()) <= kMostRows) return rows_of(locals, frame);
  // The frame of a large model: the latest values as they are, those before and after them by ranges.
  const auto last_kept = std::find_if(locals.rbegin(), locals.rend(), [](const Local& l) { return l.kept; });
  const auto kept = std::size_t(locals.rend() - last_kept);
  const std::size_t recent = kept - std::min(kept, kOfRange);
  const Locals whole{all, 0, locals.size(), frame};
  std::vector<Json> rows = range_rows(whole.part(0, recent));
  for (Json& row : rows_of(whole.part(recent, kept - recent).list(), frame)) rows.push_back(std::move(row));
  for (Json& row : range_rows(whole.part(kept, locals.size() - kept))) rows.push_back(std::move(row));
  return rows;
}

std::vector<Json> Variables::rows_of(std::span<const Local> locals, int frame) {
  std::vector<Json> rows;
  for (const Local& l : locals) {
    support::poll();
    if (l.kept && l.info.live)
      rows.push_back(named(l.info.name, l.info.value, l.info.name, frame, l.info.type));
    else
      rows.push_back(lazy(l.info.name, l.kept ? "(freed after its last use)" : "(fused or merged: computed on demand)",
                          l.info.type, frame));
  }
  return rows;
}

namespace {

// Of so many rows that there are at most kOfRange ranges.
std::size_t width_of_ranges(std::size_t count) {
  std::size_t width = Variables::kOfRange;
  while (count > width * Variables::kOfRange) width *= Variables::kOfRange;
  return width;
}
// The rows behind a range of so many.
std::size_t rows_behind(std::size_t count) {
  if (count <= Variables::kOfRange) return count;
  const std::size_t width = width_of_ranges(count);
  return (count + width - 1) / width;
}

// Calls `row(first, count)` for each range.
template <class Row>
void each_range(std::size_t first, std::size_t count, Row row) {
  const std::size_t width = width_of_ranges(count);
  for (std::size_t at = 0; at < count; at += width) row(first + at, std::min(width, count - at));
}

}  // namespace

std::vector<Json> Variables::range_rows(const Locals& locals) {
  std::vector<Json> rows;
  each_range(0, locals.count, [&](std::size_t first, std::size_t count) {
    const Locals part = locals.part(first, count);
    Json row = text_row(fmt::format("{} .. {}", part.list().front().info.name, part.list().back().info.name),
                        support::counted(count, "value"));
    row["variablesReference"] = add(part);
    row["namedVariables"] = rows_behind(count);
    rows.push_back(std::move(row));
  });
  return rows;
}

std::vector<Json> Variables::slot_rows(int frame, bool symbols_only) {
  std::vector<Json> rows;
  for (const debug::SlotInfo& s : repl_.debugger().heap(frame)) {
    const bool symbol = is_identifier(s.expression);
    if (symbols_only && !symbol) continue;
    const std::string value = s.set ? fmt::format("{}", s.value) : "(not set)";
    Json row = text_row(symbols_only ? s.expression : fmt::format("slot {}", s.slot),
                        symbols_only ? value : fmt::format("{} = {}", s.expression, value));
    row["type"] = s.bound_by;
    if (s.set && symbol) row["evaluateName"] = s.expression;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::size_t Variables::register_count(int frame) const {
  const vm::Machine* machine = repl_.debugger().machine();
  const int inner = repl_.debugger().machine_frame(frame);
  if (!machine || inner < 0 || std::size_t(inner) >= machine->frames().size()) return 0;
  return machine->registers(machine->frames().size() - 1 - std::size_t(inner)).size();
}

std::vector<Json> Variables::rows_of(const Registers& registers) {
  std::vector<Json> rows;
  if (registers.count > registers.most) {
    each_range(registers.first, registers.count, [&](std::size_t first, std::size_t count) {
      Json row = text_row(fmt::format("%{} .. %{}", first, first + count - 1), support::counted(count, "register"));
      row["variablesReference"] = add(Registers{first, count, kOfRange, registers.frame});
      row["namedVariables"] = rows_behind(count);
      rows.push_back(std::move(row));
    });
    return rows;
  }
  const std::vector<debug::RegisterInfo> all = debug::registers_of(repl_.debugger(), registers.frame);
  for (std::size_t i = registers.first; i < all.size() && i - registers.first < registers.count; ++i) {
    const debug::RegisterInfo& r = all[i];
    Json row = named(fmt::format("%{}", std::int64_t(r.reg)), r.value, {}, registers.frame);
    const std::string place = r.storage.empty()               ? ""
                              : r.value.is(ValueKind::Tensor) ? fmt::format("{}+{}", r.storage, r.offset)
                                                              : r.storage;
    row["type"] = fmt::format("{}{}{}{}{}", r.name, r.name.empty() ? "" : ", ", debug::to_string(r.state),
                              place.empty() ? "" : ", ", place);
    row["presentationHint"] = {{"attributes", {"readOnly"}}};
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

std::string span_text(bytecode::Pc from, bytecode::Pc to) {
  return fmt::format("pc {} to {}", from.value(), to < 0 ? std::string("the end") : fmt::format("{}", to.value()));
}

}  // namespace

std::vector<Json> Variables::storage_rows(int frame) {
  std::vector<Json> rows;
  const debug::Position where = repl_.debugger().function_position(frame);
  auto found = debug::storage_plan(repl_.debugger(), repl_.session(), where.function);
  if (!found) return rows;
  const auto plan = std::make_shared<const debug::StoragePlan>(*std::move(found));
  for (std::size_t i = 0; i < plan->storages.size(); ++i) {
    const debug::PlannedStorage& s = plan->storages[i];
    const std::size_t count = s.tenants.size();
    Json row = text_row(
        fmt::format("s{}", s.id),
        fmt::format("{} bytes, {}, {}", s.size, support::counted(count, "tensor"), span_text(s.allocated, s.released)));
    if (count > 0) {
      row["variablesReference"] = add(Tenants{plan, i, 0, count, std::size_t(kMostRows)});
      row["namedVariables"] = count <= std::size_t(kMostRows) ? count : rows_behind(count);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Json> Variables::rows_of(const Tenants& tenants) {
  const auto list = std::span(tenants.plan->storages[tenants.storage].tenants).subspan(tenants.first, tenants.count);
  const auto name = [](const debug::Tenant& t) {
    return t.binding.empty() ? fmt::format("%{}", std::int64_t(t.reg)) : t.binding;
  };
  std::vector<Json> rows;
  if (list.size() > tenants.most) {
    each_range(0, list.size(), [&](std::size_t first, std::size_t count) {
      Json row = text_row(fmt::format("{} .. {}", name(list[first]), name(list[first + count - 1])),
                          support::counted(count, "tensor"));
      row["variablesReference"] = add(Tenants{tenants.plan, tenants.storage, tenants.first + first, count, kOfRange});
      row["namedVariables"] = rows_behind(count);
      rows.push_back(std::move(row));
    });
    return rows;
  }
  for (const debug::Tenant& t : list)
    rows.push_back(text_row(
        name(t), fmt::format("{} at {}, {}", t.shape.empty() ? "tensor" : t.shape,
                             t.offset < 0 ? std::string("a computed offset") : fmt::format("byte {}", t.offset),
                             span_text(t.made, t.cleared))));
  return rows;
}

// ---- values ----

Json Variables::named(std::string name, const Value& value, std::string path, int frame, std::string type) {
  Json row{{"name", std::move(name)}};
  row.update(shown(value, path, frame, std::move(type)));
  if (!path.empty()) row["evaluateName"] = std::move(path);
  return row;
}

Json Variables::lazy(std::string name, std::string note, std::string type, int frame) {
  Json row{{"name", name}, {"value", std::move(note)}, {"variablesReference", add(Later{name, frame})}};
  if (!type.empty()) row["type"] = std::move(type);
  row["evaluateName"] = std::move(name);
  row["presentationHint"] = {{"lazy", true}};
  return row;
}

Json Variables::shown(const Value& value, const std::string& path, int frame, std::string type) {
  Json out{{"value", summary_of(value)},
           {"type", type.empty() ? type_of(value) : std::move(type)},
           {"variablesReference", 0}};
  switch (value.kind()) {
    case ValueKind::Tensor: {
      const runtime::Tensor& t = value.as_tensor();
      if (!can_be_split(t)) break;
      const std::int64_t extent = t.shape()[0];
      const std::int64_t reference = add(Elements{value, {}, 0, extent, path, frame});
      std::string memory = fmt::format("tensor:{}", reference);
      memory_.emplace(memory, Memory{value, path, frame, reference});
      out["variablesReference"] = reference;
      out["indexedVariables"] = row_count(0, extent, extent);
      out["memoryReference"] = std::move(memory);
      break;
    }
    case ValueKind::Tuple:
      if (const std::size_t count = value.as_tuple().fields.size(); count > 0) {
        out["variablesReference"] = add(Parts{value, path, frame});
        out["indexedVariables"] = count;
      }
      break;
    case ValueKind::Shape:
      if (const std::size_t count = value.as_shape().size(); count > 0) {
        out["variablesReference"] = add(Parts{value, path, frame});
        out["indexedVariables"] = count;
      }
      break;
    case ValueKind::Function:
      if (const std::size_t count = value.as_function().captured.size(); count > 0) {
        out["variablesReference"] = add(Parts{value, {}, frame});
        out["indexedVariables"] = count;
      }
      break;
#define RLDB_VALUE_PLAIN(Kind, ...) case ValueKind::Kind:
#include "rldb/runtime/value_kind.def"
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  return out;
}

std::vector<Json> Variables::rows_of(const Elements& e, std::int64_t start, std::int64_t count) {
  std::vector<Json> rows;
  const runtime::Tensor& t = e.tensor.as_tensor();
  const std::size_t axis = e.index.size();
  const std::int64_t total = e.end - e.begin;
  const std::int64_t width = row_width(e.begin, e.end, t.shape()[axis]);
  const std::int64_t all = (total + width - 1) / width;
  start = std::min(start, all);
  const std::int64_t stop = count > 0 ? std::min(all, start + std::min(count, kMostRows)) : all;
  for (std::int64_t i = start; i < stop; ++i) {
    support::poll();
    const std::int64_t begin = e.begin + i * width, end = std::min(begin + width, e.end);
    if (width > 1) {
      Json row = text_row(fmt::format("[{}..{}]", begin, end - 1), fmt::format("{} elements", end - begin));
      row["variablesReference"] = add(Elements{e.tensor, e.index, begin, end, e.path, e.frame});
      row["indexedVariables"] = row_count(begin, end, t.shape()[axis]);
      rows.push_back(std::move(row));
      continue;
    }
    std::vector<std::int64_t> index = e.index;
    index.push_back(begin);
    const std::string path = e.path.empty() ? "" : fmt::format("{}[{}]", e.path, joined(index));
    const std::string name = fmt::format("[{}]", begin);
    Json row;
    if (axis + 1 == t.shape().size()) {
      std::int64_t flat = 0;
      for (std::size_t d = 0; d < index.size(); ++d) flat += index[d] * stride_behind(t, d + 1);
      row = text_row(name, debug::element_text(t, flat));
      row["type"] = runtime::to_string(t.dtype());
    } else {
      const auto part = part_of(t, index);
      const std::int64_t extent = t.shape()[axis + 1];
      row = text_row(name, part ? runtime::format_brief(*part) : "");
      row["variablesReference"] = add(Elements{e.tensor, std::move(index), 0, extent, e.path, e.frame});
      row["indexedVariables"] = row_count(0, extent, extent);
    }
    if (!path.empty()) row["evaluateName"] = path;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Json> Variables::rows_of(const Parts& parts) {
  std::vector<Json> rows;
  const Value& whole = parts.whole;
  const auto add_row = [&](std::size_t i, const Value& v) {
    rows.push_back(
        named(fmt::format("[{}]", i), v, parts.path.empty() ? "" : fmt::format("{}[{}]", parts.path, i), parts.frame));
  };
  const auto add_all = [&](const std::vector<Value>& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) add_row(i, fields[i]);
  };
  if (whole.is(ValueKind::Tuple)) add_all(whole.as_tuple().fields);
  if (whole.is(ValueKind::Function)) add_all(whole.as_function().captured);
  if (whole.is(ValueKind::Shape))
    for (std::size_t i = 0; i < whole.as_shape().size(); ++i) add_row(i, Value::of_int(whole.as_shape()[i]));
  return rows;
}

std::vector<Json> Variables::rows_of(const Later& later) {
  source::Diagnostics diagnostics;
  std::vector<std::string> notes;
  const auto value = repl_.debugger().evaluate(later.expression, later.frame, diagnostics, &notes);
  if (!value) return {text_row(later.expression, fmt::format("({})", diagnostics.first_error("no value")))};
  Json row = named(later.expression, *value, later.expression, later.frame);
  if (!notes.empty()) row["type"] = fmt::format("{}; {}", row["type"].get<std::string>(), fmt::join(notes, "; "));
  return {std::move(row)};
}

Answer Variables::list(std::int64_t reference, std::int64_t start, std::int64_t count) {
  const auto it = nodes_.find(reference);
  if (it == nodes_.end()) return out_of_turn(fmt::format("the variables {} belong to an earlier stop", reference));
  const Node node = it->second;
  start = std::max<std::int64_t>(start, 0);
  count = std::max<std::int64_t>(count, 0);
  std::vector<Json> rows;
  if (const auto* elements = std::get_if<Elements>(&node)) {
    rows = rows_of(*elements, start, count);
  } else {
    if (const auto* scope = std::get_if<Scope>(&node)) rows = rows_of(*scope);
    if (const auto* parts = std::get_if<Parts>(&node)) rows = rows_of(*parts);
    if (const auto* later = std::get_if<Later>(&node)) rows = rows_of(*later);
    if (const auto* registers = std::get_if<Registers>(&node)) rows = rows_of(*registers);
    if (const auto* tenants = std::get_if<Tenants>(&node)) rows = rows_of(*tenants);
    if (const auto* locals = std::get_if<Locals>(&node))
      rows = locals->count <= kOfRange ? rows_of(locals->list(), locals->frame) : range_rows(*locals);
    const std::int64_t all = std::int64_t(rows.size());
    const std::int64_t first = std::min(start, all);
    const std::int64_t last = count > 0 ? first + std::min(count, all - first) : all;
    rows = {std::make_move_iterator(rows.begin() + first), std::make_move_iterator(rows.begin() + last)};
  }
  Json body{{"variables", Json::array()}};
  for (Json& row : rows) body["variables"].push_back(std::move(row));
  return body;
}

support::Result<Variables::Target, Failure> Variables::target_of(std::int64_t reference,
                                                                 const std::string& name) const {
  const auto it = nodes_.find(reference);
  if (it == nodes_.end()) return out_of_turn(fmt::format("the variables {} belong to an earlier stop", reference));
  const auto read_only = [&] { return refused(fmt::format("`{}` cannot be set", name)); };
  if (const auto* scope = std::get_if<Scope>(&it->second)) {
    if (scope->kind == ScopeKind::Locals || scope->kind == ScopeKind::Symbols || scope->kind == ScopeKind::ShapeHeap)
      return Target{name, scope->frame};
    return read_only();
  }
  if (const auto* locals = std::get_if<Locals>(&it->second))
    return locals->count <= kOfRange ? support::Result<Target, Failure>(Target{name, locals->frame}) : read_only();
  const auto inner = name.size() > 2 && name.front() == '[' && name.back() == ']'
                         ? std::string_view(name).substr(1, name.size() - 2)
                         : std::string_view();
  if (inner.empty() || inner.find("..") != std::string_view::npos) return read_only();
  if (const auto* e = std::get_if<Elements>(&it->second); e && !e->path.empty()) {
    std::string index = joined(e->index);
    if (!index.empty()) index += ", ";
    return Target{fmt::format("{}[{}{}]", e->path, index, inner), e->frame};
  }
  if (const auto* parts = std::get_if<Parts>(&it->second); parts && !parts->path.empty())
    return Target{fmt::format("{}[{}]", parts->path, inner), parts->frame};
  return read_only();
}

}  // namespace rldb::protocol::dap
