// Functions that depend on the order of elements: sorting, quantiles, histograms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "expression/form.h"
#include "rldb/expression/array.h"
#include "rldb/expression/distribution.h"
#include "rldb/expression/functions.h"

namespace rldb::expression {

using runtime::DType;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using support::Ref;

namespace {

// NaN comes after every number.
bool before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

// Calls f with the elements of a tensor in the type in which they compare: double, int64, or uint64.
template <class F>
auto with_elements(const Tensor& t, std::int64_t at, std::int64_t count, F f) {
  if (t.dtype().is_float()) {
    std::vector<double> values(static_cast<std::size_t>(count));
    load(t, at, 1, count, values.data());
    return f(values, [](double a, double b) { return support::poll(), before(a, b); });
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  load(t, at, 1, count, values.data());
  const auto shift = t.dtype() == DType::UInt(64) ? std::uint64_t(1) << 63 : 0;
  return f(values, [shift](std::int64_t a, std::int64_t b) {
    return support::poll(), std::int64_t(std::uint64_t(a) ^ shift) < std::int64_t(std::uint64_t(b) ^ shift);
  });
}

// Calls f(row from, row in the result) for the rows along an axis of a tensor whose other axes come first.
template <class F>
Result<Value> along(const Arguments& a, const Value& axis, DType result, F f) {
  RLDB_TRY(Ref<Tensor> t, as_tensor(a[0]));
  if (t->ndim() == 0 || axis.is_null()) {
    RLDB_TRY(t, reshaped(t, {t->element_count()}));
  }
  const std::size_t rank = t->shape().size();
  RLDB_TRY(const std::vector<std::size_t> axes, axes_of(axis.is_null() ? Value::of_int(0) : axis, rank));
  if (axes.size() != 1) return fail(ErrorKind::TypeMismatch, "expected one axis");
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < rank; ++d)
    if (d != axes[0]) order.push_back(d);
  order.push_back(axes[0]);
  RLDB_TRY(const Ref<Tensor> rows, transposed(*t, order));
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(rows->shape(), result.is_void() ? t->dtype() : result));
  const std::int64_t length = rows->shape().back();
  for (std::int64_t at = 0; at < rows->element_count(); at += length) f(*rows, *out, at, length);
  std::vector<std::size_t> back(rank);
  for (std::size_t d = 0; d < rank; ++d) back[order[d]] = d;
  RLDB_TRY(out, transposed(*out, back));
  return Value(std::move(out));
}

}  // namespace

Result<Value> function_Sort(const Arguments& a) {
  const Value axis = a.given(1) ? a[1] : Value::of_int(-1);
  return along(a, axis, DType::Void(), [](const Tensor& from, Tensor& to, std::int64_t at, std::int64_t n) {
    with_elements(from, at, n, [&](auto& values, auto less) {
      std::sort(values.begin(), values.end(), less);
      store(to, at, n, values.data());
    });
  });
}

Result<Value> function_ArgSort(const Arguments& a) {
  const Value axis = a.given(1) ? a[1] : Value::of_int(-1);
  return along(a, axis, DType::Int(64), [](const Tensor& from, Tensor& to, std::int64_t at, std::int64_t n) {
    with_elements(from, at, n, [&](auto& values, auto less) {
      std::vector<std::int64_t> order(values.size());
      std::iota(order.begin(), order.end(), std::int64_t(0));
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t p, std::int64_t q) {
        return less(values[std::size_t(p)], values[std::size_t(q)]);
      });
      store(to, at, n, order.data());
    });
  });
}

Result<Value> function_CumSum(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> t, as_tensor(a[0]));
  const DType own = t->dtype();
  const DType result = own.is_float() ? own : own.is_uint() ? DType::UInt(64) : DType::Int(64);
  return along(a, a[1], result, [](const Tensor& from, Tensor& to, std::int64_t at, std::int64_t n) {
    with_elements(from, at, n, [&](auto& values, auto) {
      for (std::size_t i = 1; i < values.size(); ++i) {
        if constexpr (std::is_same_v<std::remove_reference_t<decltype(values[0])>, double>)
          values[i] += values[i - 1];
        else
          values[i] = std::int64_t(std::uint64_t(values[i]) + std::uint64_t(values[i - 1]));
      }
      store(to, at, n, values.data());
    });
  });
}

Result<Value> function_Unique(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> t, as_tensor(a[0]));
  return with_elements(*t, 0, t->element_count(), [&](auto& values, auto less) -> Result<Value> {
    std::sort(values.begin(), values.end(), less);
    const auto same = [&](auto p, auto q) { return !less(p, q) && !less(q, p); };
    values.erase(std::unique(values.begin(), values.end(), same), values.end());
    RLDB_TRY(Ref<Tensor> out, Tensor::empty({std::int64_t(values.size())}, t->dtype()));
    store(*out, 0, std::int64_t(values.size()), values.data());
    return Value(std::move(out));
  });
}

// ---- quantiles ----

Result<Value> function_Quantile(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> t, as_tensor(a[0]));
  RLDB_TRY(const Ref<Tensor> given, as_tensor(a[1]));
  const std::int64_t count = t->element_count();
  if (count == 0) return fail(ErrorKind::OutOfBounds, "an empty tensor has no quantiles");
  std::vector<double> parts(static_cast<std::size_t>(given->element_count()));
  load(*given, 0, 1, given->element_count(), parts.data());
  for (const double q : parts)
    if (!(q >= 0 && q <= 1)) return fail(ErrorKind::TypeMismatch, fmt::format("{} is not between 0 and 1", q));
  std::vector<double> values = quantiles_of(*t, parts, 0, count);
  const std::int64_t last[] = {count - 1};
  if (const double greatest = values_at(*t, last)[0]; std::isnan(greatest))
    std::fill(values.begin(), values.end(), greatest);
  const DType result = t->dtype().is_float() ? t->dtype() : DType::Float(64);
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(given->shape(), result));
  store(*out, 0, std::int64_t(values.size()), values.data());
  return Value(std::move(out));
}

Result<Value> function_Median(const Arguments& a) { return function_Quantile({{a[0], Value::of_float(0.5)}, {}}); }

// ---- histograms ----

Result<Value> function_Histogram(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> t, as_tensor(a[0]));
  std::int64_t bins = 10;
  if (a.given(1)) {
    RLDB_TRY(bins, integer_of(a[1], "the number of bins"));
  }
  constexpr std::int64_t kMostBins = 1 << 20;
  if (bins < 1 || bins > kMostBins)
    return fail(ErrorKind::TypeMismatch, fmt::format("{} bins: 1 to {} can be made", bins, kMostBins));
  const Moments moments = a.given(2) && a.given(3) ? Moments() : moments_of(*t);
  double low = moments.low, high = moments.high;
  if (moments.finite == 0) low = 0, high = 1;
  if (a.given(2)) {
    RLDB_TRY(low, real_of(a[2], "low"));
  }
  if (a.given(3)) {
    RLDB_TRY(high, real_of(a[3], "high"));
  }
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high))
    return fail(ErrorKind::TypeMismatch, fmt::format("bins from {} to {} cannot be made", low, high));
  if (low == high) low -= 0.5, high += 0.5;
  const std::vector<double> edges = equal_edges(low, high, bins);
  const std::vector<std::int64_t> counts = bin_counts(*t, edges);
  RLDB_TRY(Ref<Tensor> in, Tensor::empty({bins}, DType::Int(64)));
  RLDB_TRY(Ref<Tensor> edge, Tensor::empty({bins + 1}, DType::Float(64)));
  store(*in, 0, bins, counts.data());
  store(*edge, 0, bins + 1, edges.data());
  return Value::of_tuple({Value(std::move(in)), Value(std::move(edge))});
}

}  // namespace rldb::expression
