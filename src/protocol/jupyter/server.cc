// The threads of a kernel: cells, control, heartbeats.
#include "protocol/jupyter/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "rldb/support/cancel.h"

namespace rldb::protocol::jupyter {

namespace {

constexpr int kPollMilliseconds = 100;
constexpr std::string_view kExecute = "execute_request";
// The process that started the kernel, as Jupyter names it.
constexpr const char* kParentVariable = "JPY_PARENT_PID";

// An orphan gets another parent.
bool is_orphan() {
  const char* parent = std::getenv(kParentVariable);
  return parent && *parent && ::getppid() == 1 && std::string_view(parent) != "1";
}

bool is_request(const Message& message) { return message.type().ends_with("_request"); }

std::string reply_type(const Message& request) {
  const std::string type = request.type();
  return type.substr(0, type.rfind('_')) + "_reply";
}

// A request for which the memory does not suffice, or that is interrupted where nothing expects it, does not end the
// others.
std::optional<Json> answer_within_limits(Kernel& kernel, const Message& request) {
  try {
    return kernel.answer(request);
  } catch (const std::bad_alloc&) {
    return Kernel::failure("MemoryError", "out of memory");
  } catch (const support::Cancelled&) {
    return Kernel::failure("KeyboardInterrupt", "interrupted");
  }
}

}  // namespace

Server::Server(const ZmqLibrary& zmq, const Connection& connection)
    : connection_(connection),
      session_(new_identity()),
      context_(zmq),
      shell_(context_, ZMQ_ROUTER),
      stdin_(context_, ZMQ_ROUTER),
      control_(context_, ZMQ_ROUTER),
      iopub_(context_, ZMQ_PUB),
      heartbeat_(context_, ZMQ_REP) {}

Server::~Server() = default;

std::string Server::bind() {
  const std::pair<ZmqSocket*, const std::string*> all[] = {{&shell_, &connection_.shell},
                                                           {&stdin_, &connection_.stdin_},
                                                           {&control_, &connection_.control},
                                                           {&iopub_, &connection_.iopub},
                                                           {&heartbeat_, &connection_.heartbeat}};
  for (const auto& [socket, address] : all)
    if (std::string why = socket->bind(*address); !why.empty()) return why;
  return {};
}

// ---- messages ----

void Server::publish_about(const Json& parent, std::string_view type, Json content) {
  Message message;
  message.identities = {fmt::format("kernel.{}.{}", session_, type)};
  message.header = new_header(type, session_);
  message.parent = parent;
  message.content = std::move(content);
  const Frames frames = frames_of(message, connection_.key);
  const std::lock_guard lock(iopub_mutex_);
  iopub_.send(frames);
}

void Server::publish(std::string_view type, Json content) {
  Json parent;
  {
    const std::lock_guard lock(parent_mutex_);
    parent = request_.header;
  }
  publish_about(parent, type, std::move(content));
}

void Server::reply(ZmqSocket& socket, const Message& request, Json content) {
  Message message;
  message.identities = request.identities;
  message.header = new_header(reply_type(request), session_);
  message.parent = request.header;
  message.content = std::move(content);
  socket.send(frames_of(message, connection_.key));
}

bool Server::wait_for(ZmqSocket& socket, int milliseconds) {
  zmq_pollitem_t item{socket.get(), 0, ZMQ_POLLIN, 0};
  return context_.zmq.poll(&item, 1, milliseconds) > 0;
}

// Frames that are no message of the client are dropped, as the protocol has it: there is nobody to tell.
std::optional<Message> Server::receive(ZmqSocket& socket) {
  const auto frames = socket.receive();
  if (!frames) return std::nullopt;
  auto message = message_of(*frames, connection_.key);
  if (!message.ok()) return std::nullopt;
  return std::move(message).value();
}

// The user's line. ^C, an interruption and the end of the client end the wait.
std::optional<std::string> Server::ask(const std::string& question) {
  Message request;
  request.identities = request_.identities;
  request.header = new_header("input_request", session_);
  request.parent = request_.header;
  request.content = {{"prompt", question}, {"password", false}};
  while (receive(stdin_)) {
  }
  stdin_.send(frames_of(request, connection_.key));
  while (!ended_ && support::cancel_cause() == support::CancelCause::None) {
    if (!wait_for(stdin_, kPollMilliseconds)) continue;
    const auto answer = receive(stdin_);
    if (answer && answer->type() == "input_reply") return text_in(answer->content, "value");
  }
  return std::nullopt;
}

// ---- shell ----

void Server::answer(Kernel& kernel, const Message& request) {
  {
    const std::lock_guard lock(parent_mutex_);
    request_ = request;
  }
  publish("status", {{"execution_state", "busy"}});
  support::clear_cancel();
  executing_ = true;
  auto content = answer_within_limits(kernel, request);
  executing_ = false;
  publish_standard_streams();
  // Those were sent before the client knew that this cell failed.
  while (kernel.leaves_out_others()) {
    auto other = receive(shell_);
    if (!other) break;
    waiting_.push_back(std::move(*other));
  }
  if (content) reply(shell_, request, std::move(*content));
  publish("status", {{"execution_state", "idle"}});
}

std::optional<Message> Server::next_request() {
  while (!waiting_.empty()) {
    Message message = std::move(waiting_.front());
    waiting_.pop_front();
    if (message.type() != kExecute) return message;
    leave_out(message);
  }
  return wait_for(shell_, kPollMilliseconds) ? receive(shell_) : std::nullopt;
}

void Server::leave_out(const Message& cell) {
  publish_about(cell.header, "status", {{"execution_state", "busy"}});
  reply(shell_, cell, Kernel::left_out());
  publish_about(cell.header, "status", {{"execution_state", "idle"}});
}

void Server::serve(const ui::CommandLine& line) {
  streams_ = std::make_unique<StandardStreams>([this](std::string_view name, std::string_view text) {
    publish("stream", {{"name", name}, {"text", text}});
  });
  Kernel kernel(line, *this);
  std::thread control_thread([this] { serve_control(); });
  std::thread heartbeat_thread([this] { echo_heartbeats(); });
  publish("status", {{"execution_state", "starting"}});
  while (!ended_) {
    const auto request = next_request();
    if (!request || !is_request(*request)) continue;
    if (request->type() == "shutdown_request") {
      reply(shell_, *request, {{"status", "ok"}, {"restart", flag_in(request->content, "restart", false)}});
      break;
    }
    answer(kernel, *request);
  }
  end();
  control_thread.join();
  heartbeat_thread.join();
  streams_.reset();
}

void Server::end() {
  ended_ = true;
  if (executing_) support::request_cancel(support::CancelCause::Interrupt);
}

// ---- control ----

void Server::serve_control() {
  while (!ended_) {
    if (is_orphan()) end();
    if (!wait_for(control_, kPollMilliseconds)) continue;
    if (const auto request = receive(control_); request && is_request(*request)) control(*request);
  }
}

void Server::control(const Message& request) {
  publish_about(request.header, "status", {{"execution_state", "busy"}});
  const std::string type = request.type();
  if (type == "interrupt_request") {
    if (executing_) support::request_cancel(support::CancelCause::Interrupt);
    reply(control_, request, {{"status", "ok"}});
  } else if (type == "shutdown_request") {
    reply(control_, request, {{"status", "ok"}, {"restart", flag_in(request.content, "restart", false)}});
    end();
  } else if (type == "kernel_info_request") {
    reply(control_, request, kernel_info());
  }
  publish_about(request.header, "status", {{"execution_state", "idle"}});
}

void Server::echo_heartbeats() {
  while (!ended_) {
    if (!wait_for(heartbeat_, kPollMilliseconds)) continue;
    if (const auto beat = heartbeat_.receive()) heartbeat_.send(*beat);
  }
}

}  // namespace rldb::protocol::jupyter
