// CallLog: what the packed functions of one run gave, by time, so that executing a moment again does not call them
// again.
//
// A packed function may write files, draw random numbers, or keep state: what it did the first time is what happened.
// Kept are its result and what it left in its tensor arguments. A call whose result shares memory with an argument in
// another way than by being it, or which is larger than the limit, is not kept, and is made again. Shared by the copies
// of a machine; made by whoever wants to go back (debug). Idea: rr's recording of system calls.
#pragma once

#include <cstdint>
#include <map>

#include "rldb/vm/program.h"

namespace rldb::vm {

class CallLog {
 public:
  static constexpr std::size_t kLimit = std::size_t(64) << 20;  // bytes
  explicit CallLog(std::size_t limit = kLimit) : limit_(limit) {}

  // The call that is made at `time`: from the log, or really, and then it is kept.
  Result<Value> call(const Program& program, std::uint64_t time, const runtime::Function& function, PackedArgs args);
  // What happened at `time` or later happened in another way, or never.
  void forget_from(std::uint64_t time);
  std::size_t kept() const { return entries_.size(); }
  std::uint64_t not_kept() const { return not_kept_; }

 private:
  struct Entry {
    Value value;
    std::size_t argument = 0;                              // the result is this argument; npos: it is not
    std::vector<std::pair<std::size_t, Value>> arguments;  // tensors, as they were afterwards
    std::size_t bytes = 0;
  };
  Result<Value> replay(const Program& program, const Entry& entry, PackedArgs args) const;
  void keep(const Program& program, std::uint64_t time, const Value& result, PackedArgs args);

  std::map<std::uint64_t, Entry> entries_;
  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::uint64_t not_kept_ = 0;
};

}  // namespace rldb::vm
