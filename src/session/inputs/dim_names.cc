// Dims that the program has, by its text as it was loaded.
#include "rldb/session/dim_names.h"

#include <cctype>
#include <string_view>

#include "rldb/session/program.h"
#include "rldb/session/session.h"
#include "rldb/source/diagnostic_missing.h"

namespace rldb::session {

namespace {

bool has_word(std::string_view text, std::string_view word) {
  const auto is_of_name = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if (!is_of_name(at - 1) && !is_of_name(at + word.size())) return true;
  return false;
}

}  // namespace

bool has_given_dims(const Session& session, source::Diagnostics& out) {
  const Program* program = session.program();
  if (session.options().dims.empty() || !program || !session.module()) return true;
  const auto text = program->text(0, TextFor::Reading);
  if (!text) return true;
  for (const auto& [name, value] : session.options().dims) {
    if (has_word(*text, name)) continue;
    out.add({}, source::message(diag::NoSuchThing, "symbolic dimension", name));
    return false;
  }
  return true;
}

}  // namespace rldb::session
