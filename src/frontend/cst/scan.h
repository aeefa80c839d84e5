// A scan of text below the level of the grammar: brackets, strings and comments. For errors and for the prompt.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace rldb::frontend::cst {

struct Scan {
  static constexpr std::size_t kNone = std::string_view::npos;
  std::vector<std::size_t> open;    // brackets open at the end, outermost first
  std::size_t stray = kNone;        // a closing bracket without an opening one; the scan stops there
  std::size_t long_string = kNone;  // a triple-quoted string that is still open at the end
};
Scan scan_brackets(std::string_view text, std::size_t begin, std::size_t end);

// The position after the string that begins at `i`. One that is not closed ends with its line, or, if it is a long one,
// at `end`; then `open` is set.
std::size_t skip_string(std::string_view text, std::size_t i, std::size_t end, bool& open);

bool is_word_byte(char c);                                                     // of a name or number
bool is_string_prefix(std::string_view text, std::size_t i, std::size_t end);  // `r` of `r"a"`, in both
bool joins_values(std::string_view word);                                      // `not`, `in`: a value follows

// Whether a line, from its first character on, is the header of a block or a decorator.
bool begins_block(std::string_view line);

std::string_view first_word(std::string_view line);
// A statement of one line in which no keyword but `return` and no words side by side are left for the grammar to
// understand: if it finds no error there, there is none.
bool is_plain_line(std::string_view statement);
// Headers that continue the statement of the block above: `else`.
bool is_part(std::string_view word);
// Whether a part may stand below a block whose header begins with a word.
bool continues(std::string_view part, std::string_view above);

// `f(x y)`: where `y` begins, in a range whose brackets are balanced. kNone: no two values are adjacent in
// brackets.
std::size_t second_of_two_values(std::string_view text, std::size_t begin, std::size_t end);

// A line without its comment and the blanks before that.
std::string_view code_of(std::string_view line);

// Whether code ends with a sign behind which nothing may end: `y =`, `R.`.
bool ends_in_operator(std::string_view code);

// Whether a line may go on the statement of the line above it, where the grammar does not see that one end.
bool may_go_on(std::string_view line);

// Whether a header has the `:` that ends it, with the body behind it or not.
bool has_header_colon(std::string_view header);

}  // namespace rldb::frontend::cst
