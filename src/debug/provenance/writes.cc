// `:writes`: from a target to bytes of a storage, then all calls of the run's history that touch them.
#include "rldb/debug/writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "debug/look/element.h"
#include "debug/look/planned.h"
#include "debug/provenance/element_target.h"
#include "debug/provenance/range_writes.h"
#include "debug/provenance/why_memory.h"
#include "debug/watch/numeric.h"
#include "rldb/expression/array.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::debug {

using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

// Bytes of memory that a register reaches at a time.
struct Asked {
  std::string what;
  std::uint64_t time = 0;
  ValuePath path;
  ByteRanges ranges;
};

std::nullopt_t refuse(source::Diagnostics& out, std::string_view why) {
  out.add({}, source::message(diag::RunFailed, why));
  return std::nullopt;
}

// `[lo:hi]`, `[lo:]`, `[at]`; nullopt: something else, or outside of `size`.
std::optional<std::pair<std::int64_t, std::int64_t>> byte_range(std::string_view text, std::int64_t size) {
  if (text.empty()) return std::pair<std::int64_t, std::int64_t>{0, size};
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const auto colon = text.find(':');
  const auto number = [](std::string_view t, std::int64_t otherwise) -> std::optional<std::int64_t> {
    t = support::trim(t);
    if (t.empty()) return otherwise;
    std::int64_t n = 0;
    const auto [rest, problem] = std::from_chars(t.data(), t.data() + t.size(), n);
    return problem == std::errc() && rest == t.data() + t.size() ? std::optional(n) : std::nullopt;
  };
  const auto low = number(text.substr(0, colon), colon == std::string_view::npos ? -1 : 0);
  const auto high =
      colon == std::string_view::npos ? (low ? std::optional(*low + 1) : low) : number(text.substr(colon + 1), size);
  if (!low || !high || *low < 0 || *high > size || *low >= *high) return std::nullopt;
  return std::pair{*low, *high};
}

class Asking {
 public:
  Asking(Debugger& debugger, int frame, source::Diagnostics& out)
      : debugger_(debugger), d_(impl_of(debugger)), frame_(frame), out_(out) {}

  std::optional<Asked> read(std::string_view target) {
    const auto bracket = target.find(")[");
    const std::string_view head = bracket == std::string_view::npos ? target : target.substr(0, bracket + 1);
    if (const auto operand = storage_operand(head))
      return of_storage(*operand, bracket == std::string_view::npos ? std::string_view() : target.substr(bracket + 1));
    return of_elements(target);
  }

 private:
  std::optional<Asked> of_elements(std::string_view target) {
    const auto [name, subscript] = expression::split_target(target);
    const auto element = element_target(d_, debugger_, name, subscript, frame_, out_);
    if (!element) return std::nullopt;
    const Tensor& t = element->tensor();
    const std::int64_t width = std::int64_t(t.dtype().bytes());
    const bool whole = subscript.empty() || element->shown == target;  // `cache[4]` is a field
    if (width == 0 || (!whole && element->positions.empty()))
      return refuse(out_, fmt::format("`{}` names no bytes", target));
    Asked asked;
    asked.what = element->shown;
    if (whole) {
      asked.ranges.parts.emplace_back(0, std::int64_t(t.byte_size()));
      if (t.byte_size() == 0) return refuse(out_, fmt::format("`{}` names no bytes", target));
    } else {
      std::vector<std::int64_t> positions = element->positions;
      std::sort(positions.begin(), positions.end());
      asked.what += region_text(t.shape(), positions);
      for (const std::int64_t p : positions) {
        auto& parts = asked.ranges.parts;
        if (!parts.empty() && parts.back().second >= p * width)
          parts.back().second = (p + 1) * width;
        else
          parts.emplace_back(p * width, (p + 1) * width);
      }
    }
    const bool known = each_holding(d_, *element, [&](std::uint64_t time, const ValuePath& path) {
      asked.time = time;
      asked.path = path;
      return true;
    });
    if (!known)
      return refuse(out_, fmt::format("`{}` is in no register of the run: it was fused away", element->shown));
    for (auto& [begin, end] : asked.ranges.parts)
      begin += std::int64_t(t.byte_offset()), end += std::int64_t(t.byte_offset());
    // Its register was freed: as long as it still held the tensor, it may have been written again.
    if (asked.time != d_.run->time()) as_long_as_held(asked);
    return asked;
  }

  void as_long_as_held(Asked& asked) {
    const FunctionIndex function = d_.run->machine().frames()[asked.path.frame].function;
    for (const UserVariable& v : d_.run->code().variables(function)) {
      if (v.range->reg != asked.path.reg || v.range->end == 0) continue;
      // Its range ends behind the instruction that clears the register.
      const auto time = d_.latest_time(v.range->end - 1, asked.path.frame);
      const auto then = time && *time > asked.time ? d_.run->machine_at(*time) : std::nullopt;
      if (!then || then->frames().size() <= asked.path.frame || !value_at(*then, asked.path).is(ValueKind::Tensor))
        continue;
      asked.time = *time;
      break;
    }
    as_long_as_another_holds(asked);
  }

  // The plan gives the memory to another tensor.
  bool has_later_tenant(const vm::Machine& m, std::size_t frame, const runtime::Storage* memory) const {
    const vm::Frame& f = m.frames()[frame];
    const auto plan = plan_of(d_.run->code().executable(), f.function);
    for (const PlannedStorage& s : plan ? plan->storages : std::vector<PlannedStorage>())
      if (memory_of(s, f.pc, m.registers(frame)).get() == memory)
        return std::any_of(s.tenants.begin(), s.tenants.end(), [&](const Tenant& t) { return t.made >= f.pc; });
    return false;
  }

  // The memory outlives its first register in the result of a callee and in a tuple.
  void as_long_as_another_holds(Asked& asked) {
    auto m = d_.run->machine_at(asked.time);
    if (!m) return;
    const Value held = value_at(*m, asked.path);
    if (!held.is(ValueKind::Tensor) || has_later_tenant(*m, asked.path.frame, held.as_tensor().storage().get())) return;
    if (d_.run->carry_on(*m, d_.run->time()) != Run::Seek::Done) return;
    for (std::size_t frame = m->frames().size(); frame-- > 0;)
      if (const auto path = path_to(*m, frame, held.as_tensor().storage().get())) {
        asked.time = d_.run->time();
        asked.path = *path;
        return;
      }
  }

  // A storage of the plan (`s0`), or the one in which a name's tensor lies.
  std::optional<Asked> of_storage(std::string_view name, std::string_view bytes) {
    std::size_t index = 0;
    if (!frame_index(d_.run->machine(), debugger_.machine_frame(frame_), index)) {
      out_.add({}, source::message(diag::NotStopped));
      return std::nullopt;
    }
    const vm::Machine& m = d_.run->machine();
    const vm::Frame& f = m.frames()[index];
    const auto plan = plan_of(d_.run->code().executable(), f.function);
    for (const PlannedStorage& s : plan ? plan->storages : std::vector<PlannedStorage>())
      if (name == fmt::format("s{}", s.id)) return of_planned(s, index, name, bytes);
    const auto element = element_target(d_, debugger_, name, {}, frame_, out_);
    if (!element) return std::nullopt;
    Asked asked;
    const bool known = each_holding(d_, *element, [&](std::uint64_t time, const ValuePath& path) {
      asked.time = time;
      asked.path = path;
      return true;
    });
    if (!known) return refuse(out_, fmt::format("`{}` is in no register of the run", name));
    if (asked.time != d_.run->time()) as_long_as_held(asked);
    return finish(std::move(asked), fmt::format("storage({})", name), bytes,
                  std::int64_t(element->tensor().storage()->size()));
  }

  std::optional<Asked> of_planned(const PlannedStorage& s, std::size_t index, std::string_view name,
                                  std::string_view bytes) {
    const vm::Machine& m = d_.run->machine();
    Asked asked;
    if (const auto memory = memory_of(s, m.frames()[index].pc, m.registers(index))) {
      const auto path = path_to(m, index, memory.get());
      if (!path) return refuse(out_, fmt::format("`{}` is in no register of the run", name));
      asked.time = d_.run->time();
      asked.path = *path;
      return finish(std::move(asked), std::string(name), bytes, std::int64_t(memory->size()));
    }
    // Given up: as it was when its last register was cleared.
    bytecode::RegName reg = s.reg;
    Pc cleared = s.dropped;
    for (const Tenant& t : s.tenants)
      if (t.cleared > cleared) reg = t.reg, cleared = t.cleared;
    const auto time = cleared >= 0 ? d_.latest_time(cleared, index) : std::nullopt;
    const auto then = time ? d_.run->machine_at(*time) : std::nullopt;
    const Value* v = then && then->frames().size() > index ? then->read_register(index, reg) : nullptr;
    if (!v || !(v->is(ValueKind::Tensor) || v->is(ValueKind::Storage)))
      return refuse(out_, fmt::format("`{}` has not been allocated yet in this frame", name));
    asked.time = *time;
    asked.path = {index, reg, {}};
    const auto size = v->is(ValueKind::Tensor) ? v->as_tensor().storage()->size() : v->storage_ref()->size();
    return finish(std::move(asked), std::string(name), bytes, std::int64_t(size));
  }

  std::optional<Asked> finish(Asked asked, std::string what, std::string_view bytes, std::int64_t size) {
    const auto range = byte_range(bytes, size);
    if (!range)
      return refuse(out_, fmt::format("`{}` is not a range of its bytes: it has {}, and they are written [0:{}]", bytes,
                                      size, size));
    asked.what = std::move(what);
    asked.ranges.parts.push_back(*range);
    return asked;
  }

  Debugger& debugger_;
  Debugger::Impl& d_;
  int frame_;
  source::Diagnostics& out_;
};

// `cache[0]`, `cache[4]`: the tensors of a value that has several, as a tuple and a key-value cache.
std::vector<std::string> parts_of(const Debugger& debugger, std::string_view target, int frame) {
  std::vector<std::string> names;
  if (storage_operand(target) || !expression::split_target(target).second.empty()) return names;
  source::Diagnostics unseen;
  const auto value = debugger.evaluate(target, frame, unseen);
  if (!value || !value->is(ValueKind::Tuple)) return names;
  for (const Touch& t : memory_in(*value, 0))
    if (t.begin < t.end) names.push_back(fmt::format("{}{}", target, fields_text(*value, t.part)));
  return names;
}

std::optional<RangeWrites> writes_to_parts(Debugger& debugger, std::string_view target,
                                           const std::vector<std::string>& parts, bool each, int frame,
                                           source::Diagnostics& out) {
  RangeWrites all{std::string(target), 0, 0, {}, {}};
  std::size_t asked = 0;
  source::Diagnostics problems;  // of the last part that could not be asked
  const auto note = [&](const std::string& part, const std::string& why) {
    if (!why.empty()) all.incomplete += fmt::format("{}{}: {}", all.incomplete.empty() ? "" : "; ", part, why);
  };
  for (const std::string& part : parts) {
    source::Diagnostics of_part;
    auto writes = writes_to(debugger, part, each, frame, of_part);
    if (!writes) {
      // The others are told all the same.
      note(part, of_part.all().empty() ? "it cannot be traced" : of_part.all().front().message);
      problems = std::move(of_part);
      continue;
    }
    ++asked;
    note(part, writes->incomplete);
    for (RangeWrite& w : writes->rows) {
      if (w.name == target) w.name = part;  // a call returned the whole value
      all.rows.push_back(std::move(w));
    }
  }
  if (asked == 0) {
    for (const source::Diagnostic& d : problems.all()) out.add(d);
    return std::nullopt;
  }
  std::stable_sort(all.rows.begin(), all.rows.end(),
                   [](const RangeWrite& a, const RangeWrite& b) { return a.time < b.time; });
  return all;
}

}  // namespace

std::optional<RangeWrites> writes_to(Debugger& debugger, std::string_view target, bool each, int frame,
                                     source::Diagnostics& out) {
  Debugger::Impl& d = impl_of(debugger);
  if (!d.can_be_asked()) {
    out.add({}, source::message(diag::NotStopped));
    return std::nullopt;
  }
  if (const auto parts = parts_of(debugger, target, frame); !parts.empty())
    return writes_to_parts(debugger, target, parts, each, frame, out);
  const auto asked = Asking(debugger, frame, out).read(target);
  if (!asked) return std::nullopt;
  Writers writers(*d.run, asked->time);
  WriteHistory& history = writers.history();
  if (history.back_to(asked->time) == 0) return refuse(out, "the run keeps no history");
  const runtime::Storage* memory = history.at_end(asked->path);
  if (!memory) return refuse(out, fmt::format("`{}` is in no register of the run", asked->what));
  RangeWrites writes{asked->what, asked->ranges.begin(), asked->ranges.end(), {}, {}};
  MemoryRange range{0, memory, asked->ranges.begin(), asked->ranges.end()};
  Moments moments(*d.run);
  CallWrites calls(*d.run, writers, moments, asked->ranges, each, asker_at(*d.run, asked->path.frame).function);
  const WriteHistory::End end = history.before(
      range, asked->time,
      [&](const CallMoment& call, const MemoryRange& r) {
        std::vector<RangeWrite> rows = calls.of(call, r.memory);
        std::move(rows.rbegin(), rows.rend(), std::back_inserter(writes.rows));
        return false;
      },
      [&](const CommandMoment& command) {
        if (auto row = calls.of(command)) writes.rows.push_back(*std::move(row));
        return false;
      });
  std::reverse(writes.rows.begin(), writes.rows.end());
  if (end == WriteHistory::End::Lost) writes.incomplete = "before that the run has no history of this memory";
  return writes;
}

std::vector<std::string> lines_of(const RangeWrites& writes) {
  std::vector<std::string> lines;
  // Of several tensors there is no one storage.
  lines.push_back(writes.begin == writes.end
                      ? writes.what + ":"
                      : fmt::format("{}, bytes [{}:{}] of its storage:", writes.what, writes.begin, writes.end));
  if (!writes.incomplete.empty()) lines.push_back("  " + writes.incomplete);
  for (const RangeWrite& w : writes.rows) {
    const std::string place = w.line ? fmt::format("   # {}:{}", w.file, w.line) : "";
    std::string count = w.writes ? fmt::format(", {}", support::counted(w.writes, "write")) : "";
    if (!w.first.empty())
      count += w.first == w.last ? fmt::format(" ({})", w.first) : fmt::format(" ({} ... {})", w.first, w.last);
    lines.push_back(
        fmt::format("  time {}: {} by {}, bytes [{}:{}]{}{}", w.time, w.name, w.callee, w.begin, w.end, count, place));
    if (!w.statement.empty()) lines.push_back("    " + w.statement);
    for (const std::string& one : w.each) lines.push_back("    " + one);
    if (!w.remark.empty()) lines.push_back(fmt::format("    ({})", w.remark));
  }
  if (writes.rows.empty()) lines.push_back("  no call of this run has written there");
  return lines;
}

}  // namespace rldb::debug
