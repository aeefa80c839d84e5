#include "rldb/ui/prompt/record.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kNone = std::size_t(-1);

}  // namespace

bool SessionRecord::take(std::size_t bytes) {
  if (full_ || bytes_ + bytes > kMost) full_ = true;
  if (!full_) bytes_ += bytes;
  return !full_;
}

void SessionRecord::begin(std::string prompt, std::string_view entry) {
  constexpr std::size_t kEach = 256;  // of an entry, not counting its texts
  open_.reserve(open_.size() + 1);
  if (!take(entry.size() + kEach)) return open_.push_back(kNone);
  entries_.push_back({std::move(prompt), std::string(entry), {}, false, false});
  open_.push_back(entries_.size() - 1);
}

void SessionRecord::end(bool failed) noexcept {
  if (open_.empty()) return;
  const std::size_t at = open_.back();
  open_.pop_back();
  if (at == kNone) return;
  entries_[at].failed = failed;
  entries_[at].ended = true;
}

void SessionRecord::write(OutputKind kind, std::string_view text) {
  if (text.empty() || open_.empty() || open_.back() == kNone || !take(text.size())) return;
  std::vector<OutputPiece>& pieces = entries_[open_.back()].pieces;
  if (pieces.empty() || pieces.back().kind != kind) pieces.push_back({kind, {}, {}, {}, {}});
  pieces.back().text += text;
}

void SessionRecord::add(OutputPiece piece) {
  if (open_.empty() || open_.back() == kNone || (piece.text.empty() && piece.hunks.empty())) return;
  std::size_t bytes = piece.text.size();
  for (const DiffHunk& hunk : piece.hunks)
    for (const DiffLine& line : hunk.lines) bytes += sizeof line + line.text.size();
  if (take(bytes)) entries_[open_.back()].pieces.push_back(std::move(piece));
}

}  // namespace rldb::ui
