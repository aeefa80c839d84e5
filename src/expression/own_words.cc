// Finds the words of the expression language that the grammar of modules lacks.
#include "expression/own_words.h"

#include <algorithm>

#include "rldb/expression/language.h"
#include "rldb/frontend/syntax.h"
#include "rldb/support/text.h"

namespace rldb::expression {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class WordFinder {
 public:
  explicit WordFinder(std::string_view text) : text_(text) {}

  std::vector<Word> find() {
    while (at_ < text_.size()) step();
    return std::move(found_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  std::size_t end_of_name(std::size_t at) const {
    while (at < text_.size() && is_name_byte(text_[at])) ++at;
    return at;
  }
  void take(TermKind kind, std::size_t end, std::string text) {
    found_.push_back({kind, std::uint32_t(at_), std::uint32_t(end), std::move(text)});
    at_ = end;
    after_value_ = true;
  }

  void step() {
    const char c = peek();
    if (support::is_blank(c)) {
      ++at_;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '"' || c == '\'') {
      at_ = frontend::end_of_string(text_, at_);
      after_value_ = true;
    } else if (c == '$') {
      const std::size_t end = peek(1) == '$' ? at_ + 2 : end_of_name(at_ + 1);
      take(TermKind::Name, end, std::string(text_.substr(at_, end - at_)));
    } else if (c == '@' && !after_value_) {
      file();
    } else if (c == '%' && !after_value_ && is_name_byte(peek(1))) {
      relay_name();
    } else if (is_name_byte(c)) {
      name();
    } else {
      after_value_ = c == ')' || c == ']' || c == '}' || (c == '.' && after_value_);
      ++at_;
    }
  }

  // A name or a number. `x@3`, without blanks, is the x of rank 3: a product with a number would be an error.
  void name() {
    const std::size_t end = end_of_name(at_);
    const std::string_view word = text_.substr(at_, end - at_);
    std::size_t rank = end;
    if (rank < text_.size() && text_[rank] == '@')
      for (++rank; rank < text_.size() && is_digit(text_[rank]);) ++rank;
    const bool ends = rank >= text_.size() || (!is_name_byte(text_[rank]) && text_[rank] != '.');
    const bool attribute = at_ > 0 && text_[at_ - 1] == '.';
    if (rank > end + 1 && ends && !is_digit(word[0]) && !attribute)
      return take(TermKind::Name, rank, std::string(text_.substr(at_, rank - at_)));
    after_value_ = !frontend::joins_values(word);
    at_ = end;
  }

  // `%x` in a Relay text is the variable x, `%0` the graph variable with that name.
  void relay_name() {
    const std::size_t end = end_of_name(at_ + 1);
    const std::size_t begin = is_digit(text_[at_ + 1]) ? at_ : at_ + 1;
    take(TermKind::Name, end, std::string(text_.substr(begin, end - begin)));
  }

  // `@file.npy`, `@"a file.npz:member"`: up to a blank, comma or closing bracket.
  void file() {
    const char quote = peek(1);
    if (quote == '"' || quote == '\'') {
      const std::size_t end = frontend::end_of_string(text_, at_ + 1);
      const bool closed = end > at_ + 2 && text_[end - 1] == quote;
      return take(TermKind::File, end, std::string(text_.substr(at_ + 2, end - at_ - 2 - std::size_t(closed))));
    }
    std::size_t end = at_ + 1;
    while (end < text_.size() && !support::is_blank(text_[end]) &&
           std::string_view(",)]").find(text_[end]) == std::string_view::npos)
      ++end;
    take(TermKind::File, end, std::string(text_.substr(at_ + 1, end - at_ - 1)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool after_value_ = false;
  std::vector<Word> found_;
};

}  // namespace

std::vector<Word> own_words(std::string_view text) { return WordFinder(text).find(); }

}  // namespace rldb::expression
