// Ranges of numbers in a PrimFunc: which generated integers would index a buffer out of its bounds, or divide by zero;
// which generated floats have a square root or a logarithm taken of them, as the variance of a batch norm has, and
// which are the weights of long sums.
//
// An abstract run: every integer expression is an interval and the set of generated arguments ("leaves") on which it
// depends. Where an index may be out of bounds, the leaves on which it depends are lowered by one after the round;
// where a divisor may be zero, they are made positive. The caller repeats the run until nothing is found.
//
// Apart from the prover (rldb/ir/arith.h), which knows what holds for every value of a variable: here the question is
// which argument a number came from, also through memory (contents of buffers, loops, calls), dims are numbers, and a
// wrong answer costs an input, not a program. Of the prover's rules only division of numbers is needed, and is shared
// (support/integer.h). Room-private; made_up.h is built on it.
#pragma once

#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::session {

// The range of a generated argument: integers in [low, high].
struct Leaf {
  std::int64_t low = 0;
  std::int64_t high = 9;
  std::int64_t reach = 0;  // the least extent that it indexes without arithmetic; 0: none
  bool vague = false;      // some index depends on it in a way that is not known
  bool positive = false;   // of floats: a root or a logarithm is taken of it
  bool packed = false;     // its bits are shifted or masked: several small numbers in one
  std::int64_t terms = 0;  // of floats: it is a factor in sums of so many products; 0: none
};

// An interval; `known` false: any number.
struct Interval {
  bool known = false;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::set<int> leaves;  // indices of the leaves on which it depends
  int same = -1;  // of floats: the leaf that it is, apart from added and multiplied numbers that are not negative
  bool not_negative = false;  // of floats

  static Interval of(std::int64_t low, std::int64_t high) { return {true, low, high, {}, -1, false}; }
};
Interval join(const Interval& a, const Interval& b);

// All leaves, and the accesses that no value of them makes valid.
struct Leaves {
  std::vector<Leaf> rows;
  std::unordered_set<const ir::Node*> hopeless;

  int add() {
    rows.push_back({});
    return int(rows.size()) - 1;
  }
  Interval interval(int leaf) const;
  // Found in a round: `index` of `at` has to be in [0, extent); `divisor` of `at` must not be zero.
  void bound(const Interval& index, std::int64_t extent, const ir::Node* at);
  void not_zero(const Interval& divisor, const ir::Node* at);
  // After a round: narrows the leaves by the findings. False when there were none.
  bool settle();
  // Remaining work; an analysis that takes longer than it is worth concludes nothing.
  std::int64_t budget = 1'000'000;

 private:
  using Found = std::unordered_map<const ir::Node*, std::set<int>>;  // the faults, and the leaves on which they depend
  Found outside_;
  Found zero_;
};

// One call: the values of the arguments by parameter, dims of tensors where they are known. On return `args` includes
// the values that the kernel wrote.
struct KernelArgument {
  Interval value;  // of a scalar, or of the elements of a tensor
  std::vector<std::int64_t> shape;
  bool has_shape = false;
};
void visit_kernel(const ir::PrimFunc* f, std::vector<KernelArgument>& args, Leaves& leaves);

// An integer expression whose variables `value` knows.
using VariableInterval = std::unordered_map<const ir::Var*, Interval>;
Interval interval_of(const ir::Expr* e, const VariableInterval& variables, Leaves& leaves);

}  // namespace rldb::session
