// How long a program may run beside another one that has ended: an endless loop is a difference. Room-private.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace rldb::repro {

// In seconds, for a program of which another form took this long; 0: no limit, it is the first one.
inline double limit_beside(std::chrono::duration<double> other) {
  constexpr double kLeast = 20, kTimes = 30;
  return other.count() > 0 ? std::max(kLeast, kTimes * other.count()) : 0;
}

inline std::string never_ends(double seconds) { return fmt::format("it has not ended after {:.0f} s", seconds); }

}  // namespace rldb::repro
