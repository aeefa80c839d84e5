// LineEditor: reads one entry from the terminal: multi-line, highlighted as typed, with completion and history.
//
// Knows nothing of sessions: whatever it needs (is the entry complete, how to colour it, its completions) is passed in
// as functions. Two implementations: the editor of a real terminal, and plain lines (a dumb terminal or a pipe).
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

// Bytes [begin, end) in a style: the parameters of an SGR sequence ("1;34"), static.
struct TextStyle {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view code;
};

// A completion of a word, and a line about it (empty: there is none).
struct Candidate {
  Candidate(std::string_view text_, std::string_view about_ = {}) : text(text_), about(about_) {}
  std::string text;
  std::string about;
};
using Candidates = std::vector<Candidate>;

// A line below the entry.
struct HintLine {
  std::string text;
  enum class Kind { Signature, Type, Problem } kind = Kind::Signature;
};

// None of them throws. Any of them may be missing.
struct LineEditorHooks {
  // Does the text so far need more lines? `last_was_empty`: the last line entered was empty.
  std::function<bool(std::string_view text, bool last_was_empty)> wants_more;
  // Colours for bytes [begin, end) of the text: ascending ranges that do not overlap.
  std::function<std::vector<TextStyle>(std::string_view text, std::size_t begin, std::size_t end)> styles;
  // Candidates for the word that ends at `cursor`; `start` is where that word begins.
  std::function<Candidates(std::string_view text, std::size_t cursor, std::size_t& start)> complete;
  // The hint below the entry while it is typed.
  std::function<std::vector<HintLine>(std::string_view text, std::size_t cursor)> hints;
  // Number of blanks with which the next line starts.
  std::function<int(std::string_view text)> indent;
  // The same for the last line of the text, which is complete; nullopt: it stays as it is.
  std::function<std::optional<int>(std::string_view text)> indent_of_line;
  // Extracts the entries from pasted text: without prompts and replies.
  std::function<std::string(std::string_view text)> clean;
  // Is the newest entry of the history that begins with the text suggested after it?
  std::function<bool()> suggests;
  // A descriptor that is waited for beside the keys, -1: none; and the work to do when it can be read. The terminal is
  // lent to that work, which returns the prompt as it is afterwards.
  std::function<int()> other_input;
  std::function<std::string()> on_other_input;
  // Screen mode: true if the key was for the screen. `keys`: its bytes.
  std::function<bool(KeyFunction function, std::string_view keys)> screen_key;
  // Single-key mode: the entry for a letter typed at an empty entry; empty: the letter was consumed.
  std::function<std::optional<std::string_view>(char letter)> single_key;
};

struct LineResult {
  // ^C cancels the entry; TakenBack: one that was typed behind the entry, before that could begin; ^D on an empty line
  // ends the input; Terminated: a signal asked the session to end, or the terminal was closed.
  enum class Kind { Entry, Cancelled, TakenBack, End, Terminated } kind = Kind::Entry;
  std::string text;
  bool typed = true;  // false: a letter in single-key mode produced it
};

class FullScreen;

class LineEditor {
 public:
  virtual ~LineEditor() = default;
  virtual LineResult read(const std::string& prompt) = 0;
  // Why the entry could not be kept for later sessions; empty if it was.
  virtual std::string remember(const std::string& /*entry*/) { return {}; }
};

std::unique_ptr<LineEditor> make_plain_editor(LineEditorHooks hooks);
// `history_file` may be empty. Falls back to plain lines when the terminal is dumb. Needs SessionSignals. `full` (may
// be null) owns the terminal while screen mode is on.
std::unique_ptr<LineEditor> make_terminal_editor(LineEditorHooks hooks, std::string history_file, bool color,
                                                 FullScreen* full = nullptr);

}  // namespace rldb::ui
