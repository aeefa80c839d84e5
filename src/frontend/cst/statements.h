// The statements of a text, found below the level of the grammar, and those among them that do not parse.
//
// tree-sitter's recovery from an error takes the cheapest repair, which may lie in another line, and depends on what it
// could reuse of the tree before. So damage is kept to where it is: a simple statement that does not parse by itself is
// *cut out*. A placeholder of the same length stands for it in the text that tree-sitter gets, and its own tree takes
// the placeholder's place (copy_rows.h). A header of a block has another header for its placeholder, so that the block
// stays what it is; one without a block, as it is while it is typed, is cut out like a simple statement. A statement
// with too little indentation is cut out as well. The statements to cut depend on the text alone, not on the edits that
// led to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::frontend::cst {

// From its first character to the end of its last line (without the line end).
struct Statement {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool cut = false;
  bool header = false;      // of a block, or a decorator
  bool sound = true;        // of a header: it parses with a block
  bool unfinished = false;  // a header that lacks its block, or what it continues; a decorator without its definition
  bool echo = false;        // an unfinished decorator of what is cut out itself, and has the error
  bool blanked = false;     // has no placeholder: a decorator without a name
  // With too little indentation (indentation.h): the placeholder stands at its block's column, or is joined to the
  // statement before by a `;` at `blank`; from there to the placeholder is nothing else.
  bool misplaced = false;
  bool joined = false;
  std::uint32_t blank = 0;
  std::uint32_t placeholder = 0;
  std::uint32_t placeholder_begin() const { return misplaced ? placeholder : begin; }
};

// Whether the text of a statement parses.
using Parses = std::function<bool(std::uint32_t begin, std::uint32_t end)>;

// All statements of a text in its order; headers of blocks and decorators count as statements. A statement ends with
// its line, outside of brackets and strings; one that does not parse so ends before the next line that is not deeper
// and begins with a word, and a header with its `:`. Nothing: more than 100 are to be cut; such a text is no program.
std::optional<std::vector<Statement>> find_statements(std::string_view text, const Parses& parses);

// The statements of a text before an edit of it. Of those that the edit does not touch, the ones that parse are as they
// were.
struct KnownText {
  const std::vector<Statement>* statements = nullptr;  // null: not known
  std::uint32_t begin = 0, old_end = 0, new_end = 0;   // of the edit
};
std::optional<std::vector<Statement>> find_statements(std::string_view text, const Parses& parses,
                                                      const KnownText& known);

// Cuts out those of these that can be; the others stay as they are.
struct Misplaced;
void cut_misplaced(std::string_view text, const std::vector<Misplaced>& misplaced, std::vector<Statement>& statements);

// A header that parses, as long as a given one: with its word, and its name or path if it has one. Empty: there is no
// room for it, or none is known.
std::string placeholder_header(std::string_view header);

// Whether a statement may end with its last line: one that ends with an operator, say, may go on in the next line.
bool may_end(std::string_view statement);

// The text with a name, or a header, in the place of each statement that is cut.
std::string with_placeholders(std::string_view text, const std::vector<Statement>& statements);

}  // namespace rldb::frontend::cst
