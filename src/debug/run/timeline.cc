// Checkpoints: when they are made, and which are dropped.
#include "debug/run/timeline.h"

#include <algorithm>
#include <chrono>

#include "rldb/support/memory.h"

namespace rldb::debug {

namespace {

constexpr std::uint64_t kMinSpent = 500'000;     // ns of execution that a checkpoint must save
constexpr std::uint64_t kCostFactor = 10;        // checkpoints slow a run down by at most 10 %
constexpr std::uint64_t kLongReturn = 4;         // a way back is long from this many times the cost of a checkpoint
constexpr std::uint64_t kChunkTarget = 100'000;  // ns between two readings of the clock
constexpr std::uint64_t kMaxChunk = 1 << 16;
constexpr std::uint64_t kAgeShare = 8;  // a gap may be this part of its age
constexpr std::size_t kMaxPoints = 256;

// Whoever gives the process more memory has larger values to go back over: a quarter of it, if that is more than was
// asked for.
std::size_t with_memory_at_hand(std::size_t limit) {
  constexpr std::size_t kShare = 4, kMost = std::size_t(4) << 30;
  return std::max(limit, std::min(support::memory_limit() / kShare, kMost));
}

}  // namespace

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

bool Timeline::begin(const vm::Machine& machine, std::size_t limit) {
  points_.clear();
  bytes_ = 0;
  limit_ = with_memory_at_hand(limit);
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
  auto copy = machine.snapshot();
  if (!copy.ok()) return false;  // no memory: keep only the existing history
  points_.insert(at, Point{time, bytes, std::move(copy).value()});
  bytes_ += bytes;
  snapshot_cost_ = now_ns() - begin;
  return true;
}

void Timeline::ran(const vm::Machine& machine, std::uint64_t nanoseconds) {
  spent_ += nanoseconds;
  if (nanoseconds < kChunkTarget / 2 && chunk_ < kMaxChunk) chunk_ *= 2;
  if (nanoseconds > kChunkTarget * 2 && chunk_ > 1) chunk_ /= 2;
  if (points_.empty() || spent_ < std::max(kMinSpent, kCostFactor * snapshot_cost_)) return;
  // A frameless machine (finished, or a bare kernel) has nowhere to go back to.
  if (!machine.running() || machine.fault()) return;
  spent_ = 0;
  if (add(machine)) thin(machine.instructions());
}

void Timeline::pass(const vm::Machine& machine) {
  if (spent_ < std::max(kMinSpent, kLongReturn * snapshot_cost_) || !machine.running() || machine.fault()) return;
  spent_ = 0;
  if (add(machine)) thin(machine.instructions());
}

void Timeline::drop(std::size_t i) {
  bytes_ -= points_[i].bytes;
  points_.erase(points_.begin() + std::ptrdiff_t(i));
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
  // Over a hard limit: every second one is dropped, except the first and the last.
  while (points_.size() > 2 && (bytes_ > limit_ || points_.size() > kMaxPoints)) {
    for (std::size_t i = points_.size() - 1; i > 1; i -= std::min<std::size_t>(i, 2))
      if (i - 1 > 0) drop(i - 1);
  }
  if (points_.size() == 2 && bytes_ > limit_) drop(1);
}

const vm::Machine* Timeline::at_or_before(std::uint64_t time) const {
  const auto at = std::upper_bound(points_.begin(), points_.end(), time,
                                   [](std::uint64_t t, const Point& p) { return t < p.time; });
  return at == points_.begin() ? nullptr : &std::prev(at)->machine;
}

}  // namespace rldb::debug
