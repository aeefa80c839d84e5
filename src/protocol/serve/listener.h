// Listener: the sockets of the live page's server, in a thread of its own.
//
// Requests that were let in wait for the thread that owns the session, which is woken through a descriptor; the others
// are answered at once. A connection has one request at a time. Streams of events are connections that stay open.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "rldb/protocol/http.h"

namespace rldb::protocol {

class Listener {
 public:
  struct Waiting {
    std::uint64_t connection;
    HttpRequest request;
  };

  // Null: `why` is the reason. `port` 0: a free one.
  static std::unique_ptr<Listener> open(std::uint16_t port, std::string token, std::string& why);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const { return access_.port; }
  const std::string& token() const { return access_.token; }
  // Can be read while requests wait.
  int descriptor() const { return waiting_fd_; }
  std::optional<Waiting> take();
  void answer(std::uint64_t connection, const HttpResponse& response);
  // To all streams of events. Old ones that nobody has read are not kept.
  void tell(std::string_view data);
  // Whether the owner of the session is at work, which `interrupt` may then end.
  void set_working(bool on) { working_ = on; }

 private:
  struct Connection;
  Listener(int fd, HttpAccess access);
  void run();
  void accept_one();
  void read_from(std::uint64_t id, Connection& c);
  void next_request(std::uint64_t id, Connection& c);
  void route(std::uint64_t id, Connection& c, HttpRequest request);
  void write_to(Connection& c);
  void reply(Connection& c, const HttpResponse& response, bool keep_alive);
  void wake();

  const int listening_;
  const HttpAccess access_;
  int waiting_fd_ = -1, wake_fd_ = -1;
  std::mutex mutex_;
  std::deque<Waiting> waiting_;
  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t next_ = 1;
  std::atomic<bool> ending_ = false, working_ = false;
  std::thread thread_;
};

}  // namespace rldb::protocol
