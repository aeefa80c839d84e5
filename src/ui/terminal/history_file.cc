// The history file: reading, appending under a lock, shortening.
#include "rldb/ui/terminal/history_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "rldb/support/file.h"
#include "rldb/support/file_system.h"

namespace rldb::ui {

namespace {

// The last kMostHistoryBytes of a file, from the start of a line. A pipe or a device is not a history file.
std::string read_end(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const auto size = std::size_t(info.st_size);
  const std::size_t skipped = size > kMostHistoryBytes ? size - kMostHistoryBytes : 0;
  std::string text(size - skipped, '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t n = ::pread(fd, text.data() + got, text.size() - got, off_t(skipped + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += std::size_t(n);
  }
  text.resize(got);
  if (skipped > 0) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

}  // namespace

std::vector<std::string> read_history_file(const std::string& path) {
  std::vector<std::string> entries;
  const int fd = path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return entries;
  const std::string text = read_end(fd);
  ::close(fd);
  std::string entry;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      if (!entry.empty()) entries.push_back(std::move(entry));
      entry.clear();
    } else if (c == '\\' && i + 1 < text.size()) {
      const char next = text[++i];
      entry += next == 'n' ? '\n' : next;
    } else {
      entry += c;
    }
  }
  if (entries.size() > kMaxHistory) entries.erase(entries.begin(), entries.end() - kMaxHistory);
  return entries;
}

namespace {

std::string escaped(const std::string& entry) {
  std::string line;
  for (const char c : entry) {
    if (c == '\n')
      line += "\\n";
    else if (c == '\\')
      line += "\\\\";
    else
      line += c;
  }
  return line + '\n';
}

// Call under the lock: appends a whole line, or none of it when the disk is full. Returns an errno.
int append_line(int fd, std::string line) {
  struct stat before {};
  if (::fstat(fd, &before) != 0) return errno;
  if ((before.st_mode & 077) != 0 && before.st_uid == ::geteuid() && S_ISREG(before.st_mode)) ::fchmod(fd, 0600);
  char last = '\n';
  // A session was killed while writing its line: that line is lost, this one must not be.
  if (before.st_size > 0 && ::pread(fd, &last, 1, before.st_size - 1) == 1 && last != '\n') line.insert(0, 1, '\n');
  const int error = support::write_all(fd, line);
  if (error != 0 && S_ISREG(before.st_mode) && ::ftruncate(fd, before.st_size) != 0) return errno;
  return error;
}

// Opens and locks the file that `path` names now. Negative: an errno.
int open_locked(const std::string& path) {
  while (true) {
    const int fd = support::file_system().open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return -errno;
    while (::flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    // Another session may have replaced it with a shorter file while this one waited for the lock.
    struct stat opened {
    }, named{};
    const bool same = ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
                      opened.st_dev == named.st_dev;
    if (same) return fd;
    ::close(fd);
  }
}

// A file that has grown long is replaced by its newer half.
void shorten(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || std::size_t(info.st_size) <= kMostHistoryBytes) return;
  std::string text = read_end(fd);
  const auto cut = text.find('\n', text.size() / 2);
  if (cut == std::string::npos) return;
  (void)support::write_file(path, std::string_view(text).substr(cut + 1), support::Durable::No);
}

}  // namespace

std::string append_history_file(const std::string& path, const std::string& entry) {
  if (path.empty() || entry.size() > kMostHistoryEntry) return {};
  const int fd = open_locked(path);
  if (fd < 0) return support::error_text(-fd);
  int error = append_line(fd, escaped(entry));
  if (error == 0) shorten(fd, path);
  if (support::file_system().close(fd) != 0 && error == 0 && errno != EINTR) error = errno;
  return error == 0 ? std::string() : support::error_text(error);
}

}  // namespace rldb::ui
