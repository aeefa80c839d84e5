// From bytes to functions: keys, macros, pastes, search. The functions themselves are in the files entry_editor_*.cc.
#include "ui/terminal/entry_editor.h"

#include <algorithm>

#include "rldb/ui/terminal/characters.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kPasteEnd = "\033[201~";
constexpr int kDeepestMacro = 16;
constexpr std::size_t kMostMacroKeys = 100'000;  // from one key: macros that call macros grow fast

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::size_t length_by_first_byte(char c) {
  const auto first = static_cast<unsigned char>(c);
  return first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
}

// State of an escape sequence: ESC [ parameters final, ESC O final.
enum class Sequence : std::uint8_t { None, Open, Whole, Broken };
Sequence sequence(std::string_view keys) {
  constexpr std::size_t kLongest = 64;
  if (keys.size() < 2 || keys[0] != '\033' || (keys[1] != '[' && keys[1] != 'O')) return Sequence::None;
  const char last = keys.back();
  if (keys.size() == 2) return Sequence::Open;
  if (last >= '@' && last <= '~' && !(keys.size() == 3 && last == '[')) return Sequence::Whole;
  const bool parameter = (last >= ' ' && last < '@') || last == '[';
  return parameter && keys.size() < kLongest ? Sequence::Open : Sequence::Broken;
}

}  // namespace

void EntryEditor::begin(std::string prompt) {
  prompt_ = std::move(prompt);
  buffer_.reset({});
  history_.begin();
  search_.reset();
  paste_.reset();
  close_menu();
  pending_.clear();
  count_.reset();
  last_ = current_ = KeyFunction::DoNothing;
  awaited_ = operator_ = 0;
  mark_ = 0;
  vi_command_ = overwrite_ = killed_ = false;
  request_ = Request::None;
  typed_ = true;
  indented_to_ = 0;
  macro_keys_ = 0;
  if (!queued_.empty()) run_macro(std::exchange(queued_, {}));
}

KeyMode EntryEditor::mode() const {
  return !keys_.vi ? KeyMode::Emacs : vi_command_ ? KeyMode::ViCommand : KeyMode::ViInsert;
}

EntryView EntryEditor::view() const {
  if (search_) return {search_->prompt(), search_->text(), std::min(search_->point(), search_->text().size()), nullptr};
  return {prompt_, buffer_.text(), buffer_.point(), candidates_.empty() ? nullptr : &candidates_,
          true,    suggested(),    selected_};
}

void EntryEditor::replace_text(const std::string& text) {
  if (text == buffer_.text()) return;
  buffer_.replace(0, buffer_.size(), text);
}

void EntryEditor::byte(char c, bool more) {
  if (macro_depth_ == 0) macro_keys_ = 0;
  more_ = more;
  if (paste_) return add_to_paste(c);
  if (search_ && pending_.empty()) return search_byte(c);
  if (take_single(c)) return;
  pending_ += c;
  resolve(false);
}

// In single-key mode letters typed at an empty entry are commands.
bool EntryEditor::take_single(char c) {
  if (!hooks_.single_key || !buffer_.empty() || !pending_.empty() || awaited_ != 0 || request_ != Request::None)
    return false;
  const auto entry = hooks_.single_key(c);
  if (!entry) return false;
  close_menu();
  if (entry->empty()) return true;
  buffer_.replace(0, 0, *entry);
  typed_ = false;
  request_ = Request::Accept;
  return true;
}

void EntryEditor::no_more_bytes() {
  if (!pending_.empty()) resolve(true);
}

// `final`: no more bytes belong to the key. In emacs mode Esc and ^X wait indefinitely.
void EntryEditor::resolve(bool final) {
  if (awaited_ != 0) {  // the next character, whatever its binding
    const std::size_t length = length_by_first_byte(pending_[0]);
    const bool broken = pending_.size() > 1 && !is_continuation(pending_.back());
    if (pending_.size() < length && !broken && !final) return;
    const std::string character = std::exchange(pending_, {});
    if (!take_awaited(character)) bell_ = true;
    return;
  }
  const KeyBindings::Match match = keys_.find(mode(), pending_);
  if (match.longer && !(final && (match.exact || sequence(pending_) != Sequence::None))) return;
  if (match.exact) return run(*match.exact, std::exchange(pending_, {}));
  // The longest bound prefix, then the rest: Esc and a letter in vi's insertion mode.
  if (sequence(pending_) == Sequence::None || final) {
    for (std::size_t n = pending_.size() - 1; n > 0; --n) {
      const KeyBindings::Binding* shorter = keys_.find(mode(), pending_.substr(0, n)).exact;
      if (!shorter) continue;
      const std::string rest = pending_.substr(n);
      run(*shorter, std::exchange(pending_, {}).substr(0, n));
      for (const char c : rest) byte(c);
      return;
    }
  }
  if (final && sequence(pending_) == Sequence::Open) {
    pending_.clear();
    return;
  }
  if (final && static_cast<unsigned char>(pending_[0]) >= 0x80) return type(std::exchange(pending_, {}));
  resolve_unbound();
}

// Bytes that have no binding and begin none.
void EntryEditor::resolve_unbound() {
  switch (sequence(pending_)) {
    case Sequence::Open:
      return;
    case Sequence::Whole:  // a key without a meaning here
      pending_.clear();
      return;
    case Sequence::Broken: {  // the byte that breaks it is a separate key
      const char last = pending_.back();
      pending_.clear();
      byte(last);
      return;
    }
    case Sequence::None:
      break;
  }
  const char first = pending_[0];
  if (static_cast<unsigned char>(first) < 0x80) {
    const std::string keys = std::exchange(pending_, {});
    if (keys.size() == 1 && first >= ' ' && first != '\x7F' && mode() != KeyMode::ViCommand) return type(keys);
    bell_ = true;
    count_.reset();
    operator_ = 0;
    return;
  }
  const std::size_t length = length_by_first_byte(first);
  if (pending_.size() > 1 && !is_continuation(pending_.back())) {
    const char last = pending_.back();
    pending_.pop_back();
    type(std::exchange(pending_, {}));
    byte(last);
    return;
  }
  if (pending_.size() >= length) type(std::exchange(pending_, {}));
}

void EntryEditor::run(const KeyBindings::Binding& binding, std::string keys) {
  if (!binding.macro.empty()) return run_macro(std::string(binding.macro));
  key_ = std::move(keys);
  if (binding.function == KeyFunction::SelfInsert) return type(std::string(key_));
  call(binding.function);
}

void EntryEditor::run_macro(const std::string& macro) {
  if (macro_depth_ >= kDeepestMacro) {
    bell_ = true;
    return;
  }
  ++macro_depth_;
  for (std::size_t i = 0; i < macro.size(); ++i) {
    if (request_ != Request::None) {
      if (macro_depth_ == 1) queued_ = macro.substr(i);
      break;
    }
    if (++macro_keys_ > kMostMacroKeys) break;
    byte(macro[i]);
  }
  --macro_depth_;
}

void EntryEditor::call(KeyFunction function) {
  using Handler = void (EntryEditor::*)();
  static constexpr Handler kHandlers[] = {
#define RLDB_KEY_FUNCTION(id, name, emacs, vi_insert, vi_command, flags, doc) &EntryEditor::do_##id,
#include "rldb/ui/terminal/key_function.def"
  };
  const KeyFunctionRow* const row = row_of(function);
  if (!row) return;
  if (menu_takes(function)) return;
  close_menu();
  if (hooks_.screen_key && hooks_.screen_key(function, key_)) {
    count_.reset();
    operator_ = 0;
    last_ = function;
    return;
  }
  current_ = function;
  kills_now_ = false;
  const char operation = operator_;
  (this->*kHandlers[row - key_functions().data()])();
  const bool counts = function == KeyFunction::DigitArgument;
  if (operation != 0 && operator_ == operation && !counts && awaited_ == 0) {
    if (row->flags & kMove)
      operate(operator_from_, row->flags);
    else if (!counts)
      operator_ = 0;
  }
  if (!counts && awaited_ == 0 && operator_ == 0) count_.reset();
  if (mode() == KeyMode::ViCommand) keep_off_end();
  killed_ = kills_now_;
  last_ = function;
}

void EntryEditor::type(std::string_view character) {
  close_menu();
  if (hooks_.screen_key) hooks_.screen_key(KeyFunction::SelfInsert, character);
  if (mode() == KeyMode::ViCommand) {
    bell_ = true;
    return;
  }
  const int times = std::clamp(count(), 0, 1000);
  count_.reset();
  drop_indentation(character);
  std::optional<EditBuffer::Group> group;
  if (times != 1 || overwrite_) group.emplace(buffer_);
  for (int i = 0; i < times; ++i) {
    const std::size_t at = buffer_.point();
    if (overwrite_ && at < buffer_.line_end(at)) buffer_.erase(at, buffer_.next(at));
    if (!(group ? buffer_.insert(character) : buffer_.type(character))) bell_ = true;
  }
  killed_ = false;
  last_ = KeyFunction::SelfInsert;
}

// ---- pastes ----

void EntryEditor::do_BracketedPasteBegin() { paste_.emplace(); }

// A paste without an end mark continues until ^C.
void EntryEditor::add_to_paste(char c) {
  *paste_ += c;
  if (c == '~' && paste_->ends_with(kPasteEnd)) return end_paste();
  if (paste_->size() > EditBuffer::kMostBytes) paste_->erase(0, paste_->size() / 2);
}

void EntryEditor::end_paste() {
  std::string text = std::move(*paste_);
  paste_.reset();
  text.resize(text.size() - kPasteEnd.size());
  std::string lines;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r')
      lines += text[i];
    else if (i + 1 == text.size() || text[i + 1] != '\n')
      lines += '\n';
  }
  if (buffer_.empty() || buffer_.point() == buffer_.line_start(buffer_.point()))
    lines = hooks_.clean ? hooks_.clean(lines) : lines;
  // A line break at the end of an entry does not belong to it, but may be the empty line that ends a block.
  if (buffer_.point() == buffer_.size() && lines.ends_with('\n')) {
    while (lines.ends_with('\n')) lines.pop_back();
    if (hooks_.wants_more && hooks_.wants_more(buffer_.text() + lines, false)) lines += '\n';
  }
  if (mode() == KeyMode::ViCommand) to_insertion();
  if (!buffer_.insert(lines)) bell_ = true;
  last_ = KeyFunction::BracketedPasteBegin;
}

// ---- the search ----

void EntryEditor::begin_search(bool backwards) {
  search_.emplace(history_.entries(), buffer_.text(), buffer_.point(), backwards);
}

void EntryEditor::search_byte(char c) {
  const auto outcome = search_->key(static_cast<unsigned char>(c));
  if (outcome == IncrementalSearch::Outcome::Goes) return;
  if (outcome == IncrementalSearch::Outcome::Taken) {
    if (search_->text() != buffer_.text()) buffer_.replace(0, buffer_.size(), search_->text());
    buffer_.move_to(search_->point());
  }
  search_.reset();
  if (outcome == IncrementalSearch::Outcome::Taken) byte(c);
}

}  // namespace rldb::ui
