// The arguments of a tool, checked against its rows in tool.def before anything is done with them.
//
// They are written by a program that has read texts of strangers, so they only ever become parts of one command: no
// line breaks, no options, no files but those below the roots.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/json_rpc.h"

namespace rldb::protocol::mcp {

enum class ToolId : std::uint8_t {
#define RLDB_MCP_TOOL(id, name, answer, reads_only, doc) id,
#include "protocol/mcp/tool.def"
};

enum class ArgumentKind : std::uint8_t {
  Handle,  // of a program or a run
  Word,    // part of a command: one line without options
  Words,   // several
  Text,    // of a module: any
  Path,    // a file below a root
  Count,   // an integer from 0
  Choice,  // one of the values of the row
};

struct ArgumentRow {
  ToolId tool;
  std::string_view name;
  ArgumentKind kind;
  bool needed;
  std::string_view values;
  std::string_view doc;
};
// Of one tool, in the order of the table.
std::vector<ArgumentRow> arguments_of(ToolId tool);
std::vector<std::string_view> choices_of(const ArgumentRow& row);

// The folders whose files may be read, as the system resolves them.
class Roots {
 public:
  // A folder that does not exist is left out; `missing` names it.
  Roots(const std::vector<std::string>& folders, std::string& missing);
  // The file as the system resolves it; an error when it is not below a root or does not exist.
  RpcResult<std::string> resolve(std::string_view path) const;
  bool empty() const { return folders_.empty(); }

 private:
  std::vector<std::string> folders_;
};

class Arguments {
 public:
  static RpcResult<Arguments> read(ToolId tool, const Json& given, const Roots& roots);
  // Empty: absent. Of Words: the values separated by blanks.
  const std::string& text(std::string_view name) const;
  bool has(std::string_view name) const { return !text(name).empty(); }

 private:
  std::vector<std::pair<std::string_view, std::string>> values_;
};

}  // namespace rldb::protocol::mcp
