// `@` and dot: products of vectors and matrices.
#include <fmt/format.h>

#include "rldb/expression/array.h"

namespace rldb::expression {

using runtime::DType;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using support::Ref;

namespace {

struct Product {
  std::int64_t rows, inner, columns;
};

// One matrix by another, both dense, at flat indices.
template <class C>
void multiply(const Tensor& a, std::int64_t a_at, const Tensor& b, std::int64_t b_at, Tensor& out, std::int64_t out_at,
              Product p) {
  std::vector<C> row(static_cast<std::size_t>(p.columns));
  std::vector<C> right(static_cast<std::size_t>(p.columns));
  for (std::int64_t i = 0; i < p.rows; ++i) {
    std::fill(row.begin(), row.end(), C(0));
    for (std::int64_t k = 0; k < p.inner; ++k) {
      support::poll();
      C left = 0;
      load(a, a_at + i * p.inner + k, 0, 1, &left);
      load(b, b_at + k * p.columns, 1, p.columns, right.data());
      for (std::size_t j = 0; j < row.size(); ++j) {
        if constexpr (std::is_same_v<C, double>)
          row[j] += left * right[j];
        else
          row[j] = C(std::uint64_t(row[j]) + std::uint64_t(left) * std::uint64_t(right[j]));
      }
    }
    store(out, out_at + i * p.columns, p.columns, row.data());
  }
}

Result<Ref<Tensor>> with_shape(const Ref<Tensor>& t, Dims shape) {
  return Tensor::view(t->storage(), t->byte_offset(), std::move(shape), t->dtype());
}

}  // namespace

Result<Value> matrix_product(const Value& x, const Value& y) {
  RLDB_TRY(Ref<Tensor> a, as_tensor(x));
  RLDB_TRY(Ref<Tensor> b, as_tensor(y));
  if (a->ndim() == 0 || b->ndim() == 0)
    return fail(ErrorKind::TypeMismatch, "a product of matrices needs vectors or matrices, not numbers");
  const bool row = a->ndim() == 1, column = b->ndim() == 1;
  if (row) {
    RLDB_TRY(a, with_shape(a, {1, a->shape()[0]}));
  }
  if (column) {
    RLDB_TRY(b, with_shape(b, {b->shape()[0], 1}));
  }
  const Dims& p = a->shape();
  const Dims& q = b->shape();
  const Product size{p[p.size() - 2], p.back(), q.back()};
  if (q[q.size() - 2] != size.inner)
    return fail(ErrorKind::ShapeMismatch,
                fmt::format("matrices of ({}, {}) and ({}, {}) have no product: {} columns but {} rows", size.rows,
                            size.inner, q[q.size() - 2], size.columns, size.inner, q[q.size() - 2]));
  const Dims a_batch(p.begin(), p.end() - 2), b_batch(q.begin(), q.end() - 2);
  const Dims* batches[] = {&a_batch, &b_batch};
  RLDB_TRY(const Broadcast batch, Broadcast::of(batches));
  const Value both[] = {Value(a), Value(b)};
  RLDB_TRY(const DType dtype, common_dtype(both));
  Dims shape = batch.shape();
  shape.insert(shape.end(), {size.rows, size.columns});
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(shape, dtype));
  if (out->element_count() > 0) {
    batch.runs([&](std::int64_t at, const std::int64_t* starts, const std::int64_t* steps, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t left = (starts[0] + i * steps[0]) * size.rows * size.inner;
        const std::int64_t right = (starts[1] + i * steps[1]) * size.inner * size.columns;
        const std::int64_t to = (at + i) * size.rows * size.columns;
        if (dtype.is_float())
          multiply<double>(*a, left, *b, right, *out, to, size);
        else
          multiply<std::int64_t>(*a, left, *b, right, *out, to, size);
      }
    });
  }
  if (row) shape.erase(shape.end() - 2);
  if (column) shape.pop_back();
  RLDB_TRY(out, with_shape(out, std::move(shape)));
  return Value(std::move(out));
}

}  // namespace rldb::expression
