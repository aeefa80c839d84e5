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

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Headers whose block can be read without them.
bool only_groups(std::string_view word) { return is_one_of(word, {"if", "elif", "while", "with", "for", "try"}); }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f'; }

void cut_as_unfinished(Statement& s) {
  s.cut = s.unfinished = true;
  s.header = s.blanked = false;
}

class Splitter {
 public:
  Splitter(std::string_view text, const Parses& parses, const KnownText& known)
      : text_(text), parses_(parses), known_(known) {}

  std::optional<std::vector<Statement>> run() {
    std::size_t cuts = 0;
    if (known_.statements) out_.reserve(known_.statements->size() + 1);
    while (find_begin()) {
      if (const Statement* as_before = known()) {
        out_.push_back(*as_before);
        at_ = as_before->end;
        continue;
      }
      bool ended = false;
      const Statement s = next(ended);
      // Looking for an end that is not there is as dear as a cut.
      cuts += s.cut || !ended ? 1 : 0;
      if (cuts > kMostCuts) return std::nullopt;
      out_.push_back(s);
      at_ = s.end;
    }
    cut_unfinished_end();
    cut_lone_headers();
    cut_lone_decorators();
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

  // The statement here, if it is one from before the edit; its places are moved.
  const Statement* known() {
    const auto at = static_cast<std::uint32_t>(at_);
    if (!known_.statements || (at >= known_.begin && at <= known_.new_end)) return nullptr;
    const std::vector<Statement>& all = *known_.statements;
    const bool behind = at > known_.new_end;
    const std::uint32_t delta = behind ? known_.new_end - known_.old_end : 0;
    while (next_known_ < all.size() && all[next_known_].begin < at - delta) ++next_known_;
    if (next_known_ == all.size() || all[next_known_].begin != at - delta) return nullptr;
    const Statement& was = all[next_known_];
    if (was.cut || !was.sound || (!behind && was.end >= known_.begin)) return nullptr;
    moved_ = was;
    moved_.begin += delta;
    moved_.end += delta;
    return &moved_;
  }

  Statement next(bool& ended) {
    const std::size_t begin = at_;
    std::size_t next_line = kNone;
    const std::size_t end = end_by_brackets(begin, begin, next_line);
    ended = end != kNone;
    const std::string_view line = text_.substr(begin, line_end(begin) - begin);
    if (begins_block(line)) {
      // The word alone is no statement: it belongs to what is above.
      const std::string_view word = first_word(line);
      if (ended && (is_part(word) || word == "try" || parses(begin, end))) return header(begin, end, false);
      const std::size_t last = end_of_header(begin, ended ? end : short_end(begin, next_line));
      Statement s = header(begin, last, !placeholder_header(text_.substr(begin, last - begin)).empty());
      s.sound = false;
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
    const std::string_view last = text_of(out_.back());
    if (out_.back().sound && last[0] != '@' && has_header_colon(last)) return;
    for (std::size_t i = out_.size(); i-- > 0;) {
      if (i + 1 < out_.size() && text_[out_[i].begin] != '@') break;
      cut_as_unfinished(out_[i]);
      out_[i].echo = i + 1 < out_.size();
    }
  }

  // Headers without a block, as they are while they are typed. The grammar itself knows a header that ends with `:` and
  // lacks its block.
  void cut_lone_headers() {
    for (std::size_t i = 0; i + 1 < out_.size(); ++i)
      if (out_[i].header && is_lone(i)) cut_as_unfinished(out_[i]);
  }
  bool is_lone(std::size_t i) const {
    const Statement& s = out_[i];
    const std::string_view word = first_word(text_of(s));
    if (word.empty() || is_part(word)) return false;  // a decorator; see indentation.h
    if (indent_of(out_[i + 1].begin) > indent_of(s.begin)) return !s.sound && !s.cut && only_groups(word);
    return !s.sound || (!has_header_colon(text_of(s)) && !parses_through(i, i + 1));
  }
  // As the grammar may read what a statement alone is not.
  bool parses_through(std::size_t i, std::size_t last) const {
    return parses(out_[i].begin - indent_of(out_[i].begin), out_[last].end);
  }

  // Decorators that no definition follows, or one that is cut out. The grammar itself knows some that stand elsewhere.
  void cut_lone_decorators() {
    std::size_t decorated = out_.size();  // the first statement that is no decorator
    for (std::size_t i = out_.size(), next = i; i-- > 0;) {
      Statement& s = out_[i];
      if (text_[s.begin] != '@') decorated = i;
      if (s.blanked) continue;
      const Statement* below = next < out_.size() ? &out_[next] : nullptr;
      next = i;
      if (!s.header || text_[s.begin] != '@') continue;
      const bool level = below && indent_of(below->begin) == indent_of(s.begin);
      const bool definition = level && takes_decorator(text_of(*below));
      if (definition ? !below->unfinished : decorated == out_.size() || parses_through(i, decorated)) continue;
      cut_as_unfinished(s);
      s.echo = definition || (level && below->cut);
    }
  }
  static bool takes_decorator(std::string_view statement) {
    return statement.starts_with('@') || is_one_of(first_word(statement), {"def", "class", "async"});
  }
  std::string_view text_of(const Statement& s) const { return text_.substr(s.begin, s.end - s.begin); }

  bool parses(std::size_t begin, std::size_t end) const {
    return parses_(static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
  }

  // The grammar lets a line that cannot be the end of a statement (`x =`) go on in the next one.
  std::size_t end_of_unfinished(std::size_t begin, std::size_t end) const {
    constexpr int kMostLines = 4;
    if (ends_in_operator(code_of(text_.substr(begin, end - begin)))) return kNone;  // it is cut out: indentation.h
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
        if (depth <= 0 && !is_joined(i)) return i;
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

  // A line end behind `\`.
  bool is_joined(std::size_t line_end) const {
    const std::size_t at = line_end > 0 && text_[line_end - 1] == '\r' ? line_end - 1 : line_end;
    return at > 0 && text_[at - 1] == '\\';
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
  const KnownText& known_;
  std::size_t next_known_ = 0;
  Statement moved_;
  std::size_t at_ = 0;
  std::vector<Statement> out_;
};

}  // namespace

std::optional<std::vector<Statement>> find_statements(std::string_view text, const Parses& parses) {
  return Splitter(text, parses, {}).run();
}

std::optional<std::vector<Statement>> find_statements(std::string_view text, const Parses& parses,
                                                      const KnownText& known) {
  return Splitter(text, parses, known).run();
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
    if (at == statements.end() || at->begin != m.begin) continue;
    if (m.lone) cut_as_unfinished(*at);
    if (m.unfinished && !at->header) at->cut = true;
    if (m.lone || m.unfinished || (at->header && !m.header)) continue;
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
    if (m.header) cut_as_unfinished(*at);
    at->echo = m.echo;
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
