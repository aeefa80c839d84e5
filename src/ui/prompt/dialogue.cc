// Entries from a pipe, line by line.
#include "ui/prompt/dialogue.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay_entry.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/terminal/guarded.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

bool is_indented(std::string_view line) { return line.starts_with(' ') || line.starts_with('\t'); }

// The text begins a block whatever follows: its indented lines need not be looked at one by one.
bool begins_block(std::string_view text) {
  for (const std::string_view word : {"@", "def ", "class "})
    if (text.starts_with(word)) return true;
  return false;
}

// An empty line ends it, unless lines follow that are indented.
bool has_open_bracket(std::string_view text, frontend::EntryTree& tree) {
  if (frontend::begins_relay(text) || tree.completeness(text) != frontend::Completeness::Incomplete) return false;
  text = trim(text);
  return !text.starts_with("metadata = ") && text.substr(text.rfind('\n') + 1).front() != '@';
}

}  // namespace

bool EntryAssembler::in_block() const { return !text_.empty() && (begins_block(text_) || open_); }

std::vector<std::string> EntryAssembler::take() {
  const std::string text = std::exchange(text_, {});
  open_ = false;
  std::vector<std::string> entries;
  ScriptReader reader(text);
  while (auto entry = reader.next()) entries.push_back(std::move(entry->text));
  return entries;
}

std::vector<std::string> EntryAssembler::add(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const bool blank = trim(line).empty();
  if (text_.empty() && blank) return {};
  const std::string_view first = std::string_view(text_).substr(0, text_.find('\n'));
  const std::string mark(here_document_mark(first));
  if (mark.empty() && !text_.empty() && begins_command(line)) {
    std::vector<std::string> entries = take();
    for (std::string& entry : add(line)) entries.push_back(std::move(entry));
    return entries;
  }
  text_.append(line).push_back('\n');
  if (!mark.empty()) return trim(line) == mark ? take() : std::vector<std::string>();
  if (!here_document_mark(line).empty() && text_.size() == line.size() + 1) return {};
  if (!blank && is_indented(line) && in_block()) return {};
  frontend::EntryTree tree;
  const std::string_view text = std::string_view(text_).substr(0, text_.size() - 1);
  if (!wants_more(text, blank, tree) || entries_of(text_).size() > 1) return take();
  open_ = has_open_bracket(text, tree);
  return open_ && blank ? take() : std::vector<std::string>();
}

void EntryAssembler::add_inside_block() { text_.push_back('\n'); }

std::vector<std::string> EntryAssembler::finish() { return take(); }

namespace {

// The lines of a file descriptor, as they come.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}

  // Null: the end. ^C ends the wait as well.
  std::optional<std::string> next() {
    for (;;) {
      if (auto line = buffered()) return line;
      if (ended_) return buffer_.empty() ? std::nullopt : std::optional(std::exchange(buffer_, {}));
      fill();
    }
  }
  // Whether an indented line is there, or comes within `milliseconds`: a block with an empty line in it goes on.
  bool indented_follows(int milliseconds) {
    while (buffer_.empty() && !ended_) {
      pollfd wait{fd_, POLLIN, 0};
      if (::poll(&wait, 1, milliseconds) <= 0) return false;
      fill();
    }
    std::string_view rest = buffer_;
    while (rest.starts_with('\n')) rest.remove_prefix(1);
    return is_indented(rest);
  }

 private:
  std::optional<std::string> buffered() {
    const auto end = buffer_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }
  void fill() {
    char chunk[1 << 16];
    const ssize_t n = ::read(fd_, chunk, sizeof chunk);
    if (n > 0) buffer_.append(chunk, std::size_t(n));
    if (n == 0 || (n < 0 && errno != EINTR) || support::cancel_cause() == support::CancelCause::Interrupt)
      ended_ = true;
  }

  int fd_;
  std::string buffer_;
  bool ended_ = false;
};

}  // namespace

int run_dialogue(Repl& repl) {
  constexpr int kPause = 50;  // within a block that a program writes at once no line is later than this
  Lines lines(STDIN_FILENO);
  EntryAssembler assembler;
  const auto execute = [&](const std::vector<std::string>& entries) {
    for (const std::string& entry : entries)
      if (repl.execute(entry) == Status::Quit) return false;
    return true;
  };
  while (auto line = lines.next()) {
    if (trim(*line).empty() && assembler.in_block() && lines.indented_follows(kPause)) {
      assembler.add_inside_block();
      continue;
    }
    std::vector<std::string> entries;
    (void)run_guarded([&] { entries = assembler.add(*line); }, 0);
    if (!execute(entries)) return repl.exit_code();
  }
  execute(assembler.finish());
  return repl.exit_code();
}

}  // namespace rldb::ui
