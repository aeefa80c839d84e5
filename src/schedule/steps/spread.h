// Recognises convolutions of an input that is spread out: zeros between its elements, then around them (transposed
// convolutions). Internal to the room.
#pragma once

#include <algorithm>

#include "schedule/nest.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

// A dimension of the input with `by - 1` zeros between two elements, and `before` zeros before the first. It is
// accessed at place + tap.
struct Spread {
  std::size_t dim;
  std::int64_t by, before, taps;
  const ir::IterVar *place, *tap;
};

struct SpreadConv {
  // Whether all phases have as many taps.
  bool is_even() const {
    return std::all_of(spread.begin(), spread.end(), [](const Spread& s) { return s.taps % s.by == 0; });
  }

  ReductionNest nest;                      // sums of padded * kernel, in float32, from 0
  std::vector<std::size_t> stages;         // the statements that only make `padded`
  std::vector<ElementwiseNest> fills;      // in them: `padded`, then what that reads unless it is the input
  const ir::BufferLoad* input = nullptr;   // what is spread
  const ir::Buffer* padded = nullptr;      // what the nest reads
  const ir::BufferLoad* weight = nullptr;  // the other operand, with taps as whole indices
  const ir::Buffer* kernel = nullptr;      // has all elements of that
  std::vector<Spread> spread;              // ascending dimensions
  std::vector<const ir::Expr*> padded_shape;
  std::vector<std::int64_t> before;  // of each dimension of `padded`
  std::vector<bool> is_padded;
};

// Statement number `at` of a block, if it is the nest of one.
std::optional<SpreadConv> match_spread_conv(const Scene& scene, const ir::SBlock* block,
                                            ir::Span<const ir::Stmt*> stmts, std::size_t at);

}  // namespace rldb::schedule
