// vi's command mode: insertion, operators and their motions, awaited characters.
#include <algorithm>
#include <cctype>

#include "ui/terminal/entry_editor.h"

namespace rldb::ui {

void EntryEditor::to_insertion() { vi_command_ = false; }

void EntryEditor::to_command() {
  vi_command_ = true;
  overwrite_ = false;
}

// In command mode the cursor is on a character, not after the last one of a line.
void EntryEditor::keep_off_end() {
  const std::size_t at = buffer_.point();
  if (operator_ == 0 && at == buffer_.line_end(at) && at > buffer_.line_start(at))
    buffer_.move_to(buffer_.previous(at));
}

void EntryEditor::do_ViMovementMode() {
  if (!keys_.vi) return;
  if (vi_command_) {
    if (operator_ == 0 && !count_) bell_ = true;
    operator_ = 0;
    count_.reset();
    return;
  }
  to_command();
  if (buffer_.point() > buffer_.line_start(buffer_.point())) buffer_.move_to(buffer_.previous(buffer_.point()));
}

void EntryEditor::do_ViInsertionMode() { to_insertion(); }
void EntryEditor::do_ViInsertBeg() {
  do_ViFirstPrint();
  to_insertion();
}
void EntryEditor::do_ViAppendMode() {
  if (buffer_.point() < buffer_.line_end(buffer_.point())) buffer_.move_to(buffer_.next(buffer_.point()));
  to_insertion();
}
void EntryEditor::do_ViAppendEol() {
  do_EndOfLine();
  to_insertion();
}
void EntryEditor::do_ViOpenBelow() {
  do_EndOfLine();
  insert_break();
  to_insertion();
}
void EntryEditor::do_ViOpenAbove() {
  const std::size_t start = buffer_.line_start(buffer_.point());
  buffer_.move_to(start);
  buffer_.insert("\n");
  buffer_.move_to(start);
  to_insertion();
}

// ---- motions ----

void EntryEditor::do_ViFirstPrint() {
  std::size_t at = buffer_.line_start(buffer_.point());
  while (at < buffer_.line_end(at) && is_space(buffer_.text()[at])) ++at;
  buffer_.move_to(at);
}

namespace {

// A run of characters of one kind is a word in vi; with capitals, words are separated by blanks.
int kind(char c, bool capital) { return is_space(c) ? 0 : capital || is_word_character(c) ? 1 : 2; }

}  // namespace

void EntryEditor::do_ViNextWord() {
  const bool capital = key_ == "W";
  const std::string& text = buffer_.text();
  // cw changes to the end of the word.
  if (operator_ == 'c' && buffer_.point() < text.size() && !is_space(text[buffer_.point()])) {
    std::size_t at = buffer_.point();
    const int first = kind(text[at], capital);
    while (at < text.size() && kind(text[at], capital) == first) ++at;
    buffer_.move_to(at);
    return;
  }
  std::size_t at = buffer_.point();
  for (int i = 0; i < count() && at < text.size(); ++i) {
    const int first = kind(text[at], capital);
    while (at < text.size() && first != 0 && kind(text[at], capital) == first) ++at;
    while (at < text.size() && is_space(text[at])) ++at;
  }
  buffer_.move_to(at);
}

void EntryEditor::do_ViPrevWord() {
  const bool capital = key_ == "B";
  const std::string& text = buffer_.text();
  std::size_t at = buffer_.point();
  for (int i = 0; i < count() && at > 0; ++i) {
    while (at > 0 && is_space(text[at - 1])) --at;
    const int first = at > 0 ? kind(text[at - 1], capital) : 0;
    while (at > 0 && kind(text[at - 1], capital) == first) --at;
  }
  buffer_.move_to(at);
}

void EntryEditor::do_ViEndWord() {
  const bool capital = key_ == "E";
  const std::string& text = buffer_.text();
  std::size_t at = buffer_.point();
  for (int i = 0; i < count() && at + 1 < text.size(); ++i) {
    ++at;
    while (at + 1 < text.size() && is_space(text[at])) ++at;
    while (at + 1 < text.size() && kind(text[at + 1], capital) == kind(text[at], capital)) ++at;
  }
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  buffer_.move_to(at);
}

void EntryEditor::do_ViCharSearch() { await(key_.back()); }

void EntryEditor::do_ViCharSearchAgain() {
  if (sought_.empty()) {
    bell_ = true;
    return;
  }
  const bool forwards = (sought_by_ == 'f' || sought_by_ == 't') == (key_ == ";");
  if (find_character(sought_, forwards, sought_by_ == 't' || sought_by_ == 'T')) return;
  bell_ = true;
  operator_ = 0;
}

void EntryEditor::do_ViMatch() {
  constexpr std::string_view kBrackets = "([{)]}";
  const std::string& text = buffer_.text();
  const std::size_t at = text.find_first_of(kBrackets, buffer_.point());
  if (at == std::string::npos || at >= buffer_.line_end(buffer_.point())) {
    bell_ = true;
    operator_ = 0;
    return;
  }
  const std::size_t which = kBrackets.find(text[at]);
  const char same = text[at], other = kBrackets[(which + 3) % 6];
  int depth = 0;
  for (std::size_t i = at; i < text.size(); which < 3 ? ++i : --i) {
    depth += text[i] == same ? 1 : text[i] == other ? -1 : 0;
    if (depth == 0) return buffer_.move_to(i);
  }
  bell_ = true;
  operator_ = 0;
}

// ---- operators ----

void EntryEditor::begin_operator(char operation) {
  const char key = key_.back();
  const std::size_t at = buffer_.point();
  if (std::isupper(static_cast<unsigned char>(key)) && operation != 'y') {  // D, C
    operator_ = operation;
    return carry_out(at, buffer_.line_end(at), false);
  }
  if (operator_ == operation || key == 'Y') {  // dd, cc, yy
    operator_ = operation;
    return operate_lines(at, at);
  }
  operator_ = operation;
  operator_from_ = at;
}

void EntryEditor::do_ViDeleteTo() { begin_operator('d'); }
void EntryEditor::do_ViChangeTo() { begin_operator('c'); }
void EntryEditor::do_ViYankTo() { begin_operator('y'); }

// From `from` to the new position of the cursor.
void EntryEditor::operate(std::size_t from, unsigned flags) {
  const std::size_t to = buffer_.point();
  if (flags & kLines) return operate_lines(from, to);
  std::size_t begin = std::min(from, to), end = std::max(from, to);
  if ((flags & kInclusive) && to >= from) end = buffer_.next(end);
  carry_out(begin, end, false);
}

void EntryEditor::operate_lines(std::size_t from, std::size_t to) {
  const std::size_t begin = buffer_.line_start(std::min(from, to));
  carry_out(begin, buffer_.line_end(std::max(from, to)), true);
}

// Whole lines are kept with a trailing line break: `p` puts them on lines of their own.
void EntryEditor::carry_out(std::size_t begin, std::size_t end, bool lines) {
  const char operation = std::exchange(operator_, 0);
  count_.reset();
  kills_.kill(buffer_.text().substr(begin, end - begin) + (lines ? "\n" : ""), KillRing::Join::New);
  buffer_.move_to(begin);
  if (operation == 'y') return;
  if (lines && operation == 'd' && end < buffer_.size())
    ++end;
  else if (lines && operation == 'd' && begin > 0)
    --begin;
  buffer_.erase(begin, end);
  if (operation == 'c') to_insertion();
  if (lines && operation == 'd') do_ViFirstPrint();
}

// ---- changes ----

void EntryEditor::do_ViDelete() {
  std::size_t to = buffer_.point();
  for (int i = 0; i < count() && to < buffer_.line_end(to); ++i) to = buffer_.next(to);
  kill(buffer_.point(), to, KillRing::Join::New);
}

void EntryEditor::do_ViRubout() {
  std::size_t from = buffer_.point();
  for (int i = 0; i < count() && from > buffer_.line_start(from); ++i) from = buffer_.previous(from);
  kill(from, buffer_.point(), KillRing::Join::New);
}

void EntryEditor::do_ViSubst() {
  operator_ = 'c';
  if (key_ == "S") return operate_lines(buffer_.point(), buffer_.point());
  std::size_t to = buffer_.point();
  for (int i = 0; i < count() && to < buffer_.line_end(to); ++i) to = buffer_.next(to);
  carry_out(buffer_.point(), to, false);
}

void EntryEditor::do_ViPut() {
  kills_.newest();
  const bool after = key_ == "p";
  const std::size_t at = buffer_.point(), end = buffer_.line_end(at);
  std::string text(kills_.current());
  std::size_t to = after && at < end ? buffer_.next(at) : at;
  const bool lines = text.ends_with('\n');
  if (lines) {
    to = after ? end : buffer_.line_start(at);
    if (after) text = "\n" + text.substr(0, text.size() - 1);
  }
  if (text.empty() || !buffer_.replace(to, to, text)) {
    bell_ = true;
    return;
  }
  buffer_.move_to(lines ? to + (after ? 1 : 0) : buffer_.previous(buffer_.point()));
}

void EntryEditor::do_ViChangeChar() { await('r'); }

void EntryEditor::do_ViChangeCase() {
  const EditBuffer::Group group(buffer_);
  for (int i = 0; i < std::min(count(), 1000); ++i) {
    const std::size_t at = buffer_.point();
    if (at >= buffer_.line_end(at)) break;
    const auto c = static_cast<unsigned char>(buffer_.text()[at]);
    const std::size_t next = buffer_.next(at);
    if (std::isalpha(c)) buffer_.replace(at, at + 1, std::string(1, char(c ^ 0x20)));
    buffer_.move_to(next);
  }
}

void EntryEditor::do_ViJoin() {
  const std::size_t end = buffer_.line_end(buffer_.point());
  if (end == buffer_.size()) {
    bell_ = true;
    return;
  }
  std::size_t to = end + 1;
  while (to < buffer_.size() && (buffer_.text()[to] == ' ' || buffer_.text()[to] == '\t')) ++to;
  buffer_.replace(end, to, " ");
  buffer_.move_to(end);
}

// ---- characters requested by a function ----

// False: it was not usable.
bool EntryEditor::take_awaited(std::string_view character) {
  const char what = std::exchange(awaited_, 0);
  const char operation = operator_;
  const std::size_t from = buffer_.point();
  bool good = true;
  if (what == 'q') {
    good = buffer_.insert(character);
  } else if (character == "\033" || character == "\x07") {
    good = false;
  } else if (what == 'r') {
    good = from < buffer_.line_end(from) &&
           buffer_.replace(from, buffer_.next(from), character == "\r" ? std::string_view("\n") : character);
    if (good) buffer_.move_to(from);
  } else {
    const bool forwards = what == 'f' || what == 't' || what == '>';
    good = find_character(character, forwards, what == 't' || what == 'T');
    if (what != '>' && what != '<') {
      sought_ = character;
      sought_by_ = what;
    }
    if (good && operation != 0) operate(operator_from_, forwards ? kMove | kInclusive : kMove);
  }
  operator_ = 0;
  count_.reset();
  if (mode() == KeyMode::ViCommand) keep_off_end();
  return good;
}

}  // namespace rldb::ui
