#include "relay/passes/devices/domains.h"

#include <algorithm>
#include <utility>

namespace rldb::relay {

Domains::Id Domains::make() {
  nodes_.push_back({Id(nodes_.size()), kOpen, {}, false});
  return Id(nodes_.size()) - 1;
}

Domains::Id Domains::find(Id a) const {
  while (nodes_[a].parent != a) {
    nodes_[a].parent = nodes_[nodes_[a].parent].parent;
    a = nodes_[a].parent;
  }
  return a;
}

bool Domains::place(Id a, int device) {
  if (a == kNone) return true;
  Node& n = nodes_[find(a)];
  if (n.device == kOpen) n.device = device;
  return n.device == device;
}

// Each merge makes one domain of two, so that this ends also for values whose parts contain themselves.
bool Domains::merge(Id a, Id b) {
  bool good = true;
  std::vector<std::pair<Id, Id>> open{{a, b}};
  while (!open.empty()) {
    auto [x, y] = open.back();
    open.pop_back();
    if (x == kNone || y == kNone || (x = find(x)) == (y = find(y))) continue;
    Node &to = nodes_[x], &from = nodes_[y];
    if (to.device == kOpen) to.device = from.device;
    good = good && (from.device == kOpen || from.device == to.device);
    from.parent = x;
    const std::vector<Id> parts = std::exchange(from.parts, {});
    const std::size_t common = std::min(to.parts.size(), parts.size());
    for (std::size_t i = 0; i < common; ++i) open.emplace_back(to.parts[i], parts[i]);
    to.parts.insert(to.parts.end(), parts.begin() + std::ptrdiff_t(common), parts.end());
    to.uniform = to.uniform || from.uniform;
    if (to.uniform)
      for (const Id part : std::exchange(to.parts, {})) open.emplace_back(x, part);
  }
  return good;
}

bool Domains::make_uniform(Id a) {
  if (a == kNone) return true;
  const Id whole = make();
  nodes_[whole].uniform = true;
  return merge(a, whole);
}

std::vector<Domains::Id> Domains::parts(Id a, std::size_t count) {
  const Id root = find(a);
  if (nodes_[root].uniform) return std::vector<Id>(count, root);
  while (nodes_[root].parts.size() < count) {
    const Id part = make();
    nodes_[root].parts.push_back(part);
  }
  return nodes_[root].parts;
}

void Domains::set_parts(Id a, std::vector<Id> parts) {
  const Id whole = make();
  nodes_[whole].parts = std::move(parts);
  merge(a, whole);
}

}  // namespace rldb::relay
