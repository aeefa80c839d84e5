// Messages of a file descriptor, read by a thread.
#include "protocol/message_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <new>
#include <utility>

namespace rldb::protocol {

namespace {

constexpr std::size_t kMaxWaiting = 64;  // messages: a client that only writes must not fill the memory

}  // namespace

MessageThread::MessageThread(int fd, std::unique_ptr<MessageSplitter> splitter, std::function<bool(Message)> take,
                             std::function<void()> end)
    : fd_(fd), splitter_(std::move(splitter)), take_(std::move(take)), end_(std::move(end)) {
  if (::pipe2(wake_, O_CLOEXEC) != 0) wake_[0] = wake_[1] = -1;
  // Signals go to the thread that works.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { read_all(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

MessageThread::~MessageThread() {
  if (wake_[1] >= 0) (void)!::write(wake_[1], "", 1);
  thread_.join();
  for (const int fd : wake_)
    if (fd >= 0) ::close(fd);
}

void MessageThread::read_all() {
  std::vector<Message> found;
  char chunk[1 << 16];
  bool wanted = true;
  const auto give = [&] {
    for (Message& message : found) wanted = wanted && take_(std::move(message));
    found.clear();
  };
  while (wanted) {
    pollfd ready[] = {{fd_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (::poll(ready, wake_[0] < 0 ? 1 : 2, -1) < 0 && errno != EINTR) break;
    if (wake_[0] >= 0 && ready[1].revents != 0) break;
    if (ready[0].revents == 0) continue;
    const ssize_t n = ::read(fd_, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) break;
    splitter_->feed(std::string_view(chunk, std::size_t(n)), found);
    give();
  }
  splitter_->finish(found);
  give();
  end_();
}

MessageReader::MessageReader(int fd, std::unique_ptr<MessageSplitter> splitter,
                             std::function<void(const std::string&)> look)
    : look_(std::move(look)),
      thread_(
          fd, std::move(splitter), [this](Message message) { return put(std::move(message)); }, [this] { end(); }) {}

MessageReader::~MessageReader() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

std::optional<Message> MessageReader::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || !messages_.empty(); });
  if (messages_.empty()) return std::nullopt;
  Message message = std::move(messages_.front());
  messages_.pop_front();
  changed_.notify_all();
  return message;
}

bool MessageReader::is_ready(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [this] { return ended_ || !messages_.empty(); });
}

// False: nobody wants more.
bool MessageReader::put(Message message) {
  try {
    if (!message.fault) look_(message.text);
  } catch (const std::bad_alloc&) {  // it waits for its turn like any other
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopped_ || messages_.size() < kMaxWaiting; });
  if (stopped_) return false;
  messages_.push_back(std::move(message));
  changed_.notify_all();
  return true;
}

void MessageReader::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

}  // namespace rldb::protocol
