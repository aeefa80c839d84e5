// Programs of agents: sessions of their own, replies to entries, texts that are kept.
#include "protocol/mcp/programs.h"

#include <fmt/format.h>

#include "protocol/entry_reply.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::protocol::mcp {

namespace {

constexpr std::size_t kMaxKept = 32;  // texts of a program
constexpr std::string_view kScheme = "rldb://";
constexpr std::string_view kPythonText = "text/x-python";
// Seconds for a call without `--timeout`: an agent waits for each.
constexpr double kUsualTimeout = 120;

ui::CommandLine for_agents(const ui::CommandLine& line) {
  ui::CommandLine own;
  own.options = line.options;
  own.options.engine = session::Engine::Vm;
  own.options.cache_dir.clear();
  own.format = ui::Format::Json;
  own.timeout = line.timeout > 0 ? line.timeout : kUsualTimeout;
  own.prompt.batch = own.prompt.quiet = own.prompt.no_init = true;
  return own;
}

}  // namespace

Program::Program(std::string handle, const ui::CommandLine& line)
    : handle_(std::move(handle)), repl_(std::make_unique<ui::Repl>(line, console_)) {
  repl_->timeout = line.timeout;
}

Json Program::execute(const std::string& entry) {
  const ui::Repl::WrittenBy scope(*repl_, debug::Author{"an agent", 1});
  repl_->execute(entry);
  return reply_in(console_.take());
}

std::string Program::run() const { return runs_ == 0 ? std::string() : fmt::format("r{}", runs_); }

const Resource& Program::keep(std::string name, std::string mime_type, std::string text) {
  if (kept_.size() == kMaxKept) kept_.erase(kept_.begin());
  std::string uri = fmt::format("{}{}/{}", kScheme, handle_, ++kept_count_);
  return kept_.emplace_back(Resource{std::move(uri), std::move(name), std::move(mime_type), std::move(text)});
}

Resource Program::module_text() {
  const Json reply = execute(":show");
  const Json& data = reply["data"];
  std::string text =
      data.is_object() && data.contains("text") && data["text"].is_string() ? data["text"].get<std::string>() : "";
  return {fmt::format("{}{}/module", kScheme, handle_), name_, std::string(kPythonText), std::move(text)};
}

const Resource* Program::find(std::string_view uri) const {
  for (const Resource& r : kept_)
    if (r.uri == uri) return &r;
  return nullptr;
}

Programs::Programs(const ui::CommandLine& line) : line_(for_agents(line)) {}

RpcResult<Program*> Programs::open() {
  if (programs_.size() >= kMaxPrograms)
    return rpc_failure(RpcCode::InvalidParams, fmt::format("{} programs are open: close one first", kMaxPrograms));
  const std::string handle = fmt::format("p{}", ++opened_);
  return (programs_[handle] = std::make_unique<Program>(handle, line_)).get();
}

RpcResult<Program*> Programs::find(const std::string& handle) {
  const auto at = programs_.find(handle);
  if (at != programs_.end()) return at->second.get();
  return rpc_failure(RpcCode::InvalidParams, fmt::format("no program `{}` is open: `open` gives a handle", handle));
}

std::vector<Program*> Programs::all() const {
  std::vector<Program*> out;
  for (const auto& [handle, program] : programs_) out.push_back(program.get());
  return out;
}

const Resource* Programs::find_resource(std::string_view uri) const {
  for (const auto& [handle, program] : programs_)
    if (const Resource* r = program->find(uri)) return r;
  return nullptr;
}

}  // namespace rldb::protocol::mcp
