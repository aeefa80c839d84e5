// Functions of the editor that change the entry: letters, cuts, completion, Enter.
#include <algorithm>
#include <cctype>

#include "rldb/ui/terminal/characters.h"
#include "ui/terminal/entry_editor.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kIndent = 4;
constexpr int kMostTimes = 1000;

bool is_blank_text(std::string_view text) { return text.find_first_not_of(" \t") == std::string_view::npos; }

}  // namespace

// ---- letters ----

void EntryEditor::do_DeleteChar() {
  if (buffer_.empty() && key_ == "\x04") {
    request_ = Request::End;
    return;
  }
  std::size_t to = buffer_.point();
  for (int i = 0; i < count() && to < buffer_.size(); ++i) to = buffer_.next(to);
  if (to == buffer_.point()) bell_ = true;
  if (count_ && to != buffer_.point()) return kill(buffer_.point(), to, KillRing::Join::New);
  buffer_.erase(buffer_.point(), to);
}

void EntryEditor::do_BackwardDeleteChar() {
  const std::size_t at = buffer_.point();
  const std::size_t start = buffer_.line_start(at);
  std::size_t from = at;
  for (int i = 0; i < count() && from > 0; ++i) from = buffer_.previous(from);
  const std::string_view before = std::string_view(buffer_.text()).substr(start, at - start);
  if (!count_ && start > 0 && !before.empty() && before.find_first_not_of(' ') == std::string_view::npos)
    from = start + (before.size() - 1) / kIndent * kIndent;
  if (from == at) bell_ = true;
  if (count_ && from != at) return kill(from, at, KillRing::Join::New);
  buffer_.erase(from, at);
}

void EntryEditor::do_TransposeChars() {
  std::size_t at = buffer_.point();
  if (at == buffer_.line_end(at) && at > buffer_.line_start(at)) at = buffer_.previous(at);
  if (at <= buffer_.line_start(at) || at >= buffer_.line_end(at)) {
    bell_ = true;
    return;
  }
  const std::size_t before = buffer_.previous(at), after = buffer_.next(at);
  const std::string swapped = buffer_.text().substr(at, after - at) + buffer_.text().substr(before, at - before);
  buffer_.replace(before, after, swapped);
}

void EntryEditor::do_TransposeWords() {
  const std::string& text = buffer_.text();
  const std::size_t end = buffer_.word_end(buffer_.point());
  const std::size_t start = buffer_.word_start(end);
  const std::size_t first = buffer_.word_start(start);
  const std::size_t first_end = buffer_.word_end(first);
  if (first_end > start || first >= start || start >= end) {
    bell_ = true;
    return;
  }
  const std::string swapped = text.substr(start, end - start) + text.substr(first_end, start - first_end) +
                              text.substr(first, first_end - first);
  buffer_.replace(first, end, swapped);
}

// ASCII letters only, as in the language.
void EntryEditor::change_word(int (*first)(int), int (*rest)(int)) {
  const std::size_t at = buffer_.point();
  std::size_t end = at;
  for (int i = 0; i < std::min(count(), kMostTimes); ++i) end = buffer_.word_end(end);
  std::string word = buffer_.text().substr(at, end - at);
  bool inside = false;
  for (char& c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) c = char((inside ? rest : first)(byte));
    inside = is_word_character(c);
  }
  buffer_.replace(at, end, word);
}
void EntryEditor::do_UpcaseWord() { change_word(std::toupper, std::toupper); }
void EntryEditor::do_DowncaseWord() { change_word(std::tolower, std::tolower); }
void EntryEditor::do_CapitalizeWord() { change_word(std::toupper, std::tolower); }

void EntryEditor::do_QuotedInsert() { await('q'); }
void EntryEditor::do_TabInsert() { buffer_.insert("\t"); }

void EntryEditor::do_Undo() {
  for (int i = 0; i < std::min(count(), kMostTimes); ++i)
    if (!buffer_.undo()) bell_ = true;
}
void EntryEditor::do_RevertLine() {
  if (!buffer_.undo_all()) bell_ = true;
}

void EntryEditor::do_OverwriteMode() { overwrite_ = !overwrite_; }

// ---- cuts ----

// Consecutive cuts form one text.
void EntryEditor::kill(std::size_t begin, std::size_t end, KillRing::Join join) {
  if (begin >= end) {
    bell_ = true;
    return;
  }
  kills_.kill(std::string_view(buffer_.text()).substr(begin, end - begin), killed_ ? join : KillRing::Join::New);
  kills_now_ = true;
  buffer_.erase(begin, end);
}

void EntryEditor::copy(std::size_t begin, std::size_t end) {
  kills_.kill(std::string_view(buffer_.text()).substr(begin, end - begin), KillRing::Join::New);
}

void EntryEditor::do_KillLine() {
  const std::size_t at = buffer_.point(), end = buffer_.line_end(at);
  kill(at, at == end ? buffer_.next(at) : end, KillRing::Join::After);
}

void EntryEditor::do_UnixLineDiscard() {
  const std::size_t at = buffer_.point(), start = buffer_.line_start(at);
  kill(at == start ? buffer_.previous(at) : start, at, KillRing::Join::Before);
}
void EntryEditor::do_BackwardKillLine() { do_UnixLineDiscard(); }

void EntryEditor::do_KillWholeLine() {
  kill(buffer_.line_start(buffer_.point()), buffer_.line_end(buffer_.point()), KillRing::Join::After);
}

void EntryEditor::do_UnixWordRubout() {
  std::size_t from = buffer_.point();
  for (int i = 0; i < std::min(count(), kMostTimes); ++i) from = buffer_.blank_word_start(from);
  kill(from, buffer_.point(), KillRing::Join::Before);
}

void EntryEditor::do_BackwardKillWord() {
  std::size_t from = buffer_.point();
  for (int i = 0; i < std::min(count(), kMostTimes); ++i) from = buffer_.word_start(from);
  kill(from, buffer_.point(), KillRing::Join::Before);
}

void EntryEditor::do_KillWord() {
  std::size_t to = buffer_.point();
  for (int i = 0; i < std::min(count(), kMostTimes); ++i) to = buffer_.word_end(to);
  kill(buffer_.point(), to, KillRing::Join::After);
}

void EntryEditor::do_KillRegion() {
  const std::size_t mark = std::min(mark_, buffer_.size());
  kill(std::min(mark, buffer_.point()), std::max(mark, buffer_.point()), KillRing::Join::New);
}

void EntryEditor::do_CopyRegionAsKill() {
  const std::size_t mark = std::min(mark_, buffer_.size());
  copy(std::min(mark, buffer_.point()), std::max(mark, buffer_.point()));
}

void EntryEditor::do_Yank() {
  kills_.newest();
  yanked_at_ = buffer_.point();
  if (kills_.current().empty() || !buffer_.insert(kills_.current())) bell_ = true;
  yanked_to_ = buffer_.point();
}

void EntryEditor::do_YankPop() {
  if (last_ != KeyFunction::Yank && last_ != KeyFunction::YankPop) {
    bell_ = true;
    return;
  }
  kills_.rotate();
  if (!buffer_.replace(yanked_at_, yanked_to_, kills_.current())) bell_ = true;
  yanked_to_ = buffer_.point();
}

void EntryEditor::do_YankLastArg() {
  const auto& entries = history_.entries();
  const bool again = last_ == KeyFunction::YankLastArg;
  last_arg_ = again ? last_arg_ + 1 : 1;
  if (last_arg_ > entries.size()) {
    last_arg_ = entries.size();
    bell_ = true;
    return;
  }
  std::string_view entry = entries[entries.size() - last_arg_];
  const auto end = entry.find_last_not_of(" \t\n");
  entry = entry.substr(0, end == std::string_view::npos ? 0 : end + 1);
  const auto blank = entry.find_last_of(" \t\n");
  if (blank != std::string_view::npos) entry.remove_prefix(blank + 1);
  if (!again) yanked_at_ = yanked_to_ = buffer_.point();
  if (!buffer_.replace(yanked_at_, yanked_to_, entry)) bell_ = true;
  yanked_to_ = buffer_.point();
}

// ---- the entry ----

// `else:` begins where the lines of the block before it do, until it is complete.
void EntryEditor::align_line() {
  const std::size_t end = buffer_.point(), begin = buffer_.line_start(end);
  const auto indent = hooks_.indent_of_line ? hooks_.indent_of_line(buffer_.text().substr(0, end)) : std::nullopt;
  const std::size_t code = buffer_.text().find_first_not_of(" \t", begin);
  if (!indent || code == std::string::npos || *indent < 0 || code - begin <= std::size_t(*indent)) return;
  const std::size_t surplus = code - begin - std::size_t(*indent);
  buffer_.erase(begin, begin + surplus);
  buffer_.move_to(end - surplus);
}

void EntryEditor::insert_break() {
  align_line();
  const std::string before = buffer_.text().substr(0, buffer_.point());
  const int indent = hooks_.indent ? hooks_.indent(before) : 0;
  if (!buffer_.insert("\n" + std::string(std::size_t(std::clamp(indent, 0, 400)), ' '))) bell_ = true;
  indented_to_ = indent > 0 ? buffer_.point() : 0;
}

// A line that arrives faster than it can be typed and begins with a blank was pasted, with its own indentation.
void EntryEditor::drop_indentation(std::string_view character) {
  const std::size_t at = std::exchange(indented_to_, 0);
  if (at == 0 || at != buffer_.point() || !more_ || !is_blank_text(character)) return;
  buffer_.erase(buffer_.line_start(at), at);
}

void EntryEditor::do_InsertNewline() { insert_break(); }

void EntryEditor::do_AcceptLine() {
  const std::string& text = buffer_.text();
  const std::size_t last = buffer_.line_start(text.size());
  const bool last_empty = last > 0 && is_blank_text(std::string_view(text).substr(last));
  // A block recalled unchanged does not require its empty line again.
  const bool done = last_empty || history_.is_recalled(text);
  if (hooks_.wants_more && hooks_.wants_more(text, done)) {
    insert_break();
    return;
  }
  buffer_.move_to(text.size());
  request_ = Request::Accept;
}

void EntryEditor::do_EditInEditor() { request_ = Request::EditInEditor; }
void EntryEditor::do_ClearScreen() { request_ = Request::ClearScreen; }
void EntryEditor::do_ReReadInitFile() { request_ = Request::ReadInitFile; }
void EntryEditor::do_Abort() { bell_ = true; }

void EntryEditor::do_EmacsEditingMode() {
  keys_.vi = false;
  vi_command_ = false;
}
void EntryEditor::do_ViEditingMode() { keys_.vi = true; }

void EntryEditor::do_DigitArgument() {
  constexpr int kMost = 10'000;
  const char key = key_.back();
  if (key == '-') {  // there are no negative counts here; the following digits are the count
    count_ = count_.value_or(1);
    return;
  }
  const bool continues = last_ == KeyFunction::DigitArgument && count_;
  count_ = std::min(kMost, (continues ? *count_ * 10 : 0) + (key - '0'));
}

}  // namespace rldb::ui
