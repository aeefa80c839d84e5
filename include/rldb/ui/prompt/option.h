// Options of `:set`: one row each in option.cc; help and completion read the rows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui {

class Repl;

struct Option {
  std::string_view name;
  std::string_view values;
  std::string_view doc;
  std::string (*get)(Repl&);
  bool (*set)(Repl&, std::string_view);
  // The value that removes a protection: a script that the user did not name needs confirmation for it.
  std::optional<std::string_view> loosens = {};
};
const std::vector<Option>& options();
// Before an option of `:set`: sets it in every session from now on.
inline constexpr std::string_view kSaveFlag = "--save";

}  // namespace rldb::ui
