// JSON schemas of the tools, made from tool.def and, for results, from reply.def of the prompt.
#include <map>

#include "protocol/mcp/tools.h"
#include "rldb/ui/prompt/reply_schema.h"

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

// ---- results ----

struct ReplyRow {
  ToolId tool;
  std::string_view command, type;
};
constexpr ReplyRow kReplies[] = {
#define RLDB_MCP_REPLY(id, command, type) {ToolId::id, command, type},
#include "protocol/mcp/tool.def"
};
struct AddedRow {
  ToolId tool;
  std::string_view key, type;
};
constexpr AddedRow kAdded[] = {
#define RLDB_MCP_ADDED(id, key, type) {ToolId::id, key, type},
#include "protocol/mcp/tool.def"
};
constexpr ui::ReplyKey kOwnKeys[] = {
#define RLDB_MCP_KEY(shape, key, type) {#shape, key, type},
#include "protocol/mcp/tool.def"
};

const std::vector<ui::ReplyKey>& all_keys() {
  static const std::vector<ui::ReplyKey> keys = [] {
    const auto of_commands = ui::reply_keys();
    std::vector<ui::ReplyKey> all(of_commands.begin(), of_commands.end());
    all.insert(all.end(), std::begin(kOwnKeys), std::end(kOwnKeys));
    return all;
  }();
  return keys;
}

// The commands that a tool may execute, by the type of their data; "" is the tool itself.
std::map<std::string_view, std::vector<std::string_view>> commands_by_type(const Tool& tool) {
  std::map<std::string_view, std::vector<std::string_view>> out;
  for (const ReplyRow& row : kReplies)
    if (row.tool == tool.id) out[row.command.empty() ? row.type : ui::reply_type(row.command)].push_back(row.command);
  if (tool.id != ToolId::Debug && tool.id != ToolId::Query) return out;
  for (const ArgumentRow& row : arguments_of(tool.id))
    for (const std::string_view command : choices_of(row)) out[ui::reply_type(command)].push_back(command);
  return out;
}

Json reply_of(const Tool& tool, const std::vector<std::string_view>& commands, std::string_view type,
              std::vector<std::string_view>& types) {
  Json names = Json::array();
  for (const std::string_view c : commands) names.push_back(c.empty() ? Json() : Json(c));
  Json data =
      type.empty() ? Json{{"type", "null"}} : Json{{"anyOf", Json::array({ui::type_schema(type), {{"type", "null"}}})}};
  for (const AddedRow& added : kAdded) {
    if (added.tool != tool.id || type.empty() || commands[0].empty()) continue;
    data["properties"][std::string(added.key)] = ui::type_schema(added.type);
    types.push_back(added.type);
  }
  return {{"properties", {{"command", {{"enum", std::move(names)}}}, {"data", std::move(data)}}}};
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

Json output_schema(const Tool& tool) {
  std::vector<std::string_view> types{ui::kDiagnosticShape};
  Json replies = Json::array();
  for (const auto& [type, commands] : commands_by_type(tool)) {
    if (!type.empty()) types.push_back(type);
    replies.push_back(reply_of(tool, commands, type, types));
  }
  // An entry that was not recognised, or was abandoned.
  replies.push_back({{"properties", {{"command", {{"type", "null"}}}, {"data", {{"type", "null"}}}}}});
  return {
      {"type", "object"},
      {"properties",
       {{"ok", {{"type", "boolean"}, {"description", "false: it failed, or found a fault: the diagnostics say which"}}},
        {"command", {{"type", {"string", "null"}}}},
        {"data", {{"description", "null: none, or too long, then `summary` has its beginning"}}},
        {"diagnostics", {{"type", "array"}, {"items", ui::type_schema(ui::kDiagnosticShape)}}},
        {"text", {{"type", "string"}, {"description", "other output"}}},
        {"summary", {{"type", "string"}}},
        {"resource", {{"type", "string"}, {"description", "the URI of the whole, for `show`"}}}}},
      {"required", {"command", "ok", "data", "diagnostics"}},
      {"anyOf", std::move(replies)},
      {"$defs", ui::shape_schemas(types, all_keys())}};
}

}  // namespace rldb::protocol::mcp
