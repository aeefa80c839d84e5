// Timeline: checkpoints of one run, so that going back is cheap however long the run is.
//
// A checkpoint is a Machine::snapshot at a time (instructions completed); it contains no breakpoints. Checkpoints are
// made when enough has been executed since the last one to be worth it (wall-clock time, at least ten times the cost of
// a snapshot), and thinned by age: dense near the present, exponentially sparser further back, never the one at time 0.
// Their number and their bytes are bounded. Where checkpoints are never changes what a run computes. User: Run.
#pragma once

#include <cstdint>
#include <vector>

#include "rldb/vm/machine.h"

namespace rldb::debug {

class Timeline {
 public:
  static constexpr std::size_t kDefaultLimit = std::size_t(512) << 20;

  // Discards everything and makes a checkpoint at the machine's current time. False: it would exceed the limit.
  bool begin(const vm::Machine& machine, std::size_t limit = kDefaultLimit);
  // Reports that `nanoseconds` were spent executing up to the machine's place; makes a checkpoint when it is time.
  void ran(const vm::Machine& machine, std::uint64_t nanoseconds);
  // On the way back to a moment a little later: makes a checkpoint, if the way was long, for the next step back.
  void pass(const vm::Machine& machine);
  // How many instructions to run before asking again.
  std::uint64_t chunk() const { return chunk_; }

  // The latest checkpoint at or before a time; null when there is none.
  const vm::Machine* at_or_before(std::uint64_t time) const;
  // Discards checkpoints of a future that will not happen.
  void forget_after(std::uint64_t time);
  // The work since then is already covered: call when a machine was restored from a checkpoint.
  void restored() { spent_ = 0; }
  // Nanoseconds that going back to now would take: copying the last checkpoint, and the execution since.
  std::uint64_t cost_of_return() const { return snapshot_cost_ + spent_; }
  bool empty() const { return points_.empty(); }
  std::size_t size() const { return points_.size(); }
  std::size_t bytes() const { return bytes_; }
  std::size_t limit() const { return limit_; }
  std::uint64_t first_time() const { return points_.empty() ? 0 : points_.front().time; }

 private:
  struct Point {
    std::uint64_t time;
    std::size_t bytes;
    vm::Machine machine;
  };
  bool add(const vm::Machine& machine);
  void thin(std::uint64_t now);
  void drop(std::size_t i);

  std::vector<Point> points_;  // ascending times
  std::size_t bytes_ = 0;
  std::size_t limit_ = kDefaultLimit;
  std::uint64_t chunk_ = 64;
  std::uint64_t spent_ = 0;          // since the last checkpoint
  std::uint64_t snapshot_cost_ = 0;  // nanoseconds, of the last one
};

std::uint64_t now_ns();

}  // namespace rldb::debug
