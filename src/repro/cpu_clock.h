// The time that this process has computed: other work on the machine makes no search shorter. Room-private.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace rldb::repro {

struct CpuClock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<CpuClock>;
  static constexpr bool is_steady = true;
  static time_point now() {
    return time_point(duration(std::int64_t(double(std::clock()) * (1e6 / double(CLOCKS_PER_SEC)))));
  }
};

}  // namespace rldb::repro
