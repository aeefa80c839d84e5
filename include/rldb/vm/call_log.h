// CallLog: the results of one run's packed functions, by time, so that re-executing a moment does not call them
// again.
//
// A packed function may write files, draw random numbers, or keep state: its effects at the first call are what counts.
// Recorded are its result and the final contents of its tensor arguments. A call with a tuple (its fields may change),
// one whose result shares memory with an argument without being it, and one over the limit are made again. A run
// may make millions of calls that return a number: these take a few bytes each (scalar_log.h). Shared by the copies of
// a machine; created by whoever needs to go back (debug). Idea: rr's recording of system calls.
//
// Foreign code can keep a tensor, and write to it in a later call that is not given it. Memory whose address somebody
// has (runtime/shared_memory.h) is compared before and after each call, and the changes are recorded by the way to it
// from a register. Memory that no register reaches is not followed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "rldb/vm/program.h"
#include "rldb/vm/scalar_log.h"
#include "rldb/vm/value_path.h"

namespace rldb::vm {

class CallLog {
 public:
  static constexpr std::size_t kLimit = std::size_t(64) << 20;  // bytes
  explicit CallLog(std::size_t limit = kLimit) : limit_(limit) {}

  // The call that is made at `time`: from the log, or really, in which case it is recorded. `machine`: the one that
  // makes it, null if there is none.
  Result<Value> call(const Program& program, std::uint64_t time, const runtime::Function& function, PackedArgs args,
                     const Machine* machine = nullptr);
  // Ways to memory that the call at `time` changed without being given it.
  std::vector<ValuePath> changed_elsewhere(std::uint64_t time) const;
  // Whatever happened at `time` or later did so differently, or never.
  void forget_from(std::uint64_t time);
  std::size_t kept() const { return entries_.size() + scalars_.count(); }
  std::uint64_t not_kept() const { return not_kept_; }

 private:
  // The final contents of a call's tensor arguments, by their index.
  using Written = std::vector<std::pair<std::size_t, Value>>;
  struct Entry {
    std::uint64_t time = 0;
    Value value;
    std::int32_t argument = -1;  // the result is this argument; -1: it is not
    std::unique_ptr<Written> written;
  };
  // Memory that foreign code had kept, and all of its bytes after the call.
  struct Elsewhere {
    ValuePath path;
    Ref<runtime::Storage> bytes;
  };
  void note_elsewhere(std::uint64_t time, std::vector<Elsewhere> changed);
  Result<support::Unit> write_elsewhere(std::uint64_t time, const Machine& m) const;
  Result<Value> call_really(const Program& program, std::uint64_t time, const runtime::Function& function,
                            PackedArgs args, const Machine* machine);
  const Entry* find(std::uint64_t time) const;
  std::size_t bytes() const { return bytes_ + scalars_.bytes(); }
  Result<Value> call_again(const Program& program, std::uint64_t time, const runtime::Function& function,
                           PackedArgs args);
  Result<Value> replay(const Program& program, const Entry& entry, PackedArgs args) const;
  bool keep(const Program& program, std::uint64_t time, const Value& result, PackedArgs args);

  std::vector<Entry> entries_;  // ascending times
  ScalarLog scalars_;
  std::map<std::uint64_t, std::vector<Elsewhere>> elsewhere_;  // by time
  std::uint64_t end_ = 0;                                      // after the last recorded call
  std::size_t limit_;
  std::size_t bytes_ = 0;  // of values; the entries themselves count too
  std::uint64_t not_kept_ = 0;
};

}  // namespace rldb::vm
