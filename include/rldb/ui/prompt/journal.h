// The journal of an interactive session: entries and their outcomes, so that a session that was killed can be restored
// (`:resume`).
//
// A file of records, each `KIND LENGTH CHECKSUM\n` + that many bytes + `\n`, written with one call each; reading stops
// at the first incomplete record. It is locked while its session lives and removed when that ends in order, so an
// unlocked journal belongs to a session that was killed. Kinds: H command line and folder (JSON), E an entry before it
// is run, F one that the user did not write, R its outcome, T an unfinished entry is about to be repeated, B several
// records at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/author.h"

namespace rldb::ui {

struct JournalHeader {
  std::vector<std::string> arguments;  // of the command line
  std::string folder;                  // where it was run
  std::int64_t started = 0;            // seconds since the epoch
};

enum class EntryOutcome : char {
  Unfinished = 'U',  // the session was killed while running it
  Good = 'G',
  Changed = 'C',  // it failed, but changed something: a run that ended in a fault
  Failed = 'F',   // nothing changed
};

// A header, or an entry.
struct JournalItem {
  std::optional<JournalHeader> header;
  debug::StoredEntry entry;
  EntryOutcome outcome = EntryOutcome::Unfinished;
  bool tried = false;  // unfinished, and repeating it did not finish either
};

// The complete records in a journal's bytes.
std::vector<JournalItem> read_journal(std::string_view bytes);

class Journal {
 public:
  // Creates it in the folder of journals. Null: `why`.
  static std::unique_ptr<Journal> create(const JournalHeader& header, std::string& why);
  // Opens and locks that of a killed session. Null: it does not exist, it is not a journal, or `in_use`.
  static std::unique_ptr<Journal> open_killed(const std::string& path, bool& in_use);
  ~Journal();  // the lock is released, the file stays
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::string& path() const { return path_; }
  std::vector<JournalItem> items() const;
  void write_header(const JournalHeader& header);
  void begin(const debug::StoredEntry& entry);
  void finish(EntryOutcome outcome);
  void mark_tried();
  // Between these nothing is written; then all of it or nothing is.
  void begin_batch() { batch_.emplace(); }
  void end_batch();
  void remove();
  // Why a record could not be written, reported once; after that no more are written.
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

// Journals of killed sessions, newest first. Empty ones are removed, and the oldest when there are many.
struct KilledSession {
  std::string path;
  JournalHeader header;
};
std::vector<KilledSession> killed_sessions();
// `2026-11-22 10:31`
std::string time_text(std::int64_t seconds);

}  // namespace rldb::ui
