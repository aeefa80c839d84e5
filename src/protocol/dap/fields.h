// Fields: members of a client's object, read with their types. The first one that is missing or of another type is the
// failure that the reply gives; until it is looked at, reading goes on with defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/dap/message.h"

namespace rldb::protocol::dap {

class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  // `null` counts as absent.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string text(std::string_view name);
  std::string text_or(std::string_view name, std::string otherwise = {});
  std::int64_t integer(std::string_view name);
  std::int64_t integer_or(std::string_view name, std::int64_t otherwise);
  bool flag(std::string_view name, bool otherwise = false);
  // Empty where absent.
  const Json& object(std::string_view name);
  const Json& list(std::string_view name);
  // A string, or a list of strings.
  std::vector<std::string> texts(std::string_view name);

  void fail(std::string message, bool shown = true);
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  const Json* find(std::string_view name) const;
  const Json* need(std::string_view name);

  const Json& object_;
  std::optional<Failure> failure_;
};

}  // namespace rldb::protocol::dap
