// rldb dap [--port N]: a server of the Debug Adapter Protocol.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include "protocol/dap/adapter.h"
#include "protocol/message_frames.h"
#include "rldb/protocol/dap.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/batch/handlers.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::protocol::dap {

namespace {

// Writes all of it. False: nobody reads any more.
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(std::size_t(n));
  }
  return true;
}

// A socket that listens on loopback; -1: `why`.
int listen_on(std::uint16_t port, std::uint16_t& chosen, std::string& why) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || ::bind(fd, generic, size) != 0 || ::listen(fd, 1) != 0 || ::getsockname(fd, generic, &size) != 0) {
    why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return -1;
  }
  chosen = ntohs(address.sin_port);
  return fd;
}

}  // namespace

void serve_client(const ui::CommandLine& line, int input, int output) {
  bool lost = false;
  Channel channel([&](const Json& message) {
    if (!lost) lost = !write_all(output, to_frame(message));
  });
  Traffic traffic(channel);
  MessageThread reader(
      input, split_frames(kMaxMessageBytes), [&](Message message) { return traffic.take(std::move(message)); },
      [&] { traffic.end(); });
  Adapter adapter(line, channel, traffic);
  while (auto request = traffic.next()) {
    try {
      adapter.handle(*request);
    } catch (const std::bad_alloc&) {  // while a reply was made: the request has none
      channel.output("stderr", "out of memory\n");
    }
    traffic.done();
    if (adapter.is_over()) break;
  }
  traffic.close();
}

}  // namespace rldb::protocol::dap

namespace rldb::ui {

namespace {

// One client after the other, until the process is ended.
int serve_port(const CommandLine& line, Console& console) {
  std::uint16_t port = 0;
  std::string why;
  const int listening = protocol::dap::listen_on(*line.port, port, why);
  if (listening < 0) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::BadArgument, fmt::format("port {}: {}", *line.port, why)));
    console.diagnose(diagnostics, {});
    return kUsage;
  }
  console.error(fmt::format("listening on 127.0.0.1:{}\n", port));
  while (support::cancel_cause() != support::CancelCause::Interrupt) {
    const int client = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0 && errno == EINTR) continue;
    if (client < 0) break;
    protocol::dap::serve_client(line, client, client);
    ::close(client);
    support::clear_cancel();
  }
  ::close(listening);
  return kGood;
}

}  // namespace

int serve_dap(const CommandLine& line, Console& console) {
  // A client that has gone is an error of `write`.
  std::signal(SIGPIPE, SIG_IGN);
  if (line.port) return serve_port(line, console);
  protocol::dap::serve_client(line, STDIN_FILENO, STDOUT_FILENO);
  return kGood;
}

}  // namespace rldb::ui
