// Texts with brackets and quotes, split at the punctuation outside them. Nothing inside is read. Users: options of
// passes, patterns.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace rldb::support {

// Trimmed, without the quotes around it.
std::string_view unquote(std::string_view text);
// The items of `a, f(b, c), [d, e]`, split at commas outside brackets and quotes, trimmed; empty ones are left out.
std::vector<std::string_view> split_items(std::string_view text);
// `{"a": x, b: y}`: keys without quotes, values as written; nullopt when the text has no such form.
struct KeyValue {
  std::string_view key;
  std::string_view value;
};
std::optional<std::vector<KeyValue>> split_dict(std::string_view text);

}  // namespace rldb::support
