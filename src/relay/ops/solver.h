// Unification: holes get values, and two types become the type that both allow (`?` with 3 is `?`).
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "rldb/relay/ir/context.h"

namespace rldb::relay {

using TypeMap = std::unordered_map<const Type*, const Type*>;

class Solver {
 public:
  explicit Solver(Context& ctx) : ctx_(ctx) {}

  // The type as far as it is known: its head is a hole only when nothing is known.
  const Type* head(const Type* t) const;
  // With every hole that has a value replaced.
  const Type* resolved(const Type* t);
  // Null when the two cannot be unified.
  const Type* unify(const Type* a, const Type* b);
  // A function type with fresh holes for its type parameters.
  const FunctionType* instantiate(const FunctionType* f);
  const Type* substitute(const Type* t, const TypeMap& map);
  // Counts up whenever a hole gets a value.
  std::size_t progress() const { return progress_; }

 private:
  // Deeper types than this come only from contrived texts: they are not unified.
  static constexpr int kMaxDepth = 500;

  const Type* unify(const Type* a, const Type* b, int depth);
  const Type* bind(const Type* hole, const Type* t);
  const Type* unify_tensors(const TensorType& a, const TensorType& b);
  const Type* unify_functions(const FunctionType* a, const FunctionType* b, int depth);
  std::optional<std::vector<const Type*>> unify_lists(Span<const Type*> a, Span<const Type*> b, int depth);
  bool occurs(const Type* hole, const Type* t);
  const Type* rebuilt(const Type* t, const TypeMap* map, TypeMap& done, int depth);

  Context& ctx_;
  std::unordered_map<const Type*, const Type*> values_;  // of holes
  std::size_t progress_ = 0;
};

}  // namespace rldb::relay
