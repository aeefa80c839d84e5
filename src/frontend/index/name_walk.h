// NameWalk: one pass over a syntax tree that resolves names by scope and fills a TextIndex.
//
// Rules that decide: in a Relax function each binding is a definition of its own, and the two branches of an `if` join;
// in TensorIR a name that exists is written. A symbolic variable is defined where a dimension is that variable alone,
// or at its declaration if nothing binds it.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/cst/tree.h"
#include "rldb/frontend/text_index.h"

namespace rldb::frontend {

class NameWalk {
 public:
  NameWalk(const cst::Tree& tree, TextIndex& out);
  void walk_file();
  // A binding of a function whose file was walked before into the same index, on a tree of it alone at its place.
  void walk_alone(cst::Node binding, std::uint32_t owner);

 private:
  using Node = cst::Node;

  struct Scope {
    Scope* outer = nullptr;
    std::uint32_t owner = kNoName;
    bool tensor_ir = false;
    bool function = false;  // else a block of one
    TextRange range;
    std::unordered_map<std::string_view, std::uint32_t> names;
  };
  struct Members {  // of a class, or of the file
    std::string_view name;
    std::uint32_t module = kNoName;
    std::vector<std::string_view> aliases;  // `cls` of `cls = Module`
    std::unordered_map<std::string_view, std::uint32_t> names;
    std::unordered_map<std::uint32_t, std::uint32_t> by_place;  // of its name
  };
  // The ways in which dimensions treat a name.
  enum class Dims : std::uint8_t { Use, Signature, Match };

  // name_walk.cc: modules, functions, statements
  void note_import(Node statement);
  void walk_module(Node n);
  void add_members(Node body, std::uint32_t owner, Members& members);
  void walk_members(Node body, std::uint32_t owner);
  void walk_function(Node n, Scope* outer, std::uint32_t name);
  void walk_signature(Node n, Scope& scope);
  void walk_block(Node block, Scope& scope);
  void walk_statement(Node s, Scope& scope);
  void walk_binding(Node s, Scope& scope);
  bool walk_symbol_declaration(Node target, Node value, Node s, Scope& scope);
  void bind_target(Node target, Node value, Node s, Scope& scope);
  void walk_dataflow(Node s, Scope& scope);
  void walk_if(Node s, Scope& scope);
  void walk_loop(Node s, Scope& scope);
  void walk_with(Node s, Scope& scope);
  void walk_nested(Node body, Scope& scope, Scope& inner);
  void join(std::uint32_t a, std::uint32_t b);

  // name_expr.cc: expressions, dimensions, tokens
  void walk_expr(Node e, Scope& scope);
  void walk_attribute(Node e, Scope& scope);
  void walk_call(Node e, Scope& scope);
  void walk_arguments(Node arguments, Scope& scope, bool dims_first);
  void walk_subscript(Node e, Scope& scope);
  void walk_scoped(Node e, Scope& scope);
  void walk_dims(Node e, Scope& scope);
  void walk_dim_string(Node e, Scope& scope);
  void walk_function_attributes(Node arguments, Scope& scope);
  void mark_global_symbol(Node value, std::size_t first, Scope& scope);
  void note_symbol_names(Node value, std::size_t first, const Scope& scope);
  void mark_symbol_names(const Scope& function);
  void use(TextRange at, std::string_view name, Scope& scope, MarkKind kind = MarkKind::Read);
  void use_dim(TextRange at, std::string_view name, bool alone, Scope& scope);

  std::uint32_t define(NameKind kind, TextRange at, std::string_view name, TextRange whole, Scope& scope);
  std::uint32_t add_definition(NameKind kind, TextRange at, std::string_view name, TextRange whole,
                               std::uint32_t owner);
  std::uint32_t find(std::string_view name, const Scope& scope) const;
  void mark(TextRange at, MarkKind kind, std::uint32_t name = kNoName);
  char space_of(std::string_view name) const;  // 'R', 'T', 'I', 'M' (tvm); 0: none
  void finish();

  const cst::Tree& tree_;
  TextIndex& out_;
  std::map<std::string_view, char> spaces_;
  Members file_;
  Members* members_ = nullptr;  // of the module being walked
  Dims dims_ = Dims::Use;
  // Strings of a function's attributes that name its symbols, which statements below them may bind.
  struct SymbolName {
    std::size_t mark = 0;  // of the whole string
    TextRange name;
    std::string_view text;
    std::uint32_t owner = kNoName;
  };
  std::vector<SymbolName> symbol_names_;
  std::optional<std::uint32_t> alone_at_;  // of walk_alone: names are those that the index has there
  std::vector<bool> bound_;                // by definition: of a symbol, whether something binds it
  std::vector<bool> loose_;                // a symbol whose place so far is a declaration or a part of a dimension
};

}  // namespace rldb::frontend
