// The sockets of a kernel and the threads that serve them.
//
// The thread that calls `serve` executes cells (shell, stdin, iopub). A second one answers on the control socket, so
// that an interruption reaches a cell that is running; a third echoes heartbeats. Ends when the client asks for it, or
// when the process that started the kernel has ended.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "protocol/jupyter/connection.h"
#include "protocol/jupyter/kernel.h"
#include "protocol/jupyter/zmq.h"
#include "protocol/standard_streams.h"

namespace rldb::protocol::jupyter {

class Server : private Client {
 public:
  Server(const ZmqLibrary& zmq, const Connection& connection);
  ~Server() override;

  // Empty: all sockets are bound.
  std::string bind();
  void serve(const ui::CommandLine& line);

 private:
  void publish(std::string_view type, Json content) override;
  std::optional<std::string> ask(const std::string& question) override;
  void publish_standard_streams() override { streams_->drain(); }

  void publish_about(const Json& parent, std::string_view type, Json content);
  void reply(ZmqSocket& socket, const Message& request, Json content);
  std::optional<Message> receive(ZmqSocket& socket);
  bool wait_for(ZmqSocket& socket, int milliseconds);
  void answer(Kernel& kernel, const Message& request);
  std::optional<Message> next_request();
  void leave_out(const Message& cell);
  void serve_control();
  void control(const Message& request);
  void echo_heartbeats();
  void end();

  Connection connection_;
  std::string session_;
  ZmqContext context_;
  ZmqSocket shell_, stdin_, control_, iopub_, heartbeat_;
  std::mutex iopub_mutex_;
  std::mutex parent_mutex_;
  Message request_;              // the one that is being answered
  std::deque<Message> waiting_;  // what had arrived when a cell failed, whose cells are left out
  std::atomic<bool> executing_ = false;
  std::atomic<bool> ended_ = false;
  std::unique_ptr<StandardStreams> streams_;
};

}  // namespace rldb::protocol::jupyter
