// The server behind messages as texts.
#include <utility>

#include "protocol/mcp/server.h"
#include "rldb/protocol/mcp.h"

namespace rldb::protocol {

namespace {

ui::CommandLine with_timeout(double seconds) {
  ui::CommandLine line;
  line.timeout = seconds;
  return line;
}

mcp::Roots no_roots() {
  std::string missing;
  return {{}, missing};
}

}  // namespace

struct AgentServer::State {
  mcp::Server server;
};

AgentServer::AgentServer(double timeout)
    : state_(std::make_unique<State>(State{mcp::Server(with_timeout(timeout), no_roots())})) {}
AgentServer::~AgentServer() = default;

std::string AgentServer::answer(std::string_view message) {
  Json id;
  const auto request = read_request(message, id);
  if (!request.ok()) return to_line(error_reply(id, request.error()));
  if (!*request || !(*request)->id) return {};
  auto result = state_->server.answer(**request);
  const Json& asked = *(*request)->id;
  return to_line(result.ok() ? reply(asked, std::move(*result)) : error_reply(asked, result.error()));
}

}  // namespace rldb::protocol
