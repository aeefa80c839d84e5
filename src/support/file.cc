#include "rldb/support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "rldb/support/cancel.h"

namespace rldb::support {

namespace {

FileError error_now(const std::string& path) {
  std::string reason = std::strerror(errno);
  if (!reason.empty() && reason[0] >= 'A' && reason[0] <= 'Z') reason[0] = char(reason[0] - 'A' + 'a');
  return {path, std::move(reason), false, 0};
}

// Closes on every way out.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Result<std::string, FileError> read_file(const std::string& path, std::size_t limit) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return Failure(error_now(path));
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return Failure(error_now(path));
  if (S_ISDIR(info.st_mode)) return Failure(FileError{path, "is a directory", false, 0});
  const auto size = std::size_t(info.st_size);
  if (size > limit) return Failure(FileError{path, "too large", true, size});
  std::string bytes;
  bytes.reserve(size);
  char chunk[1 << 16];
  while (true) {
    poll();
    const ssize_t n = ::read(file.fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failure(error_now(path));
    if (n == 0) return bytes;
    bytes.append(chunk, std::size_t(n));
    if (bytes.size() > limit) return Failure(FileError{path, "too large", true, bytes.size()});
  }
}

Result<Unit, FileError> write_file(const std::string& path, std::string_view bytes) {
  // A device or pipe is written in place: there is nothing to lose and nothing to rename over.
  struct stat info {};
  const bool special = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (special && S_ISDIR(info.st_mode)) return Failure(FileError{path, "is a directory", false, 0});
  const std::string target = special ? path : path + ".tmp" + std::to_string(::getpid());
  const int mode = O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_TRUNC);
  {
    Descriptor file{::open(target.c_str(), mode, 0666)};
    if (file.fd < 0) return Failure(error_now(path));
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::write(file.fd, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        FileError error = error_now(path);
        if (!special) ::unlink(target.c_str());
        return Failure(std::move(error));
      }
      done += std::size_t(n);
    }
  }
  if (!special && ::rename(target.c_str(), path.c_str()) != 0) {
    FileError error = error_now(path);
    ::unlink(target.c_str());
    return Failure(std::move(error));
  }
  return Unit{};
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace rldb::support
