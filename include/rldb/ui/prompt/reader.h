// ScriptReader: cuts text into entries as the prompt would read them: one command per line, here-documents (`:load
// <<END` ... `END`), and TVMScript over as many lines as the parse tree requires. Pasted prompts at line starts are
// stripped, so a transcript replays; comments and blank lines between entries are skipped; in `.session` files the
// lines starting with `#|` after an entry are its expected output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/frontend/entry_tree.h"

namespace rldb::ui {

struct ScriptEntry {
  std::string text;                   // without prompts
  std::uint32_t line = 0;             // 1-based, of its first line
  std::uint32_t end_line = 0;         // of its last line
  std::vector<std::string> expected;  // `#| ` lines, without the mark
  std::uint32_t expected_end = 0;     // last line of them; end_line when there are none
};

class ScriptReader {
 public:
  explicit ScriptReader(std::string_view text);
  std::optional<ScriptEntry> next();
  const std::vector<std::string_view>& lines() const { return lines_; }

 private:
  std::string_view line_at(std::size_t i) const;
  bool block_goes_on() const;
  std::vector<std::string_view> lines_;
  std::size_t next_ = 0;
  frontend::EntryTree tree_;  // of the entry that is read
};

// Behind an entry that failed: `stopped here; the 3 entries after it were not executed`.
std::string stopped_here(std::size_t left);
// Does the text so far need more lines? `last_was_empty`: an empty line was entered, which ends an open block.
// `tree`: of this entry, for a text that grows.
bool wants_more(std::string_view text, bool last_was_empty, frontend::EntryTree& tree);
bool wants_more(std::string_view text, bool last_was_empty);
// `:set`, `?name`, `!ls`: no line of TVMScript begins like that, so that it ends whatever is open before it.
bool begins_command(std::string_view line);
// `:load <<END`: the mark, or empty.
std::string_view here_document_mark(std::string_view first_line);
// An entry with lines of its own: its first line up to the `<<`, and those lines without the closing mark. None: it has
// none.
struct HereDocument {
  std::string_view first, body;
};
std::optional<HereDocument> here_document(std::string_view entry);
// From the first line that is neither blank nor a comment.
std::string_view behind_comments(std::string_view entry);
// Without its leading prompt, ours or Python's.
std::string_view strip_prompt(std::string_view line);
// The entries in pasted text: prompts, lines `#| ` and, when its first line has a prompt, the replies between the
// entries are left out. A here-document stays as it is.
std::string clean_paste(std::string_view text);
// The entries in text typed at once. More than one when a line after the first begins with `:`, `?` or `!`; otherwise
// the text is one entry, even with several items.
std::vector<std::string> entries_of(std::string_view text);
// The same of pasted text, whose values are entries of their own, as if they were typed, unless definitions are among
// them: those may need one another.
std::vector<std::string> pasted_entries(std::string_view text);

}  // namespace rldb::ui
