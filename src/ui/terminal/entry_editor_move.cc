// Functions of the editor that move: in the entry, and through the history.
#include <algorithm>

#include "rldb/ui/terminal/characters.h"
#include "ui/terminal/entry_editor.h"

namespace rldb::ui {

void EntryEditor::do_BeginningOfLine() { buffer_.move_to(buffer_.line_start(buffer_.point())); }
void EntryEditor::do_EndOfLine() {
  if (!take_suggested(false)) buffer_.move_to(buffer_.line_end(buffer_.point()));
}
void EntryEditor::do_BeginningOfEntry() { buffer_.move_to(0); }
void EntryEditor::do_EndOfEntry() { buffer_.move_to(buffer_.size()); }

namespace {

// `times` steps, or as many as there are.
template <class Step>
std::size_t repeat(int times, std::size_t at, Step step) {
  for (int i = 0; i < times; ++i) {
    const std::size_t next = step(at);
    if (next == at) break;
    at = next;
  }
  return at;
}

}  // namespace

// The rest of the line in the newest entry that begins with this one.
std::string_view EntryEditor::suggested() const {
  const std::string& text = buffer_.text();
  if (!hooks_.suggests || text.empty() || buffer_.point() != text.size() || mode() == KeyMode::ViCommand ||
      operator_ != 0)
    return {};
  const std::string* const found = history_.newest_with(text);
  if (!found || !hooks_.suggests()) return {};
  const std::string_view rest = std::string_view(*found).substr(text.size());
  return rest.substr(0, rest.find('\n'));
}

// Takes the whole entry, or up to the end of a word in it.
bool EntryEditor::take_suggested(bool word) {
  const std::string_view shown = suggested();
  if (shown.empty()) return false;
  const std::string* const found = history_.newest_with(buffer_.text());
  std::string rest = found->substr(buffer_.size());
  if (word) {
    std::size_t end = 0;
    while (end < rest.size() && !is_word_character(rest[end])) ++end;
    while (end < rest.size() && is_word_character(rest[end])) ++end;
    rest.resize(end);
  }
  if (!buffer_.insert(rest)) bell_ = true;
  return true;
}

void EntryEditor::do_ForwardChar() {
  if (take_suggested(false)) return;
  const bool within = mode() == KeyMode::ViCommand;  // vi stays on the line
  const std::size_t to = repeat(count(), buffer_.point(), [&](std::size_t at) {
    return within && at == buffer_.line_end(at) ? at : buffer_.next(at);
  });
  if (to == buffer_.point()) bell_ = true;
  buffer_.move_to(to);
}

void EntryEditor::do_BackwardChar() {
  const bool within = mode() == KeyMode::ViCommand;
  const std::size_t to = repeat(count(), buffer_.point(), [&](std::size_t at) {
    return within && at == buffer_.line_start(at) ? at : buffer_.previous(at);
  });
  if (to == buffer_.point()) bell_ = true;
  buffer_.move_to(to);
}

void EntryEditor::do_ForwardWord() {
  if (take_suggested(true)) return;
  buffer_.move_to(repeat(count(), buffer_.point(), [&](std::size_t at) { return buffer_.word_end(at); }));
}

void EntryEditor::do_BackwardWord() {
  buffer_.move_to(repeat(count(), buffer_.point(), [&](std::size_t at) { return buffer_.word_start(at); }));
}

void EntryEditor::do_SetMark() { mark_ = buffer_.point(); }

void EntryEditor::do_ExchangePointAndMark() {
  const std::size_t to = std::min(mark_, buffer_.size());
  mark_ = buffer_.point();
  buffer_.move_to(to);
}

void EntryEditor::do_CharacterSearch() { await('>'); }
void EntryEditor::do_CharacterSearchBackward() { await('<'); }

// `beside`: moves to just before the character.
bool EntryEditor::find_character(std::string_view character, bool forwards, bool beside) {
  const std::string& text = buffer_.text();
  std::size_t at = buffer_.point();
  for (int i = 0; i < count(); ++i) {
    if (forwards)
      at = text.find(character, buffer_.next(at));
    else
      at = at == 0 ? std::string::npos : text.rfind(character, at - 1);
    if (at == std::string::npos) return false;
  }
  buffer_.move_to(!beside ? at : forwards ? buffer_.previous(at) : buffer_.next(at));
  return true;
}

// ---- lines ----

// Up and down in the entry; the column stays as it was when the movement began. False: at its edge.
bool EntryEditor::move_line(int direction) {
  if (last_ != KeyFunction::Up && last_ != KeyFunction::Down) goal_column_ = buffer_.column_of(buffer_.point());
  const std::size_t start = buffer_.line_start(buffer_.point());
  const std::size_t end = buffer_.line_end(buffer_.point());
  if (direction < 0 ? start == 0 : end == buffer_.size()) return false;
  const std::size_t line = direction < 0 ? buffer_.line_start(start - 1) : end + 1;
  buffer_.move_to(buffer_.at_column(line, goal_column_));
  return true;
}

void EntryEditor::do_Up() {
  if (last_ != KeyFunction::Up && last_ != KeyFunction::Down) searching_ = false;
  for (int i = 0; i < std::min(count(), 1000); ++i) {
    if (move_line(-1)) continue;
    if (operator_ != 0) return;
    const bool recalled = history_.is_recalled(buffer_.text());
    if (!searching_) prefix_ = recalled ? std::string() : buffer_.text().substr(0, buffer_.point());
    searching_ = true;
    recall(history_.older(prefix_, buffer_.text()));
  }
}

void EntryEditor::do_Down() {
  if (last_ != KeyFunction::Up && last_ != KeyFunction::Down) searching_ = false;
  for (int i = 0; i < std::min(count(), 1000); ++i) {
    if (move_line(1)) continue;
    if (operator_ != 0) return;
    if (!searching_) prefix_.clear();
    searching_ = true;
    recall(history_.newer(prefix_, buffer_.text()));
  }
}

// ---- history ----

void EntryEditor::recall(const std::string* entry) {
  if (!entry) {
    bell_ = true;
    return;
  }
  buffer_.reset(*entry);
  goal_column_ = buffer_.column_of(buffer_.point());
}

void EntryEditor::do_PreviousHistory() {
  for (int i = 0; i < std::min(count(), 1000); ++i) recall(history_.older({}, buffer_.text()));
}
void EntryEditor::do_NextHistory() {
  for (int i = 0; i < std::min(count(), 1000); ++i) recall(history_.newer({}, buffer_.text()));
}

void EntryEditor::search_prefix(bool older) {
  const bool continues = last_ == KeyFunction::HistorySearchBackward || last_ == KeyFunction::HistorySearchForward;
  if (!continues) prefix_ = buffer_.text().substr(0, buffer_.point());
  recall(older ? history_.older(prefix_, buffer_.text()) : history_.newer(prefix_, buffer_.text()));
}
void EntryEditor::do_HistorySearchBackward() { search_prefix(true); }
void EntryEditor::do_HistorySearchForward() { search_prefix(false); }
// ---- screen mode: inactive if the screen did not take these ----

void EntryEditor::do_TuiSwitchMode() { bell_ = true; }
void EntryEditor::do_DeleteOtherWindows() { bell_ = true; }
void EntryEditor::do_ChangeWindows() { bell_ = true; }
void EntryEditor::do_OtherWindow() { bell_ = true; }
void EntryEditor::do_NextKeymap() { bell_ = true; }
void EntryEditor::do_EnlargeWindow() { bell_ = true; }
void EntryEditor::do_ShrinkWindow() { bell_ = true; }

// ---- the edges of the history ----

void EntryEditor::do_BeginningOfHistory() { recall(history_.oldest(buffer_.text())); }
void EntryEditor::do_EndOfHistory() { recall(history_.newest(buffer_.text())); }
void EntryEditor::do_ReverseSearchHistory() { begin_search(true); }
void EntryEditor::do_ForwardSearchHistory() { begin_search(false); }

}  // namespace rldb::ui
