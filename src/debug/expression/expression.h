// The language of `print`, conditions, `:expect value` and bare entries: NumPy's expressions over values by name.
//
//   n > 4 and x[0, 1] > 2.0      x[0, :4].sum() / n      (abs(x - y) > 1e-3).any()      R.add(x, x)[0] + 1
//
// A text becomes an immutable tree once; every error of syntax is found then, with its column. The tree is evaluated
// over whatever a NameLookup finds, any number of times. Results are run-time values; memory they need is bounded by
// the process's limit, loops poll for ^C. What it knows is in tables: operator.def, function.def, attribute.def;
// docs/expressions.md. Calls of names that are not in the tables (R.add, a function of the module) go to a CallHook.
// Users: breakpoint conditions, Debugger::evaluate, the prompt.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::debug {

enum class Operator : std::uint8_t;  // operator.h
std::string_view to_string(Operator op);

enum class TermKind : std::uint8_t {
  Constant,   // value
  Name,       // text
  File,       // text: what follows the `@`
  Tuple,      // children
  List,       // children
  Ellipsis,   // `...`, in a subscript
  Slice,      // three children; -1 where one is left out
  Unary,      // op, one child
  Binary,     // op, two children
  Compare,    // a chain: ops between the children
  And,        // children
  Or,         // children
  Not,        // one child
  Subscript,  // what is indexed, then the indices
  Attribute,  // one child; text
  Call,       // what is called (a Name or an Attribute), then the arguments
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
  std::vector<std::string> keywords;  // Call: one an argument; empty: positional
};

// Terms stand after their children; the last is the root.
struct Expression {
  std::string text;
  std::vector<Term> terms;
  const Term& root() const { return terms.back(); }
  const Term& child(const Term& t, std::size_t i) const { return terms[std::size_t(t.children[i])]; }
  std::string_view text_of(const Term& t) const { return std::string_view(text).substr(t.begin, t.end - t.begin); }
};

// An error is of kind Unsupported and says the column.
runtime::Result<Expression> parse_expression(std::string_view text);
// The names that evaluating it may look up, each once, in the order of the text.
std::vector<std::string> names_of(const Expression& expression);
// The name that a callee spells, `R.nn.relu`; empty: it is no chain of names.
std::string dotted_name(const Expression& expression, const Term& callee);
// Names, literals and calls of dotted names only: a text that the front end reads without changes.
bool is_script(const Expression& expression);

// Gives the value of a name; an Error says why there is none.
using NameLookup = std::function<runtime::Result<runtime::Value>(std::string_view)>;

struct CallArgument {
  std::string keyword;  // empty: positional
  std::string literal;  // its text, when it names nothing
  runtime::Value value;
};
// Calls what the tables do not know: `R.add`, a function of the module.
using CallHook = std::function<runtime::Result<runtime::Value>(std::string_view name, std::span<const CallArgument>)>;

runtime::Result<runtime::Value> evaluate(const Expression& expression, const NameLookup& lookup,
                                         const CallHook& call = nullptr);
// Both steps.
runtime::Result<runtime::Value> evaluate_expression(std::string_view text, const NameLookup& lookup,
                                                    const CallHook& call = nullptr);
// The truth of a value: a number, or a tensor of one element.
runtime::Result<bool> truth(const runtime::Value& value);
// A number (Int, Float, Bool) as it is, or the one element of a tensor.
runtime::Result<runtime::Value> number_of(const runtime::Value& value);

}  // namespace rldb::debug
