// Elementwise functions of arrays in conditions.
#include "debug/kernel/array_part.h"

#include "rldb/ir/equal.h"
#include "rldb/support/check.h"

namespace rldb::debug {

using ir::Expr;

namespace {

// NumPy's rule. Dims that cannot be compared here have no form.
const Expr* broadcast_dim(const Expr* a, const Expr* b) {
  if (ir::is_const(a, 1)) return b;
  if (ir::is_const(b, 1) || ir::structural_equal(a, b)) return a;
  throw NoForm{};
}

std::vector<const Expr*> broadcast_shape(const std::vector<ConditionPart>& parts) {
  std::vector<const Expr*> shape;
  for (const ConditionPart& p : parts) {
    if (!p.array) continue;
    const auto& own = p.array->shape;
    if (own.size() > shape.size()) shape.insert(shape.begin(), own.size() - shape.size(), nullptr);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Expr*& dim = shape[shape.size() - own.size() + i];
      dim = dim ? broadcast_dim(dim, own[i]) : own[i];
    }
  }
  return shape;
}

}  // namespace

ConditionPart map_elements(ir::Context& ctx, OperandMath& math, std::vector<ConditionPart> parts,
                           std::function<Operand(std::span<const Operand>)> f) {
  std::vector<const Expr*> shape = broadcast_shape(parts);
  if (shape.empty()) {
    std::vector<Operand> operands;
    for (ConditionPart& p : parts) operands.push_back(p.one);
    return {f(operands), std::nullopt};
  }
  const Expr* bad = nullptr;
  for (ConditionPart& p : parts) {
    bad = math.either(bad, p.array ? p.array->bad : p.one.bad);
    p.one.bad = nullptr;
  }
  const std::vector<const Expr*> first(shape.size(), ctx.i64(0));
  ArrayPart out{std::move(shape), {}, bad};
  out.at = [&ctx, parts = std::move(parts), f = std::move(f)](std::span<const Expr* const> index) {
    std::vector<Operand> operands;
    for (const ConditionPart& p : parts) {
      if (!p.array) {
        operands.push_back(p.one);
        continue;
      }
      std::vector<const Expr*> own;
      const std::size_t rank = p.array->shape.size();
      for (std::size_t i = 0; i < rank; ++i)
        own.push_back(ir::is_const(p.array->shape[i], 1) ? static_cast<const Expr*>(ctx.i64(0))
                                                         : index[index.size() - rank + i]);
      operands.push_back(p.array->at(own));
    }
    return f(operands);
  };
  // Elements have no errors of their own: what is bad of one is bad of all, a number that does not fit their dtype.
  const Operand sample = out.at(first);
  RLDB_CHECK(sample.is_bool() || sample.is_element(), "elements of an array have a dtype");
  out.bad = math.either(out.bad, sample.bad);
  out.at = [at = std::move(out.at)](std::span<const Expr* const> index) {
    Operand made = at(index);
    made.bad = nullptr;
    return made;
  };
  return {{}, std::move(out)};
}

}  // namespace rldb::debug
