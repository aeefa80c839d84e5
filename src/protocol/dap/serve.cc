// rldb dap [--port N]: a server of the Debug Adapter Protocol.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <optional>

#include "protocol/dap/adapter.h"
#include "protocol/loopback.h"
#include "protocol/message_frames.h"
#include "protocol/standard_streams.h"
#include "rldb/protocol/dap.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/batch/handlers.h"
#include "rldb/ui/terminal/exit_code.h"
#include "rldb/ui/terminal/interrupt_pipe.h"

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

}  // namespace

void serve_client(const ui::CommandLine& line, int input, int output, OthersOutput others) {
  bool lost = false;
  Channel channel([&](const Json& message) {
    if (!lost) lost = !write_all(output, to_frame(message));
  });
  std::optional<StandardStreams> streams;
  if (others == OthersOutput::IsSent)
    streams.emplace([&](std::string_view name, std::string_view text) { channel.output(name, text); });
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
    if (streams) streams->drain();
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
  const int listening = protocol::listen_on_loopback(*line.dap.port, port, why);
  if (listening < 0) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::BadArgument, fmt::format("port {}: {}", *line.dap.port, why)));
    console.diagnose(diagnostics, {});
    return kUsage;
  }
  console.error(fmt::format("listening on 127.0.0.1:{}\n", port));
  ::fcntl(listening, F_SETFL, O_NONBLOCK);
  protocol::take_standard_input();
  const InterruptPipe interrupt;
  while (interrupt.wait_for(listening)) {
    const int client = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    // A client that has gone again is not waited for.
    if (client < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED)) continue;
    if (client < 0) break;
    protocol::dap::serve_client(line, client, client, protocol::dap::OthersOutput::IsSent);
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
  if (line.dap.port) return serve_port(line, console);
  const int input = protocol::take_standard_input(), output = protocol::take_standard_output();
  protocol::dap::serve_client(line, input, output, protocol::dap::OthersOutput::IsSent);
  return kGood;
}

}  // namespace rldb::ui
