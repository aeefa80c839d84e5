// SessionRecord: entries and their output, piece by piece, for the page that `:html` writes.
//
// Plain text is kept as it was written; richer output (a diff, a picture, TVMScript) is kept in its own form. At most
// `kMost` bytes: anything after that is counted as missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ui/render/text_diff.h"

namespace rldb::ui {

enum class OutputKind : std::uint8_t {
  Text,
  Error,    // diagnostics
  Script,   // TVMScript
  Source,   // lines around a stop; `=>` begins the current one
  Diff,     // `hunks`, between two named texts
  Picture,  // SVG
  Value,    // HTML
};

struct OutputPiece {
  OutputKind kind = OutputKind::Text;
  std::string text;
  std::vector<DiffHunk> hunks;
  std::string before_name, after_name;
};

struct RecordedEntry {
  std::string prompt, text;
  std::vector<OutputPiece> pieces;
  bool failed = false;
  bool ended = false;
};

class SessionRecord {
 public:
  static constexpr std::size_t kMost = std::size_t(32) << 20;

  // Entries may be nested: those of a script in the `:source` that runs it.
  void begin(std::string prompt, std::string_view entry);
  void end(bool failed) noexcept;
  // Adds to the current entry; text is appended to the text before it.
  void write(OutputKind kind, std::string_view text);
  void add(OutputPiece piece);
  const std::vector<RecordedEntry>& entries() const { return entries_; }
  // Something was left out.
  bool full() const { return full_; }

 private:
  bool take(std::size_t bytes);
  std::vector<RecordedEntry> entries_;
  std::vector<std::size_t> open_;  // indices; `kNone` for one that was left out
  std::size_t bytes_ = 0;
  bool full_ = false;
};

}  // namespace rldb::ui
