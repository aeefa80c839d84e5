// Lines that stand where they cannot, found without the grammar: with too little indentation for their block, an
// `else:` without its `if`, or one that ends with an operator (`y =`), which the grammar lets go on in the next line.
//
// The grammar takes such a line for the end of the block, and each line after it for an unexpected one. But a simple
// statement cannot be followed by a deeper line, so one of the two is wrong; it is the first if the second is as deep
// as the block before both, or if a header is before both and the second is in its block. Such a statement is cut out
// (statements.h), and read as if it stood where the block is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rldb::frontend::cst {

struct Misplaced {
  std::uint32_t begin = 0;   // of the statement
  std::uint32_t column = 0;  // of its block
  bool first = false;        // directly behind the header of the block
  bool lone = false;         // it continues nothing; the column is its own
  bool unfinished = false;   // it ends with an operator; the column is its own
  bool header = false;       // of a block, or a decorator above it
  bool echo = false;         // of such a header, but for its first line
};
// Both in the order of the text. None in a text that is indented with tabs.
struct Indentation {
  std::vector<Misplaced> misplaced;
  // Where lines begin that look like headers without their `:` and their block, as while they are typed, or like
  // decorators without their definition. The grammar may read such a line together with those below.
  std::vector<std::uint32_t> lone_headers;
};
struct CodeLines;  // code_lines.h
Indentation check_indentation(std::string_view text, const CodeLines& lines);

// Whether an edit may change what is found: it touches more than the inside of a line, or a bracket, a string, a
// comment, a header. The lines: with the edit, and what is before it in the line.
bool may_misplace(std::string_view removed, std::string_view inserted, std::string_view old_line,
                  std::string_view new_line, std::string_view line_before);

// The runtime recovers from headers without a block in a time that is quadratic in their number: a text with more than
// 500 of them is not given to it. The first one; nothing: there are few.
struct HeaderWithoutBlock {
  std::uint32_t end = 0;  // of its line's code
  bool has_colon = false;
};
std::optional<HeaderWithoutBlock> find_many_without_block(std::string_view text);

}  // namespace rldb::frontend::cst
