#include "protocol/jupyter/zmq.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdint>

namespace rldb::protocol::jupyter {

namespace {

constexpr const char* kLibraryName = "libzmq.so.5";
// A message that exceeds these loses the rest, and is none then.
constexpr std::size_t kMaxFrames = 64;
constexpr int kLingerMilliseconds = 1000;  // for what was published last

template <class F>
bool take_symbol(void* library, const char* name, F& into, std::string& why) {
  into = reinterpret_cast<F>(::dlsym(library, name));
  if (!into) why = std::string(kLibraryName) + " has no `" + name + "`";
  return into != nullptr;
}

bool take_symbols(void* library, ZmqLibrary& zmq, std::string& why) {
  return take_symbol(library, "zmq_ctx_new", zmq.ctx_new, why) &&
         take_symbol(library, "zmq_ctx_shutdown", zmq.ctx_shutdown, why) &&
         take_symbol(library, "zmq_ctx_term", zmq.ctx_term, why) &&
         take_symbol(library, "zmq_socket", zmq.socket, why) && take_symbol(library, "zmq_close", zmq.close, why) &&
         take_symbol(library, "zmq_setsockopt", zmq.setsockopt, why) &&
         take_symbol(library, "zmq_getsockopt", zmq.getsockopt, why) &&
         take_symbol(library, "zmq_bind", zmq.bind, why) && take_symbol(library, "zmq_send", zmq.send, why) &&
         take_symbol(library, "zmq_msg_init", zmq.msg_init, why) &&
         take_symbol(library, "zmq_msg_recv", zmq.msg_recv, why) &&
         take_symbol(library, "zmq_msg_data", zmq.msg_data, why) &&
         take_symbol(library, "zmq_msg_size", zmq.msg_size, why) &&
         take_symbol(library, "zmq_msg_close", zmq.msg_close, why) && take_symbol(library, "zmq_poll", zmq.poll, why) &&
         take_symbol(library, "zmq_errno", zmq.error_number, why) &&
         take_symbol(library, "zmq_strerror", zmq.error_text, why);
}

}  // namespace

const ZmqLibrary* ZmqLibrary::open(std::string& why) {
  static ZmqLibrary zmq;
  if (zmq.error_text) return &zmq;
  void* library = ::dlopen(kLibraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    why = ::dlerror();
    return nullptr;
  }
  return take_symbols(library, zmq, why) ? &zmq : nullptr;
}

ZmqSocket::ZmqSocket(ZmqContext& context, int type) : zmq_(context.zmq), socket_(zmq_.socket(context.get(), type)) {
  const std::int64_t largest = kMaxMessageBytes;
  zmq_.setsockopt(socket_, ZMQ_LINGER, &kLingerMilliseconds, sizeof kLingerMilliseconds);
  zmq_.setsockopt(socket_, ZMQ_MAXMSGSIZE, &largest, sizeof largest);
  // A client that connects again under its identity takes over from the one before.
  const int hand_over = 1;
  if (type == ZMQ_ROUTER) zmq_.setsockopt(socket_, ZMQ_ROUTER_HANDOVER, &hand_over, sizeof hand_over);
}

std::string ZmqSocket::bind(const std::string& address) {
  if (zmq_.bind(socket_, address.c_str()) == 0) return {};
  return address + ": " + zmq_.error_text(zmq_.error_number());
}

void ZmqSocket::send(const Frames& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const int more = i + 1 < frames.size() ? ZMQ_SNDMORE : 0;
    while (zmq_.send(socket_, frames[i].data(), frames[i].size(), more) < 0)
      if (zmq_.error_number() != EINTR) return;
  }
}

std::optional<Frames> ZmqSocket::receive() {
  Frames frames;
  std::size_t bytes = 0;
  for (bool more = true; more;) {
    zmq_msg_t part;
    zmq_.msg_init(&part);
    while (zmq_.msg_recv(&part, socket_, ZMQ_DONTWAIT) < 0) {
      if (zmq_.error_number() == EINTR) continue;
      zmq_.msg_close(&part);
      return std::nullopt;
    }
    bytes += zmq_.msg_size(&part);
    if (frames.size() < kMaxFrames && bytes <= kMaxMessageBytes)
      frames.emplace_back(static_cast<const char*>(zmq_.msg_data(&part)), zmq_.msg_size(&part));
    zmq_.msg_close(&part);
    int follows = 0;
    std::size_t size = sizeof follows;
    zmq_.getsockopt(socket_, ZMQ_RCVMORE, &follows, &size);
    more = follows != 0;
  }
  return frames;
}

}  // namespace rldb::protocol::jupyter
