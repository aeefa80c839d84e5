// Functions that depend on the order of elements: sorting, quantiles, histograms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "expression/form.h"
#include "rldb/expression/array.h"
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
  RLDB_TRY(const Ref<Tensor> parts, as_tensor(a[1]));
  if (t->element_count() == 0) return fail(ErrorKind::OutOfBounds, "an empty tensor has no quantiles");
  std::vector<double> values(static_cast<std::size_t>(t->element_count()));
  load(*t, 0, 1, t->element_count(), values.data());
  std::sort(values.begin(), values.end(), [](double p, double q) { return support::poll(), before(p, q); });
  const DType result = t->dtype().is_float() ? t->dtype() : DType::Float(64);
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(parts->shape(), result));
  for (std::int64_t i = 0; i < parts->element_count(); ++i) {
    support::poll();
    const double q = parts->at(i);
    if (!(q >= 0 && q <= 1)) return fail(ErrorKind::TypeMismatch, fmt::format("{} is not between 0 and 1", q));
    const double place = q * double(values.size() - 1);
    const auto low = std::size_t(place);
    const std::size_t high = std::min(low + 1, values.size() - 1);
    const double part = place - double(low);
    double value = part == 0 ? values[low] : values[low] + part * (values[high] - values[low]);
    if (std::isnan(values.back())) value = values.back();
    store(*out, i, 1, &value);
  }
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
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::int64_t i = 0; i < t->element_count(); ++i) {
    support::poll();
    const double v = t->at(i);
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
  if (low > high) low = 0, high = 1;
  if (a.given(2)) {
    RLDB_TRY(low, real_of(a[2], "low"));
  }
  if (a.given(3)) {
    RLDB_TRY(high, real_of(a[3], "high"));
  }
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high))
    return fail(ErrorKind::TypeMismatch, fmt::format("bins from {} to {} cannot be made", low, high));
  if (low == high) low -= 0.5, high += 0.5;
  RLDB_TRY(Ref<Tensor> counts, Tensor::empty({bins}, DType::Int(64)));
  RLDB_TRY(Ref<Tensor> edges, Tensor::empty({bins + 1}, DType::Float(64)));
  auto* in = reinterpret_cast<std::int64_t*>(counts->data());
  auto* edge = reinterpret_cast<double*>(edges->data());
  const double width = high / double(bins) - low / double(bins);
  for (std::int64_t i = 0; i <= bins; ++i) edge[i] = i == bins ? high : low + double(i) * width;
  for (std::int64_t i = 0; i < t->element_count(); ++i) {
    support::poll();
    const double v = t->at(i);
    if (!(v >= low && v <= high)) continue;
    // If the range is as wide or as narrow as the format allows, the quotient is unreliable.
    const double place = width > 0 ? v / width - low / width : 0;
    auto bin = place > 0 ? std::int64_t(std::min(place, double(bins - 1))) : 0;
    // Rounding must not put a value on the wrong side of an edge.
    while (bin > 0 && v < edge[bin]) --bin;
    while (bin < bins - 1 && v >= edge[bin + 1]) ++bin;
    ++in[bin];
  }
  return Value::of_tuple({Value(std::move(counts)), Value(std::move(edges))});
}

}  // namespace rldb::expression
