// Numbers in JSON, which has no NaN and no infinity: those are texts. Room-private.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace rldb::repro {

inline nlohmann::json json_number(double x) {
  using nlohmann::json;
  return std::isfinite(x) ? json(x) : json(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

}  // namespace rldb::repro
