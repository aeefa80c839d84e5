#include "ui/terminal/incremental_search.h"

#include <utility>

namespace rldb::ui {

namespace {

constexpr int control_key(char c) { return c & 0x1F; }
constexpr int kDelete = 0x7F;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

IncrementalSearch::IncrementalSearch(std::vector<std::string> entries, std::string line, std::size_t point,
                                     bool backwards)
    : entries_(std::move(entries)), start_point_(point), backwards_(backwards), at_(entries_.size()), point_(point) {
  entries_.push_back(std::move(line));
}

IncrementalSearch::Outcome IncrementalSearch::key(int c) {
  if (c == control_key('G')) {
    at_ = entries_.size() - 1;
    point_ = start_point_;
    return Outcome::Abandoned;
  }
  if (c == control_key('R') || c == control_key('S')) {
    backwards_ = c == control_key('R');
    const std::size_t step = backwards_ ? at_ - 1 : at_ + 1;  // past the end in either direction: no entry
    failed_ = !wanted_.empty() && !find(step, true);
    return Outcome::Goes;
  }
  if (c == kDelete || c == control_key('H')) {
    while (!wanted_.empty() && continues_character(wanted_.back())) wanted_.pop_back();
    if (!wanted_.empty()) wanted_.pop_back();
    search_again();
    return Outcome::Goes;
  }
  if (c < ' ') return Outcome::Taken;  // control keys, escape sequences, the end of the input
  wanted_ += char(c);
  if (!failed_) failed_ = !find(at_, false);
  return Outcome::Goes;
}

// `skip_same`: skips entries that look like the one shown.
bool IncrementalSearch::find(std::size_t from, bool skip_same) {
  for (std::size_t i = from; i < entries_.size(); backwards_ ? --i : ++i) {
    const auto found = entries_[i].find(wanted_);
    if (found == std::string::npos || (skip_same && entries_[i] == entries_[at_])) continue;
    at_ = i;
    point_ = found;
    return true;
  }
  return false;
}

void IncrementalSearch::search_again() {
  at_ = entries_.size() - 1;
  point_ = start_point_;
  failed_ = !wanted_.empty() && !find(backwards_ ? at_ : 0, false);
}

std::string IncrementalSearch::prompt() const {
  return std::string(failed_ ? "(failed " : "(") + (backwards_ ? "reverse-search" : "search") + ")`" + wanted_ + "': ";
}

}  // namespace rldb::ui
