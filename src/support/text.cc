#include "rldb/support/text.h"

#include <fmt/format.h>

namespace rldb::support {

std::string counted(std::size_t count, std::string_view thing) {
  if (count == 1) return fmt::format("1 {}", thing);
  if (thing.ends_with("ch")) return fmt::format("{} {}es", count, thing);
  if (!thing.ends_with('y')) return fmt::format("{} {}s", count, thing);
  return fmt::format("{} {}ies", count, thing.substr(0, thing.size() - 1));
}

}  // namespace rldb::support
