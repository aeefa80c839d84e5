// The shape of a statement: its words, numbers, strings and punctuation, without how names are spelled, which digits a
// number has, what a string says and how wide its blanks are. The grammar decides by the shape alone: statements of one
// shape have the same tree, at other places (known_shapes.h). Keywords, and the words by which the external scanner
// sets its marks, are a part of the shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::frontend::cst {

// A word, a number, a string, or a character of punctuation.
struct Piece {
  std::uint32_t begin, end;
};

// Characters other than a line feed that end lines, or may. ShapeScan does not know them.
bool has_odd_line_ends(std::string_view text);

// Divides a text into statements, by lines, brackets and strings, from a place on where a line or a statement begins.
class ShapeScan {
 public:
  explicit ShapeScan(std::string_view text, std::uint32_t from = 0) : text_(text), at_(from) {}

  // To the next statement. False at the end of the text.
  bool next();
  // The text cannot be divided without the grammar (brackets or strings that do not match): nothing of
  // what was found holds.
  bool lost() const { return lost_; }

  // Of the current statement. Empty: it is for the grammar to read (a comment, a character or a string of a rare kind,
  // or very many pieces).
  std::string_view shape() const { return plain_ ? std::string_view(shape_) : std::string_view(); }
  const std::vector<Piece>& pieces() const { return pieces_; }
  std::uint32_t begin() const { return begin_; }
  std::uint32_t end() const { return end_; }
  std::string_view indentation() const { return text_.substr(line_, begin_ - line_); }
  bool comment_before() const { return comment_before_; }  // between it and the statement before it

 private:
  bool find_line();
  void scan_word();
  void scan_number();
  bool scan_string();
  bool scan_bracket(char c);
  bool scan_piece(char c);
  void skip_comment();
  bool leave();
  void add(std::uint32_t begin);

  std::string_view text_;
  std::uint32_t at_ = 0;
  std::uint32_t line_ = 0;
  std::uint32_t begin_ = 0, end_ = 0;
  int depth_ = 0;
  bool plain_ = true;
  bool lost_ = false;
  bool comment_before_ = false;
  std::string shape_;
  std::vector<Piece> pieces_;
};

}  // namespace rldb::frontend::cst
