// The kinds of numbers on which single computations are run: a program rarely feeds them to an operator in its middle.
// Room-private.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "repro/bisect/named_numbers.h"
#include "rldb/repro/settings.h"
#include "rldb/runtime/value.h"

namespace rldb::repro {

// Small: for whole programs, whose sums and products of larger integers overflow.
enum class Numbers : std::uint8_t { Generated, Signed, Ties, OneSign, Beside, Large, Small };
inline constexpr std::array kNumbers = {Numbers::Generated, Numbers::Signed, Numbers::Ties,
                                        Numbers::OneSign,   Numbers::Beside, Numbers::Large};
std::string_view text_of(Numbers n);

// The symbolic dims of a computation by itself. More follow around the widths that it names.
inline constexpr std::int64_t kDimsAlone[] = {7, 17, 1, 2, 16, 33, 64};
std::vector<std::int64_t> dims_alone(const NamedNumbers& named, bool has_symbols);

// In which order a computation is run: all kinds of numbers with the first dims, then all dims, then all kinds with the
// others.
std::vector<std::pair<std::size_t, Numbers>> order_of_attempts(std::size_t dims);

// The arguments of a computation, made of generated ones.
class NumberMaker {
 public:
  // `by_data`: loops run up to integers that are read, which stay small enough for that.
  explicit NumberMaker(const NamedNumbers& named, bool by_data = false);

  // A short tensor gets the numbers of a kind in several rounds.
  std::int64_t rounds(const std::vector<runtime::Value>& args, Numbers numbers) const;
  // Replaces generated numbers by those of that kind; tensors of one call get different ones.
  void refill(const std::vector<runtime::Value>& args, Numbers numbers, std::int64_t round) const;
  // Only some of them.
  void refill(const std::vector<runtime::Value>& args, const std::vector<bool>& which, Numbers numbers,
              std::int64_t round) const;

 private:
  void refill(const runtime::Tensor& t, std::size_t place, Numbers numbers, std::int64_t round) const;
  double float_at(double generated, std::int64_t i, std::size_t place, Numbers numbers, std::int64_t round,
                  bool is_half) const;

  std::vector<double> beside_;  // the named numbers, halves, and what is next to them
  std::vector<std::int64_t> integers_beside_;
  std::vector<double> far_;  // whole tensors of one sign are beyond these
  std::vector<std::int64_t> far_integers_;
  bool by_data_;
};

// Differences count only where the right side is finite; for large numbers, only an overflow on the other side does.
bool differ(const runtime::Value& good, const runtime::Value& bad, Numbers numbers, const Tolerances& tolerances);

}  // namespace rldb::repro
