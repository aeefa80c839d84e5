// The writes of one call: element by element where iterations can be left out, else from a record of all.
#include "debug/provenance/range_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "debug/look/element.h"
#include "debug/provenance/may_write.h"
#include "debug/provenance/names.h"
#include "rldb/ir/printer.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::debug {

using runtime::Result;
using runtime::Storage;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

constexpr std::int64_t kMaxElements = 4096;  // that are looked up one by one
constexpr std::size_t kMaxEach = 1000;       // single writes that are listed

}  // namespace

bool ByteRanges::contains(std::int64_t byte) const {
  const auto after = std::upper_bound(parts.begin(), parts.end(), byte,
                                      [](std::int64_t b, const auto& part) { return b < part.first; });
  return after != parts.begin() && byte < std::prev(after)->second;
}

std::int64_t ByteRanges::size() const {
  std::int64_t sum = 0;
  for (const auto& [begin, end] : parts) sum += end - begin;
  return sum;
}

// The writes of one statement, while they are collected.
struct CallWrites::Group {
  const ir::BufferStore* store;
  std::int64_t begin, end;
  struct One {
    Moment moment;
    std::int64_t byte;
    std::string iteration;
  };
  std::uint64_t count = 0;
  One first, last;
  std::vector<One> each;

  void add(const MemoryPlace& place, std::int64_t width, const KernelWrite& w, bool keep) {
    begin = std::min(begin, place.byte);
    end = std::max(end, place.byte + width);
    if (count++ == 0 || w.moment < first.moment) first = {w.moment, place.byte, iteration_text(w.loops)};
    if (count == 1 || last.moment < w.moment) last = {w.moment, place.byte, iteration_text(w.loops)};
    if (keep && each.size() < kMaxEach) each.push_back({w.moment, place.byte, iteration_text(w.loops)});
  }
};

bool CallWrites::touches(const Touch& t, const Storage* memory) const {
  return t.memory == memory && std::any_of(ranges_.parts.begin(), ranges_.parts.end(), [&](const auto& part) {
           return t.begin < part.second && part.first < t.end;
         });
}

RangeWrite CallWrites::row_of(const CallMoment& call) const {
  RangeWrite row;
  row.time = call.time;
  const CodeMap& map = run_.code();
  row.callee = run_.is_kernel_call(call.pc)
                   ? std::string(run_.kernel_called(call.pc))
                   : map.executable().functions[std::size_t(map.executable().instruction(call.pc).callee)].name;
  if (const std::vector<int>& group = map.group_of(call.pc); !group.empty()) {
    const UserBinding& u = map.binding(group.back());
    row.line = u.line;
    if (u.line) row.file = u.file;
  }
  return row;
}

// `[4]`: where the tensor is in an argument that is a tuple.
std::string CallWrites::fields_of(const vm::Machine& m, const CallMoment& call, const Touch& touch) const {
  const bytecode::Instruction i = run_.code().executable().instruction(call.pc);
  const Value* whole = touch.arg < 0 ? nullptr : m.read_register(call.frame, i.arg(std::size_t(touch.arg)).reg());
  return whole && whole->is(ValueKind::Tuple) ? fields_text(*whole, touch.part) : std::string();
}

// `b[0:4]`: the elements of the tensor from one byte to another.
std::string CallWrites::shown(const CallMoment& call, const Touch& touch, const Tensor& t, std::int64_t begin,
                              std::int64_t end, std::string_view fields) const {
  std::string name = name_of_argument(run_.code(), call, touch.arg, true).append(fields);
  if (run_.code().function_of(call.pc) != function_)
    name = fmt::format("{}:{}", run_.code().function_name(call.pc), name);
  const std::int64_t width = std::int64_t(t.dtype().bytes()), base = std::int64_t(t.byte_offset());
  if (width == 0 || (begin <= base && end >= base + std::int64_t(t.byte_size()))) return name;
  std::vector<std::int64_t> positions;
  const std::int64_t first = (std::max(begin, base) - base) / width;
  const std::int64_t last = (std::min(end, base + std::int64_t(t.byte_size())) - base - 1) / width;
  if (last - first >= kMaxElements) return fmt::format("{}, elements {} to {}", name, first, last);
  for (std::int64_t i = first; i <= last; ++i) positions.push_back(i);
  return name + region_text(t.shape(), positions);
}

std::vector<RangeWrite> CallWrites::of(const CallMoment& call, const Storage* memory) {
  support::poll_cause();
  const MemoryRange range{0, memory, ranges_.begin(), ranges_.end()};
  const auto hit = [&](const Touch& t) { return touches(t, memory); };
  const bool returned = std::any_of(call.results.begin(), call.results.end(), hit);
  if (returned && writers_.clears(call, range)) return cleared(call, memory);
  const bool given = std::any_of(call.args.begin(), call.args.end(), hit) && writers_.may_write(call, range);
  const bool made =
      returned && std::none_of(call.args.begin(), call.args.end(), [&](const Touch& t) { return t.memory == memory; });
  const bool elsewhere = std::any_of(call.elsewhere.begin(), call.elsewhere.end(),
                                     [&](const CallMoment::Elsewhere& e) { return hit(e.touch); });
  if (elsewhere) return changed_elsewhere(call, memory);
  if (!given && !made) return {};
  if (run_.is_kernel_call(call.pc))
    if (auto rows = kernel(call, memory)) return *std::move(rows);
  return other(call, memory);
}

std::optional<RangeWrite> CallWrites::of(const CommandMoment& command) const {
  RangeWrite row;
  row.begin = -1;
  for (const auto& [begin, end] : command.bytes)
    for (const auto& part : ranges_.parts) {
      const std::int64_t first = std::max(begin, part.first), last = std::min(end, part.second);
      if (first >= last) continue;
      row.begin = row.begin < 0 ? first : std::min(row.begin, first);
      row.end = std::max(row.end, last);
    }
  if (row.begin < 0) return std::nullopt;
  row.time = command.time;
  row.callee = command.text;
  row.name = command.target;
  if (command.function != function_)
    row.name = fmt::format(
        "{}:{}", run_.code().function_name(run_.code().executable().functions[std::size_t(command.function)].start),
        row.name);
  return row;
}

// Nullopt: its TensorIR is not known.
std::optional<std::vector<RangeWrite>> CallWrites::kernel(const CallMoment& call, const Storage* memory) {
  auto before = moments_.at(call.time, false);
  const ir::PrimFunc* f = before ? run_.kernel_function(before->machine, call.pc) : nullptr;
  if (!f) return std::nullopt;
  if (!before->unknown.empty()) {
    const std::vector<bool> deciding = decides(f);
    if (std::any_of(deciding.begin(), deciding.end(), [](bool b) { return b; })) before = moments_.at(call.time, true);
  }
  const auto args = before ? run_.kernel_arguments(before->machine) : std::nullopt;
  if (!args) return std::nullopt;
  std::vector<RangeWrite> rows;
  const std::vector<bool> written = debug::may_write(f);
  const int shift = run_.is_direct_kernel_call(call.pc) ? 0 : 1;
  for (const Touch& touch : call.args) {
    const std::size_t i = std::size_t(touch.arg - shift);
    const Value v = Writers::argument(run_, before->machine, call, touch);
    if (!touches(touch, memory) || !v.is(ValueKind::Tensor) || (i < written.size() && !written[i])) continue;
    const Tensor& t = v.as_tensor();
    std::vector<Group> groups;
    const auto collected = collect(f, *args, t, groups);
    if (!collected.ok()) {
      RangeWrite row = row_of(call);
      row.begin = std::max(ranges_.begin(), touch.begin);
      row.end = std::min(ranges_.end(), touch.end);
      row.name = shown(call, touch, t, row.begin, row.end);
      row.remark =
          fmt::format("it was given the bytes to write; its iterations are not known: {}", collected.error().message);
      rows.push_back(std::move(row));
    }
    std::sort(groups.begin(), groups.end(),
              [](const Group& a, const Group& b) { return a.first.moment < b.first.moment; });
    for (Group& g : groups) {
      RangeWrite row = row_of(call);
      row.begin = g.begin;
      row.end = g.end;
      row.name = shown(call, touch, t, g.begin, g.end);
      row.writes = g.count;
      row.statement = support::one_line(ir::print_stmt(g.store));
      row.first = g.first.iteration;
      row.last = g.last.iteration;
      std::sort(g.each.begin(), g.each.end(), [](const auto& a, const auto& b) { return a.moment < b.moment; });
      const std::int64_t width = std::int64_t(t.dtype().bytes());
      for (const Group::One& one : g.each)
        row.each.push_back(fmt::format("{}: {}", shown(call, touch, t, one.byte, one.byte + width), one.iteration));
      if (g.each.size() < g.count && each_) row.remark = fmt::format("the first {} found are listed", g.each.size());
      rows.push_back(std::move(row));
    }
    if (!rows.empty()) break;  // the same bytes by another argument
  }
  return rows;
}

Result<Unit> CallWrites::collect(const ir::PrimFunc* f, const std::vector<Value>& args, const Tensor& t,
                                 std::vector<Group>& groups) const {
  const Storage* own = t.storage().get();
  const std::int64_t width = std::int64_t(t.dtype().bytes()), base = std::int64_t(t.byte_offset());
  const auto keep = [&](const MemoryPlace& place, const KernelWrite& w) {
    auto g = std::find_if(groups.begin(), groups.end(), [&](const Group& x) { return x.store == w.store; });
    if (g == groups.end()) g = groups.insert(groups.end(), Group{w.store, place.byte, place.byte, 0, {}, {}, {}});
    g->add(place, std::int64_t(w.store->buffer->dtype.bytes()), w, each_);
  };
  if (ranges_.size() / std::max<std::int64_t>(1, width) <= kMaxElements) {
    auto sliced = sliced_kernel(f, args);
    Result<Unit> seen = Unit{};
    for (const auto& [begin, end] : ranges_.parts) {
      if (!sliced.ok()) break;
      // Elements that have a byte in the range.
      std::int64_t at = begin - ((begin - base) % width + width) % width;
      for (at = std::max(at, base); seen.ok() && at < std::min(end, base + std::int64_t(t.byte_size())); at += width)
        seen = (*sliced)->visit({own, at}, nullptr, [&](const KernelWrite& w) {
          keep({own, at}, w);
          return true;
        });
    }
    if (sliced.ok() && seen.ok()) return Unit{};
    groups.clear();
  }
  return each_write(f, args, [&](const MemoryPlace& place, const KernelWrite& w) {
    if (place.memory == own && (ranges_.contains(place.byte) || ranges_.contains(place.byte + width - 1)))
      keep(place, w);
  });
}

std::vector<RangeWrite> CallWrites::cleared(const CallMoment& call, const Storage* memory) const {
  RangeWrite row = row_of(call);
  const auto t =
      std::find_if(call.results.begin(), call.results.end(), [&](const Touch& x) { return touches(x, memory); });
  row.begin = std::max(ranges_.begin(), t->begin);
  row.end = std::min(ranges_.end(), t->end);
  row.name = name_of_argument(run_.code(), call, -1, true);
  row.remark = "the memory was cleared when a tensor was allocated there";
  return {std::move(row)};
}

// The first and the last of the bytes asked about that differ.
void CallWrites::note_changed(const std::byte* from, const std::byte* to, const Touch& t, RangeWrite& row) const {
  for (const auto& [begin, end] : ranges_.parts)
    for (std::int64_t b = std::max(begin, t.begin); b < std::min(end, t.end); ++b)
      if (from[b] != to[b]) row.begin = row.begin < 0 ? b : std::min(row.begin, b), row.end = std::max(row.end, b + 1);
}

// A builtin, a packed function, a kernel without its TensorIR: the bytes that it changed, and memory that it returned.
std::vector<RangeWrite> CallWrites::other(const CallMoment& call, const Storage* memory) {
  std::vector<RangeWrite> rows;
  const bool known =
      std::any_of(call.args.begin(), call.args.end(), [&](const Touch& t) { return t.memory == memory; });
  RangeWrite row = row_of(call);
  for (const Touch& t : call.results)
    if (touches(t, memory) && !known && rows.empty()) {
      row.begin = std::max(ranges_.begin(), t.begin);
      row.end = std::min(ranges_.end(), t.end);
      row.name = name_of_argument(run_.code(), call, -1, true);
      row.remark = "it returned the memory";
      rows.push_back(row);
    }
  const auto before = known ? moments_.at(call.time, true) : nullptr;
  const auto after = before ? moments_.at(call.time + 1, true) : nullptr;
  if (!after || after->machine.frames().size() <= call.frame) return rows;
  for (const Touch& t : call.args) {
    const Value old = Writers::argument(run_, before->machine, call, t);
    const Value now = Writers::argument(run_, after->machine, call, t);
    if (!touches(t, memory) || !old.is(ValueKind::Tensor) || !now.is(ValueKind::Tensor)) continue;
    const auto* from = old.as_tensor().storage()->peek();
    const auto* to = now.as_tensor().storage()->peek();
    row.begin = -1;
    note_changed(from, to, t, row);
    if (row.begin < 0) {
      row.begin = std::max(ranges_.begin(), t.begin);
      row.end = std::min(ranges_.end(), t.end);
      row.remark = "it was given the bytes and left them as they were, or wrote the same";
    } else {
      row.remark = "the bytes that it changed";
    }
    row.name = shown(call, t, old.as_tensor(), row.begin, row.end, fields_of(before->machine, call, t));
    rows.push_back(row);
    break;
  }
  return rows;
}

// Memory that a plugin had kept.
std::vector<RangeWrite> CallWrites::changed_elsewhere(const CallMoment& call, const Storage* memory) {
  const auto before = moments_.at(call.time, true);
  const auto after = before ? moments_.at(call.time + 1, true) : nullptr;
  if (!after) return {};
  RangeWrite row = row_of(call);
  row.begin = -1;
  for (const CallMoment::Elsewhere& e : call.elsewhere) {
    const auto old = vm::memory_of(value_at(before->machine, e.path));
    const auto now = vm::memory_of(value_at(after->machine, e.path));
    if (e.touch.memory != memory || !old || !now) continue;
    note_changed(old->peek(), now->peek(), e.touch, row);
  }
  if (row.begin < 0) return {};
  row.name = "kept memory";
  row.remark = "the bytes that it changed";
  return {std::move(row)};
}

}  // namespace rldb::debug
