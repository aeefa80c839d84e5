// Messages of the Debug Adapter Protocol: a client's requests, and the replies and events that it gets.
// Source: microsoft.github.io/debug-adapter-protocol, version 1.71.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "protocol/json_rpc.h"
#include "rldb/support/result.h"

namespace rldb::protocol::dap {

struct Request {
  std::int64_t seq = 0;
  std::string command;
  Json arguments = Json::object();
};

// Why a request is refused; a sentence for the user.
struct Failure {
  std::string message;
  bool shown = true;  // to the user: not if a client asked at the wrong time, as VS Code does with an open disassembly
};
// The body of a reply.
using Answer = support::Result<Json, Failure>;
inline support::Failure<Failure> refused(std::string message) { return support::Failure(Failure{std::move(message)}); }
inline support::Failure<Failure> out_of_turn(std::string message) {
  return support::Failure(Failure{std::move(message), false});
}

// The request in a message. A failure's request has what could be read of it, for the reply.
struct Unreadable {
  std::string message;
  Request request;  // no command: there is nothing to reply to
};
support::Result<Request, Unreadable> read_message(std::string_view text);

// The way to the client, for both threads: messages get their numbers in the order in which they are sent.
class Channel {
 public:
  // `sink` sends one message; called by one thread at a time.
  explicit Channel(std::function<void(const Json&)> sink) : sink_(std::move(sink)) {}

  void reply(const Request& request, Json body);
  void fail(const Request& request, const Failure& failure);
  void answer(const Request& request, Answer answer);
  void event(std::string_view name, Json body = Json::object());
  // Text for the client's console: `console`, `stdout`, `stderr`, `important`.
  void output(std::string_view category, std::string_view text);

 private:
  void send(Json message);
  std::function<void(const Json&)> sink_;
  std::mutex mutex_;
  std::int64_t seq_ = 0;
};

}  // namespace rldb::protocol::dap
