// Numbers of several kinds for single computations, and the differences that count for each.
#include "repro/bisect/number_kinds.h"

#include <algorithm>
#include <cmath>

#include "repro/bisect/numbers.h"
#include "repro/values.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

namespace {

// Every remainder modulo 2 to 16 in both signs, then the limits of narrower dtypes; products of two are in range.
constexpr std::int64_t kSmall = 17;
constexpr std::int64_t kBeyond[] = {127, 128, 255, 256, 32767, 32768, 40000};
constexpr std::int64_t kCycle = kSmall + std::int64_t(std::size(kBeyond));

std::int64_t integer_at(std::int64_t i, int bits, bool is_unsigned) {
  const std::int64_t most = bits >= 32 ? 46340 : bits == 16 ? 181 : 11;
  constexpr std::int64_t kStride =
      29;  // neighbours have different signs and sizes; it shares no divisor with the period
  const std::int64_t turn = i % (2 * kCycle) * kStride % (2 * kCycle);
  const std::int64_t place = turn % kCycle;
  const std::int64_t value = std::min(place < kSmall ? place : kBeyond[place - kSmall], most);
  return turn < kCycle || is_unsigned ? value : -value;
}

double float_at(double v, Numbers numbers, bool is_half) {
  if (numbers == Numbers::Signed) return v * 30;
  if (numbers == Numbers::Ties) return std::round(v * 2);
  if (numbers == Numbers::Large) return v * (is_half ? 16 : 200);
  return v;
}

constexpr std::int64_t kMostRounds = 8;

// Where the right side is not finite nothing is known: both sides get 0.
std::pair<Value, Value> where_finite(const Value& good, const Value& bad) {
  if (not_finite(good) == 0) return {good, bad};
  std::vector<Value> both = copies({good, bad});
  const runtime::Tensor &x = both[0].as_tensor(), &y = both[1].as_tensor();
  for (std::int64_t i = 0; i < x.element_count() && i < y.element_count(); ++i)
    if (!std::isfinite(x.at(i))) store(x, i, 0), store(y, i, 0);
  return {both[0], both[1]};
}

}  // namespace

std::string_view text_of(Numbers n) {
  switch (n) {
    case Numbers::Generated:
      return "floats of at most 1, integers from 0 on";
    case Numbers::Signed:
      return "floats of at most 30, integers of both signs and of every remainder";
    case Numbers::Ties:
      return "few different numbers";
    case Numbers::Large:
      return "large floats";
  }
  return {};
}

std::int64_t rounds_of(const std::vector<Value>& args, Numbers numbers) {
  std::int64_t rounds = 1;
  for (const Value& v : args)
    for_each_tensor(v, [&](const runtime::Tensor& t) {
      const std::int64_t n = std::max<std::int64_t>(1, t.element_count());
      if (numbers == Numbers::Signed && is_plain_integer(t)) rounds = std::max(rounds, (2 * kCycle + n - 1) / n);
    });
  return std::min(rounds, kMostRounds);
}

void refill(const Value& value, Numbers numbers, std::int64_t round) {
  for_each_tensor(value, [&](const runtime::Tensor& t) {
    const bool integers = is_plain_integer(t);
    const bool is_half = t.dtype().bits == 16 && !t.dtype().is_bfloat16();
    if (!integers && (!is_plain_float(t) || t.dtype().bits < 16)) return;
    for (std::int64_t i = 0; i < t.element_count(); ++i) {
      std::byte* at = t.data() + std::size_t(i) * t.dtype().bytes();
      if (!integers)
        store(t, i, float_at(t.at(i), numbers, is_half));
      else if (numbers == Numbers::Signed)
        runtime::store_int(at, t.dtype(),
                           integer_at(i + round * t.element_count(), t.dtype().bits, t.dtype().is_uint()));
      else if (numbers == Numbers::Ties)
        runtime::store_int(at, t.dtype(), runtime::load_as_int(at, t.dtype()) % 3);
    }
  });
}

bool differ(const Value& good, const Value& bad, Numbers numbers, const Tolerances& tolerances) {
  std::vector<Value> a, b;
  flatten(good, a);
  flatten(bad, b);
  if (a.size() != b.size()) return false;  // another form of the same results: not the question here
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is(ValueKind::Tensor) || !b[i].is(ValueKind::Tensor)) continue;
    const runtime::Tensor &x = a[i].as_tensor(), &y = b[i].as_tensor();
    if (x.dtype() != y.dtype() || x.shape() != y.shape()) continue;
    if (numbers == Numbers::Large) {
      if (overflows_on_one_side(a[i], b[i]) && not_finite(a[i]) < not_finite(b[i])) return true;
      continue;
    }
    const auto [left, right] = where_finite(a[i], b[i]);
    const auto d = difference(left, right, tolerances);
    if (d && !is_rounding(left, *d)) return true;
  }
  return false;
}

}  // namespace rldb::repro
