// FileSystem: the system calls behind all of rldb's writing, as a table, so that a test can make any of them fail
// (a full disk, a broken one, a short write) and check that nothing is lost. Used by file.cc, the journal, the history
// and the console; tests substitute their own functions with FileSystemFault.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rldb::support {

// Named as the calls they are; same arguments, same errno.
struct FileSystem {
  int (*open)(const char* path, int flags, mode_t mode);
  ssize_t (*write)(int fd, const void* bytes, std::size_t size);
  int (*fsync)(int fd);
  int (*close)(int fd);
  int (*rename)(const char* from, const char* to);
};

FileSystem& file_system();

// Writes everything, however many calls that takes. Returns 0, or the errno of the call that failed.
int write_all(int fd, std::string_view bytes);
// The meaning of an errno, as worded in messages: lower case first letter.
std::string error_text(int error);

// While it lives, the n-th call (from 1) of one kind fails, and so do the later ones when `all` is set. A short write
// writes half of the data. For tests; one at a time.
class FileSystemFault {
 public:
  enum class Call : std::uint8_t { Open, Write, Fsync, Close, Rename, ShortWrite };
  FileSystemFault(Call call, int n, int error, bool all = false);
  ~FileSystemFault();
  FileSystemFault(const FileSystemFault&) = delete;
  FileSystemFault& operator=(const FileSystemFault&) = delete;
  int calls() const;  // of that kind so far
  bool failed() const;

 private:
  FileSystem before_;
};

}  // namespace rldb::support
