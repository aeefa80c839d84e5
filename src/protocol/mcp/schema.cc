// JSON schemas of the tools, made from tool.def.
#include "protocol/mcp/tools.h"

namespace rldb::protocol::mcp {

namespace {

Json schema_of(const ArgumentRow& row) {
  Json schema;
  switch (row.kind) {
    case ArgumentKind::Count:
      schema = {{"type", "integer"}, {"minimum", 0}};
      break;
    case ArgumentKind::Words:
      schema = {{"type", "array"}, {"items", {{"type", "string"}}}};
      break;
    case ArgumentKind::Choice:
      schema = {{"type", "string"}, {"enum", choices_of(row)}};
      break;
    case ArgumentKind::Handle:
    case ArgumentKind::Word:
    case ArgumentKind::Text:
    case ArgumentKind::Path:
      schema = {{"type", "string"}};
      break;
  }
  schema["description"] = row.doc;
  return schema;
}

}  // namespace

Json input_schema(const Tool& tool) {
  Json properties = Json::object(), needed = Json::array();
  for (const ArgumentRow& row : arguments_of(tool.id)) {
    properties[std::string(row.name)] = schema_of(row);
    if (row.needed) needed.push_back(row.name);
  }
  return {{"type", "object"}, {"properties", properties}, {"required", needed}, {"additionalProperties", false}};
}

// As docs/json.md describes the reply to an entry.
Json output_schema() {
  const Json diagnostic{
      {"type", "object"},
      {"properties",
       {{"severity", {{"type", "integer"}}}, {"code", {{"type", "string"}}}, {"message", {{"type", "string"}}}}},
      {"required", {"message"}}};
  return {{"type", "object"},
          {"properties",
           {{"ok", {{"type", "boolean"}, {"description", "false: it failed, and the diagnostics say why"}}},
            {"command", {{"type", {"string", "null"}}}},
            {"data",
             {{"description", "the data of the command; null: none, or too long, then `summary` has its beginning"}}},
            {"diagnostics", {{"type", "array"}, {"items", diagnostic}}},
            {"text", {{"type", "string"}, {"description", "other output"}}},
            {"summary", {{"type", "string"}}},
            {"resource", {{"type", "string"}, {"description", "the URI of the whole, for `show`"}}}}},
          {"required", {"ok", "data", "diagnostics"}}};
}

}  // namespace rldb::protocol::mcp
