// Queries of the prompt about the expression language, without evaluating: does a text belong to it, what does it know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"
#include "rldb/source/diagnostic.h"

namespace rldb::expression {

// False and diagnosed: the text can be read neither as an expression nor as TVMScript's.
bool check_expression(std::string_view text, source::Diagnostics& out);

// The same, and the text is more than TVMScript: a plain call of an operator is left to the front end.
bool is_expression(std::string_view text, source::Diagnostics& out);

// An operand of arithmetic as a tensor: numbers get rank 0, shapes and lists of numbers become tensors; all else is
// refused.
runtime::Result<support::Ref<runtime::Tensor>> as_tensor(const runtime::Value& v);

// Whether a byte may be part of a name: letters, digits, `_`, and every byte of UTF-8's longer characters.
bool is_name_byte(char c);
// The names in a text, each once; not what follows a dot.
std::vector<std::string_view> names_in(std::string_view text);

// Functions (`sum(x, axis=None)`), attributes (`.shape`) and operators, for help, completion and the docs.
struct LanguageRow {
  std::string_view name;
  std::string_view form;  // how it is written; empty: as its name
  std::string_view doc;
};
std::vector<LanguageRow> language_functions();
std::vector<LanguageRow> language_attributes();
std::vector<LanguageRow> language_operators();

}  // namespace rldb::expression
