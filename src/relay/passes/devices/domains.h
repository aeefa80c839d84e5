// Domains: values that have to be on one device. Domains are merged, and get a device at most once. That of a function
// has parts: those of its parameters, and that of its result; that of a tuple has those of its fields. A uniform domain
// is its own part: everything in such a value is on one device. Room-private.
#pragma once

#include <cstdint>
#include <vector>

namespace rldb::relay {

class Domains {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNone = ~Id(0);  // of what has no domain, as constants, which are wherever they are used
  static constexpr int kOpen = -1;

  Id make();
  Id find(Id a) const;
  // False: it has another device, which stays.
  bool place(Id a, int device);
  // False: the two have different devices; everything else is merged.
  bool merge(Id a, Id b);
  // False: parts of it have different devices.
  bool make_uniform(Id a);
  int device_of(Id a) const { return a == kNone ? kOpen : nodes_[find(a)].device; }

  // At least so many, made where they are not known yet. `a` may not be kNone.
  std::vector<Id> parts(Id a, std::size_t count);
  void set_parts(Id a, std::vector<Id> parts);

 private:
  struct Node {
    Id parent;
    int device = kOpen;
    std::vector<Id> parts;
    bool uniform = false;
  };
  mutable std::vector<Node> nodes_;
};

}  // namespace rldb::relay
