// The prompt's wait for the live page beside a watched file.
#include "ui/prompt/page_visits.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rldb/ui/prompt/page_door.h"
#include "rldb/ui/terminal/console.h"

using namespace rldb;
using namespace rldb::ui;

namespace {

// Open while it has a descriptor.
class TestDoor : public PageDoor {
 public:
  TestDoor() { set_page_door(this); }
  ~TestDoor() override {
    set_page_door(nullptr);
    close();
  }
  bool open(Repl&, std::uint16_t, std::string&) override {
    fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return true;
  }
  void close() override {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  std::string address() const override { return fd_ < 0 ? "" : "http://127.0.0.1/"; }
  int descriptor() const override { return fd_; }
  Status let_in() override { return Status::Good; }
  void entry_begins() override {}
  void entry_ended() override {}
  void knock() const {
    const std::uint64_t one = 1;
    REQUIRE(::write(fd_, &one, sizeof one) == sizeof one);
  }

 private:
  int fd_ = -1;
};

bool is_ready(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a page that is opened again is waited for again, beside a watched file") {
  const auto path = std::filesystem::temp_directory_path() / ("rldb_visits_" + std::to_string(::getpid()));
  std::ofstream(path) << "x";
  CapturedConsole console;
  Repl repl({}, console);
  std::string why;
  repl.file_watch = support::FileWatch::start(path.string(), why);
  REQUIRE(repl.file_watch);
  TestDoor door;
  OtherInput other(repl);
  CHECK(other.descriptor() == repl.file_watch->descriptor());

  REQUIRE(door.open(repl, 0, why));
  const int first = door.descriptor();
  CHECK_FALSE(is_ready(other.descriptor()));
  door.knock();
  CHECK(is_ready(other.descriptor()));

  // The kernel gives the smallest free number: the new descriptor has that of the old one.
  door.close();
  REQUIRE(door.open(repl, 0, why));
  REQUIRE(door.descriptor() == first);
  CHECK_FALSE(is_ready(other.descriptor()));
  door.knock();
  CHECK(is_ready(other.descriptor()));

  door.close();
  CHECK(other.descriptor() == repl.file_watch->descriptor());
  std::filesystem::remove(path);
}
