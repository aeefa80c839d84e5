// What the prompt asks of the expression language without evaluating: does a text belong to it, what does it know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"
#include "rldb/source/diagnostic.h"

namespace rldb::debug {

// False and diagnosed: the text can be read neither as an expression nor as TVMScript's.
bool check_expression(std::string_view text, source::Diagnostics& out);

// The same, and it is more than TVMScript: an operator's call by itself is the front end's.
bool is_expression(std::string_view text, source::Diagnostics& out);

// What arithmetic takes, as a tensor: numbers get rank 0, shapes and lists of numbers become tensors; the rest is
// refused.
runtime::Result<support::Ref<runtime::Tensor>> as_tensor(const runtime::Value& v);

// A byte of a name: letters, digits, `_`, and all of UTF-8's longer characters.
bool is_name_byte(char c);
// The names in a text, each once; not what follows a dot.
std::vector<std::string_view> names_in(std::string_view text);

// Functions (`sum(x, axis=None)`), attributes (`.shape`) and operators, for help, completion and the docs.
struct LanguageRow {
  std::string_view name;
  std::string_view form;  // how it is written; empty: the name says it
  std::string_view doc;
};
std::vector<LanguageRow> language_functions();
std::vector<LanguageRow> language_attributes();
std::vector<LanguageRow> language_operators();

}  // namespace rldb::debug
