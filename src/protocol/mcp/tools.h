// The tools: from checked arguments to one entry of a program's session, and from its reply to that of the tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/mcp/arguments.h"
#include "protocol/mcp/programs.h"

namespace rldb::protocol::mcp {

// A longer reply becomes a resource: all that a model reads costs it attention.
constexpr std::size_t kMaxReplyBytes = 24'000;

struct Tool {
  ToolId id;
  std::string_view name;
  bool reads_only;
  std::string_view doc;
};
// In the order of the table.
const std::vector<Tool>& tools();
const Tool* find_tool(std::string_view name);

// The result of `tools/call`: content, structuredContent by the tool's schema, isError. An error of the protocol: the
// arguments are wrong.
RpcResult<Json> call_tool(const Tool& tool, const Json& arguments, Programs& programs, const Roots& roots);

// JSON schemas of a tool's arguments, and of its structured content: of each command that it may execute, the data of
// its replies (docs/json.md).
Json input_schema(const Tool& tool);
Json output_schema(const Tool& tool);

}  // namespace rldb::protocol::mcp
