// KeptValue: an old value, to be compared with the current one.
#pragma once

#include <optional>
#include <string>

#include "rldb/runtime/value.h"

namespace rldb::debug {

class KeptValue {
 public:
  // Copies tensor data up to a limit; of larger data only a hash is kept: then a change is detected, but not where.
  void keep(const std::optional<runtime::Value>& value);
  bool is(const std::optional<runtime::Value>& value) const;
  // Lines that describe the change: the first different element with both values, and how many differ; or both values.
  std::string changes(const std::optional<runtime::Value>& now) const;

 private:
  std::optional<runtime::Value> value_;  // a separate copy
  bool hashed_ = false;
  std::uint64_t hash_ = 0;
};

}  // namespace rldb::debug
