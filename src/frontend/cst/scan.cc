// Text below the level of the grammar, read byte by byte: brackets that do not match, values without a comma between
// them.
#include "frontend/cst/scan.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "rldb/support/python_keyword.h"

namespace rldb::frontend::cst {

std::size_t skip_string(std::string_view text, std::size_t i, std::size_t end, bool& open) {
  const char c = text[i];
  const bool longer = i + 2 < end && text[i + 1] == c && text[i + 2] == c;
  std::size_t j = i + (longer ? 3 : 1);
  for (; j < end; ++j) {
    if (text[j] == '\\') {
      ++j;
    } else if (!longer && text[j] == '\n') {
      return j;
    } else if (text[j] == c) {
      if (!longer) return j + 1;
      if (j + 2 < end && text[j + 1] == c && text[j + 2] == c) return j + 3;
    }
  }
  open = longer;
  return end;
}

Scan scan_brackets(std::string_view text, std::size_t begin, std::size_t end) {
  Scan out;
  for (std::size_t i = begin; i < end;) {
    const char c = text[i];
    if (c == '#') {
      while (i < end && text[i] != '\n') ++i;
    } else if (c == '"' || c == '\'') {
      bool open = false;
      const std::size_t next = skip_string(text, i, end, open);
      if (open) out.long_string = i;
      i = next;
    } else {
      if (c == '(' || c == '[' || c == '{') out.open.push_back(i);
      if (c == ')' || c == ']' || c == '}') {
        const char want = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (out.open.empty() || text[out.open.back()] != want) {
          out.stray = i;
          return out;
        }
        out.open.pop_back();
      }
      ++i;
    }
  }
  return out;
}

bool is_word_byte(char c) {
  static constexpr auto kWord = [] {
    std::array<bool, 256> word{};
    for (std::size_t i = 0x80; i < word.size(); ++i) word[i] = true;
    for (const char w : std::string_view("0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
      word[static_cast<unsigned char>(w)] = true;
    return word;
  }();
  return kWord[static_cast<unsigned char>(c)];
}

bool is_string_prefix(std::string_view text, std::size_t i, std::size_t end) {
  const std::size_t quote = text.find_first_not_of("bBfFrRuU", i);
  return quote != i && quote < end && quote - i <= 2 && (text[quote] == '"' || text[quote] == '\'');
}

bool joins_values(std::string_view word) {
  static constexpr std::array<std::string_view, 11> kWords = {"and", "as", "await",  "else", "for", "if",
                                                              "in",  "is", "lambda", "not",  "or"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

std::size_t second_of_two_values(std::string_view text, std::size_t begin, std::size_t end) {
  const Scan scan = scan_brackets(text, begin, end);
  if (scan.stray != Scan::kNone || !scan.open.empty() || scan.long_string != Scan::kNone) return Scan::kNone;
  enum class Before { Nothing, String, Value } before = Before::Nothing;
  int depth = 0;
  for (std::size_t i = begin; i < end && text[i] != '#';) {
    const char c = text[i];
    if (c == ' ' || c == '\t') {
      ++i;
      continue;
    }
    const bool quote = c == '"' || c == '\'';
    std::size_t next = i + 1;
    bool open = false;
    if (quote) next = skip_string(text, i, end, open);
    if (is_string_prefix(text, i, end)) {
      i = text.find_first_of("\"'", i);
      continue;
    }
    while (is_word_byte(c) && next < end && (is_word_byte(text[next]) || text[next] == '.')) ++next;
    const bool value = quote || (is_word_byte(c) && !joins_values(text.substr(i, next - i)));
    // Two strings side by side are one.
    if (value && depth > 0 && before != Before::Nothing && !(quote && before == Before::String)) return i;
    if (c == '(' || c == '[' || c == '{') ++depth;
    const bool closer = c == ')' || c == ']' || c == '}';
    if (closer) --depth;
    before = quote ? Before::String : value || closer ? Before::Value : Before::Nothing;
    i = next;
  }
  return Scan::kNone;
}

std::string_view first_word(std::string_view line) {
  const auto end = std::find_if_not(line.begin(), line.end(), is_word_byte);
  return line.substr(0, static_cast<std::size_t>(end - line.begin()));
}

bool is_part(std::string_view word) {
  return word == "elif" || word == "else" || word == "except" || word == "finally";
}

bool continues(std::string_view part, std::string_view above) {
  if (part == "elif") return above == "if" || above == "elif";
  if (part == "else")
    return above == "if" || above == "elif" || above == "for" || above == "while" || above == "except";
  return above == "try" || above == "except" || above == "else";
}

bool begins_block(std::string_view line) {
  static constexpr std::array<std::string_view, 11> kWords = {"class", "def", "elif", "else",  "except", "finally",
                                                              "for",   "if",  "try",  "while", "with"};
  if (line.starts_with('@')) return true;
  return std::find(kWords.begin(), kWords.end(), first_word(line)) != kWords.end();
}

std::string_view code_of(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#') {
      line = line.substr(0, i);
    } else if (line[i] == '"' || line[i] == '\'') {
      const char quote = line[i];
      for (++i; i < line.size() && line[i] != quote; ++i)
        if (line[i] == '\\') ++i;
    }
  }
  const std::size_t last = line.find_last_not_of(" \t\r\n");
  return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool ends_in_operator(std::string_view code) {
  if (code.empty() || std::string_view("=+-*/%<>&|^~.").find(code.back()) == std::string_view::npos) return false;
  if (code.ends_with("...") || code.ends_with("import *") || code.starts_with('@')) return false;
  if (code.back() != '.') return true;
  std::size_t word = code.size() - 1;
  while (word > 0 && is_word_byte(code[word - 1])) --word;
  return code[word] < '0' || code[word] > '9';  // `1.`
}

bool has_header_colon(std::string_view header) {
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

bool may_go_on(std::string_view line) {
  if (line.empty() || !is_word_byte(line[0]) || is_string_prefix(line, 0, line.size())) return true;
  const std::string_view word = first_word(line);
  return word == "import" || joins_values(word);
}

bool is_plain_line(std::string_view statement) {
  if (statement.find('\n') != std::string_view::npos) return false;
  // A string that is not closed is an error, but none of the grammar.
  for (const char quote : {'"', '\''})
    if (std::count(statement.begin(), statement.end(), quote) % 2 != 0) return false;
  std::size_t behind = std::string_view::npos;  // the last word
  for (std::size_t at = 0; at < statement.size();) {
    if (!is_word_byte(statement[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < statement.size() && is_word_byte(statement[at])) ++at;
    const std::string_view word = statement.substr(begin, at - begin);
    const bool is_first = begin == 0, is_number = word[0] >= '0' && word[0] <= '9';
    const bool is_value = word == "None" || word == "True" || word == "False";
    if (support::is_python_keyword(word) && !is_value && !(is_first && word == "return")) return false;
    if (is_number && word.find_first_not_of("0123456789e_") != std::string_view::npos) return false;
    const bool adjacent = behind != std::string_view::npos &&
                          statement.substr(behind, begin - behind).find_first_not_of(" \t") == std::string_view::npos;
    if (adjacent && statement.substr(0, behind) != "return") return false;
    behind = at;
  }
  return true;
}

}  // namespace rldb::frontend::cst
