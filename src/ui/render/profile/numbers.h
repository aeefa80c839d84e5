// Numbers of a profile as text. Users: its tables and pictures.
#pragma once

#include <fmt/format.h>

#include <string>

namespace rldb::ui {

// Three digits and a prefix: `1.23 G`; empty for nothing.
inline std::string scaled(double v) {
  if (v <= 0) return {};
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P"};
  std::size_t i = 0;
  while (v >= 999.5 && i + 1 < std::size(kPrefixes)) v /= 1000, ++i;
  const int decimals = i == 0 ? 0 : v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}", v, decimals, kPrefixes[i]);
}

// Operations or bytes per nanosecond are billions per second.
inline std::string rate(double amount, std::uint64_t nanoseconds) {
  if (amount <= 0 || nanoseconds == 0) return {};
  const double v = amount / double(nanoseconds);
  return fmt::format("{:.{}f}", v, v < 9.995 ? 2 : 1);
}

inline std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : std::string();
}

}  // namespace rldb::ui
