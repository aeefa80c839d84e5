#include "rldb/support/file_system.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "rldb/support/check.h"

namespace rldb::support {

namespace {

int real_open(const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); }

constexpr FileSystem kReal{real_open, ::write, ::fsync, ::close, ::rename};

// ---- faults ----

struct Fault {
  FileSystemFault::Call call = FileSystemFault::Call::Open;
  int n = 0;  // 0: no fault is set
  int error = 0;
  bool all = false;
  int calls = 0;
  bool failed = false;
};
Fault g_fault;

bool fails(FileSystemFault::Call call) {
  if (g_fault.call != call) return false;
  ++g_fault.calls;
  const bool fail = g_fault.all ? g_fault.calls >= g_fault.n : g_fault.calls == g_fault.n;
  if (!fail) return false;
  g_fault.failed = true;
  errno = g_fault.error;
  return true;
}

// Only calls that create or change a file count: reading is not tested.
int faulty_open(const char* path, int flags, mode_t mode) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  return writes && fails(FileSystemFault::Call::Open) ? -1 : kReal.open(path, flags, mode);
}
ssize_t faulty_write(int fd, const void* bytes, std::size_t size) {
  if (fails(FileSystemFault::Call::Write)) return -1;
  if (size > 1 && fails(FileSystemFault::Call::ShortWrite)) size /= 2;
  return kReal.write(fd, bytes, size);
}
int faulty_fsync(int fd) { return fails(FileSystemFault::Call::Fsync) ? -1 : kReal.fsync(fd); }
// As on Linux: the descriptor is closed whatever close returns.
int faulty_close(int fd) {
  const int closed = kReal.close(fd);
  return fails(FileSystemFault::Call::Close) ? -1 : closed;
}
int faulty_rename(const char* from, const char* to) {
  return fails(FileSystemFault::Call::Rename) ? -1 : kReal.rename(from, to);
}

}  // namespace

FileSystem& file_system() {
  static FileSystem table = kReal;
  return table;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = file_system().write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return EIO;  // a device that accepts nothing would be retried for ever
    bytes.remove_prefix(std::size_t(n));
  }
  return 0;
}

std::string error_text(int error) {
  std::string text = std::strerror(error);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = char(text[0] - 'A' + 'a');
  return text;
}

FileSystemFault::FileSystemFault(Call call, int n, int error, bool all) : before_(file_system()) {
  RLDB_CHECK(g_fault.n == 0 && n > 0, "one fault at a time");
  g_fault = {call, n, error, all, 0, false};
  file_system() = {faulty_open, faulty_write, faulty_fsync, faulty_close, faulty_rename};
}

FileSystemFault::~FileSystemFault() {
  file_system() = before_;
  g_fault = {};
}

int FileSystemFault::calls() const { return g_fault.calls; }
bool FileSystemFault::failed() const { return g_fault.failed; }

}  // namespace rldb::support
