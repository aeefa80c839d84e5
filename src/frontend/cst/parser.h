// The interface to the tree-sitter parser: text -> cst::Tree. `parse_tree` reads a text
// once; a `LiveTree` keeps tree-sitter's own tree, so that an edit reparses only the affected part.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "frontend/cst/tree.h"

namespace rldb::frontend::cst {

// Statements that the reader of a function already knows.
class KnownStatements {
 public:
  struct Statement {
    Kind kind;
    std::uint32_t begin, end;
  };
  virtual ~KnownStatements() = default;
  // Called for each whole statement of the body and of the dataflow blocks there, in the order of the text: true leaves
  // the inside out (Kind::Kept).
  virtual bool keeps(const Statement& statement) = 0;
  // The same of one that has damage in it.
  virtual bool keeps_damaged(const Statement&) { return false; }
  // After that: the statement that is known to come directly after the last one that was kept, with nothing in between,
  // if that one is kept as well.
  virtual bool next(Statement& statement) = 0;
};

class KnownShapes;

enum class Grammar : std::uint8_t { TvmScript, Relay };

struct TreeOptions {
  Grammar grammar = Grammar::TvmScript;  // of a LiveTree: its own
  int max_depth = 1000;
  KnownStatements* known = nullptr;
  // Of parse_tree: statements of a shape are read once (short_text.h); the rows are the same.
  bool by_shape = true;
  KnownShapes* shapes = nullptr;  // null: those of the thread
};

// Whether tree-sitter's runtime may read the text at all (limits.h of the grammar). Else `offset` is where it may not.
bool within_limits(std::string_view text, std::size_t* offset = nullptr, Grammar grammar = Grammar::TvmScript);

// `text` must outlive the tree. Never fails: bad text gives Error and Missing nodes, within the statements that have
// the errors if that can be (statements.h).
Tree parse_tree(source::FileId file, std::string_view text, const TreeOptions& options = {});

// Relay text has no statements cut out: relay/units.h finds its damage, and a damaged text is parsed from its
// beginning.
struct LiveParts;  // ts_parser.h

class LiveTree {
 public:
  explicit LiveTree(Grammar grammar = Grammar::TvmScript);
  ~LiveTree();
  LiveTree(const LiveTree&) = delete;
  LiveTree& operator=(const LiveTree&) = delete;

  struct Edit {
    std::uint32_t begin, old_end, new_end;  // bytes
  };
  void reset(std::string_view text);
  // `text` is the text after the edit, within the limits (check_text); the one before must still be there.
  // The result is the part of the new text whose nodes may have changed: more than the edit if other statements are
  // damaged now, or no longer.
  struct Changed {
    std::uint32_t begin, end;
  };
  Changed edit(const Edit& edit, std::string_view text);
  Tree copy(source::FileId file, const TreeOptions& options = {}) const;

  bool has_error() const;
  // Whether the text from a place on, up to another, has a header that does not parse and was cut out.
  bool has_cut_header(std::uint32_t begin, std::uint32_t end) const;

  // A node, and a fingerprint of its surroundings: they are the same as long as these numbers are.
  struct Place {
    Kind kind = Kind::Other;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t body = 0;                     // where its block begins, if it has one
    std::uint32_t depth = 0;                    // 0 is the root
    std::vector<std::uint32_t> sibling_counts;  // children of each node on the path to it, the root's first
  };
  // The outermost node of that kind that begins there.
  std::optional<Place> find(Kind kind, std::uint32_t begin) const;
  // The statements at the top of the text, or of the body of a class there, without their insides.
  struct Part {
    Kind kind = Kind::Other;
    std::uint32_t begin = 0, end = 0;
    std::uint32_t name_begin = 0, name_end = 0;  // equal: it has none
    std::uint32_t body = 0;                      // where its block begins
    bool plain = false;                          // without decorators and superclasses
  };
  std::vector<Part> parts() const;
  std::vector<Part> parts(const Part& of_class) const;
  // Whether lines of the file, or of a class there, are too deep, beside what the functions hold.
  bool has_deep_lines() const;
  // The statements that were cut out; nullopt: the tree has errors besides.
  struct DamagedStatement {
    std::uint32_t begin = 0, end = 0;
    bool misplaced = false;  // its own indentation is another one than where it is read
  };
  std::optional<std::vector<DamagedStatement>> damaged_statements() const;
  // The subtree of that node alone; empty when there is none, or when known statements are not where they
  // were.
  Tree copy_node(source::FileId file, Kind kind, std::uint32_t begin, const TreeOptions& options = {}) const;

 private:
  friend LiveParts parts_of(const LiveTree& tree);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rldb::frontend::cst
