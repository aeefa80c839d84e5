// The loop over sockets.
#include "protocol/serve/listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "protocol/loopback.h"
#include "rldb/support/cancel.h"

namespace rldb::protocol {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostConnections = 64;
constexpr std::size_t kMostUnread = std::size_t(1) << 20;  // of a stream of events
constexpr std::chrono::seconds kIdle(60);                  // of a connection without a request
constexpr int kTick = 5000;                                // milliseconds between looks for idle connections

void signal(int fd) {
  const std::uint64_t one = 1;
  (void)!::write(fd, &one, sizeof one);
}

void clear(int fd) {
  std::uint64_t count = 0;
  (void)!::read(fd, &count, sizeof count);
}

constexpr std::string_view kEventStream =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    "retry: 1000\n\n";

}  // namespace

struct Listener::Connection {
  int fd = -1;
  HttpReader reader;
  std::string out;
  std::size_t written = 0;
  Clock::time_point last = Clock::now();
  bool asked = false;      // a request is being answered
  bool keep_alive = true;  // of that request
  bool is_stream = false;  // of events
  bool closing = false;    // when everything is written
  bool gone = false;
};

std::unique_ptr<Listener> Listener::open(std::uint16_t port, std::string token, std::string& why) {
  std::uint16_t chosen = 0;
  const int fd = listen_on_loopback(port, chosen, why);
  if (fd < 0) return nullptr;
  ::fcntl(fd, F_SETFL, O_NONBLOCK);  // who connects may be gone when it is accepted
  return std::unique_ptr<Listener>(new Listener(fd, {std::move(token), chosen}));
}

Listener::Listener(int fd, HttpAccess access)
    : listening_(fd),
      access_(std::move(access)),
      waiting_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

Listener::~Listener() {
  ending_ = true;
  wake();
  thread_.join();
  for (auto& [id, c] : connections_) ::close(c.fd);
  for (const int fd : {listening_, waiting_fd_, wake_fd_}) ::close(fd);
}

void Listener::wake() { signal(wake_fd_); }

std::optional<Listener::Waiting> Listener::take() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    clear(waiting_fd_);
    return std::nullopt;
  }
  Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  return first;
}

void Listener::answer(std::uint64_t connection, const HttpResponse& response) {
  const std::lock_guard lock(mutex_);
  const auto it = connections_.find(connection);
  if (it == connections_.end()) return;
  reply(it->second, response, it->second.keep_alive);
  it->second.asked = false;
  wake();
}

void Listener::tell(std::string_view data) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, c] : connections_)
    if (c.is_stream && c.out.size() - c.written < kMostUnread) c.out.append("data: ").append(data).append("\n\n");
  wake();
}

void Listener::reply(Connection& c, const HttpResponse& response, bool keep_alive) {
  c.out += to_bytes(response, keep_alive);
  c.closing = !keep_alive;
}

void Listener::accept_one() {
  const int fd = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (connections_.size() >= kMostConnections) {
    ::close(fd);
    return;
  }
  connections_[next_++].fd = fd;
}

void Listener::route(std::uint64_t id, Connection& c, HttpRequest request) {
  c.keep_alive = request.keep_alive;
  if (const int refused = http_refusal(request, access_); refused != 0)
    return reply(c, http_error(refused, "this address is for the page that rldb opened, on this machine"), false);
  if (request.path == "events" && request.method == "GET") {
    c.is_stream = true;
    c.out += kEventStream;
    return;
  }
  if (request.path == "interrupt" && request.method == "POST") {
    if (working_) support::request_cancel(support::CancelCause::Interrupt);
    return reply(c, {200, "application/json", "{}", {}}, c.keep_alive);
  }
  c.asked = true;
  waiting_.push_back({id, std::move(request)});
  signal(waiting_fd_);
}

// Those that have arrived already, one after the other.
void Listener::next_request(std::uint64_t id, Connection& c) {
  while (!c.asked && !c.closing && !c.is_stream) {
    auto request = c.reader.next();
    if (request) {
      route(id, c, std::move(*request));
      continue;
    }
    if (c.reader.problem() != 0) reply(c, http_error(c.reader.problem(), "not a request of this server"), false);
    return;
  }
}

void Listener::read_from(std::uint64_t id, Connection& c) {
  char chunk[1 << 14];
  const ssize_t n = ::read(c.fd, chunk, sizeof chunk);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    c.gone = true;
    return;
  }
  c.last = Clock::now();
  if (c.closing || c.is_stream) return;  // nobody listens to it any more
  c.reader.feed({chunk, std::size_t(n)});
  next_request(id, c);
}

void Listener::write_to(Connection& c) {
  while (c.written < c.out.size()) {
    const ssize_t n = ::send(c.fd, c.out.data() + c.written, c.out.size() - c.written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      c.gone = true;
      return;
    }
    c.written += std::size_t(n);
    c.last = Clock::now();
  }
  c.out.clear();
  c.written = 0;
  if (c.closing) c.gone = true;
}

void Listener::run() {
  while (!ending_) {
    std::vector<pollfd> fds{{listening_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
    std::vector<std::uint64_t> ids;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [id, c] : connections_) {
        // A client that sends without waiting for answers is not read any further.
        const short reading = c.asked ? 0 : POLLIN;
        fds.push_back({c.fd, short(reading | (c.written < c.out.size() ? POLLOUT : 0)), 0});
        ids.push_back(id);
      }
    }
    (void)::poll(fds.data(), fds.size(), kTick);
    const std::lock_guard lock(mutex_);
    clear(wake_fd_);
    try {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        Connection& c = connections_[ids[i]];
        const short events = fds[i + 2].revents;
        if (events & (POLLIN | POLLERR | POLLHUP))
          c.asked ? void(c.gone = c.gone || (events & (POLLERR | POLLHUP))) : read_from(ids[i], c);
        if (!c.gone) next_request(ids[i], c);
        if (!c.gone) write_to(c);
        if (!c.asked && !c.is_stream && c.out.empty() && Clock::now() - c.last > kIdle) c.gone = true;
      }
      if (fds[0].revents & POLLIN) accept_one();
    } catch (const std::bad_alloc&) {  // the connections that it was about are lost
      for (auto& [id, c] : connections_) c.gone = c.gone || !c.is_stream;
    }
    for (auto it = connections_.begin(); it != connections_.end();) {
      if (!it->second.gone) {
        ++it;
        continue;
      }
      ::close(it->second.fd);
      it = connections_.erase(it);
    }
  }
  // The answer to the request that ended the session.
  const std::lock_guard lock(mutex_);
  for (auto& [id, c] : connections_)
    if (!c.gone) write_to(c);
}

}  // namespace rldb::protocol
