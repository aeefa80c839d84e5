// One pass over the bytes of a text; what it does with a byte is in a table.
#include "frontend/cst/shape.h"

#include <algorithm>
#include <array>

#include "rldb/support/python_keyword.h"

namespace rldb::frontend::cst {

namespace {

constexpr std::size_t kMostPieces = 1000;
constexpr int kMostOpen = 200;  // brackets

enum class Byte : std::uint8_t { Odd, Blank, LineEnd, Letter, Digit, Quote, Opening, Closing, Hash, Backslash, Mark };

constexpr std::array<Byte, 256> kBytes = [] {
  std::array<Byte, 256> bytes{};  // control characters and everything beyond ASCII: Odd
  const auto set = [&](std::string_view all, Byte to) {
    for (const char c : all) bytes[static_cast<unsigned char>(c)] = to;
  };
  set(" \t", Byte::Blank);
  set("\n", Byte::LineEnd);
  set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", Byte::Letter);
  set("0123456789", Byte::Digit);
  set("\"'", Byte::Quote);
  set("([{", Byte::Opening);
  set(")]}", Byte::Closing);
  set("#", Byte::Hash);
  set("\\", Byte::Backslash);
  set("!$%&*+,-./:;<=>?@^`|~", Byte::Mark);
  return bytes;
}();

Byte byte_of(char c) { return kBytes[static_cast<unsigned char>(c)]; }
bool is_name_byte(char c) { return byte_of(c) == Byte::Letter || byte_of(c) == Byte::Digit; }
// Ends a line, or may, for the grammar or for Python.
constexpr std::string_view kOddLineEnds("\r\f\v\0", 4);

// The grammar has no words but Python's; its scanner sets a mark at `T.axis.`.
bool is_told_apart(std::string_view word) { return word == "T" || word == "axis" || support::is_python_keyword(word); }

}  // namespace

bool has_odd_line_ends(std::string_view text) {
  return std::any_of(kOddLineEnds.begin(), kOddLineEnds.end(),
                     [&](char c) { return text.find(c) != std::string_view::npos; });
}

// To the first character of a statement, over blank lines and comments.
bool ShapeScan::find_line() {
  comment_before_ = false;
  line_ = at_;
  for (; at_ < text_.size(); ++at_) {
    const Byte byte = byte_of(text_[at_]);
    if (byte == Byte::LineEnd) {
      line_ = at_ + 1;
    } else if (byte == Byte::Hash) {
      comment_before_ = true;
      skip_comment();
      --at_;
    } else if (byte != Byte::Blank) {
      return true;
    }
  }
  return false;
}

bool ShapeScan::next() {
  if (lost_ || !find_line()) return false;
  shape_.clear();
  pieces_.clear();
  plain_ = true;
  depth_ = 0;
  begin_ = at_;
  end_ = at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n' && depth_ == 0) break;
    if (!scan_piece(c)) {
      lost_ = true;
      return false;
    }
    if (pieces_.size() > kMostPieces) {
      plain_ = false;
      pieces_.clear();
    }
  }
  lost_ = depth_ != 0;
  return !lost_;
}

bool ShapeScan::scan_piece(char c) {
  switch (byte_of(c)) {
    case Byte::Blank:
    case Byte::LineEnd:
      if (c == '\n' || shape_.back() != ' ') shape_ += c == '\n' ? '\n' : ' ';
      ++at_;
      return true;
    case Byte::Letter:
      scan_word();
      return true;
    case Byte::Digit:
      scan_number();
      return true;
    case Byte::Quote:
      return scan_string();
    case Byte::Opening:
    case Byte::Closing:
      return scan_bracket(c);
    case Byte::Hash:
      skip_comment();
      return leave();
    case Byte::Backslash:
      at_ = std::min(at_ + 2, static_cast<std::uint32_t>(text_.size()));
      return leave();
    case Byte::Odd:
      ++at_;
      return leave();
    case Byte::Mark:
      shape_ += c;
      add(at_++);
      return true;
  }
  return false;
}

void ShapeScan::add(std::uint32_t begin) {
  end_ = at_;
  pieces_.push_back({begin, at_});
}

// Leaves the statement to the grammar.
bool ShapeScan::leave() {
  plain_ = false;
  shape_ += '?';
  return true;
}

void ShapeScan::scan_word() {
  const std::uint32_t begin = at_;
  while (at_ < text_.size() && is_name_byte(text_[at_])) ++at_;
  const std::string_view word = text_.substr(begin, at_ - begin);
  if (is_told_apart(word))
    shape_ += word;
  else
    shape_ += '\1';
  add(begin);
}

// `1`, `1.5e-3`, `.5`, `1.`: the shape has a zero for each run of digits. Others (`0x1f`, `1_000`, `2j`) are rare.
void ShapeScan::scan_number() {
  const std::uint32_t begin = at_;
  const auto digits = [&] {
    while (at_ < text_.size() && byte_of(text_[at_]) == Byte::Digit) ++at_;
    shape_ += '0';
  };
  const auto is_at = [&](std::string_view any, std::uint32_t at) {
    return at < text_.size() && any.find(text_[at]) != std::string_view::npos;
  };
  digits();
  if (is_at(".", at_)) {
    shape_ += text_[at_++];
    if (is_at("0123456789", at_)) digits();
  }
  const std::uint32_t sign = is_at("+-", at_ + 1) ? 1 : 0;
  if (is_at("eE", at_) && is_at("0123456789", at_ + 1 + sign)) {
    shape_ += text_.substr(at_, 1 + sign);
    at_ += 1 + sign;
    digits();
  }
  if (at_ < text_.size() && (is_name_byte(text_[at_]) || text_[at_] == '.')) plain_ = false;
  add(begin);
}

// A string in one line. Long ones, and those with a prefix, are divided rightly but have no shape.
bool ShapeScan::scan_string() {
  const std::uint32_t begin = at_;
  const char quote = text_[at_];
  const auto size = static_cast<std::uint32_t>(text_.size());
  const bool is_long = at_ + 2 < size && text_[at_ + 1] == quote && text_[at_ + 2] == quote;
  const bool prefixed = begin > 0 && is_name_byte(text_[begin - 1]);
  plain_ = plain_ && !is_long && !prefixed;
  const std::string_view end = text_.substr(begin, is_long ? 3 : 1);
  for (at_ += is_long ? 3 : 1; at_ < size; ++at_) {
    const char c = text_[at_];
    if (c == '\\') {
      ++at_;
      plain_ = false;
    } else if (text_.substr(at_, end.size()) == end) {
      at_ += static_cast<std::uint32_t>(end.size());
      shape_ += quote;
      shape_ += quote;
      add(begin);
      return true;
    } else if (byte_of(c) == Byte::Odd) {
      plain_ = false;
    } else if (c == '\n' && !is_long) {
      return false;
    }
  }
  return false;
}

bool ShapeScan::scan_bracket(char c) {
  depth_ += byte_of(c) == Byte::Opening ? 1 : -1;
  shape_ += c;
  add(at_++);
  return depth_ >= 0 && depth_ <= kMostOpen;
}

void ShapeScan::skip_comment() { at_ = static_cast<std::uint32_t>(std::min(text_.find('\n', at_), text_.size())); }

}  // namespace rldb::frontend::cst
