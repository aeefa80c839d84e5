// ScalarLog: numbers by ascending time, a few bytes each: the distance from the time before, the kind, and the value,
// in blocks that are never moved. Reading is fast in ascending order, which is how a run is repeated. User: CallLog.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::vm {

class ScalarLog {
 public:
  // Null, Int, Bool, Float.
  static bool holds(const runtime::Value& v) {
    return v.is(runtime::ValueKind::Int) || v.is(runtime::ValueKind::Null) || v.is(runtime::ValueKind::Bool) ||
           v.is(runtime::ValueKind::Float);
  }

  // `time` is later than all recorded so far.
  void add(std::uint64_t time, const runtime::Value& value);
  std::optional<runtime::Value> find(std::uint64_t time);
  void forget_from(std::uint64_t time);
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return blocks_.size() * kBlock; }
  bool empty() const { return count_ == 0; }
  std::uint64_t last_time() const { return last_time_; }  // for a log that is not empty

 private:
  static constexpr std::size_t kBlock = 16 << 10;
  static constexpr std::size_t kMostBytes = 21;  // of a record: a byte, a distance, a value
  struct Block {
    std::uint64_t before = 0;  // the first record's distance is from here
    std::size_t used = 0, count = 0;
    std::unique_ptr<std::uint8_t[]> data;
  };
  // A position between records.
  struct Cursor {
    std::size_t block = 0, at = 0, read = 0;
    std::uint64_t time = 0;  // of the record before
  };
  struct Record {
    std::uint64_t time;
    runtime::Value value;
  };
  Record read(Cursor& c) const;
  bool at_end(const Cursor& c) const { return c.at == blocks_[c.block].used; }
  Cursor before(std::uint64_t time) const;  // before the first record at `time` or later in its block

  std::vector<Block> blocks_;
  Cursor next_;  // where the last search ended
  std::uint64_t last_time_ = 0;
  std::size_t count_ = 0;
};

}  // namespace rldb::vm
