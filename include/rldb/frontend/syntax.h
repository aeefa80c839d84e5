// The syntax of texts outside of modules, for languages that share the grammar of modules and give it a meaning of
// their own: the debugger's expressions, patterns. Literals are decoded, parentheses that only group are dropped.
//
// Such a language may have words that the grammar lacks (`$a`, `@w.npy`): it says where they are, and they are read
// as names. Users: expression, passes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/support/result.h"

namespace rldb::frontend {

enum class SyntaxKind : std::uint8_t {
  Absent,       // a part of a slice that is left out
  Name,         // text
  Integer,      // integer
  Float,        // number
  Boolean,      // integer
  None,         //
  String,       // text: its value
  Ellipsis,     //
  Attribute,    // text: the name after the dot; one part
  Call,         // what is called, then the arguments, each with its keyword
  Subscript,    // the object, then the indices
  Slice,        // three parts
  Tuple,        // parts
  List,         // parts
  Dictionary,   // keys and values in turn
  Unary,        // text: the operator; one part
  Binary,       // text: the operator; two parts
  Comparison,   // a chain: operators between the parts
  And,          // parts
  Or,           // parts
  Not,          // one part
  Conditional,  // condition, value if it holds, value if not
  Other,        // text: what it is, `a lambda`
};

struct SyntaxNode {
  SyntaxKind kind = SyntaxKind::Absent;
  std::uint32_t begin = 0;  // bytes of the text, without grouping parentheses
  std::uint32_t end = 0;
  std::string text;
  std::int64_t integer = 0;
  double number = 0;
  std::string keyword;  // of an argument; empty: positional
  std::vector<std::string> operators;
  std::vector<SyntaxNode> parts;
};

// Why a text cannot be read, and where.
struct SyntaxFault {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string text;
};

// A word that the grammar lacks.
struct OwnWord {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// Positions are those in the whole text. Line breaks count as blanks. Nesting is limited (`kMaxSyntaxDepth`).
inline constexpr int kMaxSyntaxDepth = 1000;
support::Result<SyntaxNode, SyntaxFault> read_syntax(std::string_view text, std::span<const OwnWord> own = {});

// `x = e`, or `e`.
struct SyntaxLine {
  std::string target;  // empty: none
  SyntaxNode value;
};
// Several, on lines of their own or with `;` between them.
support::Result<std::vector<SyntaxLine>, SyntaxFault> read_syntax_lines(std::string_view text,
                                                                        std::span<const OwnWord> own = {});

// Whether a value follows a word of the grammar: `not`, `in`.
bool joins_values(std::string_view word);

// The end of the string whose quote is at `begin`.
std::size_t end_of_string(std::string_view text, std::size_t begin);

}  // namespace rldb::frontend
