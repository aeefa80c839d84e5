// Files: replaced in one step or not at all, whatever call fails.
#include "rldb/support/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "rldb/support/cancel.h"
#include "rldb/support/file_system.h"

using namespace rldb::support;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/rldb-file-test-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return path + "/" + name; }
  std::size_t count() const {
    return std::size_t(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
  std::string path;
};

unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

std::string text_of(const std::string& path) {
  auto text = read_file(path);
  REQUIRE(text.ok());
  return *text;
}

// The number of a process that has ended.
pid_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

}  // namespace

TEST_CASE("a file is replaced and keeps its permissions") {
  Folder folder;
  const std::string path = folder / "a";
  REQUIRE(write_file(path, "one").ok());
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  REQUIRE(write_file(path, "two").ok());
  CHECK(text_of(path) == "two");
  CHECK(mode_of(path) == 0640);
  CHECK(folder.count() == 1);
}

TEST_CASE("a new file has the permissions that the mask leaves") {
  Folder folder;
  const mode_t before = ::umask(027);
  REQUIRE(write_file(folder / "a", "one").ok());
  ::umask(before);
  CHECK(mode_of(folder / "a") == 0640);
}

TEST_CASE("symbolic links are followed, to files that are not there yet too") {
  Folder folder;
  REQUIRE(::mkdir((folder / "sub").c_str(), 0777) == 0);
  REQUIRE(::symlink("sub/real", (folder / "link").c_str()) == 0);
  REQUIRE(::symlink("link", (folder / "link2").c_str()) == 0);
  REQUIRE(write_file(folder / "link2", "one").ok());
  REQUIRE(write_file(folder / "link", "two").ok());
  CHECK(text_of(folder / "sub/real") == "two");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(fs::is_symlink(folder / "link2"));
}

TEST_CASE("links in a circle are an error") {
  Folder folder;
  REQUIRE(::symlink("b", (folder / "a").c_str()) == 0);
  REQUIRE(::symlink("a", (folder / "b").c_str()) == 0);
  CHECK(!write_file(folder / "a", "one").ok());
  CHECK(fs::is_symlink(folder / "a"));
  CHECK(folder.count() == 2);
}

TEST_CASE("what a killed process left is removed, what is being written stays") {
  Folder folder;
  const std::string stray = folder / (".rldb-tmp-" + std::to_string(dead_process()) + "-1").c_str();
  const std::string ours = folder / (".rldb-tmp-" + std::to_string(::getpid()) + "-999999").c_str();
  const std::string other = folder / ".rldb-tmp-notes";
  for (const std::string& path : {stray, ours, other}) ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  REQUIRE(write_file(folder / "a", "one").ok());
  CHECK(!fs::exists(stray));
  CHECK(fs::exists(ours));
  CHECK(fs::exists(other));
}

TEST_CASE("a name of a temporary file that is taken is not used") {
  Folder folder;
  // The next names of this process, as a killed process with the same number would have left them.
  REQUIRE(write_file(folder / "a", "one").ok());
  for (int i = 0; i < 300; ++i) {
    const std::string path = folder / (".rldb-tmp-" + std::to_string(::getpid()) + "-" + std::to_string(i)).c_str();
    ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  }
  REQUIRE(write_file(folder / "a", "two").ok());
  CHECK(text_of(folder / "a") == "two");
}

TEST_CASE("whatever fails, the old file is there and nothing else") {
  using Call = FileSystemFault::Call;
  struct Row {
    Call call;
    int error;
    const char* says;
  };
  for (const Row& row : {Row{Call::Open, EACCES, "permission denied"}, Row{Call::Write, ENOSPC, "no space left"},
                         Row{Call::Write, EDQUOT, "quota exceeded"}, Row{Call::Write, EIO, "input/output error"},
                         Row{Call::Fsync, EIO, "input/output error"}, Row{Call::Close, EIO, "input/output error"},
                         Row{Call::Close, ENOSPC, "no space left"}, Row{Call::Rename, EACCES, "permission denied"}}) {
    Folder folder;
    const std::string path = folder / "a";
    REQUIRE(write_file(path, "old").ok());
    FileSystemFault fault(row.call, 1, row.error);
    const auto written = write_file(path, "the new text");
    CHECK(fault.failed());
    REQUIRE(!written.ok());
    CHECK(written.error().reason.find(row.says) != std::string::npos);
    CHECK(text_of(path) == "old");
    CHECK(folder.count() == 1);
  }
}

TEST_CASE("a short write goes on; a disk that fills up in the middle is an error") {
  Folder folder;
  const std::string path = folder / "a";
  const std::string text(100'000, 'x');
  {
    FileSystemFault fault(FileSystemFault::Call::ShortWrite, 1, 0, true);
    REQUIRE(write_file(path, text).ok());
    CHECK(fault.failed());
  }
  CHECK(text_of(path) == text);
  const std::string small = folder / "b";
  REQUIRE(write_file(small, "old").ok());
  FileSystemFault fault(FileSystemFault::Call::Write, 1, ENOSPC, true);
  CHECK(!write_file(small, text).ok());
  CHECK(text_of(small) == "old");
  CHECK(folder.count() == 2);
}

TEST_CASE("an interrupted call is made again") {
  Folder folder;
  FileSystemFault fault(FileSystemFault::Call::Write, 1, EINTR);
  REQUIRE(write_file(folder / "a", "text").ok());
  CHECK(fault.failed());
  CHECK(text_of(folder / "a") == "text");
}

TEST_CASE("a file system that cannot flush is taken as it is") {
  Folder folder;
  FileSystemFault fault(FileSystemFault::Call::Fsync, 1, EINVAL, true);
  CHECK(write_file(folder / "a", "text").ok());
}

TEST_CASE("a folder that cannot be flushed is told, the file is whole") {
  Folder folder;
  REQUIRE(write_file(folder / "a", "old").ok());
  FileSystemFault fault(FileSystemFault::Call::Fsync, 2, EIO);
  const auto written = write_file(folder / "a", "new");
  REQUIRE(!written.ok());
  CHECK(written.error().reason.find("its folder cannot be flushed") != std::string::npos);
  CHECK(text_of(folder / "a") == "new");
}

TEST_CASE("a cache is not flushed") {
  Folder folder;
  FileSystemFault fault(FileSystemFault::Call::Fsync, 1, EIO, true);
  CHECK(write_file(folder / "a", "text", Durable::No).ok());
  CHECK(!fault.failed());
}

TEST_CASE("devices are written in place") {
  const auto full = write_file("/dev/full", "text");
  REQUIRE(!full.ok());
  CHECK(full.error().reason == "no space left on device");
  CHECK(write_file("/dev/null", "text").ok());
}

TEST_CASE("a pipe that the user named can be waited for, and the wait be cancelled") {
  const Folder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  SUBCASE("it is read to its end") {
    const pid_t writer = ::fork();
    if (writer == 0) {
      ::usleep(20'000);
      const int fd = ::open(pipe.c_str(), O_WRONLY);
      (void)!::write(fd, "one ", 4);
      ::usleep(20'000);
      (void)!::write(fd, "two", 3);
      ::close(fd);
      ::_exit(0);
    }
    const auto text = read_file(pipe);
    REQUIRE(text.ok());
    CHECK(*text == "one two");
    ::waitpid(writer, nullptr, 0);
  }
  SUBCASE("a time limit ends it") {
    const Deadline soon(0.05);
    CHECK_THROWS_AS((void)read_file(pipe), Cancelled);
    clear_cancel();
  }
  SUBCASE("nobody named it") {
    REQUIRE(!read_regular_file(pipe).ok());
    CHECK(read_regular_file(pipe).error().reason == "is not a regular file");
    CHECK(!read_own_file(pipe).ok());
  }
  SUBCASE("its first bytes are left to who reads it, and nobody waits for them") {
    // A writer that waits to open it goes on waiting: what it writes would be lost.
    const pid_t writer = ::fork();
    if (writer == 0) {
      ::alarm(60);
      const int fd = ::open(pipe.c_str(), O_WRONLY);
      (void)!::write(fd, "one", 3);
      ::_exit(0);
    }
    ::usleep(50'000);
    CHECK(first_bytes(pipe, 4).empty());
    ::usleep(50'000);
    CHECK(::waitpid(writer, nullptr, WNOHANG) == 0);
    const auto text = read_file(pipe);
    REQUIRE(text.ok());
    CHECK(*text == "one");
    ::waitpid(writer, nullptr, 0);
    REQUIRE(write_file(folder / "file", "one two").ok());
    CHECK(first_bytes(folder / "file", 3) == "one");
    CHECK(first_bytes(folder / "file", 30) == "one two");
    CHECK(first_bytes(folder / "nothing", 3).empty());
  }
}

TEST_CASE("a device without an end is read up to the limit") {
  const auto zeros = read_file("/dev/zero", 1 << 20);
  REQUIRE(!zeros.ok());
  CHECK(zeros.error().too_large);
  CHECK(!read_regular_file("/dev/zero").ok());
  CHECK(*read_file("/dev/null") == "");
}
