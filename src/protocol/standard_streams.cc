#include "protocol/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>

namespace rldb::protocol {

namespace {

// Without a free descriptor the stream stays the protocol's and everybody's.
int take(int descriptor, int replacement) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  if (copy < 0 || replacement < 0 || ::dup2(replacement, descriptor) < 0) return descriptor;
  return copy;
}

}  // namespace

int take_standard_input() {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int copy = take(STDIN_FILENO, nothing);
  if (nothing > STDERR_FILENO) ::close(nothing);
  return copy;
}

int take_standard_output() {
  std::fflush(stdout);
  return take(STDOUT_FILENO, STDERR_FILENO);
}

StandardStreams::StandardStreams(Seen seen) : seen_(std::move(seen)) {
  std::fflush(nullptr);  // what was written before belongs to nobody's cell
  for (Stream& stream : streams_) redirect(stream);
  if (::pipe2(wake_, O_CLOEXEC) != 0) return;
  thread_ = std::thread([this] { read_all(); });
}

StandardStreams::~StandardStreams() {
  drain();
  if (thread_.joinable()) {
    ::close(wake_[1]);
    thread_.join();
    ::close(wake_[0]);
  }
  for (const Stream& stream : streams_) {
    if (stream.pipe < 0) continue;
    ::dup2(stream.before, stream.descriptor);
    ::close(stream.before);
    ::close(stream.pipe);
  }
}

// Without a pipe the stream stays as it is.
void StandardStreams::redirect(Stream& stream) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  stream.before = ::fcntl(stream.descriptor, F_DUPFD_CLOEXEC, 3);
  if (stream.before < 0 || ::dup2(ends[1], stream.descriptor) < 0) {
    ::close(ends[0]);
  } else {
    stream.pipe = ends[0];
    ::fcntl(stream.pipe, F_SETFL, O_NONBLOCK);
  }
  ::close(ends[1]);
}

void StandardStreams::take(const Stream& stream) {
  constexpr int kMaxChunks = 64;  // one who writes without end must not hold up the others
  char chunk[1 << 16];
  for (int i = 0; i < kMaxChunks && stream.pipe >= 0; ++i) {
    const ssize_t n = ::read(stream.pipe, chunk, sizeof chunk);
    if (n <= 0) return;
    seen_(stream.name, {chunk, std::size_t(n)});
  }
}

void StandardStreams::drain() {
  std::fflush(nullptr);
  const std::lock_guard lock(mutex_);
  for (const Stream& stream : streams_) take(stream);
}

void StandardStreams::read_all() {
  for (;;) {
    pollfd waits[3] = {{streams_[0].pipe, POLLIN, 0}, {streams_[1].pipe, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (::poll(waits, 3, -1) < 0) continue;
    const std::lock_guard lock(mutex_);
    for (const Stream& stream : streams_) take(stream);
    if (waits[2].revents != 0) return;
  }
}

}  // namespace rldb::protocol
