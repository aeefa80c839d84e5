// Whatever rldb writes: when any of its system calls fails, that is reported, and the data on disk is unharmed.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "rldb/support/file.h"
#include "rldb/support/file_system.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/batch/command_report.h"
#include "rldb/ui/batch/handlers.h"
#include "rldb/ui/command_line/subcommand.h"
#include "rldb/ui/prompt/journal.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/guarded.h"
#include "rldb/ui/terminal/history_file.h"

using namespace rldb;
using namespace rldb::ui;
using support::FileSystemFault;
namespace fs = std::filesystem;

namespace {

constexpr const char* kModule = RLDB_SOURCE_DIR "/docs/examples/mlp.py";

struct Folder {
  Folder() {
    char name[] = "/tmp/rldb-fault-test-XXXXXX";
    path = ::mkdtemp(name);
    ::setenv("XDG_STATE_HOME", (path + "/state").c_str(), 1);
    ::setenv("XDG_CACHE_HOME", (path + "/cache").c_str(), 1);
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return path + "/" + name; }
  std::string path;
};

std::string text_of(const std::string& path) {
  auto text = support::read_file(path);
  return text.ok() ? *text : "(none)";
}

std::size_t temporaries(const std::string& folder) {
  std::size_t n = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder))
    n += file.path().filename().string().starts_with(".rldb-tmp-");
  return n;
}

struct Trouble {
  FileSystemFault::Call call;
  int error;
};
const Trouble kTroubles[] = {{FileSystemFault::Call::Open, EACCES},  {FileSystemFault::Call::Write, ENOSPC},
                             {FileSystemFault::Call::Write, EDQUOT}, {FileSystemFault::Call::Write, EIO},
                             {FileSystemFault::Call::Fsync, EIO},    {FileSystemFault::Call::Close, ENOSPC},
                             {FileSystemFault::Call::Rename, EIO}};

// Does `work` with the n-th call of each kind failing, for every possible n; `after` receives the kind and n. Before
// each, `old` is restored (empty: no contents).
void with_each_fault(const std::function<void()>& work, const std::function<void(FileSystemFault::Call, int n)>& after,
                     const std::string& old = {}) {
  for (const Trouble& trouble : kTroubles) {
    for (int n = 1; n < 100; ++n) {
      bool failed = false;
      if (!old.empty()) REQUIRE(support::write_file(old, "old").ok());
      {
        FileSystemFault fault(trouble.call, n, trouble.error);
        work();
        failed = fault.failed();
      }
      if (!failed) break;
      after(trouble.call, n);
    }
  }
}

// One file is replaced: it has its old contents, unless flushing its folder failed, which comes after that.
void check_file(const std::string& path, FileSystemFault::Call call, int n) {
  const bool replaced = call == FileSystemFault::Call::Fsync && n == 2;
  CHECK((text_of(path) == "old") == !replaced);
  CHECK(temporaries(fs::path(path).parent_path()) == 0);
  REQUIRE(support::write_file(path, "old").ok());
}

}  // namespace

TEST_CASE(":save and :save-script keep the old file") {
  Folder folder;
  for (const char* command : {":save ", ":save-script "}) {
    const std::string path = folder / "a.py";
    REQUIRE(support::write_file(path, "old").ok());
    CapturedConsole console;
    Repl repl(CommandLine{}, console);
    REQUIRE(repl.execute(std::string(":load ") + kModule) == Status::Good);
    Status status = Status::Good;
    int faults = 0;
    with_each_fault(
        [&] {
          console.take();
          status = repl.execute(command + path);
        },
        [&](FileSystemFault::Call call, int n) {
          ++faults;
          CHECK(status == Status::Failed);
          CHECK(console.text().find("error: cannot write `" + path + "`: ") != std::string::npos);
          check_file(path, call, n);
        },
        path);
    CHECK(faults >= 8);
    REQUIRE(repl.execute(command + path) == Status::Good);
    CHECK(text_of(path) != "old");
  }
}

TEST_CASE("-o of opt, build and run keeps the old file") {
  Folder folder;
  struct Row {
    int (*command)(const CommandLine&, Console&);
    const char* name;
  };
  for (const Row& row : {Row{batch_opt, "a.py"}, Row{batch_build, "a.rlvm"}, Row{batch_run, "a.npy"}}) {
    CommandLine line;
    line.files = {kModule};
    line.output = folder / row.name;
    line.passes = "Normalize";
    line.options.engine = session::Engine::Vm;
    REQUIRE(support::write_file(line.output, "old").ok());
    CapturedConsole console;
    int code = 0;
    with_each_fault(
        [&] {
          console.take();
          code = row.command(line, console);
        },
        [&](FileSystemFault::Call call, int n) {
          CHECK(code == kUsage);
          CHECK(console.text().find("cannot write `" + line.output + "`: ") != std::string::npos);
          check_file(line.output, call, n);
        },
        line.output);
    CHECK(row.command(line, console) == kGood);
    CHECK(text_of(line.output) != "old");
  }
}

TEST_CASE("--dump-ir-to: each file is whole or not there") {
  Folder folder;
  CommandLine line;
  line.files = {kModule};
  line.passes = "Normalize,LegalizeOps";
  line.opt.dump_ir_to = folder / "ir";
  CapturedConsole console;
  REQUIRE(batch_opt(line, console) == kGood);
  const std::string first = text_of(line.opt.dump_ir_to + "/000_Normalize.py");
  REQUIRE(first.size() > 100);
  int code = 0;
  with_each_fault([&] { code = batch_opt(line, console); },
                  [&](FileSystemFault::Call, int) {
                    CHECK(code == kFailed);
                    CHECK(text_of(line.opt.dump_ir_to + "/000_Normalize.py") == first);
                    CHECK(temporaries(line.opt.dump_ir_to) == 0);
                  });
}

TEST_CASE("the cache of kernels: a run does not need it") {
  Folder folder;
  CommandLine line;
  line.files = {kModule};
  line.options.cache_dir = folder / "kernels";
  REQUIRE(::mkdir(line.options.cache_dir.c_str(), 0777) == 0);
  CapturedConsole console;
  REQUIRE(batch_run(line, console) == kGood);
  const std::string result = console.take();
  std::size_t kept = 0;
  for (const auto& file : fs::directory_iterator(line.options.cache_dir)) kept += file.is_regular_file();
  CHECK(kept > 0);
  int code = 0;
  int faults = 0;
  with_each_fault(
      [&] {
        for (const auto& file : fs::directory_iterator(line.options.cache_dir)) fs::remove(file.path());
        console.take();
        code = batch_run(line, console);
      },
      [&](FileSystemFault::Call, int) {
        ++faults;
        CHECK(code == kGood);
        CHECK(console.text() == result);
        CHECK(temporaries(line.options.cache_dir) == 0);
      });
  CHECK(faults > 0);
}

TEST_CASE("the history: all of an entry or nothing of it") {
  Folder folder;
  const std::string path = folder / "history";
  REQUIRE(append_history_file(path, "one\nof two lines").empty());
  const std::string before = text_of(path);
  std::string why;
  with_each_fault(
      [&] {
        REQUIRE(::truncate(path.c_str(), off_t(before.size())) == 0);
        why = append_history_file(path, "two");
      },
      [&](FileSystemFault::Call call, int) {
        CHECK(!why.empty());
        // Closing happens after the entry is written.
        if (call != FileSystemFault::Call::Close)
          CHECK(text_of(path).find("two\n", before.size()) == std::string::npos);
      });
  REQUIRE(::truncate(path.c_str(), off_t(before.size())) == 0);
  {
    FileSystemFault half(FileSystemFault::Call::ShortWrite, 1, 0);
    CHECK(append_history_file(path, "three").empty());
  }
  CHECK(read_history_file(path) == std::vector<std::string>{"one\nof two lines", "three"});
  // A partial line left by a killed session does not spoil the next one.
  REQUIRE(::truncate(path.c_str(), off_t(fs::file_size(path) - 2)) == 0);
  REQUIRE(append_history_file(path, "four").empty());
  CHECK(read_history_file(path) == std::vector<std::string>{"one\nof two lines", "thre", "four"});
}

TEST_CASE("the journal: all of a record or nothing of it, told once") {
  Folder folder;
  for (const auto call : {FileSystemFault::Call::Write, FileSystemFault::Call::ShortWrite}) {
    std::string why;
    auto journal = Journal::create({{"a.py"}, "/", 1}, why);
    REQUIRE(journal);
    journal->begin({"x = R.const(1)", {}});
    journal->finish(EntryOutcome::Good);
    const std::string before = text_of(journal->path());
    FileSystemFault fault(call, 1, ENOSPC);
    journal->begin({"y = R.const(2)", {}});
    CHECK(fault.failed());
    CHECK(journal->take_problem() == "no space left on device");
    journal->finish(EntryOutcome::Good);
    CHECK(journal->take_problem().empty());
    CHECK(text_of(journal->path()) == before);
    CHECK(journal->items().size() == 2);
    journal->remove();
  }
  for (const auto call : {FileSystemFault::Call::Open, FileSystemFault::Call::Write, FileSystemFault::Call::Rename}) {
    FileSystemFault fault(call, 1, EACCES);
    std::string why;
    CHECK(!Journal::create({{}, "/", 2}, why));
    CHECK(why == "permission denied");
  }
  CHECK(fs::is_empty(folder / "state/rldb"));
}

TEST_CASE("a journal is read up to its damage, wherever that is") {
  Folder folder;
  std::string why;
  auto journal = Journal::create({{"--seed=3", "\xFF"}, "/tmp", 5}, why);
  REQUIRE(journal);
  journal->begin({"x = R.const(1)", {}});
  journal->finish(EntryOutcome::Good);
  journal->begin_batch();
  journal->begin({"def f():\n    pass", {}});
  journal->finish(EntryOutcome::Failed);
  journal->end_batch();
  journal->begin({"z", {}});
  const std::string whole = text_of(journal->path());
  const auto items = read_journal(whole);
  REQUIRE(items.size() == 4);
  CHECK(items[0].header->folder == "/tmp");
  CHECK(items[1].outcome == EntryOutcome::Good);
  CHECK(items[2].entry.text == "def f():\n    pass");
  CHECK(items[2].outcome == EntryOutcome::Failed);
  CHECK(items[3].outcome == EntryOutcome::Unfinished);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto part = read_journal(std::string_view(whole).substr(0, size));
    REQUIRE(part.size() < items.size());
    for (std::size_t i = 1; i < part.size(); ++i) CHECK(part[i].entry.text == items[i].entry.text);
    std::string flipped = whole;
    flipped[size] = char(flipped[size] ^ 0x10);
    const auto damaged = read_journal(flipped);
    for (std::size_t i = 1; i < damaged.size(); ++i) CHECK(damaged[i].entry.text == items[i].entry.text);
  }
  journal->remove();
}

TEST_CASE("a report of an internal error that cannot be written is none") {
  Folder folder;
  std::string path;
  CommandLine line;
  line.subcommand = Subcommand::Check;
  line.files = {kModule};
  with_each_fault([&] { path = write_internal_error(line, "a test", "rldb check"); },
                  [&](FileSystemFault::Call, int) {
                    if (!path.empty()) CHECK(text_of(path).find("a test") != std::string::npos);
                    CHECK(temporaries(folder.path) == 0);
                  });
  path = write_internal_error(line, "a test", "rldb check");
  CHECK(text_of(path).find(":expect not error \"a test\"") != std::string::npos);
}
