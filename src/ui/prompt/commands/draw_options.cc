#include "ui/prompt/commands/draw_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"
#include "rldb/ui/command_line/subcommand.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

namespace {

// The last word of a text, and the text before it.
std::string_view last_word(std::string_view text, std::string_view& before) {
  const auto blank = text.find_last_of(" \t");
  before = blank == std::string_view::npos ? std::string_view() : trim(text.substr(0, blank));
  return blank == std::string_view::npos ? text : text.substr(blank + 1);
}

}  // namespace

std::string take_draw_options(std::string_view& text, DrawOptions& options) {
  constexpr std::string_view kKind = "--kind=";
  for (;;) {
    std::string_view before, before_that;
    text = trim(text);
    const std::string_view word = last_word(text, before);
    if (word == "-o") return "`-o` needs the name of a file";
    if (word.starts_with(kKind)) {
      options.kind = word.substr(kKind.size());
    } else if (word == "--ascii") {
      options.ascii = true;
    } else if (word.starts_with("--")) {
      return fmt::format("there is no option `{}`", word);
    } else if (last_word(before, before_that) == "-o") {
      options.file = word;
      before = before_that;
    } else {
      return {};
    }
    text = before;
  }
}

namespace {

// Does the user's locale name another encoding than UTF-8? The first of these that is set counts.
bool locale_is_narrow() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* set = std::getenv(name);
    if (!set || !*set) continue;
    std::string text(set);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text.find("utf-8") == std::string::npos && text.find("utf8") == std::string::npos;
  }
  return false;
}

}  // namespace

bool draws_ascii(const Repl& repl, const DrawOptions& options) {
  if (options.ascii) return true;
  // A dialogue of `rldb test` has the same text everywhere.
  if (repl.line().subcommand == Subcommand::Test) return false;
  if (locale_is_narrow()) return true;
  const char* term = std::getenv("TERM");
  const bool dumb = term && std::string_view(term) == "dumb" && ::isatty(STDOUT_FILENO);
  return dumb;
}

Status write_drawing(Repl& repl, const std::string& path, std::string_view bytes) {
  if (!repl.may_write(path, path)) return Status::Failed;
  const auto written = support::write_file(path, bytes);
  if (!written.ok()) return repl.fail(source::message(diag::FileNotWritten, path, written.error().reason));
  if (path.ends_with(".svg")) repl.keep({OutputKind::Picture, std::string(bytes), {}, {}, {}});
  repl.print("wrote {}\n", path);
  return Status::Good;
}

}  // namespace rldb::ui
