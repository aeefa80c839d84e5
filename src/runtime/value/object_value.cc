// How objects that plugins return describe themselves.
#include "rldb/runtime/object_value.h"

#include <fmt/format.h>

namespace rldb::runtime {

std::string DeviceValue::description(std::size_t) const { return fmt::format("device(\"{}\")", to_string(device)); }

std::string BytesValue::description(std::size_t) const { return fmt::format("bytes({})", bytes.size()); }

// Without the address: it differs from run to run.
std::string PointerValue::description(std::size_t) const { return pointer ? "opaque pointer" : "null pointer"; }

std::string MapValue::description(std::size_t width) const {
  std::string out = "{";
  for (const auto& [key, value] : items) {
    if (out.size() > 1) out += ", ";
    if (out.size() > width) {
      out += "...";
      break;
    }
    out += describe(key) + ": " + describe(value);
  }
  return out + "}";
}

}  // namespace rldb::runtime
