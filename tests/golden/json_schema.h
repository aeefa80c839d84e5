// Whether a JSON value is what a schema says: the parts of JSON Schema (2020-12) that our schemas use. Any other
// keyword is reported, so that nothing is passed over.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace rldb::test {

class JsonSchema {
 public:
  using Json = nlohmann::ordered_json;

  explicit JsonSchema(Json schema) : whole_(std::move(schema)) {}
  // Empty: it fits; else where it does not, and why.
  std::string problem(const Json& value) const { return problem(value, whole_, "$"); }

 private:
  static bool is_a(const Json& value, const Json& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == "null" && value.is_null();
  }

  std::string problem(const Json& value, const Json& schema, const std::string& at) const {
    static const std::set<std::string> kKnown = {"type",
                                                 "anyOf",
                                                 "$ref",
                                                 "const",
                                                 "enum",
                                                 "required",
                                                 "properties",
                                                 "items",
                                                 "description",
                                                 "$defs",
                                                 "title",
                                                 "minimum",
                                                 "additionalProperties"};
    for (const auto& [keyword, ignored] : schema.items())
      if (!kKnown.contains(keyword)) return fmt::format("{}: the keyword {} is not known here", at, keyword);
    if (schema.contains("$ref")) {
      const std::string name = schema["$ref"].get<std::string>().substr(std::string_view("#/$defs/").size());
      if (!whole_["$defs"].contains(name)) return fmt::format("{}: no definition of {}", at, name);
      return problem(value, whole_["$defs"][name], at);
    }
    if (schema.contains("type")) {
      const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
      if (std::none_of(types.begin(), types.end(), [&](const Json& t) { return is_a(value, t); }))
        return fmt::format("{}: {} is not {}", at, shown(value), types.dump());
    }
    if (schema.contains("const") && schema["const"] != value)
      return fmt::format("{}: {} is not {}", at, shown(value), schema["const"].dump());
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
      return fmt::format("{}: {} is not one of {}", at, shown(value), schema["enum"].dump());
    if (schema.contains("anyOf")) {
      std::string all;
      for (const Json& one : schema["anyOf"]) {
        const std::string why = problem(value, one, at);
        if (why.empty()) {
          all.clear();
          break;
        }
        all += (all.empty() ? "" : "; ") + why;
      }
      if (!all.empty()) return all;
    }
    if (value.is_object()) return problem_of_object(value, schema, at);
    if (value.is_array() && schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i)
        if (std::string why = problem(value[i], schema["items"], fmt::format("{}[{}]", at, i)); !why.empty())
          return why;
    return {};
  }

  std::string problem_of_object(const Json& value, const Json& schema, const std::string& at) const {
    for (const Json& key : schema.value("required", Json::array()))
      if (!value.contains(key.get<std::string>())) return fmt::format("{}: {} is missing", at, key.dump());
    for (const auto& [key, inner] : value.items()) {
      const bool declared = schema.contains("properties") && schema["properties"].contains(key);
      const Json* own = declared                                  ? &schema["properties"][key]
                        : schema.contains("additionalProperties") ? &schema["additionalProperties"]
                                                                  : nullptr;
      if (!own || (own->is_boolean() && *own)) continue;
      if (own->is_boolean()) return fmt::format("{}: the key {} is not declared", at, key);
      if (std::string why = problem(inner, *own, at + "." + key); !why.empty()) return why;
    }
    return {};
  }

  static std::string shown(const Json& value) { return value.dump().substr(0, 80); }

  Json whole_;
};

}  // namespace rldb::test
