#include "rldb/expression/language.h"

#include <algorithm>
#include <cctype>

#include "rldb/expression/expression.h"
#include "rldb/expression/functions.h"
#include "rldb/source/diagnostic_run.h"

namespace rldb::expression {

bool check_expression(std::string_view text, source::Diagnostics& out) {
  const auto parsed = parse(text);
  // Operators take arguments that only the front end can parse (`R.call_tir(cls.f, ...)`).
  if (parsed.ok() || text.find("R.") != std::string_view::npos) return true;
  out.add({}, source::message(diag::RunFailed, parsed.error().message));
  return false;
}

bool is_expression(std::string_view text, source::Diagnostics& out) {
  const auto parsed = parse(text);
  if (!parsed.ok()) out.add({}, source::message(diag::RunFailed, parsed.error().message));
  return parsed.ok() && !is_script(*parsed);
}

bool is_name_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    if (text[i] == '$') ++i;  // a variable of the session
    const std::size_t letters = i;
    while (i < text.size() && is_name_byte(text[i])) ++i;
    const std::string_view word = text.substr(begin, i - begin);
    if (i == letters) {
      i = begin + 1;
    } else if (!std::isdigit(static_cast<unsigned char>(word[0])) && (begin == 0 || text[begin - 1] != '.') &&
               std::find(words.begin(), words.end(), word) == words.end()) {
      words.push_back(word);
    }
  }
  return words;
}

std::vector<LanguageRow> language_functions() {
  std::vector<LanguageRow> rows;
  for (const FunctionRow& row : functions()) rows.push_back({row.name, row.parameters, row.doc});
  return rows;
}

std::vector<LanguageRow> language_attributes() {
  std::vector<LanguageRow> rows;
  for (const AttributeRow& row : attributes()) rows.push_back({row.name, {}, row.doc});
  return rows;
}

std::vector<LanguageRow> language_operators() {
  return {
#define RLDB_BINARY(id, text, level, doc) {text, "a " text " b", doc},
#define RLDB_COMPARISON(id, text, doc) {text, "a " text " b", doc},
#define RLDB_UNARY(id, text, doc) {text, text "a", doc},
#include "rldb/expression/operator.def"
  };
}

}  // namespace rldb::expression
