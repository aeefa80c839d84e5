// Products of matrices.
#include <fmt/format.h>

#include "onnx/ops/chain.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op_attr/combine_attr.h"

namespace rldb::onnx::bodies {

Made matmul(NodeContext& c) {
  Chain m(c);
  return m.done(m.matmul(m.in(0), m.in(1)));
}

// alpha * A @ B + beta * C
Made gemm(NodeContext& c) {
  Chain m(c);
  const auto turned = [&](std::size_t i, std::string_view name) {
    return c.integer(name, 0) != 0 ? m.permute(m.in(i), {1, 0}) : m.in(i);
  };
  const double alpha = c.real(key::Alpha, 1), beta = c.real(key::Beta, 1);
  const Expr* made = m.matmul(turned(0, key::TransA), turned(1, key::TransB));
  if (alpha != 1) made = m.mul(made, alpha);
  if (!c.has(2)) return m.done(made);
  return m.done(m.add(made, beta != 1 ? m.mul(m.in(2), beta) : m.in(2)));
}

Made einsum(NodeContext& c) {
  RLDB_TRY(const Exprs all, c.all());
  std::string equation = c.text(key::Equation, "");
  std::erase(equation, ' ');
  return c.emit(op::Einsum, {c.ctx.tuple(all)}, {{op_attr::Subscripts, c.ctx.attr(equation)}});
}

namespace {

// The matrix without the first row and one column.
const Expr* minor_of(Chain& m, const Expr* x, std::int64_t column, std::int64_t n, std::size_t rank) {
  const Expr* rows = m.slice(x, rank - 2, 1, n);
  if (column == 0) return m.slice(rows, rank - 1, 1, n);
  if (column == n - 1) return m.slice(rows, rank - 1, 0, n - 1);
  return m.join({m.slice(rows, rank - 1, 0, column), m.slice(rows, rank - 1, column + 1, n)}, std::int64_t(rank) - 1);
}

const Expr* element_of(Chain& m, const Expr* x, std::int64_t row, std::int64_t column, std::size_t rank) {
  const Dims all = m.dims(x);
  if (!m.good()) return nullptr;
  const Expr* one = m.slice(m.slice(x, rank - 2, row, row + 1), rank - 1, column, column + 1);
  return m.reshape(one, Dims(all.begin(), all.end() - 2));
}

// Expansion by the first row: for the small matrices that models have.
const Expr* determinant_of(Chain& m, const Expr* x, std::int64_t n, std::size_t rank) {
  if (n == 1) return element_of(m, x, 0, 0, rank);
  const Expr* sum = nullptr;
  for (std::int64_t k = 0; k < n; ++k) {
    const Expr* part = m.mul(element_of(m, x, 0, k, rank), determinant_of(m, minor_of(m, x, k, n, rank), n - 1, rank));
    sum = !sum ? part : k % 2 ? m.sub(sum, part) : m.add(sum, part);
  }
  return sum;
}

}  // namespace

Made determinant(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const std::size_t rank = m.rank(x);
  if (!m.good() || rank < 2) return m.done(m.fail("its operand is not a matrix"));
  const std::int64_t n = m.size(x, rank - 1), rows = m.size(x, rank - 2);
  RLDB_TRY_VOID(m.done(nullptr));
  constexpr std::int64_t kMostExpanded = 5;
  if (rows != n) return refuse(fmt::format("its matrix is not square: it is of {} x {}", rows, n));
  if (n > kMostExpanded)
    return refuse(fmt::format("its matrix has {} rows, and up to {} are translated", n, kMostExpanded));
  if (n == 0) {
    Dims batch = m.dims(x);
    batch.resize(rank - 2);
    return m.done(m.full(batch, m.dtype(x), 1));  // the empty product
  }
  return m.done(determinant_of(m, x, n, rank));
}

}  // namespace rldb::onnx::bodies
