// Which tensors of one run correspond to which of another. Room-private.
#pragma once

#include <unordered_map>
#include <vector>

#include "rldb/repro/tensor_difference.h"
#include "rldb/repro/trace.h"

namespace rldb::repro {

class Matcher {
 public:
  Matcher(ir::Context& ctx, const Trace& a, const Trace& b, const Tolerances& tolerances);

  // By event of b: the event of a with an equal value; kNoEvent: none.
  const std::vector<std::size_t>& equal() const { return equal_; }
  // An event of a without an equal that is paired with this one of b nevertheless: by provenance, name or structure.
  // The more of these agree, the more certain the pair.
  static constexpr int kLikely = 3;
  static constexpr int kSure = 6;
  std::size_t counterpart(std::size_t b, int least = kLikely) const;
  bool agrees(const Reading& r) const { return r.event != kNoEvent && !r.overwritten && equal_[r.event] != kNoEvent; }

 private:
  bool same_value(const Event& a, const Event& b) const;
  bool same_origin(const Event& a, const Event& b) const;
  bool reads_the_same(const Event& a, const Event& b) const;
  int likeness(const Event& a, const Event& b) const;
  std::size_t find_equal(std::size_t b) const;

  ir::Context& ctx_;
  const Trace& a_;
  const Trace& b_;
  const Tolerances& tolerances_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_name_;  // of a
  std::unordered_map<std::size_t, std::vector<std::size_t>> by_type_;  // of a
  std::vector<std::size_t> equal_;
  std::vector<bool> taken_;  // of a: some event of b has an equal value
};

// A kernel's name without the numbers that make it unique: `add12` is `add`.
std::string_view stem(std::string_view callee);

}  // namespace rldb::repro
