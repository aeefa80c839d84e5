// Which call of a run wrote some bytes of memory last, before a moment.
//
// The run is executed again from its checkpoints, the latest interval first, and every call in an interval is noted
// with the memory that it was given and the memory that it returned. Storages of an interval are identified by their
// addresses in that execution; between two intervals, by a register that reaches them. An interval is executed once and
// kept. Nothing is printed, and packed functions are not called again (Run). User: Writers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debug/run/run.h"
#include "rldb/vm/value_path.h"

namespace rldb::debug {

using vm::value_at;
using vm::ValuePath;

// A tensor's or a storage's bytes, among the arguments or the results of a call.
struct Touch {
  const runtime::Storage* memory = nullptr;
  std::int64_t begin = 0, end = 0;  // bytes of it; empty for a storage itself, which is not read or written
  int arg = -1;                     // -1: a result
  int part = 0;                     // of a tuple: which of the tensors and storages that it reaches
};
struct CallMoment {
  std::uint64_t time = 0;  // before the call
  Pc pc = 0;
  std::size_t frame = 0;
  std::vector<Touch> args, results;
  std::uint64_t activation = 0;  // that makes it
  // Memory that it changed without being given it: a plugin had kept it.
  struct Elsewhere {
    Touch touch;
    ValuePath path;
  };
  std::vector<Elsewhere> elsewhere;
};

// A call of a function of the program. The memory that it is given is seen in the calls that the function makes.
struct EnterMoment {
  std::uint64_t time = 0;  // before the call; what the new activation is known by
  Pc pc = 0;
  std::size_t frame = 0;
  std::uint64_t activation = 0;  // that calls; the new one has the same frame if it takes its place
};

// Bytes of memory in the interval that ends at a time.
struct MemoryRange {
  std::size_t interval = 0;
  const runtime::Storage* memory = nullptr;
  std::int64_t begin = 0, end = 0;
};

// A command that set elements of a tensor.
struct CommandMoment {
  std::uint64_t time = 0;       // before the next instruction
  std::string target, text;     // "a[7]", "the command `set a[7] = 5`"
  FunctionIndex function = -1;  // of the frame
  const runtime::Storage* memory = nullptr;
  std::vector<std::pair<std::int64_t, std::int64_t>> bytes;  // of the storage
  bool overlaps(const MemoryRange& range) const;
};

class WriteHistory {
 public:
  // `time`: at which the first question is asked.
  WriteHistory(const Run& run, std::uint64_t time) : run_(run), time_(time) {}

  // The bytes of the tensor that a register reaches at that time. Nullopt: no history.
  std::optional<MemoryRange> now(const ValuePath& path, const runtime::Tensor& t);

  // Calls that were given or returned memory which overlaps the range, before a time, the latest first, until `f`
  // returns true, or until the memory was created. `range` follows the memory into earlier intervals. Commands that set
  // some of it come in between; `command` returns true: the search ends there.
  enum class End : std::uint8_t { Chosen, Command, Created, Start, Lost };
  using Choose = std::function<bool(const CallMoment&, const MemoryRange&)>;
  using ChooseCommand = std::function<bool(const CommandMoment&)>;
  End before(MemoryRange& range, std::uint64_t time, const Choose& f, const ChooseCommand& command);

  // ---- activations of functions, each known by the time at which it was called ----
  struct FoundCall {
    CallMoment call;
    std::size_t interval = 0;
  };
  // The last call at a pc in an activation, before a time and not before `since`.
  std::optional<FoundCall> last_call(Pc pc, std::uint64_t activation, std::uint64_t before, std::uint64_t since = 0);
  // The last call from a frame, of those behind one time and before another.
  std::optional<FoundCall> last_call_in(std::size_t frame, std::uint64_t behind, std::uint64_t before);
  // Where the last call of any kind from a frame was made, in that range.
  std::optional<Pc> last_place_in(std::size_t frame, std::uint64_t behind, std::uint64_t before);
  // The call that made an activation; nullopt: it is the outermost.
  std::optional<EnterMoment> entered_at(std::uint64_t activation);
  // The call of a function at a pc in an activation, before a time.
  std::optional<EnterMoment> last_entered(Pc pc, std::uint64_t activation, std::uint64_t before);
  // The first time behind one at which a frame, or one outside of it, makes a call; `limit`: there is none before.
  std::uint64_t next_in(std::size_t frame, std::uint64_t behind, std::uint64_t limit);

  // ---- forwards ----
  // Executes the intervals back to the one that holds a time; how many there are. 0: no history.
  std::size_t back_to(std::uint64_t time);
  const std::vector<CallMoment>& calls(std::size_t interval) const { return intervals_[interval].calls; }
  const std::vector<CommandMoment>& commands(std::size_t interval) const { return intervals_[interval].commands; }
  std::uint64_t begin_of(std::size_t interval) const { return intervals_[interval].begin; }
  // The interval in which a moment lies, of those executed.
  std::size_t interval_at(std::uint64_t time) const;
  // Where memory of an interval lies in the one after it; null: nothing holds it by then.
  const runtime::Storage* in_next(std::size_t interval, const runtime::Storage* memory) const;
  // A register that reaches it at the begin of an interval; nullopt: none.
  std::optional<ValuePath> path_at_begin(std::size_t interval, const runtime::Storage* memory) const;
  // The memory of a register at the begin of an interval, or at the time of the first question; null: none.
  const runtime::Storage* at_begin(std::size_t interval, const ValuePath& path) const;
  const runtime::Storage* at_end(const ValuePath& path) const;

  // The way to the memory at the time of the first question, if no call from `since` on that was given the range may
  // have written it. Only within the latest interval.
  std::optional<ValuePath> untouched(const MemoryRange& range, std::uint64_t since,
                                     const std::function<bool(const CallMoment&)>& may_write) const;

 private:
  struct Interval {
    std::uint64_t begin = 0, end = 0;
    std::map<const runtime::Storage*, ValuePath> at_begin;
    std::vector<std::pair<ValuePath, const runtime::Storage*>> at_end;
    std::vector<CallMoment> calls;
    std::vector<EnterMoment> entered;
    std::vector<CommandMoment> commands;  // behind its begin, up to its end
  };
  bool have(std::size_t interval);  // executes it if need be
  // Shows `f` the intervals back to a time, until it returns true.
  template <class F>
  bool search(std::uint64_t since, F&& f);
  std::optional<std::size_t> follow(MemoryRange& range);

  const Run& run_;
  std::uint64_t time_;
  std::vector<Interval> intervals_;  // the latest first
};

// The memory that a value reaches through tuples.
std::vector<Touch> memory_in(const runtime::Value& v, int arg);
// One of them: a tensor or a storage; null: there is none.
runtime::Value part_of(const runtime::Value& v, int part);

}  // namespace rldb::debug
