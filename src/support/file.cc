// Reads whole files, and replaces them in one step through a locked temporary file.
#include "rldb/support/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

#include "rldb/support/cancel.h"
#include "rldb/support/file_system.h"

namespace rldb::support {

std::string home_folder() {
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? home : std::string();
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

namespace {

FileError error_of(const std::string& path, int error) { return {path, error_text(error), false, 0}; }
FileError error_now(const std::string& path) { return error_of(path, errno); }

// Closes on every path.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// ---- temporary files: `.rldb-tmp-PID-N` in the folder of the target, locked while they are written ----

constexpr std::string_view kTemporary = ".rldb-tmp-";

std::string temporary_name(const std::string& folder) {
  static std::atomic<unsigned> count{0};
  return folder + "/" + std::string(kTemporary) + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

// The process named in a temporary file's name, 0 when the name is not ours.
pid_t owner_of(std::string_view name) {
  if (!name.starts_with(kTemporary)) return 0;
  name.remove_prefix(kTemporary.size());
  pid_t pid = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
  return parsed.ec == std::errc() && parsed.ptr != name.data() + name.size() && *parsed.ptr == '-' ? pid : 0;
}

// The number alone is not enough: its process may live in another container that shares the folder. Its lock is visible
// here too.
bool is_stray(const std::string& path, pid_t owner) {
  if (::kill(owner, 0) == 0 || errno != ESRCH) return false;
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  return file.fd >= 0 && ::flock(file.fd, LOCK_EX | LOCK_NB) == 0;
}

// Once per folder and process: a folder of many files (a cache) is not listed for each of them.
void remove_strays(const std::string& folder) {
  static std::mutex mutex;
  static std::set<std::string> done;
  {
    const std::scoped_lock lock(mutex);
    if (!done.insert(folder).second) return;
  }
  DIR* entries = ::opendir(folder.c_str());
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries)) {
    const pid_t owner = owner_of(entry->d_name);
    if (owner <= 0) continue;
    const std::string path = folder + "/" + entry->d_name;
    if (is_stray(path, owner)) ::unlink(path.c_str());
  }
  ::closedir(entries);
}

// ---- writing ----

// The target of `path` if it is a symbolic link; also if the target does not exist yet.
std::string follow_links(std::string path) {
  constexpr int kMostLinks = 40;  // as the kernel's
  for (int i = 0; i < kMostLinks; ++i) {
    char target[PATH_MAX];
    const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
    if (n <= 0 || std::size_t(n) == sizeof target) return path;
    const std::string_view to(target, std::size_t(n));
    path = to.front() == '/' ? std::string(to) : folder_of(path) + "/" + std::string(to);
  }
  return path;
}

// Not every file system supports it; then the system writes when it chooses.
int flush_to_disk(int fd) {
  if (file_system().fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS) return 0;
  return errno;
}

int close_checked(int fd) { return file_system().close(fd) == 0 || errno == EINTR ? 0 : errno; }

int write_in_place(const std::string& path, std::string_view bytes) {
  const int fd = file_system().open(path.c_str(), O_WRONLY | O_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int error = write_all(fd, bytes);
  const int closed = close_checked(fd);
  return error != 0 ? error : closed;
}

// Under an unused name: a process with this number may have been killed before.
int open_temporary(const std::string& folder, mode_t mode, std::string& path) {
  constexpr int kTries = 1000;
  int fd = -1;
  for (int i = 0; i < kTries; ++i) {
    path = temporary_name(folder);
    fd = file_system().open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EEXIST) break;
  }
  return fd;
}

// `like`: the file to be replaced, or null. `path`: where it was written; empty if nothing was.
int write_temporary(const std::string& folder, std::string_view bytes, const struct stat* like, Durable durable,
                    std::string& path) {
  const int fd = open_temporary(folder, like || durable == Durable::No ? 0600 : 0666, path);
  if (fd < 0) {
    const int error = errno;
    path.clear();
    return error;
  }
  ::flock(fd, LOCK_EX | LOCK_NB);  // nobody else has it; on a file system without locks only process numbers help
  int error = 0;
  if (like) {
    // Another owner's file keeps its owner if permitted; that clears set-id bits, so the mode comes after.
    if ((like->st_uid != ::geteuid() || like->st_gid != ::getegid()) &&
        ::fchown(fd, like->st_uid, like->st_gid) != 0) { /* then it becomes ours, as with any editor */
    }
    if (::fchmod(fd, like->st_mode & 07777) != 0) error = errno;
  }
  if (error == 0) error = write_all(fd, bytes);
  if (error == 0 && durable == Durable::Yes) error = flush_to_disk(fd);
  const int closed = close_checked(fd);
  return error != 0 ? error : closed;
}

int flush_folder(const std::string& folder) {
  Descriptor file{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return file.fd < 0 ? 0 : flush_to_disk(file.fd);  // a folder that may be written to but not read
}

}  // namespace

namespace {

enum class Readable : std::uint8_t { Anything, Regular, Own };

// Waits until there is something to read. No: nobody will write any more.
bool wait_for_bytes(int fd) {
  constexpr int kLook = 50;  // milliseconds: a signal between the check and the wait is seen then
  pollfd input{fd, POLLIN, 0};
  while (true) {
    poll();
    const int ready = ::poll(&input, 1, kLook);
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0) return (input.revents & POLLIN) != 0;
  }
}

// A hint for memory that is about to be filled: half of the time to read a large file goes to small pages.
void use_huge_pages(char* memory, std::size_t size) {
#if defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t kHugePage = 2 * 1024 * 1024;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + size) / kHugePage * kHugePage;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

Result<std::string, FileError> read(const std::string& path, std::size_t limit, Readable readable) {
  // Opening a pipe does not wait for its writer.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return Failure(error_now(path));
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return Failure(error_now(path));
  const bool regular = S_ISREG(info.st_mode);
  if (readable == Readable::Own && (info.st_uid != ::geteuid() || (info.st_mode & S_IWOTH) != 0))
    return Failure(FileError{path, "others may write it", false, 0});
  if (S_ISDIR(info.st_mode)) return Failure(FileError{path, "is a directory", false, 0});
  if (!regular && readable != Readable::Anything) return Failure(FileError{path, "is not a regular file", false, 0});
  if (!regular) limit = std::min(limit, kMostOfPipe);
  const auto size = std::size_t(info.st_size);
  if (size > limit) return Failure(FileError{path, "too large", true, size});
  std::string bytes;
  bytes.reserve(size);
  use_huge_pages(bytes.data(), bytes.capacity());
  char chunk[1 << 16];
  while (true) {
    poll();
    if (!regular && !wait_for_bytes(file.fd)) return bytes;
    const ssize_t n = ::read(file.fd, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return Failure(error_now(path));
    if (n == 0) return bytes;
    bytes.append(chunk, std::size_t(n));
    if (bytes.size() > limit) return Failure(FileError{path, "too large", true, bytes.size()});
  }
}

}  // namespace

Result<std::string, FileError> read_file(const std::string& path, std::size_t limit) {
  return read(path, limit, Readable::Anything);
}

Result<std::string, FileError> read_regular_file(const std::string& path, std::size_t limit) {
  return read(path, limit, Readable::Regular);
}

Result<std::string, FileError> read_own_file(const std::string& path, std::size_t limit) {
  return read(path, limit, Readable::Own);
}

Result<Unit, FileError> write_file(const std::string& path, std::string_view bytes, Durable durable) {
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return Failure(error_now(path));
  if (exists && S_ISDIR(info.st_mode)) return Failure(FileError{path, "is a directory", false, 0});
  if (exists && !S_ISREG(info.st_mode)) {
    if (const int error = write_in_place(path, bytes)) return Failure(error_of(path, error));
    return Unit{};
  }
  const std::string target = follow_links(path);
  const std::string folder = folder_of(target);
  remove_strays(folder);
  std::string temporary;
  int error = write_temporary(folder, bytes, exists && durable == Durable::Yes ? &info : nullptr, durable, temporary);
  if (error == 0 && file_system().rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    if (!temporary.empty()) ::unlink(temporary.c_str());
    return Failure(error_of(path, error));
  }
  if (durable == Durable::No) return Unit{};
  error = flush_folder(folder);
  if (error == 0) return Unit{};
  return Failure(FileError{path, "it is replaced, but its folder cannot be flushed to the disk: " + error_text(error)});
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string first_bytes(const std::string& path, std::size_t size) {
  struct stat info {};
  // A pipe is not opened: its writer would go on, and lose what it writes.
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string bytes(size, '\0');
  const ssize_t n = ::pread(file.fd, bytes.data(), size, 0);
  bytes.resize(n > 0 ? std::size_t(n) : 0);
  return bytes;
}

}  // namespace rldb::support
