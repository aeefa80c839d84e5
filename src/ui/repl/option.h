// Options of `:set`: one row each in option.cc; help and completion read the rows.
#pragma once

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
};
const std::vector<Option>& options();

}  // namespace rldb::ui
