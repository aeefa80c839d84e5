// Timeline: checkpoints of one run, so that going back is cheap however long the run is.
//
// A checkpoint is a Machine::snapshot at a time (instructions completed); it contains no breakpoints. Large memory is
// shared with the run until the run writes it, so a checkpoint holds no more than what was written since. Checkpoints
// are made when enough has been executed since the last one to be worth it (wall-clock time, at least ten times the
// cost of a snapshot and of the copies that it leads to), and thinned by age: dense near the present, exponentially
// sparser further back, never the one at time 0. Their number and their bytes are bounded. Where checkpoints are never
// changes what a run computes. User: Run.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rldb/runtime/shared_memory.h"
#include "rldb/vm/kernel_writes.h"
#include "rldb/vm/machine.h"

namespace rldb::debug {

class Timeline {
 public:
  // Bytes: more where the process has more memory.
  static std::size_t usual_limit();

  Timeline() : reclaimer_([this] { return give_up(); }) {}
  // Discards everything and makes a checkpoint at the machine's current time. False: it would exceed the limit.
  bool begin(const vm::Machine& machine, std::size_t limit = usual_limit());
  // Reports that `nanoseconds` were spent executing up to the machine's place; makes a checkpoint when it is time.
  void ran(const vm::Machine& machine, std::uint64_t nanoseconds);
  // On the way back to a moment a little later: makes a checkpoint, if the way was long, for the next step back.
  void pass(const vm::Machine& machine);
  // The outermost function is about to return: makes a checkpoint.
  void before_end(const vm::Machine& machine);
  // How many instructions to run before asking again.
  std::uint64_t chunk() const { return chunk_; }

  // The latest checkpoint at or before a time; null when there is none.
  const vm::Machine* at_or_before(std::uint64_t time) const;
  // Discards checkpoints of a future that will not happen.
  void forget_after(std::uint64_t time);
  // The work since then is already covered: call when a machine was restored from a checkpoint.
  void restored() { spent_ = 0; }
  // Nanoseconds that going back to now would take: copying the last checkpoint, and the execution since.
  std::uint64_t cost_of_return() const { return cost_of_last() + spent_; }
  bool empty() const { return points_.empty(); }
  std::size_t size() const { return points_.size(); }
  // That it alone keeps: copies, and memory that the run has written since.
  std::size_t bytes() const { return bytes_ + (shared_ > present_ ? shared_ - present_ : 0); }
  std::size_t limit() const { return limit_; }
  std::uint64_t first_time() const { return points_.empty() ? 0 : points_.front().time; }

  // While one lives, the checkpoint at the beginning is not given up: a question for which there is no memory fails,
  // and the run keeps its history.
  class KeepStart {
   public:
    explicit KeepStart(const Timeline& t) : t_(t) { ++t_.keepers_; }
    ~KeepStart() { --t_.keepers_; }
    KeepStart(const KeepStart&) = delete;
    KeepStart& operator=(const KeepStart&) = delete;

   private:
    const Timeline& t_;
  };

 private:
  struct Point {
    std::uint64_t time;
    std::size_t bytes;
    vm::Machine machine;
    std::vector<vm::SharedBlock> blocks;
  };
  bool add(const vm::Machine& machine);
  void thin(std::uint64_t now);
  void drop(std::size_t i);
  std::size_t least_needed(std::uint64_t now) const;
  bool give_up();
  std::uint64_t cost_of_last() const { return snapshot_cost_ + (runtime::owning_time() - owning_before_); }

  std::vector<Point> points_;  // ascending times
  std::size_t bytes_ = 0;      // copied
  std::size_t shared_ = 0;     // of all blocks
  std::size_t present_ = 0;    // of these, what the run itself had at the last checkpoint
  std::unordered_map<const runtime::Object*, std::size_t> holders_;  // of a block: checkpoints
  std::size_t limit_ = 0;
  std::uint64_t chunk_ = 64;
  std::uint64_t spent_ = 0;          // since the last checkpoint
  std::uint64_t snapshot_cost_ = 0;  // nanoseconds, of the last one
  std::uint64_t owning_before_ = 0;  // owning_time() when it was made
  mutable int keepers_ = 0;
  runtime::Reclaimer reclaimer_;
};

std::uint64_t now_ns();

}  // namespace rldb::debug
