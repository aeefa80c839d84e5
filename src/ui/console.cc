#include "ui/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "rldb/source/diagnostic_id.h"
#include "rldb/support/cancel.h"
#include "ui/exit_code.h"

namespace rldb::ui {

namespace {

// Of the process, as the streams are: the errno of the first write that failed, 0 when none did.
int g_output_error = 0;
int g_error_output_error = 0;

// A program that prints without end would never notice.
constexpr int kMostLostWrites = 64;
int g_lost_writes = 0;

bool put(std::FILE* stream, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
}

}  // namespace

void Console::diagnose(const source::Diagnostics& diagnostics, const source::SourceManager& sources) {
  source::RenderOptions options;
  options.color = color_;
  error(source::render(diagnostics, sources, options));
}

void TerminalConsole::write(std::string_view text) {
  if (text.empty()) return;
  if (g_output_error != 0) {
    if (++g_lost_writes >= kMostLostWrites) support::request_cancel(support::CancelCause::Interrupt);
    return;
  }
  errno = 0;
  if (!put(stdout, text)) g_output_error = errno != 0 ? errno : EIO;
}

void TerminalConsole::error(std::string_view text) {
  if (g_output_error == 0 && std::fflush(stdout) != 0) g_output_error = errno;
  errno = 0;
  if (!put(stderr, text) && g_error_output_error == 0) g_error_output_error = errno != 0 ? errno : EIO;
}

bool TerminalConsole::lost() const { return g_output_error != 0; }

void open_standard_streams() {
  // The wrong way round, so that using them fails.
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
  diagnostics.add({}, source::message(source::DiagId::OutputNotWritten, std::strerror(g_output_error)));
  TerminalConsole().diagnose(diagnostics, {});
  return kFailed;
}

}  // namespace rldb::ui
