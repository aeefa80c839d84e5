// A stack of calls in progress; a call that ends is added to its rows, its path, the spans.
#include "debug/profile/collector.h"

#include <algorithm>

namespace rldb::debug {

namespace {

constexpr std::size_t kMostPaths = 100'000;
constexpr std::size_t kMostMemoryPoints = 4'096;

}  // namespace

std::string_view to_string(CallKind kind) {
  switch (kind) {
    case CallKind::Function:
      return "function";
    case CallKind::Kernel:
      return "kernel";
    case CallKind::Builtin:
      return "builtin";
    case CallKind::Packed:
      return "packed";
  }
  return {};
}

int Collector::add_binding(ProfileRow row) {
  profile_.bindings.push_back(std::move(row));
  active_binding_.push_back(0);
  return int(profile_.bindings.size()) - 1;
}

int Collector::add_callee(std::string name, CallKind kind) {
  ProfileRow row;
  row.name = std::move(name);
  row.kind = kind;
  profile_.callees.push_back(std::move(row));
  active_callee_.push_back(0);
  inside_node_.push_back(-1);
  return int(profile_.callees.size()) - 1;
}

void Collector::begin_run() {
  if (profile_.tree.empty()) {
    profile_.tree.emplace_back();
    active_.push_back(0);
  }
  base_bytes_ = runtime::memory_in_use();
  own_bytes_ = 0;
  paused_ = 0;
  running_ = true;
  origin_ = clock() - before_;
}

void Collector::end_run() {
  if (!running_) return;
  running_ = false;
  if (paused_ != 0) resume();
  const std::uint64_t at = now();
  while (!open_.empty()) close(at, 0);
  sample_memory(at, -1);
  before_ = at;
  profile_.wall_ns = at;
  profile_.tree[0].calls = ++profile_.runs;
  profile_.tree[0].total_ns = at;
}

void Collector::pause() {
  if (paused_ != 0) return;
  paused_ = clock();
  own_bytes_ = runtime::memory_in_use() - std::min(base_bytes_, runtime::memory_in_use());
}

void Collector::resume() {
  if (paused_ == 0) return;
  const std::size_t in_use = runtime::memory_in_use();
  base_bytes_ = in_use - std::min(own_bytes_, in_use);
  origin_ += clock() - paused_;
  paused_ = 0;
}

int Collector::node_for(int parent, int callee, int binding) {
  const auto found = nodes_.find({parent, callee, binding});
  if (found != nodes_.end()) return found->second;
  if (profile_.tree.size() >= kMostPaths) return parent;  // counted as the caller's own
  const int made = int(profile_.tree.size());
  profile_.tree.push_back({parent, callee, binding});
  active_.push_back(0);
  nodes_.emplace(Key{parent, callee, binding}, made);
  return made;
}

void Collector::enter(int callee, int binding, CallKind kind, const CallCost& cost, int shapes) {
  const int parent = open_.empty() ? 0 : open_.back().node;
  int& inside = inside_node_[std::size_t(callee)];
  // A recursive call continues the path of the outer one.
  const int node = kind == CallKind::Function && inside >= 0 ? inside : node_for(parent, callee, binding);
  ++active_[std::size_t(node)];
  ++active_callee_[std::size_t(callee)];
  if (binding >= 0) ++active_binding_[std::size_t(binding)];
  open_.push_back({node, callee, binding, kind, 0, 0, cost, shapes, inside});
  inside = node;
  const std::uint64_t at = now();
  sample_memory(at, binding);
  open_.back().begin = at;
}

void Collector::leave(double more_bytes, const std::optional<SimulatedTime>& simulated) {
  if (open_.empty()) return;
  if (simulated) open_.back().cost.simulated = simulated;
  const std::uint64_t at = now();
  sample_memory(at, open_.back().binding);
  close(at, more_bytes);
}

void Collector::close(std::uint64_t at, double more_bytes) {
  const Open o = open_.back();
  open_.pop_back();
  const std::uint64_t length = at - o.begin, self = length - std::min(length, o.inside);
  if (!open_.empty()) open_.back().inside += length;
  inside_node_[std::size_t(o.callee)] = o.outer;

  ProfileNode& node = profile_.tree[std::size_t(o.node)];
  ++node.calls;
  node.self_ns += self;
  if (--active_[std::size_t(o.node)] == 0) node.total_ns += length;

  ProfileCounts& callee_counts = profile_.callees[std::size_t(o.callee)].counts;
  const bool costed = o.cost.operations_known, moving = o.cost.bytes_known || more_bytes > 0;
  const auto add = [&](ProfileCounts& c, bool own, bool outermost) {
    ++(o.kind == CallKind::Builtin && &c != &callee_counts ? c.builtin_calls : c.calls);
    if (outermost) c.total_ns += length;
    if (!own) return;
    c.self_ns += self;
    c.operations += o.cost.operations;
    c.bytes += o.cost.bytes + more_bytes;
    if (costed) c.costed_ns += self;
    if (moving) c.moving_ns += self;
    if (costed) c.attainable_ns += o.cost.attainable_ns;
    if (o.cost.simulated)
      c.simulated.add(*o.cost.simulated);
    else
      c.simulated.measured += double(self);
  };
  add(callee_counts, true, --active_callee_[std::size_t(o.callee)] == 0);
  // The work of a function between its calls belongs to no binding.
  if (o.binding >= 0)
    add(profile_.bindings[std::size_t(o.binding)].counts, o.kind != CallKind::Function,
        --active_binding_[std::size_t(o.binding)] == 0);
  ++profile_.calls;
  add_span(o, length);
}

void Collector::add_span(const Open& o, std::uint64_t length) {
  if (profile_.spans.size() >= kMostSpans) {
    ++profile_.spans_left_out;
    return;
  }
  profile_.spans.push_back({o.begin, length, o.callee, o.binding, o.shapes});
}

void Collector::replace_caller() {
  if (open_.size() < 2) return;
  // The call was entered below its caller: it is taken back.
  const Open callee = open_.back();
  open_.pop_back();
  --active_[std::size_t(callee.node)];
  --active_callee_[std::size_t(callee.callee)];
  if (callee.binding >= 0) --active_binding_[std::size_t(callee.binding)];
  inside_node_[std::size_t(callee.callee)] = callee.outer;
  close(now(), 0);
  enter(callee.callee, callee.binding, callee.kind, callee.cost, callee.shapes);
}

void Collector::sample_memory(std::uint64_t at, int binding) {
  const std::size_t in_use = runtime::memory_in_use();
  const std::uint64_t bytes = in_use - std::min(base_bytes_, in_use);
  std::vector<MemoryPoint>& points = profile_.memory;
  if (!points.empty() && points.back().bytes == bytes) return;
  if (bytes > profile_.peak_bytes) {
    profile_.peak_bytes = bytes;
    profile_.peak_at_ns = at;
    profile_.peak_binding = binding;
  }
  if (!points.empty() && ++skipped_ < thinned_) {  // of those that are merged the highest is kept
    if (bytes > points.back().bytes) points.back() = {at, bytes};
    return;
  }
  skipped_ = 0;
  points.push_back({at, bytes});
  if (points.size() < kMostMemoryPoints) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i + 1 < points.size(); i += 2)
    points[kept++] = points[i].bytes >= points[i + 1].bytes ? points[i] : points[i + 1];
  points.resize(kept);
  thinned_ *= 2;
}

double cost_of_observing() {
  constexpr int kPairs = 20'000;
  Profile scratch;
  Collector collector(scratch);
  const int callee = collector.add_callee("callee", CallKind::Kernel), binding = collector.add_binding({});
  collector.begin_run();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kPairs; ++i) {
    collector.enter(callee, binding, CallKind::Kernel);
    collector.leave();
  }
  const auto end = std::chrono::steady_clock::now();
  collector.end_run();
  return std::chrono::duration<double, std::nano>(end - begin).count() / kPairs;
}

}  // namespace rldb::debug
