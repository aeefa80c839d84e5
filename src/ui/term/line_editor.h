// LineEditor: one entry from the terminal: multi-line, highlighted as typed, completed, remembered.
//
// Knows nothing of sessions: what it needs (is the entry complete, how to colour it, what completes it) comes in as
// functions. Two implementations: the editor of a real terminal, and plain lines (a dumb terminal or a pipe).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui {

enum class KeyFunction : std::uint8_t;  // key_bindings.h

// Bytes [begin, end) in a style: the numbers of an SGR sequence ("1;34"), static.
struct TextStyle {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view code;
};

// A line below the entry.
struct HintLine {
  std::string text;
  enum class Kind { Signature, Type, Problem } kind = Kind::Signature;
};

// None of them throws. Any may be missing.
struct LineEditorHooks {
  // Does the text so far want more lines? `last_was_empty`: the last line entered was empty.
  std::function<bool(std::string_view text, bool last_was_empty)> wants_more;
  // How bytes [begin, end) of the text are coloured: ranges that ascend and do not overlap.
  std::function<std::vector<TextStyle>(std::string_view text, std::size_t begin, std::size_t end)> styles;
  // Candidates for the word that ends at `cursor`; `start` is where that word begins.
  std::function<std::vector<std::string>(std::string_view text, std::size_t cursor, std::size_t& start)> complete;
  // The hint below the entry while it is typed.
  std::function<std::vector<HintLine>(std::string_view text, std::size_t cursor)> hints;
  // Blanks that the next line starts with.
  std::function<int(std::string_view text)> indent;
  // What of a text that was pasted is meant: without prompts and replies.
  std::function<std::string(std::string_view text)> clean;
  // Is the newest entry of the history that begins with the text suggested behind it?
  std::function<bool()> suggests;
  // Screen mode: true where the key was the screen's. `keys`: its bytes.
  std::function<bool(KeyFunction function, std::string_view keys)> screen_key;
  // Single-key mode: the entry that a letter at an empty entry stands for; empty: the letter was taken.
  std::function<std::optional<std::string_view>(char letter)> single_key;
};

struct LineResult {
  // ^C cancels the entry; ^D on an empty line ends; Terminated: a signal asked the session to end, or the terminal is
  // gone.
  enum class Kind { Entry, Cancelled, End, Terminated } kind = Kind::Entry;
  std::string text;
  bool typed = true;  // false: a letter of single-key mode stood for it
};

class FullScreen;

class LineEditor {
 public:
  virtual ~LineEditor() = default;
  virtual LineResult read(const std::string& prompt) = 0;
  // Why the entry could not be kept for later sessions; empty when it is.
  virtual std::string remember(const std::string& /*entry*/) { return {}; }
};

std::unique_ptr<LineEditor> make_plain_editor(LineEditorHooks hooks);
// `history_file` may be empty. Falls back to plain lines when the terminal is dumb. Needs SessionSignals.
// `full` (may be null) has the terminal while screen mode is on.
std::unique_ptr<LineEditor> make_terminal_editor(LineEditorHooks hooks, std::string history_file, bool color,
                                                 FullScreen* full = nullptr);

}  // namespace rldb::ui
