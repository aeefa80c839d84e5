// Completion: the common beginning of the candidates, then their menu. Tab lists them, and again goes from one to the
// next, each standing in the entry; Enter takes the one that stands there, ^G restores what was typed, and any other
// key goes on from the entry as it is.
#include <algorithm>

#include "ui/terminal/entry_editor.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kMenuIndent = 4;

bool is_blank_start(std::string_view text) { return text.find_first_not_of(" \t") == std::string_view::npos; }

// Whole characters only.
std::string common_beginning(const Candidates& candidates) {
  std::string common = candidates[0].text;
  for (const Candidate& c : candidates)
    common.resize(
        std::size_t(std::mismatch(common.begin(), common.end(), c.text.begin(), c.text.end()).first - common.begin()));
  const std::string& first = candidates[0].text;
  while (!common.empty() && common.size() < first.size() &&
         (static_cast<unsigned char>(first[common.size()]) & 0xC0) == 0x80)
    common.pop_back();
  return common;
}

// After it more of the same word is expected.
bool is_open(std::string_view text) {
  constexpr std::string_view kOpen = "/=(:.";
  return !text.empty() && kOpen.find(text.back()) != std::string_view::npos;
}

}  // namespace

void EntryEditor::do_Complete() {
  const std::string& text = buffer_.text();
  const std::size_t at = buffer_.point(), start_of_line = buffer_.line_start(at);
  if (start_of_line > 0 && is_blank_start(std::string_view(text).substr(start_of_line, at - start_of_line))) {
    buffer_.insert(std::string(kMenuIndent - (at - start_of_line) % kMenuIndent, ' '));
    return;
  }
  std::size_t start = at;
  Candidates found = hooks_.complete ? hooks_.complete(text, at, start) : Candidates();
  if (found.empty()) {
    bell_ = true;
    return;
  }
  std::string common = common_beginning(found);
  const bool longer = common.size() > at - start;
  if (longer) {
    if (found.size() == 1 && !is_open(common) && at == text.size()) common += ' ';
    if (!buffer_.insert(std::string_view(common).substr(at - start))) bell_ = true;
  }
  if (found.size() > 1 && (!longer || keys_.list_at_once)) open_menu(std::move(found), start);
  if (found.size() == 1 && !longer) bell_ = true;
}

void EntryEditor::do_PossibleCompletions() {
  std::size_t start = buffer_.point();
  Candidates found = hooks_.complete ? hooks_.complete(buffer_.text(), buffer_.point(), start) : Candidates();
  if (found.empty()) bell_ = true;
  open_menu(std::move(found), start);
}

void EntryEditor::do_MenuCompleteBackward() {
  do_PossibleCompletions();
  if (!candidates_.empty()) select(candidates_.size() - 1);
}

void EntryEditor::open_menu(Candidates candidates, std::size_t start) {
  candidates_ = std::move(candidates);
  selected_.reset();
  word_ = start;
}

void EntryEditor::close_menu() {
  candidates_.clear();
  selected_.reset();
}

// Only one of them is a change to undo, however many were looked at.
void EntryEditor::select(std::size_t candidate) {
  if (selected_) buffer_.undo();
  selected_.reset();
  if (buffer_.replace(word_, buffer_.point(), candidates_[candidate].text))
    selected_ = candidate;
  else
    bell_ = true;
}

bool EntryEditor::menu_takes(KeyFunction function) {
  if (candidates_.empty()) return false;
  const std::size_t last = candidates_.size() - 1;
  const bool forward = function == KeyFunction::Complete || function == KeyFunction::Down;
  const bool backward = function == KeyFunction::MenuCompleteBackward || (function == KeyFunction::Up && selected_);
  if (forward)
    select(!selected_ || *selected_ == last ? 0 : *selected_ + 1);
  else if (backward)
    select(!selected_ || *selected_ == 0 ? last : *selected_ - 1);
  else if (function == KeyFunction::AcceptLine && selected_)
    take_selected();
  else if (function == KeyFunction::Abort)
    drop_selected();
  else
    return false;
  count_.reset();
  last_ = function;
  return true;
}

void EntryEditor::take_selected() {
  const bool whole = !is_open(candidates_[*selected_].text) && buffer_.point() == buffer_.size();
  close_menu();
  if (whole && !buffer_.insert(" ")) bell_ = true;
}

void EntryEditor::drop_selected() {
  if (selected_) buffer_.undo();
  close_menu();
}

}  // namespace rldb::ui
