// print/FORMAT: the elements of a value in another base, as bits, or as facts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rldb/runtime/value.h"

namespace rldb::ui {

// `/x EXPRESSION`, split; the format is one letter. Without a `/`: no format. Null: not a valid letter.
struct FormattedExpression {
  char format = '\0';
  std::string_view text;
};
std::optional<FormattedExpression> split_format(std::string_view text);
std::string format_value_as(const runtime::Value& v, char format, const runtime::FormatOptions& options);

}  // namespace rldb::ui
