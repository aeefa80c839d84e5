// Divides a text into statements by its lines, brackets and strings.
#include "frontend/cst/statements.h"

#include <algorithm>
#include <cstring>

#include "frontend/cst/indentation.h"
#include "frontend/cst/scan.h"
#include "rldb/support/python_keyword.h"

namespace rldb::frontend::cst {

namespace {

constexpr std::size_t kMostCuts = 100;
// A statement may go on this far behind a line that looks like the next one.
constexpr std::size_t kFarBehindNext = 64 << 10;

// Keywords that end a statement.
bool is_whole_statement(std::string_view word) {
  return word == "None" || word == "True" || word == "False" || word == "pass" || word == "return" || word == "break" ||
         word == "continue";
}

// Headers that are none without the block above.
bool continues_block(std::string_view line) {
  for (const std::string_view word : {"elif", "else", "except", "finally", "try"})
    if (line.starts_with(word) && (line.size() == word.size() || !is_word_byte(line[word.size()]))) return true;
  return false;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f'; }

class Splitter {
 public:
  Splitter(std::string_view text, const Parses& parses) : text_(text), parses_(parses) {}

  std::optional<std::vector<Statement>> run() {
    std::size_t cuts = 0;
    while (find_begin()) {
      bool ended = false;
      const Statement s = next(ended);
      // Looking for an end that is not there is as dear as a cut.
      cuts += s.cut || !ended ? 1 : 0;
      if (cuts > kMostCuts) return std::nullopt;
      out_.push_back(s);
      at_ = s.end;
    }
    cut_unfinished_end();
    return std::move(out_);
  }

 private:
  // To the first character of the next line that is neither empty nor a comment.
  bool find_begin() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = line_end(at_);
      } else if (is_blank(c) || c == '\n') {
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  Statement next(bool& ended) {
    const std::size_t begin = at_;
    std::size_t next_line = kNone;
    const std::size_t end = end_by_brackets(begin, begin, next_line);
    ended = end != kNone;
    const std::string_view line = text_.substr(begin, line_end(begin) - begin);
    if (begins_block(line)) {
      // The word alone is no statement: it belongs to what is above.
      sound_ = ended && (continues_block(line) || parses(begin, end));
      if (sound_) return header(begin, end, false);
      const std::size_t last = end_of_header(begin, ended ? end : short_end(begin, next_line));
      Statement s = header(begin, last, !placeholder_header(text_.substr(begin, last - begin)).empty());
      s.blanked = !s.cut && line.starts_with('@');
      s.cut = s.cut || s.blanked;
      return s;
    }
    if (ended) {
      if (parses(begin, end)) return made(begin, end, false);
      if (const std::size_t later = end_of_unfinished(begin, end); later != kNone) return made(begin, later, false);
    }
    return made(begin, ended && next_line == kNone ? end : short_end(begin, next_line), true);
  }
  // A header without a `:`, or a decorator, at the end of the text: it lacks more than its placeholder could give it.
  void cut_unfinished_end() {
    if (out_.empty() || !out_.back().header) return;
    const std::string_view last = text_.substr(out_.back().begin, out_.back().end - out_.back().begin);
    if (sound_ && last[0] != '@' && has_header_colon(last)) return;
    for (std::size_t i = out_.size(); i-- > 0;) {
      Statement& s = out_[i];
      if (i + 1 < out_.size() && text_[s.begin] != '@') break;
      s.cut = s.unfinished = true;
      s.header = s.blanked = false;
    }
  }
  // The `:` that ends a header, with the body behind it or not.
  static bool has_header_colon(std::string_view header) {
    int depth = 0;
    char quote = 0;
    for (std::size_t i = 0; i < header.size(); ++i) {
      const char c = header[i];
      if (quote != 0) {
        if (c == '\\') ++i;
        if (c == quote) quote = 0;
        continue;
      }
      if (c == '"' || c == '\'') quote = c;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (c == '#') i = std::min(header.find('\n', i), header.size());
      if (c == ':' && depth == 0) return true;
    }
    return false;
  }
  bool parses(std::size_t begin, std::size_t end) const {
    return parses_(static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
  }

  // The grammar lets a line that cannot be the end of a statement (`x =`) go on in the next one.
  std::size_t end_of_unfinished(std::size_t begin, std::size_t end) const {
    constexpr int kMostLines = 4;
    for (int i = 0; i < kMostLines && end < text_.size() && !may_end(text_.substr(begin, end - begin)); ++i) {
      std::size_t ignored = kNone;
      std::size_t from = end;
      do {
        end = end_by_brackets(begin, from + 1, ignored);
        if (end == kNone) return kNone;
      } while (code_of(text_.substr(from, end - from)).empty() && (from = end) < text_.size());
      if (parses(begin, end)) return end;
    }
    return kNone;
  }

  static Statement made(std::size_t begin, std::size_t end, bool cut) {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), cut};
  }
  static Statement header(std::size_t begin, std::size_t end, bool cut) {
    Statement s = made(begin, end, cut);
    s.header = true;
    return s;
  }

  // Of one that does not parse: with the first of its lines that ends with `:`, else with its first line. The next
  // block is not part of it.
  std::size_t end_of_header(std::size_t begin, std::size_t limit) const {
    constexpr int kMostLines = 100;
    std::size_t at = begin;
    for (int i = 0; i < kMostLines; ++i) {
      const std::size_t end = line_end(at);
      if (code_of(text_.substr(at, end - at)).ends_with(':')) return end;
      at = end + 1;
      while (at < text_.size() && is_blank(text_[at])) ++at;
      if (at >= limit || begins_block(text_.substr(at, line_end(at) - at))) break;
    }
    return line_end(begin);
  }

  // The end of the line, from a place on, where no bracket, string or `\` is open; kNone: there is none, or it is far
  // behind a line that begins like the next statement, whose place is `next_line`.
  std::size_t end_by_brackets(std::size_t begin, std::size_t from, std::size_t& next_line) const {
    const std::size_t indent = indent_of(begin);
    int depth = 0;
    for (std::size_t i = from; i < text_.size();) {
      const char c = text_[i];
      if (c == '#') {
        i = line_end(i);
      } else if (c == '"' || c == '\'') {
        bool open = false;
        i = skip_string(text_, i, text_.size(), open);
        // The grammar takes the rest of the text for the string.
        if (open) return text_.size();
      } else if (c == '\n') {
        if (depth <= 0 && (i == 0 || text_[i - 1] != '\\')) return i;
        note_lines(i, i + 1, indent, next_line);
        if (next_line != kNone && i > next_line + kFarBehindNext) return kNone;
        ++i;
      } else {
        depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
        ++i;
      }
    }
    return depth <= 0 ? text_.size() : kNone;
  }

  // The first line that begins in a range, and looks like the next statement: not deeper, and a word.
  void note_lines(std::size_t from, std::size_t to, std::size_t indent, std::size_t& next_line) const {
    for (std::size_t i = text_.find('\n', from); next_line == kNone && i < to; i = text_.find('\n', i + 1)) {
      std::size_t first = i + 1;
      while (first < text_.size() && is_blank(text_[first])) ++first;
      if (first < text_.size() && first - (i + 1) <= indent && (is_word_byte(text_[first]) || text_[first] == '@'))
        next_line = i;
    }
  }

  // The end of a statement that does not parse, or has no end by its brackets.
  std::size_t short_end(std::size_t begin, std::size_t next_line) const {
    if (next_line == kNone) next_line = text_.size();
    while (next_line > begin && (is_blank(text_[next_line - 1]) || text_[next_line - 1] == '\n')) --next_line;
    return next_line;
  }

  std::size_t indent_of(std::size_t begin) const {
    const std::size_t nl = begin == 0 ? kNone : text_.rfind('\n', begin - 1);
    return nl == kNone ? begin : begin - nl - 1;
  }
  std::size_t line_end(std::size_t at) const { return std::min(text_.find('\n', at), text_.size()); }

  static constexpr std::size_t kNone = std::string_view::npos;
  std::string_view text_;
  const Parses& parses_;
  std::size_t at_ = 0;
  bool sound_ = true;  // the last header
  std::vector<Statement> out_;
};

}  // namespace

std::optional<std::vector<Statement>> find_statements(std::string_view text, const Parses& parses) {
  return Splitter(text, parses).run();
}

namespace {

std::size_t end_of_word(std::string_view text, std::size_t at) {
  while (at < text.size() && (is_word_byte(text[at]) || text[at] == '.')) ++at;
  return at;
}

// The start of a text that is a path, `R.function`.
std::string_view path_of(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size(); at = end + 1) {
    std::size_t to = at;
    while (to < text.size() && is_word_byte(text[to])) ++to;
    const std::string_view name = text.substr(at, to - at);
    if (name.empty() || (name[0] >= '0' && name[0] <= '9') || support::is_python_keyword(name)) break;
    end = to;
    if (end < text.size() && text[end] != '.') break;
  }
  return text.substr(0, end);
}

// `def f(` ... `):`, the two ends as far apart as those of the header: within brackets its lines may end.
std::string placeholder_def(std::string_view header, std::size_t name_end) {
  if (name_end + 3 > header.size()) return {};
  std::string out(header);
  for (std::size_t i = name_end; i < out.size(); ++i)
    if (out[i] != '\n') out[i] = ' ';
  out[name_end] = '(';
  std::size_t last = header.size() - 1;
  while (last > name_end && (out[last] == '\n' || out[last - 1] == '\n')) --last;
  if (last < name_end + 2) return {};
  out[last - 1] = ')';
  out[last] = ':';
  return out;
}

}  // namespace

std::string placeholder_header(std::string_view header) {
  const std::size_t word_end = end_of_word(header, header.starts_with('@') ? 1 : 0);
  const std::string_view word = header.substr(0, word_end);
  std::size_t name = word_end;
  while (name < header.size() && (header[name] == ' ' || header[name] == '\t')) ++name;
  const std::size_t name_end = end_of_word(header, name);
  const std::string_view given = header.substr(name, name_end - name);
  const bool dotted = given.find('.') != std::string_view::npos;
  const bool named = !given.empty() && path_of(given) == given && (!dotted || word == "with");
  std::string start;
  if (word.starts_with('@')) {
    const std::string_view path = path_of(word.substr(1));
    if (!path.empty()) start = "@" + std::string(path);
  } else if (word == "def") {
    constexpr std::string_view kUnnamed = "def _";
    if (named || header.size() < kUnnamed.size()) return placeholder_def(header, name_end);
    return placeholder_def(std::string(kUnnamed) + std::string(header.substr(kUnnamed.size())), kUnnamed.size());
  } else if (word == "class" || word == "with") {
    start = named ? std::string(header.substr(0, name_end)) + ":" : std::string(word) + " _:";
  } else if (word == "if" || word == "while") {
    start = std::string(word) + " _:";
  } else if (word == "for") {
    start = "for _ in _:";
  }
  if (start.empty() || start.size() > std::min(header.find('\n'), header.size())) return {};
  std::string out(header);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i < start.size() ? start[i] : out[i] == '\n' ? '\n' : ' ';
  return out;
}

bool may_end(std::string_view statement) {
  const std::size_t line = statement.rfind('\n');
  const std::string_view code = code_of(statement.substr(line == std::string_view::npos ? 0 : line + 1));
  if (code.empty()) return false;
  if (std::string_view(")]}\"'").find(code.back()) != std::string_view::npos) return true;
  std::size_t word = code.size();
  while (word > 0 && is_word_byte(code[word - 1])) --word;
  return word < code.size() &&
         (!support::is_python_keyword(code.substr(word)) || is_whole_statement(code.substr(word)));
}

void cut_misplaced(std::string_view text, const std::vector<Misplaced>& misplaced, std::vector<Statement>& statements) {
  std::uint32_t last = 0, last_column = 0;  // of these, the one before
  for (const Misplaced& m : misplaced) {
    const auto at = std::lower_bound(statements.begin(), statements.end(), m.begin,
                                     [](const Statement& s, std::uint32_t offset) { return s.begin < offset; });
    if (at == statements.end() || at->begin != m.begin || at->header) continue;
    const auto column_of = [&](const Statement& s) {
      const std::size_t line = s.begin == 0 ? std::string_view::npos : text.rfind('\n', s.begin - 1);
      return s.begin - static_cast<std::uint32_t>(line == std::string_view::npos ? 0 : line + 1);
    };
    const std::uint32_t line = at->begin - column_of(*at);
    const auto line_end = static_cast<std::uint32_t>(std::min(text.find('\n', at->begin), std::size_t(at->end)));
    const Statement* before = at == statements.begin() ? nullptr : &*std::prev(at);
    const bool one_line =
        before && text.substr(before->begin, before->end - before->begin).find('\n') == std::string_view::npos;
    const bool joins =
        before && !m.first && !before->header && (one_line || !before->cut) &&
        (before->misplaced ? before->begin == last && last_column == m.column : column_of(*before) == m.column);
    if (!joins && line + m.column >= line_end) continue;
    last = m.begin;
    last_column = m.column;
    at->cut = true;
    at->misplaced = true;
    at->joined = joins;
    at->blank = joins ? before->end : line;
    at->placeholder = joins ? at->begin : line + m.column;
  }
}

std::string with_placeholders(std::string_view text, const std::vector<Statement>& statements) {
  std::string out(text);
  for (const Statement& s : statements) {
    if (!s.cut) continue;
    if (s.blanked) {
      std::fill(out.begin() + s.begin, out.begin() + s.end, ' ');
      continue;
    }
    if (s.header) {
      const std::string header = placeholder_header(text.substr(s.begin, s.end - s.begin));
      std::copy(header.begin(), header.end(), out.begin() + s.begin);
      continue;
    }
    const std::size_t line = std::min(text.find('\n', s.begin), std::size_t(s.end));
    if (s.misplaced) std::fill(out.begin() + s.blank, out.begin() + s.placeholder, ' ');
    if (s.joined) out[s.blank] = ';';
    std::fill(out.begin() + s.placeholder_begin(), out.begin() + static_cast<std::ptrdiff_t>(line), '_');
    for (std::size_t i = line; i < s.end; ++i)
      if (out[i] != '\n') out[i] = ' ';
  }
  return out;
}

}  // namespace rldb::frontend::cst
