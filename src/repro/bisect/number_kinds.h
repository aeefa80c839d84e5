// The kinds of numbers on which single computations are run: a program rarely feeds them to an operator in its middle.
// Room-private.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "rldb/repro/settings.h"
#include "rldb/runtime/value.h"

namespace rldb::repro {

enum class Numbers : std::uint8_t { Generated, Signed, Ties, Large };
inline constexpr std::array kNumbers = {Numbers::Generated, Numbers::Signed, Numbers::Ties, Numbers::Large};
std::string_view text_of(Numbers n);

// A short tensor of integers gets them in several rounds.
std::int64_t rounds_of(const std::vector<runtime::Value>& args, Numbers numbers);
// Replaces generated numbers by those of that kind.
void refill(const runtime::Value& value, Numbers numbers, std::int64_t round);
// Differences count only where the right side is finite; for large numbers, only an overflow on the other side does.
bool differ(const runtime::Value& good, const runtime::Value& bad, Numbers numbers, const Tolerances& tolerances);

}  // namespace rldb::repro
