// Collector: turns the beginnings and ends of calls into the rows, paths, spans and memory points of a profile.
//
// Whoever observes a run makes the rows for what it meets, and calls `enter` and `leave` in the order of the calls; a
// run that stops half-way is closed by `finish`. The clock can be stopped (`pause`), for work of the observer and while
// other ranks run. Bounded: paths, spans and memory points have limits, beyond which they are merged or counted.
#pragma once

#include <chrono>
#include <optional>
#include <unordered_map>
#include <vector>

#include "rldb/debug/profile.h"

namespace rldb::debug {

// The cost of a call, by its arguments.
struct CallCost {
  bool operations_known = false;
  bool bytes_known = false;
  double operations = 0;
  double bytes = 0;
  double attainable_ns = 0;
  std::optional<SimulatedTime> simulated;  // nullopt: no costs are given for it
};

class Collector {
 public:
  explicit Collector(Profile& profile) : profile_(profile) {}

  void begin_run();  // the clock runs until `end_run`
  void end_run();    // closes what is open; nothing if no run is in progress
  bool running() const { return running_; }
  bool simulates() const { return !profile_.devices.empty(); }
  void enter(int callee, int binding, CallKind kind, const CallCost& cost = {}, int shapes = -1);
  // `simulated`: of a copy, whose costs are known when it has ended.
  void leave(double more_bytes = 0, const std::optional<SimulatedTime>& simulated = {});
  // The two innermost calls end, and the innermost goes on in place of its caller: a tail call.
  void replace_caller();
  std::size_t depth() const { return open_.size(); }
  void pause();
  void resume();
  int add_binding(ProfileRow row);
  int add_callee(std::string name, CallKind kind);

 private:
  struct Open {
    int node, callee, binding;
    CallKind kind;
    std::uint64_t begin, inside;
    CallCost cost;
    int shapes;
    int outer;  // the path of the enclosing call of the same function; -1: none
  };
  struct Key {
    int parent, callee, binding;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = std::uint64_t(std::uint32_t(k.parent)) * 0x9E3779B97F4A7C15u;
      h = (h ^ std::uint32_t(k.callee)) * 0x9E3779B97F4A7C15u;
      return std::size_t((h ^ std::uint32_t(k.binding)) * 0x9E3779B97F4A7C15u >> 7);
    }
  };
  static std::uint64_t clock() {
    return std::uint64_t(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
  }
  std::uint64_t now() const { return clock() - origin_; }
  int node_for(int parent, int callee, int binding);
  void sample_memory(std::uint64_t at, int binding);
  void close(std::uint64_t at, double more_bytes);
  void add_span(const Open& o, std::uint64_t length);

  Profile& profile_;
  bool running_ = false;
  std::vector<Open> open_;
  std::unordered_map<Key, int, Hash> nodes_;
  std::vector<int> inside_node_;       // by callee: the path of its innermost call in progress; -1: none
  std::vector<std::uint32_t> active_;  // by path: calls in progress
  std::vector<std::uint32_t> active_callee_, active_binding_;
  std::uint64_t origin_ = 0;  // of the clock
  std::uint64_t paused_ = 0;  // since then; 0: it runs
  std::uint64_t before_ = 0;  // the clock at the end of the last run
  std::size_t base_bytes_ = 0;
  std::size_t own_bytes_ = 0;
  std::uint64_t thinned_ = 1;  // runs of that many memory points are one
  std::uint64_t skipped_ = 0;
};

// Nanoseconds that observing one call costs on this machine.
double cost_of_observing();

}  // namespace rldb::debug
