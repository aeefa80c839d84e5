#include "repro/reduce/resize.h"

#include <fmt/format.h>

#include <cctype>

#include "repro/read_again.h"
#include "rldb/ir/printer.h"

namespace rldb::repro {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// Replaces every number `from` that is a separate word.
std::string replace_number(const std::string& text, std::int64_t from, std::int64_t to) {
  const std::string old = std::to_string(from), fresh = std::to_string(to);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool starts = text.compare(at, old.size(), old) == 0 && (at == 0 || !is_word(text[at - 1]));
    const std::size_t end = at + old.size();
    if (starts && (end >= text.size() || !is_word(text[end]))) {
      out += fresh;
      at = end;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace

std::vector<Candidate> smaller_dims(session::Session& session, const ir::Module* module) {
  std::vector<Candidate> out;
  for (const std::int64_t dim : static_dims(module))
    for (const std::int64_t to : {std::int64_t(1), std::int64_t(2), std::int64_t(3), std::int64_t(4), dim / 2}) {
      if (to < 1 || to >= dim) continue;
      out.push_back({fmt::format("dim {} to {}", dim, to), [&session, module, dim, to]() -> const ir::Module* {
                       ir::PrintOptions print;
                       print.show_meta = true;
                       return read_again(session, replace_number(ir::print(module, print), dim, to));
                     }});
    }
  return out;
}

}  // namespace rldb::repro
