// The lines of a text, and the blocks that they are in, by their columns.
#include "frontend/cst/indentation.h"

#include <algorithm>

#include "frontend/cst/code_lines.h"
#include "frontend/cst/scan.h"
#include "frontend/cst/statements.h"

namespace rldb::frontend::cst {

namespace {

class Blocks {
 public:
  Blocks(std::string_view text, const std::vector<CodeLine>& lines) : text_(text), lines_(lines) {}

  std::vector<Misplaced> run() {
    bool opened = false;
    std::uint32_t header = 0;  // its column
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::uint32_t column = lines_[i].column;
      if (const std::size_t behind = behind_misplaced_header(i, opened); behind != i) {
        const std::uint32_t block = lines_[behind].column;
        for (std::size_t at = i; at < behind; ++at)
          found_.push_back({lines_[at].begin, block, opened, false, false, true, at > i});
        i = behind - 1;
        continue;
      }
      if (opened && column <= header) {
        if (const std::uint32_t block = block_under(header, i)) {
          found_.push_back({lines_[i].begin, block, true});
          continue;
        }
      }
      // Under a header without its colon, say, or with too much indentation: the grammar takes that for a block, too.
      if (column > levels_.back()) {
        levels_.push_back(column);
        if (opened) blocks_.push_back(column);
      } else if (!opened && column < levels_.back()) {
        if (const std::uint32_t block = block_of(i)) {
          found_.push_back({lines_[i].begin, block, false});
          continue;
        }
      }
      while (column < levels_.back()) levels_.pop_back();
      while (!blocks_.empty() && column < blocks_.back()) blocks_.pop_back();
      if (!note_part(lines_[i]) && lines_[i].unfinished)
        found_.push_back({lines_[i].begin, column, false, false, true});
      opened = lines_[i].opens;
      header = column;
    }
    return std::move(found_);
  }

 private:
  // Its first word, behind line ends that are joined and `async`.
  static std::string_view keyword_of(std::string_view line) {
    while (line.starts_with("\\\n") || line.starts_with("\\\r\n"))
      line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t\r\n", 1)));
    const std::string_view word = first_word(line);
    if (word != "async") return word;
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t", word.size())));
    return first_word(line);
  }
  // The first word of the last line at each level tells what a part may continue.
  bool note_part(const CodeLine& line) {
    last_words_.resize(levels_.size());
    const std::string_view word = keyword_of(text_.substr(line.begin));
    const bool lone = line.column == levels_.back() && is_part(word) && !continues(word, last_words_.back());
    if (lone) found_.push_back({line.begin, line.column, false, true});
    last_words_.back() = word;
    return lone;
  }
  // The first line behind a header, with the decorators above it, that ends blocks and should not; `line`: it is right.
  std::size_t behind_misplaced_header(std::size_t line, bool opened) {
    const std::uint32_t column = lines_[line].column, innermost = levels_.back();
    if (!lines_[line].is_header || column >= innermost) return line;
    const auto at_column = [&](std::size_t at) { return at < lines_.size() && lines_[at].column == column; };
    std::size_t header = line;
    while (at_column(header) && text_[lines_[header].begin] == '@') ++header;
    if (!at_column(header) || !is_header(lines_[header]) || header + 1 == lines_.size()) return line;
    const std::uint32_t block = lines_[header + 1].column;
    const bool goes_on = opened ? block > innermost : block == innermost && !blocks_.empty() && blocks_.back() == block;
    if (!goes_on) return line;
    // It ends at a level that would be none within the header.
    const std::uint32_t end = column_behind(header + 1, block);
    const bool ends_outside = end > column && std::binary_search(levels_.begin(), levels_.end(), end);
    return ends_outside ? header + 1 : line;
  }
  bool is_header(const CodeLine& line) const {
    const std::string_view rest = text_.substr(line.begin), code = rest.substr(0, rest.find('\n'));
    return line.is_header && code[0] != '@' && !is_part(first_word(code)) && (line.opens || !has_header_colon(code));
  }
  // Of the first line that is less deep than a block, from a line of it on; 0: there is none.
  std::uint32_t column_behind(std::size_t line, std::uint32_t block) {
    if (block != ending_ || line >= end_) {
      ending_ = block;
      for (end_ = line; end_ < lines_.size() && lines_[end_].column >= block;) ++end_;
    }
    return end_ < lines_.size() ? lines_[end_].column : 0;
  }
  // The first line behind a line and further simple statements, between these columns.
  std::size_t behind_simple(std::size_t line, std::uint32_t from, std::uint32_t to) const {
    constexpr std::size_t kMostLines = 20;
    const std::size_t end = std::min(line + kMostLines, lines_.size());
    std::size_t next = line;
    const auto fits = [&](const CodeLine& l) { return l.column >= from && l.column <= to && is_simple(l); };
    while (next < end && fits(lines_[next])) ++next;
    return next;
  }
  // The column of a header's block that begins behind a line; 0: there is none.
  std::uint32_t block_under(std::uint32_t header, std::size_t line) const {
    const std::size_t next = behind_simple(line, 0, header);
    return next != line && next < lines_.size() && lines_[next].column > header ? lines_[next].column : 0;
  }
  // Where a line that ends blocks should begin, if it should not end them; 0: it is right.
  std::uint32_t block_of(std::size_t line) const {
    const std::uint32_t column = lines_[line].column;
    const std::size_t next = behind_simple(line, column, column);
    if (next == line) return 0;
    const auto is_block = [&](std::uint32_t c) { return std::binary_search(blocks_.begin(), blocks_.end(), c); };
    if (next < lines_.size() && lines_[next].column > column && is_block(lines_[next].column))
      return lines_[next].column;
    // Neither this block's nor that of one around it.
    const auto block = std::upper_bound(blocks_.begin(), blocks_.end(), column);
    const bool between = !std::binary_search(levels_.begin(), levels_.end(), column);
    return between && block != blocks_.end() ? *block : 0;
  }
  bool is_simple(const CodeLine& line) const { return !line.opens && (!line.is_header || text_[line.begin] == '@'); }

  std::string_view text_;
  const std::vector<CodeLine>& lines_;
  std::vector<std::uint32_t> levels_{0};
  std::vector<std::string_view> last_words_;  // by level
  std::vector<std::uint32_t> blocks_;         // those under a line that ends with `:`
  std::uint32_t ending_ = 0;                  // of the block that was looked at last
  std::size_t end_ = 0;                       // the line behind it
  std::vector<Misplaced> found_;
};

}  // namespace

static bool is_lone_header(std::string_view text, const CodeLine& line, const CodeLine& below) {
  const bool decorator = text[line.begin] == '@';
  if (!line.is_header || (!decorator && (line.opens || below.column > line.column))) return false;
  const std::string_view rest = text.substr(line.begin), code = code_of(rest.substr(0, rest.find('\n')));
  if (first_word(code).size() == code.size()) return false;
  const Scan scan = scan_brackets(code, 0, code.size());
  if (!scan.open.empty() || scan.stray != Scan::kNone || scan.long_string != Scan::kNone) return false;
  const std::string_view after = text.substr(below.begin), next = after.substr(0, after.find('\n'));
  if (!decorator) return !has_header_colon(code) && may_end(code) && !may_go_on(next);
  const std::string_view word = first_word(next);
  const bool decorated = next.starts_with('@') || word == "def" || word == "class" || word == "async";
  return !next.starts_with('\\') && !(decorated && below.column == line.column);
}

Indentation check_indentation(std::string_view text, const CodeLines& lines) {
  Indentation found;
  for (std::size_t i = 0; i + 1 < lines.all.size(); ++i)
    if (is_lone_header(text, lines.all[i], lines.all[i + 1])) found.lone_headers.push_back(lines.all[i].begin);
  found.misplaced = Blocks(text, lines.all).run();
  return found;
}

bool may_misplace(std::string_view removed, std::string_view inserted, std::string_view old_line,
                  std::string_view new_line, std::string_view line_before) {
  constexpr std::string_view kDecides = "\n#\\\"'()[]{}:@";
  return removed.find_first_of(kDecides) != std::string_view::npos ||
         inserted.find_first_of(kDecides) != std::string_view::npos ||
         line_before.find_first_not_of(" \t\r\f") == std::string_view::npos || begins_block(old_line) ||
         begins_block(new_line) || ends_in_operator(code_of(old_line)) || ends_in_operator(code_of(new_line));
}

namespace {

constexpr std::size_t kMostWithoutBlock = 500;

// Counts headers that no deeper line follows.
class HeaderCount {
 public:
  explicit HeaderCount(std::string_view text) : text_(text) {}
  // The next line with code: where that begins, and its column.
  void add(std::size_t begin, std::size_t column, bool in_brackets) {
    if (is_header_ && column <= column_ && count_++ == 0) first_ = header_;
    const std::string_view line = text_.substr(begin, std::min(text_.find('\n', begin), text_.size()) - begin);
    is_header_ = false;
    column_ = column;
    if (std::string_view("cdeftiw").find(line[0]) == std::string_view::npos || !begins_block(line)) return;
    const std::string_view code = code_of(line);
    header_ = {static_cast<std::uint32_t>(begin + code.size()), code.ends_with(':')};
    // `if x: y = 1` has its block; `[x` / `for x in y]` is a value.
    const std::string_view word = first_word(line);
    const bool is_value = in_brackets && (word == "for" || word == "if" || word == "else");
    is_header_ = header_.has_colon || (!is_value && !has_header_colon(code));
  }
  bool is_full() const { return count_ > kMostWithoutBlock; }
  std::optional<HeaderWithoutBlock> first() const { return is_full() ? std::optional(first_) : std::nullopt; }

 private:
  std::string_view text_;
  std::size_t count_ = 0;
  bool is_header_ = false;  // the line before
  std::size_t column_ = 0;
  HeaderWithoutBlock header_, first_;
};

}  // namespace

std::optional<HeaderWithoutBlock> find_many_without_block(std::string_view text) {
  const auto code_at = [&](std::size_t line) { return std::min(text.find_first_not_of(" \t\r\f", line), text.size()); };
  const auto is_code = [&](std::size_t at) { return at < text.size() && text[at] != '\n' && text[at] != '#'; };
  HeaderCount lines(text);
  for (std::size_t at = 0; at < text.size() && !lines.is_full(); at = std::min(text.find('\n', at), text.size()) + 1)
    if (const std::size_t begin = code_at(at); is_code(begin)) lines.add(begin, begin - at, false);
  if (!lines.is_full()) return std::nullopt;
  // Some may be in strings or brackets, or behind a line that is joined to the next one. The lines in a header's own
  // brackets are not its block, nor the lack of one.
  HeaderCount outside(text), in_brackets(text);
  std::size_t depth = 0;
  for (std::size_t at = 0, line = 0; at < text.size() && !outside.is_full() && !in_brackets.is_full();) {
    if (at == line)
      if (const std::size_t begin = code_at(at); is_code(begin))
        (depth > 0 ? in_brackets : outside).add(begin, begin - at, depth > 0);
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '\\') {
      at += text.substr(at + 1).starts_with("\r\n") ? 3 : 2;
    } else if (c == '"' || c == '\'') {
      bool unclosed = false;
      at = skip_string(text, at, text.size(), unclosed);
    } else {
      if (c == '\n') line = at + 1;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
      ++at;
    }
  }
  return in_brackets.is_full() ? in_brackets.first() : outside.first();
}

}  // namespace rldb::frontend::cst
