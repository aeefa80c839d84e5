// Canonicaliser: the implementation of Analyzer. Expressions of int32 and int64 go to Poly and back; everything else is
// rewritten child by child.
//
// Two forms: the one for proofs multiplies sums out and sorts their terms, so that equal sums are equal nodes; the
// one for text leaves products of sums alone and keeps the order of the program, as TVM's simplifier writes them.
//
// As in TVM, arithmetic of int32 and int64 is assumed not to overflow, and divisors not to be zero.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/arith/poly.h"
#include "ir/build/context_tables.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/comparison.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::arith {

enum class Form : std::uint8_t { Proof, Text };

class Canonicaliser {
 public:
  // `prover`: decides comparisons for the text form.
  Canonicaliser(Context& ctx, Form form, Canonicaliser* prover = nullptr) : ctx_(ctx), form_(form), prover_(prover) {}

  void bind(const Var* v, Bounds b);
  void bind_range(const Var* v, const Range& r);
  void end_range(const Var* v);
  void bind_value(const Var* v, const Expr* value);
  void assume(const Expr* condition);

  const Expr* simplify(const Expr* e);
  bool prove(const Expr* condition);
  bool prove_equal(const Expr* a, const Expr* b);
  bool prove_different(const Expr* a, const Expr* b);
  Bounds bounds(const Expr* e);

 private:
  friend class Simplifier;
  // Nesting beyond this is left as it is: an atom. (Chains of + - * with a literal do not nest.)
  static constexpr int kMaxDepth = 150;
  static constexpr std::size_t kMaxFacts = 64;

  // ---- canonical form (arith/canonical.cc) ----
  Poly to_poly(const Expr* e);
  Poly sum_poly(const Expr* e);
  Poly leaf_poly(const Expr* e);
  Poly atom(const Expr* e);
  Poly remember(const Expr* e, Poly p);
  Poly atom_or_const(const Expr* e);
  Poly atom_poly(std::uint32_t id) const { return Poly::of_atom(id, form_ == Form::Text); }
  Poly factor(const Expr* e);
  Poly expanded(const Poly& a, const Poly& b);
  std::size_t written_size(const Poly& p);
  Poly divide(const BinaryExpr* e);
  Poly truncated(const BinaryExpr* e, const Poly& a, const Poly& b);
  Poly floor_div(const Poly& a, const Poly& b, DType t);
  Poly floor_mod(const Poly& a, const Poly& b, DType t);
  bool stays_divided(const Poly& rest, const Poly& b);
  Poly rest_div(Poly r, const Poly& b, DType t);
  struct Digits {
    Poly high, low;
    std::int64_t step;  // the sum is high * step + low
  };
  std::optional<Digits> digits(const Poly& r, std::int64_t c);
  Poly rest_mod(Poly r, const Poly& b, DType t);
  Poly min_max(const BinaryExpr* e);
  Poly without_mods(const Poly& p, std::int64_t divisor);
  Poly merge_div_mod(Poly p, DType t);
  Poly expand_mods(const Poly& p, DType t, int depth = 0);
  const Expr* to_expr(const Poly& p, DType t);
  const Expr* built(const Poly& p, DType t);
  Poly in_text_order(Poly p);
  const Expr* monomial(const Term& t, std::int64_t coef, DType dtype);
  const Expr* canonical(const Expr* e);

  const Expr* comparison(Comparison op, const Expr* a, const Expr* b);
  void multiply_out(Poly& sum, Poly& literal, bool past);

  // ---- decisions (arith.cc) ----
  Canonicaliser& prover() { return prover_ ? *prover_ : *this; }
  std::optional<bool> decide(Comparison op, const Expr* a, const Expr* b);
  std::optional<bool> decide_zero(const Poly& d);
  bool known_to_differ(const Poly& d);
  bool non_negative(const Poly& p);
  bool non_negative_with(const Poly& p, std::size_t first_fact, int chain);
  void add_fact(const Expr* greater, const Expr* less, std::int64_t gap);
  void forget();

  // ---- bounds (arith/bounds.cc) ----
  Bounds bounds_of(const Poly& p);
  Bounds bounds_of_terms(const Poly& p);  // each term by itself
  Bounds bounds_of_term(const Term& t);
  Bounds bounds_of_atom(std::uint32_t id);
  Bounds compute_atom_bounds(const Expr* e);
  Bounds bounds_of_call(const Call* c);

  Context& ctx_;
  Form form_;
  Canonicaliser* prover_;
  std::vector<const Expr*> atoms_;
  std::vector<std::size_t> atom_sizes_;  // as written out
  InternTable<Expr> atom_table_;
  std::unordered_map<const Expr*, std::uint32_t> atom_ids_;
  std::unordered_map<const Var*, Bounds> var_bounds_;
  VarMap values_;
  std::unordered_set<const Var*> expanding_;
  std::vector<Poly> facts_;  // each is >= 0
  std::vector<const Expr*> conditions_;
  std::unordered_map<const Expr*, Poly> polys_;
  std::unordered_map<std::uint32_t, Bounds> atom_bounds_;
  int depth_ = 0;
};

// int32 or int64, one lane.
bool is_index(const Expr* e);
// No calls except those of intrinsics that give the same value for the same arguments.
bool is_pure(const Expr* e);

}  // namespace rldb::ir::arith
