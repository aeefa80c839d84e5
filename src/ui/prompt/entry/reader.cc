// ScriptReader: cuts text into entries, here-documents and expected outputs.
#include "rldb/ui/prompt/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay_entry.h"
#include "rldb/frontend/syntax.h"
#include "rldb/ui/prompt/command.h"

namespace rldb::ui {

namespace {

// They begin with the mark of a comment, and are none.
bool begins_relay_header(std::string_view line) {
  return frontend::has_relay_version(line) || line.starts_with("#[metadata]");
}

constexpr std::string_view kExpected = "#|";
constexpr std::string_view kContinuation = "...>";
constexpr std::string_view kPythonPrompts[] = {">>>", "..."};

constexpr std::string_view kBlockEnd = "end";

// `commands 2`: its lines follow, up to `end`, as in gdb. Of a command that needs an argument (`define NAME`) only if
// it has one: without, it lists.
bool takes_block(std::string_view line) {
  line = trim(line);
  if (line.starts_with(':')) line = trim(line.substr(1));
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  const Command* command = find_command(word).command;
  if (!command || command->name != word || !(command->flags & kBlock)) return false;
  const std::string_view rest = trim(line.substr(word.size()));
  const bool lists = rest.empty() || rest.starts_with('|');
  return !lists || command->arguments.starts_with("[N]");
}

// `:load <<END`: a text follows. Of any other command (`:print b << n`) it is a shift; of what is none nobody knows.
bool takes_document(std::string_view line) {
  line = trim(line).substr(1);
  const Command* command = find_command(line.substr(0, line.find_first_of(" \t!"))).command;
  return !command || (command->flags & kBlock) || command->arguments.find("<<") != std::string_view::npos;
}

bool is_command(std::string_view line) {
  return !line.empty() && (line.front() == ':' || line.front() == '?' || line.front() == '!');
}

// `print x[0,`: a debugger's verb takes one line, even if a bracket is open at its end. Two adjacent words are not
// TVMScript, unless the second is an operator.
bool is_verb_line(std::string_view text) {
  text = trim(text);
  if (text.find('\n') != std::string_view::npos) return false;
  const auto blank = text.find_first_of(" \t");
  if (blank == std::string_view::npos || !find_bare_verb(text.substr(0, blank))) return false;
  const std::string_view rest = trim(text.substr(blank));
  if (!std::isalpha(static_cast<unsigned char>(rest.front())) && rest.front() != '_') return false;
  const std::string_view next = rest.substr(0, rest.find_first_of(" \t("));
  for (const std::string_view op : {"if", "in", "is", "and", "or", "not"})
    if (next == op) return false;
  return true;
}

// Two empty lines end an entry that could have more of them, and its error is told.
bool is_ended(std::string_view text, bool last_was_empty) {
  const std::string_view blank = text.substr(text.find_last_not_of(" \t\r\n") + 1);
  return last_was_empty && std::count(blank.begin(), blank.end(), '\n') >= 2;
}

// `metadata = tvm.ir.load_json("""...""")`: the module whose constants it has follows.
bool is_lone_metadata(std::string_view text) {
  constexpr std::string_view kEnd = "\"\"\")";
  if (!trim(text).starts_with("metadata = tvm.ir.load_json(")) return false;
  const auto end = text.rfind(kEnd);
  if (end == std::string_view::npos) return false;
  std::string_view rest = behind_comments(text.substr(end + kEnd.size()));
  while (rest.starts_with("import ") || rest.starts_with("from "))
    rest = behind_comments(rest.substr(std::min(rest.find('\n'), rest.size())));
  return rest.empty();
}

// Lines that follow a lone metadata; another one is the next entry.
bool begins_module(std::string_view line) {
  line = trim(line);
  if (line.empty()) return true;
  for (const std::string_view word : {"#", "@", "import ", "from ", "class ", "def "})
    if (line.starts_with(word)) return true;
  return false;
}

// Between entries of a script.
bool is_comment(std::string_view line) {
  return (line.starts_with('#') && !begins_relay_header(line)) || line.starts_with("//");
}

}  // namespace

namespace {

// A byte-order mark, and the fences around code in a page that the text was copied from.
bool is_fence(std::string_view line) {
  line = trim(line);
  if (!line.starts_with("```") && !line.starts_with("~~~")) return false;
  const std::string_view language = line.substr(3);
  return std::all_of(language.begin(), language.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

}  // namespace

std::string_view strip_prompt(std::string_view line) {
  if (line.starts_with("rldb> ")) return line.substr(6);
  if (line == "rldb>") return {};
  if (line.starts_with("(rldb ")) {
    const auto close = line.find(") ");
    if (close != std::string_view::npos) return line.substr(close + 2);
  }
  if (line.starts_with("(rldb) ")) return line.substr(7);
  if (line.starts_with(kContinuation)) return line.substr(line.size() > 4 && line[4] == ' ' ? 5 : 4);
  for (const std::string_view prompt : kPythonPrompts) {
    if (line == prompt) return {};
    if (line.starts_with(prompt) && line[prompt.size()] == ' ') return line.substr(prompt.size() + 1);
  }
  return line;
}

std::string_view behind_comments(std::string_view entry) {
  entry = trim(entry);
  while (entry.starts_with('#') && !begins_relay_header(entry))
    entry = trim(entry.substr(std::min(entry.find('\n'), entry.size())));
  return entry;
}

std::string_view here_document_mark(std::string_view first_line) {
  const auto at = first_line.rfind("<<");
  if (at == std::string_view::npos && takes_block(first_line)) return kBlockEnd;
  if (!is_command(trim(first_line)) || at == std::string_view::npos || !takes_document(first_line)) return {};
  const std::string_view mark = trim(first_line.substr(at + 2));
  for (const char c : mark)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '_')) return {};
  return mark;
}

std::optional<HereDocument> here_document(std::string_view entry) {
  const auto first_end = entry.find('\n');
  const std::string_view first = entry.substr(0, first_end);
  const auto mark_at = first.rfind("<<");
  if (mark_at == std::string_view::npos) return std::nullopt;
  const std::string_view mark = trim(first.substr(mark_at + 2));
  std::string_view body = first_end == std::string_view::npos ? std::string_view() : entry.substr(first_end + 1);
  const auto last = body.rfind('\n');
  const std::string_view last_line = last == std::string_view::npos ? body : body.substr(last + 1);
  if (trim(last_line) == mark) body.remove_suffix(last_line.size());
  return HereDocument{trim(first.substr(0, mark_at)), body};
}

std::string stopped_here(std::size_t left) {
  return left == 0   ? "stopped here"
         : left == 1 ? "stopped here; the entry after it was not executed"
                     : fmt::format("stopped here; the {} entries after it were not executed", left);
}

bool wants_more(std::string_view text, bool last_was_empty) {
  frontend::EntryTree tree;
  return wants_more(text, last_was_empty, tree);
}

bool begins_command(std::string_view line) { return is_command(line); }

bool wants_more(std::string_view text, bool last_was_empty, frontend::EntryTree& tree) {
  if (frontend::begins_relay(text)) return frontend::is_open_relay(text) && !is_ended(text, last_was_empty);
  if (trim(text).empty() || is_command(trim(text)) || is_verb_line(text)) return false;
  switch (tree.completeness(text)) {
    case frontend::Completeness::Complete:
      return is_lone_metadata(text) && !is_ended(text, last_was_empty);
    case frontend::Completeness::Incomplete:
      return true;
    case frontend::Completeness::Open:
      return !last_was_empty;
  }
  return false;
}

ScriptReader::ScriptReader(std::string_view text) {
  text = without_mark(text);
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines_.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::string_view ScriptReader::line_at(std::size_t i) const { return strip_prompt(lines_[i]); }

// An open block continues with indented lines and with branches; empty lines and comments before such a line belong to
// it, too.
bool ScriptReader::block_goes_on() const {
  std::size_t at = next_;
  while (at < lines_.size() && (trim(line_at(at)).empty() || is_comment(trim(line_at(at))))) ++at;
  if (at >= lines_.size()) return false;
  const std::string_view line = line_at(at);
  return line.front() == ' ' || line.front() == '\t' || line.starts_with("else:") || line.starts_with("elif ");
}

namespace {

bool is_indented(std::string_view line) { return !trim(line).empty() && (line.front() == ' ' || line.front() == '\t'); }

// `closers`: of the brackets that are open, the innermost last, before a line and after it. Empty after it: none is
// open, or only the tree can tell.
void follow_brackets(std::string_view line, std::string& closers) {
  constexpr std::string_view kOpening = "([{", kClosing = ")]}";
  for (std::size_t i = 0; i < line.size() && line[i] != '#'; ++i) {
    const char c = line[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = frontend::end_of_string(line, i);
      if (end < i + 2 || line[end - 1] != c || line.substr(i).starts_with(std::string(3, c))) return closers.clear();
      i = end - 1;
    }
    if (const auto kind = kOpening.find(c); kind != std::string_view::npos) closers += kClosing[kind];
    if (kClosing.find(c) == std::string_view::npos) continue;
    if (closers.empty() || closers.back() != c) return closers.clear();
    closers.pop_back();
    if (closers.empty()) return;
  }
}

// An entry to which lines are added. It is not read again for each of them: while its block is open, what is indented
// belongs to it; while a bracket is open, any line does.
class GrowingEntry {
 public:
  explicit GrowingEntry(frontend::EntryTree& tree) : tree_(tree) {}
  void begin(std::string_view line) {
    text_ = line;
    is_open_ = false;
    closers_.clear();
    is_relay_ = frontend::begins_relay(line);
    in_metadata_ = line.starts_with(kMetadata) && line.find(kLongQuote, kMetadata.size()) == std::string_view::npos;
    names_.clear();
    has_metadata_ = false;
    begin_part(0);
    if (is_relay_) add_relay(line);
  }
  void add(std::string_view line) {
    text_ += '\n';
    if (is_relay_ && continues(line)) begin_part(text_.size());
    if (is_relay_) add_relay(line);
    text_ += line;
    if (!closers_.empty()) follow_brackets(line, closers_);
    in_metadata_ = in_metadata_ && line.find(kLongQuote) == std::string_view::npos;
  }
  bool wants(std::string_view line) {
    if (in_metadata_) return true;
    if (is_command(line)) return false;  // an entry that somebody did not finish ends there
    if (is_relay_) return is_open_relay();
    if (is_lone_metadata(text_) && !begins_module(line)) return false;
    if (!closers_.empty() || (is_open_ && is_indented(line))) return true;
    if (!wants_more(text_, false, tree_)) return false;
    is_open_ = tree_.completeness(text_) == frontend::Completeness::Open;
    note_brackets();
    return true;
  }
  // Of a script: definitions of Relay may call later ones, so those that follow one another are one entry, with the
  // comments between them; but not two of one name.
  bool continues(std::string_view line) const {
    line = trim(line);
    if (!is_relay_ || has_metadata_ || is_open_relay()) return false;
    if (line.starts_with("//") || line.starts_with("/*") || line.starts_with("#[metadata]")) return true;
    return frontend::begins_relay_definition(line) &&
           !names_.contains(std::string(frontend::relay_definition_name(line)));
  }
  // After `wants`: it could also end here.
  bool is_open() const { return is_open_; }
  const std::string& text() const { return text_; }

 private:
  static constexpr std::string_view kLongQuote = "\"\"\"";
  static constexpr std::string_view kMetadata = "metadata = tvm.ir.load_json(\"\"\"";

  void note_brackets() {
    const auto closed = tree_.close_brackets(text_);
    closers_ = closed ? closed->text.substr(text_.size()) : std::string();
    if (closers_.find_first_not_of(")]}") != std::string::npos) closers_.clear();
    std::reverse(closers_.begin(), closers_.end());
  }
  // A definition of Relay, or a comment between two: what is before it is complete.
  void begin_part(std::size_t at) {
    part_ = at;
    brackets_ = {};
  }
  void add_relay(std::string_view line) {
    const std::string_view name = frontend::relay_definition_name(line);
    if (!brackets_.open() && !name.empty()) names_.emplace(name);
    has_metadata_ = has_metadata_ || trim(line).starts_with("#[metadata]");
    brackets_.add(line);
  }
  bool is_open_relay() const {
    if (brackets_.open()) return true;
    const std::string_view part = std::string_view(text_).substr(part_);
    return frontend::is_open_relay(part) && (part_ == 0 || frontend::begins_relay(part));
  }

  frontend::EntryTree& tree_;
  std::string text_;
  bool is_open_ = false;
  std::string closers_;       // of the brackets that are open, if they are known
  bool in_metadata_ = false;  // in the long string of a module's metadata
  bool is_relay_ = false;
  bool has_metadata_ = false;  // of Relay: nothing follows it
  std::size_t part_ = 0;
  frontend::RelayBrackets brackets_;  // of the part
  std::unordered_set<std::string> names_;
};

}  // namespace

std::string clean_paste(std::string_view text) {
  text = without_mark(text);
  std::string out;
  frontend::EntryTree tree;
  GrowingEntry entry(tree);  // the current one, among those in `out`
  bool prompts = false, first = true;
  std::string mark;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool broken = end != std::string_view::npos;
    text.remove_prefix(broken ? end + 1 : text.size());
    const std::string_view bare = strip_prompt(line);
    const bool prompted = bare.size() != line.size();
    const bool in_document = !mark.empty();
    if (!in_document && (line.starts_with(kExpected) || is_fence(line))) continue;
    if (first && !trim(line).empty()) {
      prompts = prompted;
      first = false;
    }
    const bool goes_on = in_document || (!entry.text().empty() && entry.wants(bare));
    if (prompts && !prompted && !goes_on) continue;
    if (in_document && trim(bare) == mark)
      mark.clear();
    else if (!in_document && !goes_on)
      mark = here_document_mark(bare);
    goes_on ? entry.add(bare) : entry.begin(bare);
    out += bare;
    if (broken) out += '\n';
  }
  return out;
}

// The whole text if `divides` holds for none of its entries.
template <class F>
static std::vector<std::string> divided(std::string_view text, F&& divides) {
  ScriptReader reader(text);
  std::vector<std::string> entries;
  while (auto entry = reader.next()) entries.push_back(std::move(entry->text));
  if (entries.size() < 2 || std::none_of(entries.begin(), entries.end(), divides)) return {std::string(text)};
  return entries;
}

static bool is_command_entry(const std::string& entry) { return is_command(trim(entry)); }

std::vector<std::string> entries_of(std::string_view text) { return divided(text, is_command_entry); }

std::vector<std::string> pasted_entries(std::string_view text) {
  const std::vector<std::string> entries = divided(text, is_command_entry);
  const auto defines = [](std::string_view entry) {
    for (const std::string_view word : {"@", "class ", "def ", "import ", "from ", "metadata = "})
      if (entry.starts_with(word)) return true;
    return frontend::begins_relay(entry);
  };
  if (entries.size() > 1) return entries;
  // A part that nothing but another part explains: they are one entry, whose error is told for it as a whole.
  const auto is_rest = [](std::string_view entry) {
    return entry.starts_with(' ') || entry.starts_with('\t') || entry.starts_with("else") || entry.starts_with("elif");
  };
  const std::vector<std::string> all = divided(text, [](const std::string&) { return true; });
  return std::none_of(all.begin(), all.end(), defines) && std::none_of(all.begin() + 1, all.end(), is_rest) ? all
                                                                                                            : entries;
}

std::optional<ScriptEntry> ScriptReader::next() {
  while (next_ < lines_.size() &&
         (trim(line_at(next_)).empty() || is_comment(trim(line_at(next_))) || is_fence(line_at(next_))))
    ++next_;
  if (next_ >= lines_.size()) return std::nullopt;
  ScriptEntry entry;
  entry.line = std::uint32_t(next_ + 1);
  entry.text = std::string(line_at(next_));
  const std::string mark(here_document_mark(entry.text));
  ++next_;
  if (!mark.empty()) {
    while (next_ < lines_.size() && trim(lines_[next_]) != mark) entry.text += "\n" + std::string(lines_[next_++]);
    if (next_ < lines_.size()) entry.text += "\n" + std::string(lines_[next_++]);
  } else {
    GrowingEntry lines(tree_);
    lines.begin(entry.text);
    const bool relay = frontend::begins_relay(entry.text);
    const bool metadata = entry.text.starts_with("metadata = ");
    bool is_first = true;
    while (next_ < lines_.size() && !lines_[next_].starts_with(kExpected)) {
      const std::string_view line = line_at(next_);
      const std::string_view last_line = std::string_view(lines.text()).substr(lines.text().rfind('\n') + 1);
      const bool decorator = (is_first || metadata) && last_line.starts_with("@");
      const bool indented = !line.empty() && (line.front() == ' ' || line.front() == '\t');
      if (!lines.wants(line)) {
        std::size_t after = next_;
        while (relay && after + 1 < lines_.size() && trim(line_at(after)).empty()) ++after;
        if (!lines.continues(line_at(after))) break;
      }
      if (lines.is_open() && !indented && !decorator && !block_goes_on()) break;
      lines.add(line);
      is_first = false;
      ++next_;
    }
    entry.text = lines.text();
  }
  entry.end_line = std::uint32_t(next_);
  while (next_ < lines_.size() && lines_[next_].starts_with(kExpected)) {
    std::string_view line = lines_[next_++].substr(kExpected.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    entry.expected.emplace_back(line);
  }
  entry.expected_end = std::uint32_t(next_);
  return entry;
}

}  // namespace rldb::ui
