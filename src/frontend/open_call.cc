// The call that is open at a place, without the grammar: the text there is unfinished.
#include <algorithm>

#include "rldb/frontend/unfinished.h"

namespace rldb::frontend {

namespace {

bool is_path_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         (c & 0x80) != 0;
}

}  // namespace

OpenCall find_open_call(std::string_view text, std::size_t cursor) {
  int depth = 0;
  std::size_t commas = 0;
  for (std::size_t i = std::min(cursor, text.size()); i-- > 0;) {
    if (text[i] == ')' || text[i] == ']' || text[i] == '}') ++depth;
    if (text[i] == '[' || text[i] == '{') {
      if (depth-- == 0) commas = 0, depth = 0;  // an argument that is a list
    }
    if (text[i] == ',' && depth == 0) ++commas;
    if (text[i] != '(' || depth-- > 0) continue;
    std::size_t begin = i;
    while (begin > 0 && is_path_byte(text[begin - 1])) --begin;
    if (begin < i) return {text.substr(begin, i - begin), i + 1, commas};
    depth = 0;  // a tuple's: look further out
    commas = 0;
  }
  return {};
}

std::string_view open_call(std::string_view text, std::size_t cursor) { return find_open_call(text, cursor).name; }

}  // namespace rldb::frontend
