// tvm-ffi's metadata of a function as text. The JSON is {"type_schema": "<JSON>"}; a schema is a type with arguments,
// of which a function's first is its result.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "rldb/support/json_document.h"
#include "runtime/plugin/library.h"

namespace rldb::runtime {

namespace {

using nlohmann::json;
constexpr int kMaxSchemaDepth = 20;

std::string schema_text(const json& schema, int depth);

std::string function_schema_text(const json& args, int depth) {
  std::string params;
  for (std::size_t i = 1; i < args.size(); ++i) params += (i > 1 ? ", " : "") + schema_text(args[i], depth + 1);
  return fmt::format("({}) -> {}", params, args.empty() ? "None" : schema_text(args[0], depth + 1));
}

std::string schema_text(const json& schema, int depth) {
  if (depth > kMaxSchemaDepth || !schema.is_object()) return "...";
  const auto type = schema.find("type");
  if (type == schema.end() || !type->is_string()) return "...";
  std::string name = type->get<std::string>();
  constexpr std::string_view kPrefix = "ffi.";
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  const auto args = schema.find("args");
  const bool has_args = args != schema.end() && args->is_array();
  if (name == "Function") return has_args ? function_schema_text(*args, depth) : name;
  if (!has_args || args->empty()) return name;
  const bool any_of = name == "Union" || name == "Variant";
  std::string inner;
  for (const json& a : *args) inner += (inner.empty() ? "" : any_of ? " | " : ", ") + schema_text(a, depth + 1);
  return any_of ? inner : fmt::format("{}[{}]", name, inner);
}

}  // namespace

std::string signature_text(const std::string& metadata) {
  const auto outer = support::read_json(metadata);
  if (!outer.ok() || !(*outer)->is_object()) return {};
  const auto at = (*outer)->find("type_schema");
  if (at == (*outer)->end()) return {};
  if (!at->is_string()) return at->is_object() ? schema_text(*at, 0) : std::string();
  const auto schema = support::read_json(at->get_ref<const std::string&>());
  return schema.ok() && (*schema)->is_object() ? schema_text(**schema, 0) : std::string();
}

}  // namespace rldb::runtime
