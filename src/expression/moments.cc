// Moments: each chunk by itself, in several lanes, then combined (Chan, Golub and LeVeque, 1979).
#include <algorithm>
#include <cmath>
#include <vector>

#include "expression/elements_by_chunk.h"
#include "rldb/expression/distribution.h"

namespace rldb::expression {

using runtime::Tensor;

namespace {

// The sum of f(element) in four lanes: one would wait for each addition.
template <class T, class F>
double lane_sum(const T* v, std::int64_t n, F f) {
  double a = 0, b = 0, c = 0, d = 0;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a += f(double(v[i]));
    b += f(double(v[i + 1]));
    c += f(double(v[i + 2]));
    d += f(double(v[i + 3]));
  }
  for (; i < n; ++i) a += f(double(v[i]));
  return (a + b) + (c + d);
}

// The least element, or the greatest with `greatest`.
template <class T, bool greatest>
T extreme(const T* v, std::int64_t n) {
  const auto better = [](T a, T b) { return greatest ? (a > b ? a : b) : (a < b ? a : b); };
  T a = v[0], b = a, c = a, d = a;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a = better(v[i], a);
    b = better(v[i + 1], b);
    c = better(v[i + 2], c);
    d = better(v[i + 3], d);
  }
  for (; i < n; ++i) a = better(v[i], a);
  return better(better(a, b), better(c, d));
}

template <class T>
bool all_finite(const T* v, std::int64_t n) {
  // 0 * inf and 0 * NaN are NaN.
  return lane_sum(v, n, [](double x) { return x * 0; }) == 0;
}

class Gather {
 public:
  // Elements are multiplied by `scale`, a power of two, before they are added up.
  explicit Gather(double scale) : scale_(scale) {}
  const Moments& found() const { return out_; }

  // The elements behind those seen so far, gathered by another one.
  void append(const Gather& next) {
    const Moments& o = next.out_;
    if (out_.first_nan < 0) out_.first_nan = o.first_nan;
    if (out_.first_inf < 0) out_.first_inf = o.first_inf;
    out_.nan += o.nan, out_.positive_inf += o.positive_inf, out_.negative_inf += o.negative_inf;
    out_.zero += o.zero, out_.negative += o.negative;
    if (o.finite == 0) return;
    if (out_.low_at < 0 || o.low < out_.low) out_.low = o.low, out_.low_at = o.low_at;
    if (out_.high_at < 0 || o.high > out_.high) out_.high = o.high, out_.high_at = o.high_at;
    combine(next.mean_, next.apart_, o.finite);
    squares_ += next.squares_;
  }

  template <class T>
  void chunk(const T* v, std::int64_t n, std::int64_t at) {
    if (all_finite(v, n)) return finite(v, n, at);
    T kept[kChunk];
    std::int64_t k = 0, position[kChunk];
    for (std::int64_t i = 0; i < n; ++i) {
      if (std::isfinite(v[i]))
        position[k] = at + i, kept[k++] = v[i];
      else
        special(double(v[i]), at + i);
    }
    if (k == 0) return;
    const Moments before = out_;
    finite(kept, k, 0);
    if (out_.low_at != before.low_at || out_.low < before.low) out_.low_at = position[out_.low_at];
    if (out_.high_at != before.high_at || out_.high > before.high) out_.high_at = position[out_.high_at];
  }

  void finish() {
    out_.mean = mean_ / scale_;
    out_.std = out_.finite > 0 ? std::sqrt(apart_ / double(out_.finite)) / scale_ : 0;
    out_.norm = std::sqrt(squares_) / scale_;
  }
  // Whether sums of squares left the range in which double is precise.
  bool rescale_needed() const {
    const double largest = std::max(std::fabs(out_.low), std::fabs(out_.high));
    return largest > 0 && (largest > 0x1p400 || largest < 0x1p-400);
  }

 private:
  void special(double v, std::int64_t at) {
    if (std::isnan(v)) {
      if (out_.nan++ == 0) out_.first_nan = at;
      return;
    }
    if (out_.first_inf < 0) out_.first_inf = at;
    ++(v > 0 ? out_.positive_inf : out_.negative_inf);
    out_.negative += v < 0;
  }

  template <class T>
  void finite(const T* v, std::int64_t n, std::int64_t at) {
    const double low = extreme<T, false>(v, n), high = extreme<T, true>(v, n);
    if (out_.low_at < 0 || low < out_.low) out_.low = low, out_.low_at = at + (std::find(v, v + n, T(low)) - v);
    if (out_.high_at < 0 || high > out_.high) out_.high = high, out_.high_at = at + (std::find(v, v + n, T(high)) - v);
    if (low <= 0) {
      std::int32_t zero = 0, negative = 0;  // of at most kChunk
      for (std::int64_t i = 0; i < n; ++i) zero += v[i] == 0, negative += v[i] < 0;
      out_.zero += zero, out_.negative += negative;
    }
    const double s = scale_;
    const double mean = lane_sum(v, n, [s](double x) { return x * s; }) / double(n);
    const double apart = lane_sum(v, n, [s, mean](double x) { return (x * s - mean) * (x * s - mean); });
    squares_ += apart + double(n) * mean * mean;
    combine(mean, apart, n);
  }

  void combine(double mean, double apart, std::int64_t n) {
    const double all = double(out_.finite + n), step = mean - mean_;
    apart_ += apart + step * step * (double(out_.finite) * double(n) / all);
    mean_ += step * (double(n) / all);
    out_.finite += n;
  }

  Moments out_;
  double scale_;
  double mean_ = 0, apart_ = 0, squares_ = 0;
};

}  // namespace

Moments moments_of(const Tensor& t) {
  double scale = 1;
  for (;;) {
    // Parts of a fixed size: the sums are the same whatever number of threads makes them.
    constexpr std::int64_t kPart = 1 << 22;
    const std::int64_t count = t.element_count();
    std::vector<Gather> parts(std::size_t(std::max<std::int64_t>(1, (count + kPart - 1) / kPart)), Gather(scale));
    on_threads(parts.size(), [&](std::size_t p) {
      const std::int64_t begin = std::int64_t(p) * kPart;
      each_chunk(t, begin, std::min(count, begin + kPart),
                 [&](const auto* v, std::int64_t n, std::int64_t at) { parts[p].chunk(v, n, at); });
    });
    Gather& gather = parts[0];
    for (std::size_t p = 1; p < parts.size(); ++p) gather.append(parts[p]);
    gather.finish();
    const Moments& out = gather.found();
    if (scale != 1 || !gather.rescale_needed()) return out;
    const int exponent = std::ilogb(std::max(std::fabs(out.low), std::fabs(out.high)));
    scale = std::ldexp(1.0, std::clamp(-exponent, -1000, 1000));
  }
}

}  // namespace rldb::expression
