// Queries of the prompt about the expression language, without evaluating: does a text belong to it, what does it know.
#pragma once

#include <cstdint>
#include <functional>
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

// The first attribute in an expression that no value has, `x.shpe`, and the nearest one that there is; empty: none.
struct UnknownAttribute {
  std::string name;
  std::string_view near;
};
UnknownAttribute unknown_attribute(std::string_view text);

// The language of an entry is told by its form, before anything is read or run. TVMScript: names, literals, tuples and
// lists of them, calls of operators and of functions of the module with arguments as in a module, and every text that
// is no expression. An expression: operators between values, comparisons, elements and slices of tensors, attributes,
// functions of this language, `$names`, `@files`; also in the arguments of a call those of these that TVMScript lacks.
enum class Language : std::uint8_t { Script, Expression };
// The facts that matter about a name. Symbols have no value, so that an expression could not be evaluated.
enum class NameKind : std::uint8_t { Other, Tensor, Function, Symbol };
Language language_of(std::string_view text, const std::function<NameKind(std::string_view)>& kind_of);

// An operand of arithmetic as a tensor: numbers get rank 0, shapes and lists of numbers become tensors; all else is
// refused.
runtime::Result<support::Ref<runtime::Tensor>> as_tensor(const runtime::Value& v);

// Whether a byte may be part of a name: letters, digits, `_`, and every byte of UTF-8's longer characters.
bool is_name_byte(char c);
// `np.exp` is `exp`: the names that may stand before a function.
bool is_numpy(std::string_view name);
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
