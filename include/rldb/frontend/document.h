// Document: one text that is being edited, and its meaning at each moment: its module, its diagnostics.
//
// An edit is parsed through tree-sitter's edit interface, and only what it affects is read again: the statement, the
// function, the callers of a function whose type has changed; or, where the surroundings of functions change
// or something is out of the ordinary, the whole text. In every case, module and diagnostics are those that a
// fresh reading of the text gives (structural equality; the order and the wording of diagnostics).
//
// The IR of a document lives in a Context of its own, or in one that its user shares with it. A whole reading starts a
// new Context, so that nodes left over by edits are freed; whoever holds `context()` keeps the modules of that time
// alive. A shared Context is kept. Spans recorded in the Context follow the edits. Users: session (the program's text),
// scripts/bench.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/frontend/parse.h"
#include "rldb/frontend/text_edit.h"
#include "rldb/frontend/text_index.h"

namespace rldb::frontend {

// The extent of the last reading.
struct ReadScope {
  bool whole = true;           // the whole text
  std::size_t functions = 0;   // functions that were read again, in part or as a whole
  std::size_t statements = 0;  // statements of Relax functions among them that were
};

// Edits that make one text of the other, in ascending order and in offsets of the old text: the lines that differ,
// without what they have in common at both ends. Texts that differ in very many places give one edit.
struct TextReplacement {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string_view text;  // a part of `after`
};
std::vector<TextReplacement> edits_between(std::string_view before, std::string_view after);

class Document {
 public:
  // `sources` outlives the document and owns its text. `shared`: the Context of all its modules, with the operators
  // installed; null: one of its own.
  Document(source::SourceManager& sources, std::string name, std::string text, const ParseOptions& options = {},
           std::shared_ptr<ir::Context> shared = nullptr);
  ~Document();
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  // Replaces bytes [begin, end) by `text`. False, and nothing changes, when the range is not in the text or splits a
  // character.
  bool edit(std::uint32_t begin, std::uint32_t end, std::string_view text);
  // The same by 1-based lines and columns, as editors count them.
  bool edit(source::LineColumn begin, source::LineColumn end, std::string_view text,
            source::ColumnUnit unit = source::ColumnUnit::Utf16);
  void replace_all(std::string text);
  // Makes the text this one, by the edits that `edits_between` finds: `last_read` is of all of them.
  void update(std::string_view text);

  source::FileId file() const;
  std::string_view text() const;
  // Of the current text; functions with errors are left out of the module. `module` is null when there is none.
  const ParseResult& result() const;
  // From parsing and, if that found no error, from verification; in the order of the text.
  const source::Diagnostics& diagnostics() const;
  std::shared_ptr<ir::Context> context() const;
  ReadScope last_read() const;
  // The names of the text, damaged or not; empty if the text cannot be read at all.
  TextIndex index() const;
  // A function of the text, by the name under which the module has it, as far as it could be read: `function` may be
  // null, or lack the statements that have errors.
  struct ReadFunction {
    std::string_view name;
    const ir::Expr* function = nullptr;
    source::Span span;
    bool broken = false;
  };
  std::vector<ReadFunction> functions() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rldb::frontend
