// The consoles: writing that no signal and no terminal can break, and its failures.
#include "rldb/ui/terminal/console.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "rldb/source/diagnostic_file.h"
#include "rldb/source/visible.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::ui {

namespace {

// State of the whole process, like the streams: the errno of the first failed write, 0 when none failed.
int g_output_error = 0;
int g_error_output_error = 0;

// A program that prints endlessly would never notice.
constexpr int kMostLostWrites = 64;
int g_lost_writes = 0;

// Bypasses stdio, which treats ^C in the middle of a long text, or a terminal that another program made non-blocking,
// as a failed write. Returns 0, or an errno.
int put(std::FILE* stream, std::string_view text) {
  errno = 0;
  if (std::fflush(stream) != 0 && errno != EINTR && errno != EAGAIN) return errno != 0 ? errno : EIO;
  const int fd = ::fileno(stream);
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n > 0) text.remove_prefix(std::size_t(n));
    if (n == 0) return EIO;
    if (n > 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return errno;
    struct pollfd room {
      fd, POLLOUT, 0
    };
    ::poll(&room, 1, -1);
  }
  return 0;
}

// A terminal obeys no text of a program; files and pipes get every byte of it.
int put_visible(std::FILE* stream, std::string_view text, bool colours) {
  if (::isatty(::fileno(stream))) return put(stream, source::visible(text, {.colours = colours}));
  return put(stream, text);
}

}  // namespace

void Console::diagnose(const source::Diagnostics& diagnostics, const source::SourceManager& sources) {
  constexpr int kBesideLine = 11;  // its number, the bar, and `...` where it is cut
  source::RenderOptions options;
  options.color = color_;
  if (columns() > kBesideLine)
    options.max_line_width = std::min(options.max_line_width, std::size_t(columns() - kBesideLine));
  error(source::render(diagnostics, sources, options));
}

void TerminalConsole::write(std::string_view text) {
  if (text.empty()) return;
  if (g_output_error != 0) {
    if (++g_lost_writes >= kMostLostWrites) support::request_cancel(support::CancelCause::Interrupt);
    return;
  }
  g_output_error = put_visible(stdout, text, color());
}

void TerminalConsole::error(std::string_view text) {
  if (g_output_error == 0) g_output_error = put(stdout, {});
  const int error = put_visible(stderr, text, color());
  if (g_error_output_error == 0) g_error_output_error = error;
}

bool TerminalConsole::lost() const { return g_output_error != 0; }

void open_standard_streams() {
  ::signal(SIGXFSZ, SIG_IGN);  // a write over the limit of sizes fails, and is reported

  // Deliberately reversed, so that using them fails.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", kModes[fd]) < 0) return;
}

int finish_output(int code) {
  const bool failed = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fclose(stdout) != 0 && g_output_error == 0) g_output_error = errno != 0 ? errno : EIO;
  if (failed && g_output_error == 0) g_output_error = EIO;
  if (g_output_error == 0) return g_error_output_error != 0 && code == kGood ? int(kFailed) : code;
  if (g_output_error == EPIPE) return 128 + SIGPIPE;  // where the signal is ignored
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::OutputNotWritten, std::strerror(g_output_error)));
  TerminalConsole().diagnose(diagnostics, {});
  return kFailed;
}

}  // namespace rldb::ui
