// The tools: an entry made of the arguments, its reply, and the limit on what is sent.
#include "protocol/mcp/tools.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/support/cancel.h"
#include "rldb/ui/prompt/command.h"
#include "rldb/ui/prompt/entry_flags.h"

namespace rldb::protocol::mcp {

namespace {

// A tool's own result: the reply of the session, and texts to be offered as links.
struct Answer {
  Json reply;
  std::vector<Resource> links = {};
};

// ---- entries ----

// The name and what follows it, where there is something.
std::string entry(std::string_view command, std::initializer_list<std::string_view> parts) {
  std::string text = fmt::format(":{}", command);
  for (const std::string_view part : parts)
    if (!part.empty()) text += fmt::format(" {}", part);
  return text;
}

std::string option(std::string_view name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format("--{}={}", name, value);
}

// A mark that no line of the text is.
std::string here_document(std::string_view command, const std::string& text) {
  std::string mark = "END";
  while (("\n" + text + "\n").find("\n" + mark + "\n") != std::string::npos) mark += "_";
  return fmt::format(":{} <<{}\n{}\n{}", command, mark, text, mark);
}

Json own_reply(Json data) {
  return {{"command", nullptr}, {"ok", true}, {"data", std::move(data)}, {"diagnostics", Json::array()}};
}

// ---- the tools ----

struct Call {
  const Arguments& arguments;
  Programs& programs;
  const std::string& text(std::string_view name) const { return arguments.text(name); }
  RpcResult<Program*> program() const { return programs.find(text("program")); }
};

RpcResult<Answer> answer_open(const Call& c) {
  if (c.arguments.has("path") == c.arguments.has("text"))
    return rpc_failure(RpcCode::InvalidParams, "either `path` or `text` is needed");
  RLDB_TRY(Program * program, c.programs.open());
  const std::string handle = program->handle();
  Json reply = c.arguments.has("path") ? program->execute(entry("load", {c.text("path")}))
                                       : program->execute(here_document("load", c.text("text")));
  if (!reply.value("ok", false)) {
    c.programs.close(handle);
    return Answer{std::move(reply)};
  }
  program->set_name(c.arguments.has("path") ? c.text("path") : "module");
  if (program->is_stopped()) program->begin_run();  // a recorded one
  if (reply["data"].is_object()) reply["data"]["handle"] = handle;
  const Resource module = program->module_text();
  return Answer{std::move(reply), module.text.empty() ? std::vector<Resource>() : std::vector<Resource>{module}};
}

RpcResult<Answer> answer_close(const Call& c) {
  RLDB_TRY(Program * program, c.program());
  const std::string handle = program->handle();
  c.programs.close(handle);
  return Answer{own_reply({{"closed", handle}})};
}

RpcResult<Answer> answer_list(const Call& c) {
  const std::string& what = c.text("what");
  if (c.arguments.has("program") != c.arguments.has("what"))
    return rpc_failure(RpcCode::InvalidParams, "`program` and `what` are given together, or neither is");
  if (what.empty()) {
    Json list = Json::array();
    for (const Program* p : c.programs.all())
      list.push_back({{"handle", p->handle()}, {"name", p->name()}, {"run", p->run()}});
    return Answer{own_reply(std::move(list))};
  }
  RLDB_TRY(Program * program, c.program());
  if (!ui::find_command_named(what)) return Answer{program->execute(entry("info", {what}))};
  return Answer{program->execute(entry(what, {}))};
}

// A part of a text that begins and ends with whole characters.
Json part_of(const std::string& text, std::size_t offset) {
  const auto inside = [&](std::size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  std::size_t begin = std::min(offset, text.size()), end = std::min(begin + kMaxReplyBytes / 2, text.size());
  while (inside(begin)) ++begin;
  while (inside(end)) ++end;
  Json data{{"text", text.substr(begin, end - begin)}, {"offset", begin}, {"bytes", text.size()}};
  data["next_offset"] = end < text.size() ? Json(end) : Json();
  return data;
}

RpcResult<Answer> answer_show(const Call& c) {
  RLDB_TRY(Program * program, c.program());
  const std::size_t offset = c.arguments.has("offset") ? std::stoull(c.text("offset")) : 0;
  if (c.arguments.has("resource")) {
    const Resource* kept = program->find(c.text("resource"));
    if (!kept) return rpc_failure(RpcCode::InvalidParams, "no such resource is kept");
    return Answer{own_reply(part_of(kept->text, offset))};
  }
  Json reply = program->execute(entry("show", {c.text("function")}));
  if (reply["data"].is_object() && reply["data"].contains("text")) {
    const Json part = part_of(reply["data"]["text"].get<std::string>(), offset);
    for (const auto& [key, value] : part.items()) reply["data"][key] = value;
  }
  return Answer{std::move(reply)};
}

// Options of passes may name files, which only `@` may.
RpcResult<std::string> pipeline_of(const Call& c) {
  const std::string& passes = c.text("passes");
  if (passes.find('/') != std::string::npos && passes.find('@') == std::string::npos)
    return rpc_failure(RpcCode::InvalidParams, "argument `passes`: file names are not accepted");
  return passes;
}

RpcResult<Answer> answer_run_passes(const Call& c) {
  RLDB_TRY(Program * program, c.program());
  RLDB_TRY(const std::string passes, pipeline_of(c));
  return Answer{program->execute(entry("pipeline", {passes}))};
}

RpcResult<Answer> answer_compare(const Call& c) {
  RLDB_TRY(Program * program, c.program());
  RLDB_TRY(const std::string passes, pipeline_of(c));
  return Answer{program->execute(entry("compare", {c.text("before"), c.text("after"), option("passes", passes),
                                                   option("function", c.text("function"))}))};
}

RpcResult<Answer> answer_bisect(const Call& c) {
  RLDB_TRY(Program * program, c.program());
  RLDB_TRY(const std::string passes, pipeline_of(c));
  return Answer{program->execute(entry("bisect", {passes, c.text("function"), c.text("inputs")}))};
}

RpcResult<Answer> answer_reduce(const Call& c) {
  RLDB_TRY(Program * program, c.program());
  RLDB_TRY(const std::string passes, pipeline_of(c));
  return Answer{program->execute(entry("reduce", {passes, c.text("function"), c.text("inputs")}))};
}

RpcResult<Answer> answer_debug(const Call& c) {
  RLDB_TRY(Program * program, c.program());
  if (c.arguments.has("run") && c.text("run") != program->run())
    return rpc_failure(RpcCode::InvalidParams,
                       fmt::format("run `{}` has ended: the run now is {}", c.text("run"),
                                   program->run().empty() ? "none" : "`" + program->run() + "`"));
  const std::string& action = c.text("action");
  const ui::Command* row = ui::find_command_named(action);
  const bool begins = row && (row->flags & ui::kRuns) != 0;
  if (begins) program->begin_run();
  // A run that is in the way ends: the agent said so by starting another.
  const std::string command = begins ? action + "!" : action;
  Json reply = program->execute(entry(command, {c.text("argument"), c.text("inputs")}));
  if (reply["data"].is_object()) reply["data"]["run"] = program->run();
  return Answer{std::move(reply)};
}

RpcResult<Answer> answer_query(const Call& c) {
  RLDB_TRY(Program * program, c.program());
  return Answer{program->execute(entry(c.text("what"), {c.text("argument")}))};
}

RpcResult<Answer> answer_of(ToolId tool, const Call& call) {
  switch (tool) {
#define RLDB_MCP_TOOL(id, name, answer, reads_only, doc) \
  case ToolId::id:                                       \
    return answer(call);
#include "protocol/mcp/tool.def"
  }
  return rpc_failure(RpcCode::InternalError, "a tool without an answer");
}

// ---- replies ----

Json link_to(const Resource& r) {
  return {
      {"type", "resource_link"}, {"uri", r.uri}, {"name", r.name}, {"mimeType", r.mime_type}, {"size", r.text.size()}};
}

// The reply within the limit: what is too long is kept, and its beginning sent.
Json within_limit(Json reply, Program* program, std::vector<Resource>& links) {
  if (to_line(reply).size() <= kMaxReplyBytes || !program) return reply;
  const std::string whole = to_line(reply["data"].is_null() ? reply : reply["data"]);
  const Resource& kept = program->keep("the whole reply", "application/json", whole);
  links.push_back(kept);
  reply["data"] = nullptr;
  if (reply.contains("text") && reply["text"].is_string())
    reply["text"] = reply["text"].get<std::string>().substr(0, kMaxReplyBytes / 4);
  reply["summary"] = part_of(whole, 0)["text"];
  reply["resource"] = kept.uri;
  return reply;
}

}  // namespace

const std::vector<Tool>& tools() {
  static const std::vector<Tool> rows = {
#define RLDB_MCP_TOOL(id, name, answer, reads_only, doc) {ToolId::id, name, reads_only, doc},
#include "protocol/mcp/tool.def"
  };
  return rows;
}

const Tool* find_tool(std::string_view name) {
  for (const Tool& t : tools())
    if (t.name == name) return &t;
  return nullptr;
}

RpcResult<Json> call_tool(const Tool& tool, const Json& given, Programs& programs, const Roots& roots) {
  RLDB_TRY(const Arguments arguments, Arguments::read(tool.id, given, roots));
  RLDB_TRY(Answer answer, answer_of(tool.id, {arguments, programs}));
  const std::string& data_handle = answer.reply["data"].is_object() && answer.reply["data"].contains("handle")
                                       ? answer.reply["data"]["handle"].get_ref<const std::string&>()
                                       : arguments.text("program");
  auto program = programs.find(data_handle);
  const Json structured = within_limit(std::move(answer.reply), program.ok() ? *program : nullptr, answer.links);
  Json content =
      Json::array({{{"type", "text"}, {"text", structured.dump(-1, ' ', false, Json::error_handler_t::replace)}}});
  for (const Resource& link : answer.links) content.push_back(link_to(link));
  // A fault that was looked for and found is a result; an answer that was given up, or an empty list, is none.
  const bool given_up = support::cancel_cause() != support::CancelCause::None;
  const bool has_result = !given_up && (!structured["data"].empty() || structured.contains("resource"));
  return Json{{"content", std::move(content)},
              {"structuredContent", structured},
              {"isError", !structured.value("ok", false) && !has_result}};
}

}  // namespace rldb::protocol::mcp
