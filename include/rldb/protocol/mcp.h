// The server of the Model Context Protocol without streams and threads: one message in, its reply out, as `rldb mcp`
// answers it, but nothing is cancelled and no files can be read. User: the fuzz target.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rldb::protocol {

class AgentServer {
 public:
  // `timeout`: seconds for each call.
  explicit AgentServer(double timeout);
  ~AgentServer();
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  // JSON without a line break. Empty: no reply is due.
  std::string answer(std::string_view message);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rldb::protocol
