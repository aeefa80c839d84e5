// TextIndex: the names of a text, where each is defined and used, and the structure around a place; for editors.
//
// Made from the syntax tree alone, so that damaged text has one too; nothing is typed. Only TVMScript is covered:
// modules, `@R.function`, `@T.prim_func` and macros, never other Python of the file. Definitions of both branches of an
// `if` that the statement joins count as one (`joined`). Offsets are bytes. Users: Document, protocol (the language
// server), which asks the typed IR for the rest.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/frontend/text_edit.h"

namespace rldb::frontend {

struct TextRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool touches(std::uint32_t offset) const { return begin <= offset && offset <= end; }
  bool contains(const TextRange& o) const { return begin <= o.begin && o.end <= end; }
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

enum class NameKind : std::uint8_t {
#define RLDB_NAME_KIND(Kind, word) Kind,
#include "rldb/frontend/name_kind.def"
};
bool is_function(NameKind kind);
std::string_view to_string(NameKind kind);  // as hovers say it: "parameter"

inline constexpr std::uint32_t kNoName = ~std::uint32_t(0);

struct NameDefinition {
  NameKind kind{};
  std::string name;
  TextRange at;                    // the name
  TextRange whole;                 // its statement; of a function or module: with decorators and body
  TextRange visible;               // where it can be used
  std::uint32_t owner = kNoName;   // the function or module that it is in
  std::uint32_t joined = kNoName;  // the first definition of those that count as one; itself otherwise
};

enum class MarkKind : std::uint8_t {
  Definition,
  Declaration,  // n = T.int64(), of a symbol that something else binds
  Read,
  Write,      // B[i] = ..., x = ... of a variable that exists
  Namespace,  // R, T, I, cls
  Builtin,    // what follows R., T. or I.: `nn.relu`
  Type,       // the same of a type: `Tensor`, `float32`
  Keyword,    // of a keyword argument
  Attribute,  // of a value
  Decorator,
  Number,
  String,
};
// A token of the text that means something, in the order of the text.
struct NameMark {
  TextRange at;
  MarkKind kind{};
  std::uint32_t name = kNoName;  // index of a definition, the first of those joined; kNoName: not known
  bool in_attribute = false;     // a string of a function's attributes that names a symbol of it
};

class TextIndex {
 public:
  TextIndex();
  ~TextIndex();
  TextIndex(TextIndex&&) noexcept;
  TextIndex& operator=(TextIndex&&) noexcept;
  // Reads the text once. Document::index() does it from the tree that it has.
  static TextIndex of(std::string_view text);
  // The same of Relay text: its functions count as Relax functions, its types as modules, constructors as constants.
  static TextIndex of_relay(std::string_view text);

  // Follows an edit, if that is within a statement on a line of its own in a Relax function, which binds one variable
  // before and after it, the same. False: the index has to be made anew. `text` is the one after the edit.
  bool follow(const TextEdit& edit, std::string_view text);

  const std::vector<NameDefinition>& definitions() const { return definitions_; }
  const std::vector<NameMark>& marks() const { return marks_; }
  // TVMScript of the file: its modules and lone functions, in the order of the text.
  const std::vector<TextRange>& regions() const { return regions_; }
  bool is_script(std::uint32_t offset) const;

  // The token that covers the offset or ends there; null: none.
  const NameMark* mark_at(std::uint32_t offset) const;
  // All marks of a name.
  std::vector<NameMark> uses_of(std::uint32_t name) const;
  // The innermost function or module around an offset; kNoName: none.
  std::uint32_t owner_at(std::uint32_t offset) const;
  // The outermost function around it.
  std::uint32_t function_at(std::uint32_t offset) const;
  // Names that can be used there, innermost first; of equal ones the one that is meant.
  std::vector<std::uint32_t> visible_at(std::uint32_t offset) const;
  // The definition that a name refers to there; kNoName: none.
  std::uint32_t meant_at(std::uint32_t offset, std::string_view name) const;

  // Nodes around an offset, the innermost first.
  std::vector<TextRange> enclosing(std::uint32_t offset) const;
  // Nodes over more than one line: bodies of functions and blocks, brackets, strings.
  std::vector<TextRange> folds() const;

 private:
  friend class NameWalk;
  friend class RelayNames;
  struct Tree;
  friend TextIndex index_of(Tree tree);
  friend TextIndex relay_index_of(Tree tree);
  friend class Document;

  // Known from the whole file, for a statement that is read alone.
  struct Surroundings {
    std::map<std::string, char> spaces;                          // R, T, I and other names of theirs
    std::vector<std::pair<std::uint32_t, std::string>> aliases;  // of a module: `cls` of `cls = Module`
  };

  std::unique_ptr<Tree> tree_;
  Surroundings surroundings_;
  std::vector<NameDefinition> definitions_;
  std::vector<NameMark> marks_;
  std::vector<TextRange> regions_;
};

}  // namespace rldb::frontend
