// Lines of a file descriptor, read by a thread.
#include "protocol/message_lines.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>
#include <utility>

namespace rldb::protocol {

namespace {

constexpr std::size_t kMaxWaiting = 64;  // lines: a client that only writes must not fill the memory

}  // namespace

MessageLines::MessageLines(int fd, std::size_t limit, std::function<void(const std::string&)> look)
    : fd_(fd), limit_(limit), look_(std::move(look)) {
  if (::pipe2(wake_, O_CLOEXEC) != 0) wake_[0] = wake_[1] = -1;
  // Signals go to the thread that works.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { read_all(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

MessageLines::~MessageLines() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (wake_[1] >= 0) (void)!::write(wake_[1], "", 1);
  thread_.join();
  for (const int fd : wake_)
    if (fd >= 0) ::close(fd);
}

std::optional<MessageLines::Line> MessageLines::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || !lines_.empty(); });
  if (lines_.empty()) return std::nullopt;
  Line line = std::move(lines_.front());
  lines_.pop_front();
  changed_.notify_all();
  return line;
}

// False: nobody wants more.
bool MessageLines::put(Line line) {
  try {
    if (!line.too_long) look_(line.text);
  } catch (const std::bad_alloc&) {  // it waits for its turn like any other
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || lines_.size() < kMaxWaiting; });
  if (stopped_) return false;
  lines_.push_back(std::move(line));
  changed_.notify_all();
  return true;
}

// The program under debug may have used up the memory: then the line is dropped like one that is too long.
void MessageLines::add(Line& line, char c) {
  if (line.too_long) return;
  try {
    if (line.text.size() < limit_) return line.text.push_back(c);
  } catch (const std::bad_alloc&) {
  }
  line = {{}, true};
}

void MessageLines::read_all() {
  Line line;
  char chunk[1 << 16];
  for (bool open = true; open;) {
    pollfd ready[] = {{fd_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (::poll(ready, wake_[0] < 0 ? 1 : 2, -1) < 0 && errno != EINTR) break;
    if (wake_[0] >= 0 && ready[1].revents != 0) break;
    if (ready[0].revents == 0) continue;
    const ssize_t n = ::read(fd_, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) break;
    for (ssize_t i = 0; i < n && open; ++i) {
      if (chunk[i] == '\n')
        open = put(std::exchange(line, {}));
      else
        add(line, chunk[i]);
    }
  }
  if (!line.text.empty()) put(std::move(line));
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace rldb::protocol
