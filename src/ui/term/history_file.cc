#include "ui/term/history_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "rldb/support/file.h"
#include "rldb/support/file_system.h"

namespace rldb::ui {

std::vector<std::string> read_history_file(const std::string& path) {
  std::vector<std::string> entries;
  auto text = support::read_file(path, std::size_t(64) << 20);
  if (!text.ok()) return entries;
  std::string entry;
  for (std::size_t i = 0; i < text->size(); ++i) {
    const char c = (*text)[i];
    if (c == '\n') {
      if (!entry.empty()) entries.push_back(std::move(entry));
      entry.clear();
    } else if (c == '\\' && i + 1 < text->size()) {
      const char next = (*text)[++i];
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

// Under the lock: after a whole line, and none of it when the disk is full. An errno.
int append_line(int fd, std::string line) {
  struct stat before {};
  if (::fstat(fd, &before) != 0) return errno;
  if ((before.st_mode & 077) != 0 && before.st_uid == ::geteuid() && S_ISREG(before.st_mode)) ::fchmod(fd, 0600);
  char last = '\n';
  // A session was killed in the middle of its line: that one is lost, this one must not be.
  if (before.st_size > 0 && ::pread(fd, &last, 1, before.st_size - 1) == 1 && last != '\n') line.insert(0, 1, '\n');
  const int error = support::write_all(fd, line);
  if (error != 0 && S_ISREG(before.st_mode) && ::ftruncate(fd, before.st_size) != 0) return errno;
  return error;
}

}  // namespace

std::string append_history_file(const std::string& path, const std::string& entry) {
  if (path.empty()) return {};
  const support::FileSystem& system = support::file_system();
  const int fd = system.open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return support::error_text(errno);
  while (::flock(fd, LOCK_EX) != 0 && errno == EINTR) {
  }
  int error = append_line(fd, escaped(entry));
  if (system.close(fd) != 0 && error == 0 && errno != EINTR) error = errno;
  return error == 0 ? std::string() : support::error_text(error);
}

}  // namespace rldb::ui
