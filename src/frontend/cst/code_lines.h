// The lines of a text that have code, without the grammar. They follow edits: only the lines that an edit touches, and
// those of a bracket or a string that it opens or closes, are scanned again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rldb::frontend::cst {

// A line that begins outside of brackets and strings, with code in it.
struct CodeLine {
  std::uint32_t begin = 0;  // of the code
  std::uint32_t column = 0;
  bool opens = false;       // its last character is `:`
  bool unfinished = false;  // it ends with an operator
  bool is_header = false;   // of a block, or a decorator (begins_block)
  bool operator==(const CodeLine&) const = default;
};

struct CodeLines {
  std::vector<CodeLine> all;
  bool has_tabs = false;  // in the indentation of a line: then there are none
  bool operator==(const CodeLines&) const = default;
};

CodeLines code_lines(std::string_view text);
// `before`: those of the text before bytes [begin, old_end) became [begin, new_end).
CodeLines code_lines(std::string_view text, const CodeLines& before, std::uint32_t begin, std::uint32_t old_end,
                     std::uint32_t new_end);

}  // namespace rldb::frontend::cst
