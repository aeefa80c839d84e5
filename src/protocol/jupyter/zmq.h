// ZeroMQ's sockets, by its C library. The library is opened when a kernel starts, not linked: with it and the libraries
// that it needs, every start of rldb would be a millisecond slower.
#pragma once

#include <zmq.h>

#include <optional>
#include <string>
#include <vector>

#include "protocol/jupyter/wire.h"

namespace rldb::protocol::jupyter {

// The functions of the library that are used. Filled by `open`; one per process.
struct ZmqLibrary {
  decltype(&::zmq_ctx_new) ctx_new = nullptr;
  decltype(&::zmq_ctx_shutdown) ctx_shutdown = nullptr;
  decltype(&::zmq_ctx_term) ctx_term = nullptr;
  decltype(&::zmq_socket) socket = nullptr;
  decltype(&::zmq_close) close = nullptr;
  decltype(&::zmq_setsockopt) setsockopt = nullptr;
  decltype(&::zmq_getsockopt) getsockopt = nullptr;
  decltype(&::zmq_bind) bind = nullptr;
  decltype(&::zmq_send) send = nullptr;
  decltype(&::zmq_msg_init) msg_init = nullptr;
  decltype(&::zmq_msg_recv) msg_recv = nullptr;
  decltype(&::zmq_msg_data) msg_data = nullptr;
  decltype(&::zmq_msg_size) msg_size = nullptr;
  decltype(&::zmq_msg_close) msg_close = nullptr;
  decltype(&::zmq_poll) poll = nullptr;
  decltype(&::zmq_errno) error_number = nullptr;
  decltype(&::zmq_strerror) error_text = nullptr;

  // Null: `why` says what is missing.
  static const ZmqLibrary* open(std::string& why);
};

class ZmqContext {
 public:
  explicit ZmqContext(const ZmqLibrary& zmq) : zmq(zmq), context_(zmq.ctx_new()) {}
  ~ZmqContext() { zmq.ctx_term(context_); }
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  // Whatever waits for a socket of another thread ends.
  void shut_down() { zmq.ctx_shutdown(context_); }
  void* get() const { return context_; }
  const ZmqLibrary& zmq;

 private:
  void* context_;
};

// Belongs to one thread at a time.
class ZmqSocket {
 public:
  ZmqSocket(ZmqContext& context, int type);
  ~ZmqSocket() { zmq_.close(socket_); }
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  // Empty: bound.
  std::string bind(const std::string& address);
  // Nothing can be sent to a client that has left: then it is dropped.
  void send(const Frames& frames);
  // The frames of one message, if one has arrived.
  std::optional<Frames> receive();
  void* get() const { return socket_; }

 private:
  const ZmqLibrary& zmq_;
  void* socket_;
};

}  // namespace rldb::protocol::jupyter
