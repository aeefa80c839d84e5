// Arguments and results of operators' relations. Relations are rows of op.def by name; relations.cc has the table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/ops/solver.h"
#include "rldb/relay/ir/attributes.h"

namespace rldb::relay {

struct Outcome {
  const Type* type = nullptr;
  bool waits = false;  // for the type of an operand
  std::string wrong;

  static Outcome of(const Type* t) { return {t, false, {}}; }
  static Outcome wait() { return {nullptr, true, {}}; }
  static Outcome error(std::string why) { return {nullptr, false, std::move(why)}; }
};

using Dims = std::vector<Dim>;

class Operands : public Attributes {
 public:
  Operands(Context& ctx, Solver& solver, const Call& call, const OpInfo& op, std::vector<const Type*> types)
      : Attributes(call, op), ctx(ctx), solver(solver), types(std::move(types)) {}

  Context& ctx;
  Solver& solver;
  std::vector<const Type*> types;  // of the operands, heads resolved

  // The i-th operand as a tensor; null if it is not a tensor, or not known.
  const TensorType* tensor(std::size_t i) const { return i < types.size() ? as<TensorType>(types[i]) : nullptr; }
  // The fields of the i-th operand, a tuple of tensors; none if any part is not known.
  std::optional<std::vector<const TensorType*>> tensors(std::size_t i) const;
  // Waits when an operand is not known, and reports an error when one is not a tensor.
  std::optional<Outcome> need_tensors(std::size_t count) const;
};

using Relation = Outcome (*)(const Operands&);
Relation relation_of(OpId op);

// ---- helpers of relations ----
inline Dim known(std::int64_t value) { return {DimKind::Known, false, value, nullptr}; }
inline bool is_known(const Dim& d) { return d.kind == DimKind::Known; }
inline bool is_one(const Dim& d) { return is_known(d) && d.value == 1; }
// Unknown if either is, or if the product overflows.
inline Dim times(const Dim& a, const Dim& b) {
  std::int64_t made = 0;
  if (!is_known(a) || !is_known(b) || __builtin_mul_overflow(a.value, b.value, &made)) return Dim{};
  return known(made);
}
// Broadcasts two corresponding dims; none when they contradict each other.
std::optional<Dim> broadcast(const Dim& a, const Dim& b);
std::optional<Dims> broadcast(Span<Dim> a, Span<Dim> b);
// An axis that may be counted from the end; none when it is out of range.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
std::string out_of_range(std::int64_t axis, std::size_t rank);
std::string shape_text(Span<Dim> dims);
inline Dims dims_of(const TensorType& t) { return {t.shape.begin(), t.shape.end()}; }

}  // namespace rldb::relay
