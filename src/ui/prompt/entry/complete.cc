// Completion and colouring of an entry: words of the language, commands, names of the session, files.
#include "ui/prompt/entry/complete.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "rldb/frontend/parse.h"
#include "ui/prompt/entry/candidates.h"
#include "ui/prompt/entry/hint.h"

namespace rldb::ui {

namespace {

// ANSI colours of the grammar's highlight captures, by prefix.
struct Paint {
  std::string_view capture;
  std::string_view code;
};
constexpr Paint kPaints[] = {
    {"comment", "90"}, {"string", "32"}, {"number", "36"},   {"constant", "36"},
    {"keyword", "35"}, {"type", "33"},   {"function", "34"}, {"attribute", "1;34"},
};

std::string_view paint_of(std::string_view capture) {
  for (const Paint& p : kPaints)
    if (capture.starts_with(p.capture)) return p.code;
  return {};
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// Words that may contain colons, slashes and the like.
bool takes_wide_words(Completion kind) {
  return kind == Completion::File || kind == Completion::Function || kind == Completion::Place ||
         kind == Completion::Version;
}

}  // namespace

Candidates complete_entry(Repl& repl, std::string_view text, std::size_t cursor, std::size_t& start) {
  const std::string_view before = text.substr(0, std::min(cursor, text.size()));
  Candidates candidates;
  const std::string_view head = trim(before).empty() ? std::string_view() : trim(before);
  const bool colon = head.starts_with(':');
  const auto word_end = head.find_first_of(" \t");
  std::string_view verb =
      colon ? head.substr(1, word_end == std::string_view::npos ? word_end : word_end - 1) : head.substr(0, word_end);
  const Command* command = nullptr;
  const bool ended = word_end != std::string_view::npos || before.ends_with(' ');
  if (ended && (colon || may_be_argument(trim(head.substr(std::min(word_end, head.size()))))))
    command = colon                      ? find_command(verb).command
              : repl.debugger().active() ? find_bare_verb(verb)
                                         : find_command_named(verb);

  const std::size_t arguments = word_end == std::string_view::npos ? before.size() : before.find(head) + word_end;
  if (command) {
    start = before.size();
    while (start > arguments && !std::isspace(static_cast<unsigned char>(before[start - 1]))) --start;
    const std::string_view word = before.substr(start);
    const auto file = word.rfind('@');  // `x=@FILE`, and `--expected=@FILE`
    const bool wide = file != std::string_view::npos || word.starts_with("--") ||
                      (takes_wide_words(command->completion) && before.find(" if ") == std::string_view::npos);
    start = wide ? before.size() - word.size() + (file == std::string_view::npos ? 0 : file) : before.size();
    while (!wide && start > arguments && (is_word(before[start - 1]) || before[start - 1] == '-')) --start;
    add_arguments(repl, *command, before.substr(arguments, start - arguments), before.substr(start), candidates);
  } else if (colon) {
    start = before.find(':') + 1;
    for (const Command& c : commands()) candidates.emplace_back(c.name, c.doc);
  } else {
    start = before.size();
    while (start > 0 && is_word(before[start - 1])) --start;
    add_expression(repl, before.substr(0, start), before.substr(start), candidates);
    if (repl.debugger().active() && start == 0)
      for (const Command& c : commands())
        if (c.flags & kBare) candidates.emplace_back(c.name, c.doc);
  }
  const std::string_view prefix = before.substr(start);
  std::erase_if(candidates, [&](const Candidate& c) { return !c.text.starts_with(prefix); });
  // Of equal names the first is the one that the name means here.
  std::ranges::stable_sort(candidates, {}, &Candidate::text);
  const auto repeated = std::ranges::unique(candidates, {}, &Candidate::text);
  candidates.erase(repeated.begin(), repeated.end());
  for (Candidate& c : candidates) c.about.resize(std::min(c.about.find('\n'), c.about.size()));
  return candidates;
}

namespace {

std::vector<TextStyle> styles_of(const std::vector<frontend::Highlight>& highlights) {
  std::vector<TextStyle> styles;
  for (const frontend::Highlight& h : highlights)
    if (const std::string_view code = paint_of(h.capture); !code.empty()) styles.push_back({h.begin, h.end, code});
  return styles;
}

}  // namespace

std::string paint_script(std::string_view text) {
  std::string painted;
  std::size_t at = 0;
  for (const TextStyle& style : styles_of(frontend::highlight(text))) {
    painted += text.substr(at, style.begin - at);
    std::string_view part = text.substr(style.begin, style.end - style.begin);
    while (!part.empty()) {
      const std::size_t end = std::min(part.find('\n'), part.size());
      if (end > 0) painted += fmt::format("\033[{}m{}\033[0m", style.code, part.substr(0, end));
      if (end < part.size()) painted += '\n';
      part.remove_prefix(std::min(end + 1, part.size()));
    }
    at = style.end;
  }
  painted += text.substr(at);
  return painted;
}

const std::string& PaintedSource::line(source::FileId file, const source::Buffer& buffer, std::uint32_t number) {
  const std::size_t hash = std::hash<std::string_view>()(buffer.text());
  if (lines_.empty() || !(file_ == file) || hash_ != hash) {
    lines_.clear();
    const std::string all = paint_script(buffer.text());
    for (std::size_t at = 0; at <= all.size();) {
      const std::size_t end = std::min(all.find('\n', at), all.size());
      lines_.push_back(all.substr(at, end - at));
      at = end + 1;
    }
    file_ = file, hash_ = hash;
  }
  static const std::string none;
  return number >= 1 && number <= lines_.size() ? lines_[number - 1] : none;
}

std::vector<TextStyle> entry_styles(frontend::EntryTree& tree, std::string_view text, std::size_t begin,
                                    std::size_t end) {
  if (!text.starts_with(':')) return styles_of(tree.highlight(text, begin, end));
  const std::size_t word = std::min(text.find_first_of(" \t\n"), text.size());
  const bool known = find_command(text.substr(1, word - 1)).command != nullptr;
  return {{0, word, known ? "1;36" : "31"}};
}

}  // namespace rldb::ui
