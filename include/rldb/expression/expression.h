// The language of `print`, conditions, `:expect value` and bare entries: NumPy's expressions over values by name.
//
//   n > 4 and x[0, 1] > 2.0      x[0, :4].sum() / n      (abs(x - y) > 1e-3).any()      R.add(x, x)[0] + 1
//
// Text is parsed once, into an immutable tree; all syntax errors are found then, with their columns. The tree is
// evaluated over whatever a NameLookup finds, any number of times. Results are run-time values; the memory they need is
// bounded by the process's limit, and loops poll for ^C. The language is defined by tables: operator.def, function.def,
// attribute.def; docs/expressions.md. Calls of names that are not in the tables (R.add, a function of the module) go to
// a CallHook. Users: breakpoint conditions, Debugger::evaluate, the prompt.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::expression {

enum class Operator : std::uint8_t;  // operator.h
std::string_view to_string(Operator op);

enum class TermKind : std::uint8_t {
#define RLDB_TERM(Kind, fields) Kind,
#include "rldb/expression/term.def"
};

struct Term {
  TermKind kind = TermKind::Constant;
  std::uint32_t begin = 0;  // of its text: bytes
  std::uint32_t end = 0;
  std::uint32_t depth = 1;  // of the tree below
  std::string text;
  runtime::Value value;
  std::vector<Operator> ops;
  std::vector<int> children;          // indices into Expression::terms
  std::vector<std::string> keywords;  // Call: one per argument; empty: positional
};

// Terms come after their children; the last is the root.
struct Expression {
  std::string text;
  std::vector<Term> terms;
  const Term& root() const { return terms.back(); }
  const Term& child(const Term& t, std::size_t i) const { return terms[std::size_t(t.children[i])]; }
  std::string_view text_of(const Term& t) const { return std::string_view(text).substr(t.begin, t.end - t.begin); }
};

// An error is of kind Unsupported and gives the column.
runtime::Result<Expression> parse(std::string_view text);
// The names that evaluation may look up, each once, in text order.
std::vector<std::string> names_of(const Expression& expression);
// The name that a callee spells, `R.nn.relu`; empty: it is not a chain of names.
std::string dotted_name(const Expression& expression, const Term& callee);
// Names, literals and calls of dotted names only: text that the front end can parse unchanged.
bool is_script(const Expression& expression);

// Returns the value of a name; an Error explains why there is none.
using NameLookup = std::function<runtime::Result<runtime::Value>(std::string_view)>;

struct CallArgument {
  std::string keyword;  // empty: positional
  std::string literal;  // its text, if it names no variable
  runtime::Value value;
};
// Calls names not in the tables: `R.add`, a function of the module.
using CallHook = std::function<runtime::Result<runtime::Value>(std::string_view name, std::span<const CallArgument>)>;

runtime::Result<runtime::Value> evaluate(const Expression& expression, const NameLookup& lookup,
                                         const CallHook& call = nullptr);
// Parses and evaluates.
runtime::Result<runtime::Value> evaluate_text(std::string_view text, const NameLookup& lookup,
                                              const CallHook& call = nullptr);
// The truth of a value: a number, or a tensor of one element.
runtime::Result<bool> truth(const runtime::Value& value);
// A number (Int, Float, Bool) itself, or the only element of a tensor.
runtime::Result<runtime::Value> number_of(const runtime::Value& value);

}  // namespace rldb::expression
