#include "rldb/ui/render/duration.h"

#include <fmt/format.h>

namespace rldb::ui {

std::string format_duration(std::uint64_t nanoseconds) {
  const auto ns = double(nanoseconds);
  if (ns < 1e3) return fmt::format("{} ns", nanoseconds);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

}  // namespace rldb::ui
