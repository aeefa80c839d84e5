// The brackets that are open at a place, below the level of the grammar: what it makes of an open bracket depends on
// the lines behind that, which may not be there yet.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rldb::frontend::cst {

struct OpenBracket {
  std::uint32_t at = 0;
  char text = 0;           // ( [ {
  std::size_t commas = 0;  // directly within it
};

struct OpenBrackets {
  std::vector<OpenBracket> open;  // outermost first
  bool stray = false;             // a closing bracket that closes none of them
  bool in_long_string = false;    // a triple-quoted string is open there
};
OpenBrackets open_brackets(std::string_view text, std::size_t place);

}  // namespace rldb::frontend::cst
