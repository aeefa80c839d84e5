// Reductions: over all elements, or along axes. Reduced axes are moved to the end first, so that each result is
// computed from a contiguous row of elements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "expression/elements_by_chunk.h"
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
using runtime::ValueKind;
using support::Ref;

namespace {

struct Rows {
  Ref<Tensor> data;
  std::int64_t count = 1;   // rows
  std::int64_t length = 1;  // elements in each
  Dims shape;               // of the result
};

Result<Rows> rows_of(const Value& v, const Value& axis, const Value& keepdims) {
  Rows rows;
  RLDB_TRY(rows.data, as_tensor(v));
  const Dims dims = rows.data->shape();
  RLDB_TRY(const std::vector<std::size_t> axes, axes_of(axis, dims.size()));
  bool keep = false;
  if (!keepdims.is_null()) {
    RLDB_TRY(keep, truth(keepdims));
  }
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool goes = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!goes) {
      order.push_back(d);
      rows.count *= dims[d];
    } else {
      rows.length *= dims[d];
    }
    if (!goes || keep) rows.shape.push_back(goes ? 1 : dims[d]);
  }
  std::vector<std::size_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  order.insert(order.end(), sorted.begin(), sorted.end());
  if (!std::is_sorted(order.begin(), order.end())) {
    RLDB_TRY(rows.data, transposed(*rows.data, order));
  }
  return rows;
}

// Stores f(elements of the row) -> C in the result, for each row.
template <class C, class F>
Result<Value> reduce(const Rows& rows, DType result, F f) {
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(rows.shape, result));
  for (std::int64_t r = 0; r < rows.count; ++r) {
    support::poll();
    const C value = f(*rows.data, r * rows.length, rows.length);
    store(*out, r, 1, &value);
  }
  return Value(std::move(out));
}

// Goes through a row chunk by chunk; f(elements, count, index of the first in the row).
template <class C, class F>
void chunks(const Tensor& t, std::int64_t at, std::int64_t length, F f) {
  C values[kChunk];
  for (std::int64_t i = 0; i < length; i += kChunk) {
    support::poll();
    const std::int64_t n = std::min(kChunk, length - i);
    load(t, at + i, 1, n, values);
    f(values, n, i);
  }
}

double sum_of(const Tensor& t, std::int64_t at, std::int64_t length) {
  double sum = 0, lost = 0;  // Neumaier: the part of small terms lost beside large ones
  chunks<double>(t, at, length, [&](const double* v, std::int64_t n, std::int64_t) {
    double part = 0;
    for (std::int64_t i = 0; i < n; ++i) part += v[i];
    const double next = sum + part;
    if (std::isfinite(next)) lost += std::fabs(sum) >= std::fabs(part) ? (sum - next) + part : (part - next) + sum;
    sum = next;
  });
  return std::isfinite(sum) ? sum + lost : sum;
}

template <class F>
std::int64_t fold_integers(const Tensor& t, std::int64_t at, std::int64_t length, std::uint64_t start, F f) {
  std::uint64_t all = start;
  chunks<std::int64_t>(t, at, length, [&](const std::int64_t* v, std::int64_t n, std::int64_t) {
    for (std::int64_t i = 0; i < n; ++i) all = f(all, std::uint64_t(v[i]));
  });
  return std::int64_t(all);
}

DType sum_dtype(DType t) { return t.is_float() ? t : t.is_uint() ? DType::UInt(64) : DType::Int(64); }
DType mean_dtype(DType t) { return t.is_float() ? t : DType::Float(64); }

// The index of the largest or smallest element in the row: the first of equal ones; the first NaN wins.
std::int64_t best_of(const Tensor& t, std::int64_t at, std::int64_t length, bool largest) {
  std::int64_t found = 0;
  if (t.dtype().is_float()) {
    double best = t.at(at);
    chunks<double>(t, at, length, [&](const double* v, std::int64_t n, std::int64_t first) {
      for (std::int64_t i = 0; i < n && !std::isnan(best); ++i)
        if (std::isnan(v[i]) || (largest ? v[i] > best : v[i] < best)) best = v[i], found = first + i;
    });
    return found;
  }
  std::int64_t best = 0;
  load(t, at, 0, 1, &best);
  // Shifted so that unsigned 64-bit integers compare like signed ones.
  const auto shift = t.dtype() == DType::UInt(64) ? std::uint64_t(1) << 63 : 0;
  const auto key = [shift](std::int64_t v) { return std::int64_t(std::uint64_t(v) ^ shift); };
  chunks<std::int64_t>(t, at, length, [&](const std::int64_t* v, std::int64_t n, std::int64_t first) {
    for (std::int64_t i = 0; i < n; ++i)
      if (largest ? key(v[i]) > key(best) : key(v[i]) < key(best)) best = v[i], found = first + i;
  });
  return found;
}

Result<Value> extreme(const Arguments& a, bool largest) {
  RLDB_TRY(const Rows rows, rows_of(a[0], a[1], a[2]));
  if (rows.length == 0 && rows.count > 0)
    return fail(ErrorKind::OutOfBounds, fmt::format("an empty tensor has no {}", largest ? "maximum" : "minimum"));
  const DType t = rows.data->dtype();
  const auto at = [largest](const Tensor& d, std::int64_t from, std::int64_t n) {
    return from + best_of(d, from, n, largest);
  };
  if (t.is_float())
    return reduce<double>(rows, t,
                          [&](const Tensor& d, std::int64_t from, std::int64_t n) { return d.at(at(d, from, n)); });
  return reduce<std::int64_t>(rows, t, [&](const Tensor& d, std::int64_t from, std::int64_t n) {
    std::int64_t v = 0;
    load(d, at(d, from, n), 0, 1, &v);
    return v;
  });
}

Result<Value> place_of_extreme(const Arguments& a, bool largest) {
  RLDB_TRY(const Rows rows, rows_of(a[0], a[1], a[2]));
  if (rows.length == 0 && rows.count > 0)
    return fail(ErrorKind::OutOfBounds, fmt::format("an empty tensor has no {}", largest ? "maximum" : "minimum"));
  return reduce<std::int64_t>(rows, DType::Int(64), [&](const Tensor& d, std::int64_t from, std::int64_t n) {
    return best_of(d, from, n, largest);
  });
}

double mean_of(const Tensor& t, std::int64_t at, std::int64_t n) { return sum_of(t, at, n) / double(n); }

double variance_of(const Tensor& t, std::int64_t at, std::int64_t n, double ddof) {
  const double mean = mean_of(t, at, n);
  double sum = 0;
  chunks<double>(t, at, n, [&](const double* v, std::int64_t count, std::int64_t) {
    double part = 0;
    for (std::int64_t i = 0; i < count; ++i) part += (v[i] - mean) * (v[i] - mean);
    sum += part;
  });
  return sum / std::max(double(n) - ddof, 0.0);
}

Result<Value> spread(const Arguments& a, bool root) {
  RLDB_TRY(const Rows rows, rows_of(a[0], a[1], a[3]));
  double ddof = 0;
  if (a.given(2)) {
    RLDB_TRY(ddof, real_of(a[2], "ddof"));
  }
  return reduce<double>(rows, mean_dtype(rows.data->dtype()), [&](const Tensor& d, std::int64_t at, std::int64_t n) {
    const double variance = variance_of(d, at, n, ddof);
    return root ? std::sqrt(variance) : variance;
  });
}

// The elements that are not zero.
std::int64_t count_in(const Tensor& t, std::int64_t begin, std::int64_t end) {
  std::int64_t count = 0;
  if (t.dtype() == DType::Bool()) {
    const std::byte* from = t.data();
    for (std::int64_t i = begin; i < end; ++i) count += from[i] != std::byte(0);
    return count;
  }
  each_chunk(t, begin, end, [&](const auto* v, std::int64_t n, std::int64_t) {
    for (std::int64_t i = 0; i < n; ++i) count += v[i] != 0;
  });
  return count;
}

std::int64_t count_of(const Tensor& t, std::int64_t at, std::int64_t length) {
  const std::size_t slices = slice_count(length);
  std::vector<std::int64_t> counts(slices);
  on_threads(slices, [&](std::size_t k) {
    const Slice s = slice_of(length, k, slices, kChunk);
    counts[k] = count_in(t, at + s.begin, at + s.end);
  });
  return std::accumulate(counts.begin(), counts.end(), std::int64_t(0));
}

}  // namespace

Result<Value> function_Max(const Arguments& a) { return extreme(a, true); }
Result<Value> function_Min(const Arguments& a) { return extreme(a, false); }
Result<Value> function_ArgMax(const Arguments& a) { return place_of_extreme(a, true); }
Result<Value> function_ArgMin(const Arguments& a) { return place_of_extreme(a, false); }

Result<Value> function_Sum(const Arguments& a) {
  RLDB_TRY(const Rows rows, rows_of(a[0], a[1], a[2]));
  const DType t = sum_dtype(rows.data->dtype());
  if (t.is_float()) return reduce<double>(rows, t, sum_of);
  return reduce<std::int64_t>(rows, t, [](const Tensor& d, std::int64_t at, std::int64_t n) {
    return fold_integers(d, at, n, 0, [](std::uint64_t p, std::uint64_t q) { return p + q; });
  });
}

Result<Value> function_Prod(const Arguments& a) {
  RLDB_TRY(const Rows rows, rows_of(a[0], a[1], a[2]));
  const DType t = sum_dtype(rows.data->dtype());
  if (t.is_float())
    return reduce<double>(rows, t, [](const Tensor& d, std::int64_t at, std::int64_t length) {
      double product = 1;
      chunks<double>(d, at, length, [&](const double* v, std::int64_t n, std::int64_t) {
        for (std::int64_t i = 0; i < n; ++i) product *= v[i];
      });
      return product;
    });
  return reduce<std::int64_t>(rows, t, [](const Tensor& d, std::int64_t at, std::int64_t n) {
    return fold_integers(d, at, n, 1, [](std::uint64_t p, std::uint64_t q) { return p * q; });
  });
}

Result<Value> function_Mean(const Arguments& a) {
  RLDB_TRY(const Rows rows, rows_of(a[0], a[1], a[2]));
  return reduce<double>(rows, mean_dtype(rows.data->dtype()), mean_of);
}

Result<Value> function_Var(const Arguments& a) { return spread(a, false); }
Result<Value> function_Std(const Arguments& a) { return spread(a, true); }

Result<Value> function_Any(const Arguments& a) {
  RLDB_TRY(const Rows rows, rows_of(a[0], a[1], a[2]));
  return reduce<std::int64_t>(rows, DType::Bool(), [](const Tensor& d, std::int64_t at, std::int64_t n) {
    return std::int64_t(count_of(d, at, n) > 0);
  });
}

Result<Value> function_All(const Arguments& a) {
  RLDB_TRY(const Rows rows, rows_of(a[0], a[1], a[2]));
  return reduce<std::int64_t>(rows, DType::Bool(), [](const Tensor& d, std::int64_t at, std::int64_t n) {
    return std::int64_t(count_of(d, at, n) == n);
  });
}

Result<Value> function_CountNonzero(const Arguments& a) {
  RLDB_TRY(const Rows rows, rows_of(a[0], a[1], a[2]));
  return reduce<std::int64_t>(rows, DType::Int(64), count_of);
}

Result<Value> function_Norm(const Arguments& a) {
  RLDB_TRY(const Rows rows, rows_of(a[0], a[2], a[3]));
  double order = 2;
  if (a.given(1)) {
    RLDB_TRY(order, real_of(a[1], "ord"));
  }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (order != 1 && order != 2 && std::fabs(order) != kInf)
    return fail(ErrorKind::Unsupported,
                fmt::format("the norm of order {} is not known: 1, 2, inf and -inf are", order));
  return reduce<double>(rows, mean_dtype(rows.data->dtype()),
                        [order](const Tensor& d, std::int64_t at, std::int64_t length) {
                          double all = order == -kInf ? kInf : 0;
                          chunks<double>(d, at, length, [&](const double* v, std::int64_t n, std::int64_t) {
                            for (std::int64_t i = 0; i < n; ++i) {
                              const double e = std::fabs(v[i]);
                              if (std::isfinite(order))
                                all += order == 1 ? e : e * e;
                              else if (std::isnan(e) || (order > 0 ? e > all : e < all))
                                all = e;
                            }
                          });
                          return order == 2 ? std::sqrt(all) : all;
                        });
}

}  // namespace rldb::expression
