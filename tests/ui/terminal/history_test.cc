#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "rldb/ui/terminal/history_file.h"
#include "ui/terminal/entry_history.h"

using namespace rldb::ui;
namespace fs = std::filesystem;

namespace {

struct HistoryFolder {
  HistoryFolder() {
    char name[] = "/tmp/rldb-history-XXXXXX";
    folder = ::mkdtemp(name);
    path = folder + "/history";
  }
  ~HistoryFolder() { fs::remove_all(folder); }
  std::string folder, path;
};

}  // namespace

TEST_CASE("entries come back from the file, line breaks and backslashes too; the file is private") {
  const HistoryFolder f;
  const std::vector<std::string> entries{"one", "two\n  lines\\n", "three"};
  for (const std::string& e : entries) CHECK(append_history_file(f.path, e) == "");
  CHECK(read_history_file(f.path) == entries);
  struct stat info {};
  REQUIRE(::stat(f.path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("a damaged file is read as far as it goes, and appended to after its torn line") {
  const HistoryFolder f;
  std::ofstream(f.path) << "good\n\n\xff\xfe\ntorn \\";
  CHECK(append_history_file(f.path, "next") == "");
  CHECK(read_history_file(f.path).back().ends_with("next"));
  CHECK(read_history_file(f.path).front() == "good");
  CHECK(read_history_file(f.folder).empty());
  CHECK(read_history_file("/dev/zero").empty());
}

TEST_CASE("the file stays short, and keeps what is new") {
  const HistoryFolder f;
  const std::string long_entry(kMostHistoryEntry / 2, 'x');
  for (std::size_t i = 0; i < 3 * kMostHistoryBytes / long_entry.size(); ++i)
    CHECK(append_history_file(f.path, std::to_string(i) + long_entry) == "");
  CHECK(append_history_file(f.path, "last") == "");
  CHECK(fs::file_size(f.path) <= kMostHistoryBytes + kMostHistoryEntry);
  CHECK(read_history_file(f.path).back() == "last");
  CHECK(append_history_file(f.path, std::string(kMostHistoryEntry + 1, 'y')) == "");
  CHECK(read_history_file(f.path).back() == "last");
}

TEST_CASE("of equal entries the last one stays; no more than there may be") {
  EntryHistory h({"a", "b", "a", "c"});
  CHECK(h.entries() == std::vector<std::string>{"b", "a", "c"});
  CHECK(h.add("b"));
  CHECK(!h.add("b"));
  CHECK(h.entries() == std::vector<std::string>{"a", "c", "b"});
  for (std::size_t i = 0; i < kMaxHistory + 10; ++i) h.add(std::to_string(i));
  CHECK(h.entries().size() == kMaxHistory);
}
