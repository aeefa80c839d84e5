// Checkpoints: when they are made, and which are dropped.
#include "debug/run/timeline.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "rldb/runtime/shared_memory.h"
#include "rldb/support/memory.h"

namespace rldb::debug {

namespace {

constexpr std::uint64_t kMinSpent = 500'000;     // ns of execution that a checkpoint must save
constexpr std::uint64_t kCostFactor = 10;        // checkpoints slow a run down by at most 10 %
constexpr std::uint64_t kLongReturn = 1;         // a way back is long from this many times the cost of a checkpoint
constexpr std::uint64_t kChunkTarget = 100'000;  // ns between two readings of the clock
constexpr std::uint64_t kMaxChunk = 1 << 16;
constexpr std::uint64_t kAgeShare = 8;  // a gap may be this part of its age
constexpr std::size_t kMaxPoints = 256;

}  // namespace

// Whoever gives the process more memory has larger values to go back over: a quarter of it, if that is more.
std::size_t Timeline::usual_limit() {
  constexpr std::size_t kLeast = std::size_t(512) << 20, kShare = 4, kMost = std::size_t(4) << 30;
  return std::max(kLeast, std::min(support::memory_limit() / kShare, kMost));
}

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

bool Timeline::begin(const vm::Machine& machine, std::size_t limit) {
  while (!points_.empty()) drop(points_.size() - 1);
  limit_ = limit;
  chunk_ = 64;
  spent_ = 0;
  snapshot_cost_ = 0;
  return add(machine);
}

bool Timeline::add(const vm::Machine& machine) {
  const std::uint64_t begin = now_ns();
  const std::uint64_t time = machine.instructions();
  const auto at = std::lower_bound(points_.begin(), points_.end(), time,
                                   [](const Point& p, std::uint64_t t) { return p.time < t; });
  if (at != points_.end() && at->time == time) return true;
  const std::size_t bytes = machine.snapshot_bytes();
  if (bytes > limit_) return false;
  const runtime::ForHistory of_history;
  auto copy = machine.snapshot();
  if (!copy.ok()) return false;  // no memory: keep only the existing history
  std::vector<vm::SharedBlock> blocks = vm::shared_blocks(*copy);
  present_ = 0;
  for (const vm::SharedBlock& b : blocks) {
    present_ += b.bytes;
    if (holders_[b.block]++ == 0) shared_ += b.bytes;
  }
  points_.insert(at, Point{time, bytes, std::move(copy).value(), std::move(blocks)});
  bytes_ += bytes;
  owning_before_ = runtime::owning_time();
  snapshot_cost_ = now_ns() - begin;
  return true;
}

void Timeline::ran(const vm::Machine& machine, std::uint64_t nanoseconds) {
  spent_ += nanoseconds;
  if (nanoseconds < kChunkTarget / 2 && chunk_ < kMaxChunk) chunk_ *= 2;
  if (nanoseconds > kChunkTarget * 2 && chunk_ > 1) chunk_ /= 2;
  if (points_.empty() || spent_ < std::max(kMinSpent, kCostFactor * cost_of_last())) return;
  // A frameless machine (finished, or a bare kernel) has nowhere to go back to.
  if (!machine.running() || machine.fault()) return;
  spent_ = 0;
  if (add(machine)) thin(machine.instructions());
}

void Timeline::pass(const vm::Machine& machine) {
  if (spent_ < std::max(kMinSpent, kLongReturn * cost_of_last()) || !machine.running() || machine.fault()) return;
  spent_ = 0;
  if (add(machine)) thin(machine.instructions());
}

void Timeline::before_end(const vm::Machine& machine) {
  if (points_.empty() || !machine.running() || machine.fault()) return;
  if (add(machine)) thin(machine.instructions());
}

void Timeline::drop(std::size_t i) {
  bytes_ -= points_[i].bytes;
  for (const vm::SharedBlock& b : points_[i].blocks)
    if (const auto it = holders_.find(b.block); --it->second == 0) {
      holders_.erase(it);
      shared_ -= b.bytes;
    }
  points_.erase(points_.begin() + std::ptrdiff_t(i));
}

// The run is short of memory for itself.
bool Timeline::give_up() {
  if (points_.size() <= (keepers_ > 0 ? 1 : 0)) return false;
  while (points_.size() > 2) drop(points_.size() - 2);
  drop(points_.size() - 1);
  return true;
}

void Timeline::forget_after(std::uint64_t time) {
  while (!points_.empty() && points_.back().time > time) drop(points_.size() - 1);
}

void Timeline::thin(std::uint64_t now) {
  auto age = [&](std::uint64_t t) { return t < now ? now - t : t - now; };
  for (std::size_t i = points_.size(); i-- > 2;) {
    // Without point i-1 the gap would be:
    const std::uint64_t gap = points_[i].time - points_[i - 2].time;
    if (gap < age(points_[i].time) / kAgeShare) drop(i - 1);
  }
  while (points_.size() > 2 && (bytes() > limit_ || points_.size() > kMaxPoints)) drop(least_needed(now));
  if (points_.size() == 2 && bytes() > limit_) drop(1);
  if (points_.size() == 1 && bytes() > limit_) drop(0);  // what the run has overwritten of its inputs alone is more
}

// The one, neither the first nor the last, without which the ways back stay the shortest. Gaps grow with the root of
// their age, so that with few checkpoints none is long.
std::size_t Timeline::least_needed(std::uint64_t now) const {
  std::size_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i + 1 < points_.size(); ++i) {
    const std::uint64_t end = points_[i + 1].time;
    const std::uint64_t age = end < now ? now - end : end - now;
    const double gap = double(end - points_[i - 1].time);
    if (const double need = gap * gap / double(age + 1); need <= least) best = i, least = need;
  }
  return best;
}

const vm::Machine* Timeline::at_or_before(std::uint64_t time) const {
  const auto at = std::upper_bound(points_.begin(), points_.end(), time,
                                   [](std::uint64_t t, const Point& p) { return t < p.time; });
  return at == points_.begin() ? nullptr : &std::prev(at)->machine;
}

}  // namespace rldb::debug
