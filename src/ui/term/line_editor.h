// LineEditor: one entry from the terminal: multi-line, highlighted as typed, completed, remembered.
//
// Knows nothing of sessions: what it needs (is the entry complete, how to colour it, what completes it) comes in as
// functions. Two implementations: readline's (a real terminal) and plain lines (a dumb terminal or a pipe).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui {

// None of them may throw: they are called through readline's C code.
struct LineEditorHooks {
  // Does the text so far want more lines? `last_was_empty`: the last line entered was empty.
  std::function<bool(std::string_view text, bool last_was_empty)> wants_more;
  // The text with colour escapes that do not change its width.
  std::function<std::string(std::string_view text)> paint;
  // Candidates for the word that ends at `cursor`; `start` is where that word begins.
  std::function<std::vector<std::string>(std::string_view text, std::size_t cursor, std::size_t& start)> complete;
  // Blanks that the next line starts with.
  std::function<int(std::string_view text)> indent;
};

struct LineResult {
  // ^C cancels the entry; ^D on an empty line ends; Terminated: a signal asked the session to end, or the terminal is
  // gone.
  enum class Kind { Entry, Cancelled, End, Terminated } kind = Kind::Entry;
  std::string text;
};

class LineEditor {
 public:
  virtual ~LineEditor() = default;
  virtual LineResult read(const std::string& prompt) = 0;
  // Why the entry could not be kept for later sessions; empty when it is.
  virtual std::string remember(const std::string& /*entry*/) { return {}; }
};

std::unique_ptr<LineEditor> make_plain_editor(LineEditorHooks hooks);
// `history_file` may be empty. Falls back to plain lines when the terminal is dumb. Needs SessionSignals.
std::unique_ptr<LineEditor> make_terminal_editor(LineEditorHooks hooks, std::string history_file, bool color);

}  // namespace rldb::ui
