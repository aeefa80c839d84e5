// Numbers of several kinds for single computations, and the differences that count for each.
#include "repro/bisect/number_kinds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "repro/bisect/numbers.h"
#include "repro/values.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

namespace {

// Every remainder modulo 2 to 16 in both signs, then the limits of narrower dtypes; products of two are in range.
constexpr std::int64_t kSmall = 17;
constexpr std::int64_t kBeyond[] = {127, 128, 255, 256, 32767, 32768, 40000, 65536, 2147483647, 2147483648, 3000000000};
constexpr std::int64_t kCycle = kSmall + std::int64_t(std::size(kBeyond));
// Neighbours have different signs and sizes, and tensors of one call different orders: none shares a divisor with the
// period.
constexpr std::int64_t kStrides[] = {29, 37, 43, 31, 53, 47, 41, 5};
static_assert(kCycle == 28);

// The largest of which a product of two is in range.
std::int64_t most_of(int bits, bool by_data) {
  if (bits >= 64 && !by_data) return 3037000499;
  return bits >= 32 ? 46340 : bits == 16 ? 181 : 11;
}

std::int64_t stride_of(std::size_t place) { return kStrides[place % std::size(kStrides)]; }

std::int64_t integer_at(std::int64_t i, std::size_t place, std::int64_t most, bool is_unsigned) {
  constexpr std::int64_t kPeriod = 2 * kCycle;
  // Further on, other pairs of numbers meet.
  const std::int64_t shift = std::int64_t(place) * (5 + i / kPeriod);
  const std::int64_t turn = (i % kPeriod * stride_of(place) + shift) % kPeriod;
  const std::int64_t at = turn % kCycle;
  const std::int64_t value = std::min(at < kSmall ? at : kBeyond[at - kSmall], most);
  return turn < kCycle || is_unsigned ? value : -value;
}

// A whole number that is no divisor of others, in place of 0.
constexpr std::int64_t kNoZero = 19;

constexpr std::int64_t kMostRounds = 8;

// Larger named integers are limits of dtypes, or their neighbours.
constexpr std::int64_t kMostNamed = std::int64_t(1) << 30;

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
    case Numbers::OneSign:
      return "numbers of one sign";
    case Numbers::Beside:
      return "halves, and numbers at the constants";
    case Numbers::Large:
      return "large floats";
    case Numbers::Small:
      return "floats of at most 4, integers from -16 to 16";
  }
  return {};
}

std::vector<std::int64_t> dims_alone(const NamedNumbers& named, bool has_symbols) {
  if (!has_symbols) return {kDimsAlone[0]};
  std::vector<std::int64_t> dims(std::begin(kDimsAlone), std::end(kDimsAlone));
  const std::vector<std::int64_t> more = dims_around(named.widths, dims);
  dims.insert(dims.end(), more.begin(), more.end());
  return dims;
}

std::vector<std::pair<std::size_t, Numbers>> order_of_attempts(std::size_t dims) {
  std::vector<std::pair<std::size_t, Numbers>> order;
  for (const Numbers numbers : kNumbers) order.emplace_back(0, numbers);
  for (std::size_t k = 1; k < dims; ++k) order.emplace_back(k, Numbers::Generated);
  for (std::size_t k = 1; k < dims; ++k)
    for (const Numbers numbers : kNumbers)
      if (numbers != Numbers::Generated) order.emplace_back(k, numbers);
  return order;
}

NumberMaker::NumberMaker(const NamedNumbers& named, bool by_data) : by_data_(by_data) {
  constexpr double kHalves[] = {0.5, 1.5, 2.5, 1, 3.5, 0};
  constexpr double kNext = 1.0 / 128;
  constexpr double kFar = 16;
  for (const double v : kHalves) beside_.insert(beside_.end(), {v, -v});
  const auto add = [&](double v) {
    if (std::find(beside_.begin(), beside_.end(), v) == beside_.end()) beside_.push_back(v);
  };
  for (std::size_t i = 0; i < named.floats.size(); ++i) {
    const double v = named.floats[i];
    for (const double beside : {v, v * (1 - kNext), v * (1 + kNext), -v}) add(beside);
    if (i > 0) add((named.floats[i - 1] + v) / 2);
    if (std::fabs(v) >= kFar && far_.size() < 4) far_.push_back(v);
  }
  constexpr std::size_t kMostFar = 4;
  for (const std::int64_t v : named.integers)
    if (far_integers_.size() < kMostFar && std::abs(v) < kMostNamed) far_integers_.push_back(v);
  for (const std::int64_t v : named.integers)
    for (const std::int64_t beside : {v - 1, v, v + 1, -v})
      if (std::find(integers_beside_.begin(), integers_beside_.end(), beside) == integers_beside_.end())
        integers_beside_.push_back(beside);
}

std::int64_t NumberMaker::rounds(const std::vector<Value>& args, Numbers numbers) const {
  std::int64_t rounds = 1;
  for (const Value& v : args)
    for_each_tensor(v, [&](const runtime::Tensor& t) {
      const std::int64_t n = std::max<std::int64_t>(1, t.element_count());
      const auto need = [&](std::int64_t count) { rounds = std::max(rounds, (count + n - 1) / n); };
      // From the second round on there is no 0, by which nothing can be divided.
      if ((numbers == Numbers::Signed || numbers == Numbers::Small) && is_plain_integer(t))
        need(2 * kCycle), rounds = std::max<std::int64_t>(rounds, 2);
      if (numbers == Numbers::OneSign)
        rounds = std::max(rounds, 2 + std::int64_t(is_plain_integer(t) ? far_integers_.size() : far_.size()));
      if (numbers == Numbers::Large && is_plain_float(t)) rounds = std::max<std::int64_t>(rounds, 2);  // all negative
      if (numbers == Numbers::Beside && is_plain_float(t)) need(std::int64_t(beside_.size()));
      if (numbers == Numbers::Beside && is_plain_integer(t)) need(std::int64_t(integers_beside_.size()));
    });
  return std::min(rounds, kMostRounds);
}

void NumberMaker::refill(const std::vector<Value>& args, Numbers numbers, std::int64_t round) const {
  refill(args, std::vector<bool>(args.size(), true), numbers, round);
}

void NumberMaker::refill(const std::vector<Value>& args, const std::vector<bool>& which, Numbers numbers,
                         std::int64_t round) const {
  std::size_t place = 0;
  for (std::size_t i = 0; i < args.size(); ++i)
    for_each_tensor(args[i], [&](const runtime::Tensor& t) {
      if (which[i]) refill(t, place, numbers, round);
      ++place;
    });
}

double NumberMaker::float_at(double v, std::int64_t i, std::size_t place, Numbers numbers, std::int64_t round,
                             bool is_half) const {
  switch (numbers) {
    case Numbers::Generated:
      break;
    case Numbers::Signed:
      return v * 30;
    case Numbers::Ties:
      return std::round(v * 2);
    case Numbers::OneSign:
      if (round >= 2 && place == 0 && !far_.empty())
        return far_[std::size_t(round - 2) % far_.size()] * (1.25 + std::fabs(v) / 2);
      return (round == 0 ? -1 : 1) * (0.25 + std::fabs(v));
    case Numbers::Beside: {
      const auto n = std::int64_t(beside_.size());
      // Once through all of them, then with others beside them in the other tensors.
      return beside_[std::size_t((i + std::int64_t(place) * (1 + i / n)) % n)];
    }
    case Numbers::Large:
      return (round > 0 ? -(1 + std::fabs(v)) : v) * (is_half ? 16 : 200);
    case Numbers::Small:
      return v * 4;
  }
  return v;
}

void NumberMaker::refill(const runtime::Tensor& t, std::size_t place, Numbers numbers, std::int64_t round) const {
  const bool integers = is_plain_integer(t);
  const bool is_half = t.dtype().bits == 16 && !t.dtype().is_bfloat16();
  if (!integers && (!is_plain_float(t) || t.dtype().bits < 16)) return;
  const int bits = t.dtype().bits;
  const bool is_unsigned = t.dtype().is_uint();
  const std::int64_t from = round * t.element_count();
  for (std::int64_t i = 0; i < t.element_count(); ++i) {
    std::byte* at = t.data() + std::size_t(i) * t.dtype().bytes();
    if (!integers) {
      store(t, i, float_at(t.at(i), i + from, place, numbers, round, is_half));
      continue;
    }
    std::int64_t value = runtime::load_as_int(at, t.dtype());
    if (numbers == Numbers::Signed || numbers == Numbers::Small) {
      const std::int64_t most = numbers == Numbers::Small ? kSmall - 1 : most_of(bits, by_data_);
      value = integer_at(i + from, place, most, is_unsigned);
      if (value == 0 && round > 0) value = std::min(kNoZero, most);
    } else if (numbers == Numbers::Ties) {
      value %= 3;
    } else if (numbers == Numbers::OneSign) {
      value = (round == 0 && !is_unsigned ? -1 : 1) * (1 + std::abs(value % 8));
      if (round >= 2 && !far_integers_.empty() && !by_data_) {
        const std::int64_t far = far_integers_[std::size_t(round - 2) % far_integers_.size()];
        if (std::abs(far) < std::int64_t(1) << (std::min(bits, 40) - 2)) value = far < 0 ? far - value : far + value;
        if (is_unsigned) value = std::abs(value);
      }
    } else if (numbers == Numbers::Beside && !integers_beside_.empty() && !by_data_) {
      const auto n = std::int64_t(integers_beside_.size());
      value = integers_beside_[std::size_t((i + from) * stride_of(place) + std::int64_t(place)) % std::size_t(n)];
      if (is_unsigned) value = std::abs(value);
      const std::int64_t most =
          bits >= 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t(1) << (bits - 1)) - 1;
      value = std::clamp(value, -most, most);
    }
    runtime::store_int(at, t.dtype(), value);
  }
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
