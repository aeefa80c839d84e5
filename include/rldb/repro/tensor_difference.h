// How two values differ: the first element, how many, by how much, and where NaN and infinity are on one side only.
//
// A tensor's tolerance depends on its dtype unless one was given: a float16 result of two correct programs differs by
// more than a float64 result. Integers and bools have to be equal. Users: compare, bisect, the sanitizers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rldb/repro/settings.h"
#include "rldb/runtime/value.h"

namespace rldb::repro {

// Units in the last place of a float of its dtype; infinity and NaN have none.
std::optional<std::uint64_t> ulp_distance(double a, double b, runtime::DType dtype);

struct TensorDifference {
  std::string kind;  // they cannot be compared by element: another kind, dtype or shape; empty: elements differ
  std::vector<std::size_t> path;    // fields of tuples that lead to the tensor
  std::vector<std::int64_t> first;  // index of the first element that differs
  double a = 0;                     // there, on either side
  double b = 0;
  std::int64_t different = 0;  // of `total` elements
  std::int64_t total = 0;
  double max_abs = 0;  // over the elements that are finite on both sides
  double max_rel = 0;
  std::uint64_t max_ulp = 0;          // 0 if not defined
  std::int64_t nan_a = 0, nan_b = 0;  // elements that are NaN on this side only
  std::int64_t inf_a = 0, inf_b = 0;
  std::int64_t opposite = 0;    // infinite on both sides, with other signs
  std::int64_t not_finite = 0;  // of `different`: not finite on one side or on both
  runtime::DType dtype;
};

// Rather than the dtypes' own.
bool are_given(const Tolerances& t);

// The first difference; nullopt: the values agree. `a` is the reference for the relative error.
std::optional<TensorDifference> difference(const runtime::Value& a, const runtime::Value& b, const Tolerances& t);

// Elements that are NaN on both sides: whether they agree is not known.
struct NanOnBoth {
  std::int64_t elements = 0;  // of all leaves
  std::int64_t total = 0;
  bool whole_leaf = false;  // some leaf consists of them
};
NanOnBoth nan_on_both(const runtime::Value& a, const runtime::Value& b);
std::string to_string(const NanOnBoth& n);  // `its result is NaN on both sides (8 of 8 elements)`

// One line: `[0, 2]: 3 vs 4; 5 of 12 elements differ, by at most 1 (abs), ...`. The first side comes first.
std::string to_string(const TensorDifference& d);

}  // namespace rldb::repro
