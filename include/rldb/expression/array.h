// Arithmetic of numbers and tensors as in NumPy: broadcasting, promotion of dtypes, results that are new tensors.
//
// A number (Int, Float, Bool) is weak: combined with a tensor it takes the tensor's dtype where its kind allows, like a
// Python number in NumPy 2. An element of a tensor is a tensor of rank 0 and keeps its dtype. Integers are computed
// exactly (64 bits, wrapping), every float format in double, rounded once to the dtype of the result.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rldb/expression/expression.h"
#include "rldb/expression/language.h"
#include "rldb/runtime/value.h"
#include "rldb/support/cancel.h"

namespace rldb::expression {

using Dims = std::vector<std::int64_t>;

bool is_number(const runtime::Value& v);
double as_double(const runtime::Value& number);

// Operands of arithmetic: a number or a tensor. Shapes and lists of numbers become tensors; anything else is refused.
runtime::Result<runtime::Value> as_array(const runtime::Value& v);
// Nested lists of consistent shape.
runtime::Result<runtime::Value> tensor_of_list(const runtime::Value& list);

// `x[0, :2]`: `x` and `[0, :2]`; without a subscript: the whole text and an empty one.
std::pair<std::string_view, std::string_view> split_target(std::string_view target);
// The elements that a subscript selects, as positions in row-major order.
runtime::Result<std::vector<std::int64_t>> positions_of(const runtime::Tensor& t, std::string_view subscript);

runtime::DType promote(runtime::DType a, runtime::DType b);
// The float dtype that functions such as sqrt return for this one.
runtime::DType float_of(runtime::DType t);

runtime::Result<runtime::Value> binary(Operator op, const runtime::Value& a, const runtime::Value& b);
runtime::Result<runtime::Value> compare(Operator op, const runtime::Value& a, const runtime::Value& b);
runtime::Result<runtime::Value> unary(Operator op, const runtime::Value& a);
runtime::Result<runtime::Value> matrix_product(const runtime::Value& a, const runtime::Value& b);

// Applies the function to each element, in double; the result has the dtype given. A number gives a number.
runtime::Result<runtime::Value> map_double(const runtime::Value& v, runtime::DType result, double (*f)(double));
runtime::Result<support::Ref<runtime::Tensor>> cast(const runtime::Tensor& t, runtime::DType to);
// The same, but a number that `to` cannot hold is an error: an integer out of its range, a finite number that becomes
// infinite or NaN. Fractions are cut and floats rounded.
runtime::Result<support::Ref<runtime::Tensor>> cast_in_range(const runtime::Tensor& t, runtime::DType to);
// Numbers as they are typed, in the dtype of the place that they are for. Those of an expression, of lists, and of
// functions without a dtype are bool, int64 and float64; a tensor of any other dtype is left as it is. A number that
// `wanted` cannot hold is an error, a fraction for an integer too.
runtime::Result<support::Ref<runtime::Tensor>> plain_numbers_as(const support::Ref<runtime::Tensor>& t,
                                                                runtime::DType wanted);

// The dtype of an operation on these: tensors by promotion, then numbers, which are weak. An integer that does not fit
// the dtype is an error.
runtime::Result<runtime::DType> common_dtype(std::span<const runtime::Value> operands);

// ---- for loops over elements ----

constexpr std::int64_t kChunk = 1024;

// `count` elements from the flat index `at`, `step` apart (0: the same one again).
void load(const runtime::Tensor& t, std::int64_t at, std::int64_t step, std::int64_t count, double* out);
void load(const runtime::Tensor& t, std::int64_t at, std::int64_t step, std::int64_t count, std::int64_t* out);
void store(runtime::Tensor& t, std::int64_t at, std::int64_t count, const double* in);
void store(runtime::Tensor& t, std::int64_t at, std::int64_t count, const std::int64_t* in);

// Several shapes combined: the dimensions to which all of them broadcast.
class Broadcast {
 public:
  static runtime::Result<Broadcast> of(std::span<const Dims* const> shapes);
  const Dims& shape() const { return shape_; }

  // f(out, starts, steps, count) for runs of at most kChunk result elements, with the positions of operand elements.
  template <class F>
  void runs(F f) const {
    runs(0, count_, [&](std::int64_t out, const std::int64_t* starts, const std::int64_t* steps, std::int64_t n) {
      support::poll();
      f(out, starts, steps, n);
      return true;
    });
  }
  // Of the result elements from `begin` to `end`, until f returns false.
  template <class F>
  void runs(std::int64_t begin, std::int64_t end, F f) const {
    const std::size_t rank = dims_.size();
    const std::int64_t inner = rank ? dims_[rank - 1] : 1;
    std::vector<std::int64_t> rows(strides_.size()), starts(strides_.size()), steps(strides_.size());
    for (std::size_t k = 0; k < steps.size(); ++k) steps[k] = rank ? strides_[k][rank - 1] : 0;
    for (std::int64_t out = begin; out < end;) {
      find_row(out / inner, rows);
      for (std::int64_t i = out % inner; i < inner && out < end;) {
        const std::int64_t n = std::min({kChunk, inner - i, end - out});
        for (std::size_t k = 0; k < starts.size(); ++k) starts[k] = rows[k] + i * steps[k];
        if (!f(out, starts.data(), steps.data(), n)) return;
        i += n;
        out += n;
      }
    }
  }
  std::int64_t count() const { return count_; }

 private:
  // Where each operand's elements of a row of the innermost dimension begin.
  void find_row(std::int64_t row, std::vector<std::int64_t>& out) const {
    std::fill(out.begin(), out.end(), 0);
    for (std::size_t d = dims_.empty() ? 0 : dims_.size() - 1; d-- > 0; row /= dims_[d])
      for (std::size_t k = 0; k < out.size(); ++k) out[k] += row % dims_[d] * strides_[k][d];
  }

  Dims shape_;
  std::int64_t count_ = 1;
  Dims dims_;                  // with adjacent ones merged
  std::vector<Dims> strides_;  // one per operand
};

}  // namespace rldb::expression
