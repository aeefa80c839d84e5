// Which tensors of one run correspond to which of another. Room-private.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
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
  // The event of a with the name, the function and the kind of computation of this one of b, whatever their values;
  // of several the one at the same turn.
  std::size_t namesake(std::size_t b) const;
  // This event of b has the value of an event of a that keeps its own name in b, while the namesake of this one
  // has no equal: it is not that tensor under a new name, but a tensor that became equal to another.
  bool became_equal_to_another(std::size_t b) const;
  bool same_value(const Event& a, const Event& b) const;
  // An event of a has the value of this one of b by the same computation of equal tensors, or as a parameter too.
  bool is_computed_alike(std::size_t b) const;

 private:
  bool same_origin(const Event& a, const Event& b) const;
  bool reads_the_same(const Event& a, const Event& b) const;
  int likeness(const Event& a, const Event& b) const;
  std::size_t find_equal(std::size_t b) const;

  ir::Context& ctx_;
  const Trace& a_;
  const Trace& b_;
  const Tolerances& tolerances_;
  using ByName = std::unordered_map<std::string, std::vector<std::size_t>>;
  ByName by_name_;                                                     // of a
  ByName by_name_b_;                                                   // of b
  std::unordered_map<std::size_t, std::vector<std::size_t>> by_type_;  // of a
  std::unordered_set<std::string_view> functions_of_both_;
  std::vector<std::size_t> equal_;
  std::vector<bool> taken_;  // of a: some event of b has an equal value
};

// A kernel's name without the numbers that make it unique: `add12` is `add`.
std::string_view stem(std::string_view callee);

}  // namespace rldb::repro
