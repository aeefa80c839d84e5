// A file stays open and is read by pread: a mapped file that somebody cuts short would end the process.
#include "rldb/support/random_access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rldb/support/cancel.h"
#include "rldb/support/file_system.h"

namespace rldb::support {

RandomAccess RandomAccess::of_memory(std::string_view bytes) {
  RandomAccess made;
  made.memory_ = bytes;
  made.size_ = bytes.size();
  return made;
}

Result<RandomAccess, FileError> RandomAccess::open(const std::string& path, std::size_t limit) {
  RandomAccess made;
  made.path_ = path;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return Failure(FileError{path, error_text(errno), false, 0});
  if (!S_ISREG(info.st_mode)) {
    auto bytes = read_file(path, limit);
    if (!bytes.ok()) return Failure(bytes.error());
    made.whole_ = std::move(bytes).value();
    made.size_ = made.whole_.size();
    return made;
  }
  made.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (made.fd_ < 0 || ::fstat(made.fd_, &info) != 0) return Failure(FileError{path, error_text(errno), false, 0});
  made.size_ = static_cast<std::uint64_t>(info.st_size);
  return made;
}

RandomAccess::RandomAccess(RandomAccess&& other) noexcept
    : path_(std::move(other.path_)),
      whole_(std::move(other.whole_)),
      memory_(other.memory_),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_) {}

RandomAccess::~RandomAccess() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::string_view, FileError> RandomAccess::read(std::uint64_t at, std::size_t size, std::string& buffer) const {
  if (fd_ < 0) return in_memory().substr(at, size);
  buffer.resize(size);
  if (auto read_all = read(at, std::as_writable_bytes(std::span(buffer))); !read_all.ok())
    return Failure(read_all.error());
  return std::string_view(buffer);
}

Result<Unit, FileError> RandomAccess::read(std::uint64_t at, std::span<std::byte> to) const {
  if (fd_ < 0) {
    std::memcpy(to.data(), in_memory().data() + at, to.size());
    return Unit{};
  }
  constexpr std::size_t kPiece = std::size_t(1) << 24;
  for (std::size_t done = 0; done < to.size();) {
    poll();
    const std::size_t wanted = std::min(to.size() - done, kPiece);
    const ssize_t n = ::pread(fd_, to.data() + done, wanted, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failure(FileError{path_, error_text(errno), false, 0});
    if (n == 0) return Failure(FileError{path_, "it became shorter while it was read", false, 0});
    done += static_cast<std::size_t>(n);
  }
  return Unit{};
}

}  // namespace rldb::support
