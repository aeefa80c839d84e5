#include "rldb/support/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "rldb/support/file.h"

namespace rldb::support {

namespace {

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

// The folder is watched, not the file: an editor may give the name to another file.
std::unique_ptr<FileWatch> FileWatch::start(const std::string& path, std::string& why) {
  const int descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0 || ::inotify_add_watch(descriptor, folder_of(path).c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
    why = std::strerror(errno);
    if (descriptor >= 0) ::close(descriptor);
    return nullptr;
  }
  return std::unique_ptr<FileWatch>(new FileWatch(path, descriptor));
}

FileWatch::FileWatch(std::string path, int descriptor)
    : path_(std::move(path)), name_(name_of(path_)), descriptor_(descriptor) {}

FileWatch::~FileWatch() { ::close(descriptor_); }

bool FileWatch::written() {
  alignas(inotify_event) char events[1 << 14];
  bool written = false;
  for (;;) {
    const ssize_t size = ::read(descriptor_, events, sizeof events);
    if (size <= 0) return written;
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events + at);
      // After an overflow nobody knows which files were written.
      written = written || (event->mask & IN_Q_OVERFLOW) || (event->len > 0 && name_ == event->name);
      at += ssize_t(sizeof(inotify_event) + event->len);
    }
  }
}

}  // namespace rldb::support
