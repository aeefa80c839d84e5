#include "debug/expression/expression.h"
#include "debug/expression/functions.h"
#include "rldb/debug/expressions.h"
#include "rldb/source/diagnostic_run.h"

namespace rldb::debug {

bool check_expression(std::string_view text, source::Diagnostics& out) {
  const auto parsed = parse_expression(text);
  // Operators take arguments that only the front end reads (`R.call_tir(cls.f, ...)`).
  if (parsed.ok() || text.find("R.") != std::string_view::npos) return true;
  out.add({}, source::message(diag::RunFailed, parsed.error().message));
  return false;
}

bool is_expression(std::string_view text, source::Diagnostics& out) {
  const auto parsed = parse_expression(text);
  if (!parsed.ok()) out.add({}, source::message(diag::RunFailed, parsed.error().message));
  return parsed.ok() && !is_script(*parsed);
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
#include "debug/expression/operator.def"
  };
}

}  // namespace rldb::debug
