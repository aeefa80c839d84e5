// Arith: the integer simplifier: canonical sums of products, proofs of equality and order, constant bounds.
//
// Proves n * m == m * n, (n + 1) * 4 - 4 == 4 * n, n // 4 * 4 + n % 4 == n, and bounds from known facts about
// variables (shape variables are >= 0; loop variables have ranges). Sound, not complete: "cannot prove" is not "false".
// Idea and names: TVM's arith::Analyzer. Users: type inference, verifier, passes, codegen.
#pragma once

#include <optional>
#include <unordered_map>

#include "rldb/ir/context.h"

namespace rldb::ir {

struct Bounds {  // inclusive; nullopt: unbounded
  std::optional<std::int64_t> min;
  std::optional<std::int64_t> max;
};

class Analyzer {
 public:
  explicit Analyzer(Context& ctx);
  ~Analyzer();
  Analyzer(const Analyzer&) = delete;
  Analyzer& operator=(const Analyzer&) = delete;

  // Known facts about a variable. A variable that was never bound is unbounded.
  void bind(const Var* v, Bounds bounds);
  void bind_range(const Var* v, const Range& range);
  // After the loop of `v`: forgets what holds only inside it, e.g. that its extent is positive.
  void end_range(const Var* v);
  void bind_value(const Var* v, const Expr* value);  // v == value
  void mark_non_negative(const Var* v) { bind(v, {0, std::nullopt}); }
  void assume(const Expr* condition);  // an enclosing `if`; scoping, by copying bounds, is the caller's responsibility

  const Expr* simplify(const Expr* e);
  bool prove_equal(const Expr* a, const Expr* b);
  bool prove(const Expr* condition);  // a bool expression
  // Definitely different for every value of the variables.
  bool prove_different(const Expr* a, const Expr* b);
  Bounds bounds(const Expr* e);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Dim by dim, with a fresh Analyzer that takes shape variables as >= 0.
bool prove_shapes_equal(Context& ctx, std::span<const Expr* const> a, std::span<const Expr* const> b);

}  // namespace rldb::ir
