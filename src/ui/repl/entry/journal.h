// The journal of an interactive session: what was entered and how it went, so that a session that was killed can be
// brought back (`:resume`).
//
// A file of records, each `KIND LENGTH CHECKSUM\n` + that many bytes + `\n`, written with one call each; reading stops
// at the first record that is not whole. It is locked while its session lives and removed when that ends in order, so a
// journal with a free lock is of a session that was killed. Kinds: H command line and folder (JSON), E an entry before
// it is run, R how it went, T an unfinished entry is about to be repeated, B several records at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui {

struct JournalHeader {
  std::vector<std::string> arguments;  // of the command line
  std::string folder;                  // where it was run
  std::int64_t started = 0;            // seconds since the epoch
};

enum class EntryOutcome : char {
  Unfinished = 'U',  // the session was killed in it
  Good = 'G',
  Changed = 'C',  // it failed, but changed something: a run that ended in a fault
  Failed = 'F',   // nothing changed
};

// A header, or an entry.
struct JournalItem {
  std::optional<JournalHeader> header;
  std::string entry;
  EntryOutcome outcome = EntryOutcome::Unfinished;
  bool tried = false;  // unfinished, and repeating it did not end either
};

// What is whole of a journal's bytes.
std::vector<JournalItem> read_journal(std::string_view bytes);

class Journal {
 public:
  // In the folder of journals. Null: `why`.
  static std::unique_ptr<Journal> create(const JournalHeader& header, std::string& why);
  // Of a session that was killed, locked. Null: it is not there, it is no journal, or `in_use`.
  static std::unique_ptr<Journal> open_killed(const std::string& path, bool& in_use);
  ~Journal();  // the lock goes, the file stays
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& path() const { return path_; }
  std::vector<JournalItem> items() const;
  void write_header(const JournalHeader& header);
  void begin(std::string_view entry);
  void finish(EntryOutcome outcome);
  void mark_tried();
  // Between them nothing is written; then all or nothing is.
  void begin_batch() { batch_.emplace(); }
  void end_batch();
  void remove();
  // Why a record could not be written, told once; after that none is.
  std::string take_problem();

 private:
  Journal(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  void append(char kind, std::string_view payload);

  std::string path_;
  int fd_;
  std::optional<std::string> batch_;
  std::string problem_;
  bool broken_ = false;
};

// Journals of killed sessions that hold something, newest first. Those that hold nothing are removed.
struct KilledSession {
  std::string path;
  JournalHeader header;
};
std::vector<KilledSession> killed_sessions();
// `2026-11-22 10:31`
std::string time_text(std::int64_t seconds);

}  // namespace rldb::ui
