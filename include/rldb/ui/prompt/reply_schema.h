// JSON schemas (2020-12) of the replies of commands, made from the types in reply.def.
//
// Used by protocol (the schemas of an agent's tools) and by tests, which hold replies to them.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace rldb::ui {

struct ReplyKey {
  std::string_view shape;
  std::string_view key;  // ends with `?`: may be absent
  std::string_view type;
};
// In the order of the table.
std::span<const ReplyKey> reply_keys();
// The data of a command's replies, as a type; empty: it gives none.
std::string_view reply_type(std::string_view command);
inline constexpr std::string_view kDiagnosticShape = "Diagnostic";

// The schema of a type; shapes are references to `$defs`. The type is from a table: one that is malformed is a bug.
nlohmann::ordered_json type_schema(std::string_view type);
// `$defs`: the shapes that the types need, directly or not, out of these keys.
nlohmann::ordered_json shape_schemas(const std::vector<std::string_view>& types, std::span<const ReplyKey> keys);

}  // namespace rldb::ui
