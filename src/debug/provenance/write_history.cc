// WriteHistory: intervals between checkpoints, executed again and kept as lists of calls.
#include "debug/provenance/write_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "debug/run/skim.h"
#include "rldb/support/cancel.h"
#include "rldb/vm/call_log.h"

namespace rldb::debug {

using bytecode::ArgKind;
using bytecode::Instruction;
using bytecode::Opcode;
using runtime::Storage;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

Touch touch_of(const Value& holder) {
  if (!holder.is(ValueKind::Tensor)) return {vm::memory_of(holder).get(), 0, 0};
  const Tensor& t = holder.as_tensor();
  const auto begin = std::int64_t(t.byte_offset());
  return {t.storage().get(), begin, begin + std::int64_t(t.byte_size())};
}

bool overlaps(const Touch& t, const MemoryRange& r) {
  return t.memory == r.memory && t.begin < r.end && r.begin < t.end;
}

bool concerns(const CallMoment& call, const MemoryRange& r) {
  const auto touches = [&](const Touch& t) { return overlaps(t, r); };
  return std::any_of(call.args.begin(), call.args.end(), touches) ||
         std::any_of(call.results.begin(), call.results.end(), touches) ||
         std::any_of(call.elsewhere.begin(), call.elsewhere.end(),
                     [&](const CallMoment::Elsewhere& e) { return overlaps(e.touch, r); });
}

// Those given at the machine's time.
void add_commands(const Run& run, const vm::Machine& m, std::vector<CommandMoment>& commands) {
  for (const Change& c : run.changes().list()) {
    if (c.time != m.instructions() || !c.writes || !m.running()) continue;
    const Value* v = m.read_register(c.writes->frame, c.writes->reg);
    if (!v || !v->is(ValueKind::Tensor)) continue;
    const Tensor& t = v->as_tensor();
    const std::int64_t base = std::int64_t(t.byte_offset());
    CommandMoment moment{c.time,
                         c.said.target,
                         fmt::format("the command `{}`", c.said.command),
                         m.frames()[c.writes->frame].function,
                         t.storage().get(),
                         c.writes->bytes};
    if (moment.bytes.empty()) moment.bytes.emplace_back(0, std::int64_t(t.byte_size()));
    for (auto& [begin, end] : moment.bytes) begin += base, end += base;
    commands.push_back(std::move(moment));
  }
}

// Notes calls as they are about to be made, and what the last one returned.
class Notes {
 public:
  Notes(std::vector<CallMoment>& calls, std::vector<EnterMoment>& entered) : calls_(calls), entered_(entered) {}

  void see(const vm::Machine& m) {
    support::poll();
    finish(m);
    const Pc pc = m.frame().pc;
    const Instruction i = m.executable().instruction(pc);
    if (i.op != Opcode::Call) return;
    if (m.program().target_kind(i.callee) == vm::TargetKind::Bytecode) {
      entered_.push_back({m.instructions(), pc, m.frames().size() - 1, m.frame().entered});
      return;
    }
    CallMoment call{m.instructions(), pc, m.frames().size() - 1, {}, {}, m.frame().entered};
    for (std::size_t a = 0; a < i.args.size(); ++a) {
      if (i.arg(a).kind() != ArgKind::Register || bytecode::is_special(i.arg(a).reg())) continue;
      if (const Value* v = m.read_register(call.frame, i.arg(a).reg()))
        for (const Touch& t : memory_in(*v, int(a))) call.args.push_back(t);
    }
    if (const vm::CallLog* log = m.call_log())
      for (ValuePath& path : log->changed_elsewhere(call.time))
        if (const auto memory = vm::memory_of(value_at(m, path)))
          call.elsewhere.push_back({{memory.get(), 0, std::int64_t(memory->size())}, std::move(path)});
    result_ = i.dst;
    calls_.push_back(std::move(call));
    open_ = true;
  }

  void restart() { open_ = false; }

  // After the call that was noted last.
  void finish(const vm::Machine& m) {
    if (!std::exchange(open_, false) || bytecode::is_special(result_)) return;
    CallMoment& call = calls_.back();
    if (call.frame + 1 != m.frames().size() || m.instructions() != call.time + 1) return;
    if (const Value* v = m.read_register(call.frame, result_)) call.results = memory_in(*v, -1);
  }

 private:
  std::vector<CallMoment>& calls_;
  std::vector<EnterMoment>& entered_;
  bytecode::RegName result_ = 0;
  bool open_ = false;
};

}  // namespace

bool CommandMoment::overlaps(const MemoryRange& range) const {
  return memory == range.memory && std::any_of(bytes.begin(), bytes.end(), [&](const auto& part) {
           return part.first < range.end && range.begin < part.second;
         });
}

std::vector<Touch> memory_in(const Value& v, int arg) {
  std::vector<Touch> found;
  std::vector<std::size_t> fields;
  vm::each_memory(v, fields, [&](const Value& holder) {
    Touch touch = touch_of(holder);
    touch.arg = arg;
    touch.part = int(found.size());
    found.push_back(touch);
  });
  return found;
}

Value part_of(const Value& v, int part) {
  Value found;
  std::vector<std::size_t> fields;
  vm::each_memory(v, fields, [&](const Value& holder) {
    if (part-- == 0) found = holder;
  });
  return found;
}

bool WriteHistory::have(std::size_t interval) {
  while (intervals_.size() <= interval) {
    const std::uint64_t end = intervals_.empty() ? time_ : intervals_.back().begin;
    if (end == 0 && !intervals_.empty()) return false;
    // A call, and the instruction after it: its result is seen there.
    const bytecode::Executable& exe = run_.code().executable();
    vm::StopSet calls(exe.instruction_count());
    const Pc count = calls.end();
    for (Pc pc = 0; pc < count; ++pc)
      if (exe.instruction(pc).op == Opcode::Call) {
        calls.set(pc);
        if (pc + 1 < count) calls.set(pc + 1);
      }
    for (const Change& c : run_.changes().list())
      if (c.writes && c.pc >= 0) calls.set(c.pc);
    Interval next{0, end, {}, {}, {}, {}, {}};
    Notes notes(next.calls, next.entered);
    const auto begun = [&](const vm::Machine& m) {
      next.begin = m.instructions();
      vm::each_memory(m, [&](const ValuePath& path, const Value& holder) {
        next.at_begin.try_emplace(vm::memory_of(holder).get(), path);
      });
      if (next.begin == 0 && end > 0) add_commands(run_, m, next.commands);  // else the interval before has them
    };
    const auto ended = [&](const vm::Machine& m) {
      notes.finish(m);
      vm::each_memory(m, [&](const ValuePath& path, const Value& holder) {
        next.at_end.emplace_back(path, vm::memory_of(holder).get());
      });
      add_commands(run_, m, next.commands);
    };
    // A call that a command left out was not made.
    const auto left_out = [&](std::uint64_t time) {
      const std::vector<Change>& changes = run_.changes().list();
      return std::any_of(changes.begin(), changes.end(), [&](const Change& c) { return c.moves && c.time == time; });
    };
    const auto seen = [&](const vm::Machine& m) {
      left_out(m.instructions()) ? notes.finish(m) : notes.see(m);
      if (m.instructions() > next.begin) add_commands(run_, m, next.commands);
    };
    const SkimEnd skimmed = skim_before(run_, end, calls, begun, seen, ended);
    if (skimmed == SkimEnd::Interrupted) abandon_question();
    if (skimmed == SkimEnd::Refused) {
      next = {0, end, {}, {}, {}, {}, {}};
      notes.restart();
      const Run::Seek replayed = run_.replay_before(end, calls, begun, seen, ended);
      if (replayed == Run::Seek::Interrupted) abandon_question();
      if (replayed != Run::Seek::Done) return false;
    }
    intervals_.push_back(std::move(next));
  }
  return true;
}

std::optional<MemoryRange> WriteHistory::now(const ValuePath& path, const Tensor& t) {
  if (!have(0)) return std::nullopt;
  for (const auto& [at, memory] : intervals_[0].at_end)
    if (at == path)
      return MemoryRange{0, memory, std::int64_t(t.byte_offset()), std::int64_t(t.byte_offset() + t.byte_size())};
  return std::nullopt;
}

// Into the interval before; nullopt: the start of the run, or the memory is held by something else than a register.
std::optional<std::size_t> WriteHistory::follow(MemoryRange& range) {
  const auto way = intervals_[range.interval].at_begin.find(range.memory);
  if (way == intervals_[range.interval].at_begin.end()) return std::nullopt;
  const ValuePath path = way->second;
  if (!have(range.interval + 1)) return std::nullopt;
  for (const auto& [at, memory] : intervals_[range.interval + 1].at_end)
    if (at == path) {
      range.memory = memory;
      return ++range.interval;
    }
  return std::nullopt;
}

WriteHistory::End WriteHistory::before(MemoryRange& range, std::uint64_t time, const Choose& f,
                                       const ChooseCommand& command) {
  for (;;) {
    if (!have(range.interval)) return End::Lost;
    const std::vector<CallMoment>& calls = intervals_[range.interval].calls;
    const std::vector<CommandMoment>& commands = intervals_[range.interval].commands;
    std::size_t left = commands.size();
    // Those after a call; a command is given before the call at its time.
    const auto given_after = [&](std::optional<std::uint64_t> call) {
      for (; left > 0 && (!call || commands[left - 1].time > *call); --left)
        if (const CommandMoment& c = commands[left - 1]; c.time <= time && c.overlaps(range) && command(c)) return true;
      return false;
    };
    for (std::size_t i = calls.size(); i-- > 0;) {
      if (calls[i].time >= time) continue;
      if (given_after(calls[i].time)) return End::Command;
      const bool given = std::any_of(calls[i].args.begin(), calls[i].args.end(),
                                     [&](const Touch& t) { return t.memory == range.memory; });
      const bool made = !given && std::any_of(calls[i].results.begin(), calls[i].results.end(),
                                              [&](const Touch& t) { return t.memory == range.memory; });
      const bool concerned = concerns(calls[i], range);
      if (concerned && f(calls[i], range)) return End::Chosen;
      if (made) return End::Created;
    }
    if (given_after(std::nullopt)) return End::Command;
    if (intervals_[range.interval].begin == 0) return End::Start;
    if (!follow(range)) return End::Lost;
  }
}

namespace {

// Of moments in the order of time, those before one.
template <class M>
std::span<const M> until(const std::vector<M>& all, std::uint64_t time) {
  const auto end =
      std::lower_bound(all.begin(), all.end(), time, [](const M& m, std::uint64_t t) { return m.time < t; });
  return {all.data(), std::size_t(end - all.begin())};
}

}  // namespace

template <class F>
bool WriteHistory::search(std::uint64_t since, F&& f) {
  for (std::size_t n = 0; have(n); ++n) {
    if (f(intervals_[n], n)) return true;
    if (intervals_[n].begin <= since || intervals_[n].begin == 0) break;
  }
  return false;
}

std::optional<WriteHistory::FoundCall> WriteHistory::last_call(Pc pc, std::uint64_t activation, std::uint64_t before,
                                                               std::uint64_t since) {
  std::optional<FoundCall> found;
  const std::uint64_t first = std::max(activation, since);
  search(first, [&](const Interval& in, std::size_t n) {
    const auto calls = until(in.calls, before);
    for (std::size_t i = calls.size(); !found && i-- > 0 && calls[i].time >= first;)
      if (calls[i].pc == pc && calls[i].activation == activation) found = FoundCall{calls[i], n};
    return found.has_value();
  });
  return found;
}

std::optional<WriteHistory::FoundCall> WriteHistory::last_call_in(std::size_t frame, std::uint64_t behind,
                                                                  std::uint64_t before) {
  std::optional<FoundCall> found;
  search(behind, [&](const Interval& in, std::size_t n) {
    const auto calls = until(in.calls, before);
    for (std::size_t i = calls.size(); !found && i-- > 0 && calls[i].time > behind;)
      if (calls[i].frame == frame) found = FoundCall{calls[i], n};
    return found.has_value();
  });
  return found;
}

std::optional<Pc> WriteHistory::last_place_in(std::size_t frame, std::uint64_t behind, std::uint64_t before) {
  std::optional<Pc> found;
  search(behind, [&](const Interval& in, std::size_t) {
    std::uint64_t time = 0;
    const auto look = [&](const auto& all) {
      for (std::size_t i = all.size(); i-- > 0 && all[i].time >= behind;) {
        if (all[i].frame != frame) continue;
        if (!found || all[i].time > time) found = all[i].pc, time = all[i].time;
        break;
      }
    };
    look(until(in.calls, before));
    look(until(in.entered, before));
    return found.has_value();
  });
  return found;
}

std::optional<EnterMoment> WriteHistory::entered_at(std::uint64_t activation) {
  std::optional<EnterMoment> found;
  search(activation, [&](const Interval& in, std::size_t) {
    if (const auto all = until(in.entered, activation + 1); !all.empty() && all.back().time == activation)
      found = all.back();
    // A call of a closure.
    if (const auto all = until(in.calls, activation + 1); !all.empty() && all.back().time == activation)
      found = EnterMoment{activation, all.back().pc, all.back().frame, all.back().activation};
    return found.has_value();
  });
  return found;
}

std::optional<EnterMoment> WriteHistory::last_entered(Pc pc, std::uint64_t activation, std::uint64_t before) {
  std::optional<EnterMoment> found;
  search(activation, [&](const Interval& in, std::size_t) {
    const auto all = until(in.entered, before);
    for (std::size_t i = all.size(); !found && i-- > 0 && all[i].time >= activation;)
      if (all[i].pc == pc && all[i].activation == activation) found = all[i];
    return found.has_value();
  });
  return found;
}

std::uint64_t WriteHistory::next_in(std::size_t frame, std::uint64_t behind, std::uint64_t limit) {
  const auto first = [&](const auto& all) {
    for (std::size_t i = until(all, behind + 1).size(); i < all.size() && all[i].time < limit; ++i)
      if (all[i].frame <= frame) return all[i].time;
    return limit;
  };
  for (std::size_t n = back_to(behind); n-- > 0;)
    if (const std::uint64_t t = std::min(first(intervals_[n].calls), first(intervals_[n].entered)); t < limit) return t;
  return limit;
}

std::size_t WriteHistory::back_to(std::uint64_t time) {
  std::size_t count = 0;
  while (have(count)) {
    const std::uint64_t begin = intervals_[count++].begin;
    if (begin <= time || begin == 0) break;
  }
  return count;
}

std::size_t WriteHistory::interval_at(std::uint64_t time) const {
  std::size_t i = 0;
  while (i + 1 < intervals_.size() && intervals_[i].begin > time) ++i;
  return i;
}

const Storage* WriteHistory::in_next(std::size_t interval, const Storage* memory) const {
  const auto& ends = intervals_[interval].at_end;
  const auto way = std::find_if(ends.begin(), ends.end(), [&](const auto& e) { return e.second == memory; });
  return way == ends.end() ? nullptr : at_begin(interval - 1, way->first);
}

std::optional<ValuePath> WriteHistory::path_at_begin(std::size_t interval, const Storage* memory) const {
  const auto way = intervals_[interval].at_begin.find(memory);
  return way == intervals_[interval].at_begin.end() ? std::nullopt : std::optional(way->second);
}

const Storage* WriteHistory::at_begin(std::size_t interval, const ValuePath& path) const {
  for (const auto& [memory, at] : intervals_[interval].at_begin)
    if (at == path) return memory;
  return nullptr;
}

const Storage* WriteHistory::at_end(const ValuePath& path) const {
  for (const auto& [at, memory] : intervals_[0].at_end)
    if (at == path) return memory;
  return nullptr;
}

std::optional<ValuePath> WriteHistory::untouched(const MemoryRange& range, std::uint64_t since,
                                                 const std::function<bool(const CallMoment&)>& may_write) const {
  if (range.interval != 0 || run_.changes().any_in(since, Run::kForever - 1)) return std::nullopt;
  for (const CallMoment& call : intervals_[0].calls) {
    if (call.time < since) continue;
    if (concerns(call, range) && may_write(call)) return std::nullopt;
    // Other memory, at an address that was freed.
    const auto here = [&](const Touch& t) { return t.memory == range.memory; };
    if (std::none_of(call.args.begin(), call.args.end(), here) &&
        std::any_of(call.results.begin(), call.results.end(), here))
      return std::nullopt;
  }
  for (const auto& [at, memory] : intervals_[0].at_end)
    if (memory == range.memory) return at;
  return std::nullopt;
}

}  // namespace rldb::debug
