// The reader of Relay text: syntax tree -> graph.
//
// Scopes, as TVM has them: branches, arms, blocks and functions open one; in a chain of lets each let opens one for the
// rest of the chain, but the first binds in the enclosing scope. In one scope the first binding of a name wins. Graph
// variables are global to the text.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/cst/tree.h"
#include "frontend/relay/memo.h"
#include "rldb/frontend/relay.h"
#include "rldb/source/diagnostic.h"

namespace rldb::frontend::relay_text {

using cst::Field;
using cst::Kind;
using cst::Node;

// A name-to-T map with scopes that are left in the reverse order.
template <class T>
class Scopes {
 public:
  void open() { marks_.push_back(log_.size()); }
  void close() {
    while (log_.size() > marks_.back()) {
      names_[log_.back()].pop_back();
      log_.pop_back();
    }
    marks_.pop_back();
  }
  // False when this scope already has the name.
  bool bind(std::string_view name, T value) {
    auto& bindings = names_[name];
    if (!bindings.empty() && bindings.back().second == marks_.size()) return false;
    bindings.emplace_back(value, marks_.size());
    log_.push_back(name);
    return true;
  }
  T find(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() || found->second.empty() ? T() : found->second.back().first;
  }
  // How many scopes were open where the name that is found was bound; 0: it is not found.
  std::size_t depth_of(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() || found->second.empty() ? 0 : found->second.back().second;
  }
  std::size_t depth() const { return marks_.size(); }
  std::size_t bound() const { return log_.size(); }
  std::vector<std::string_view> visible() const {
    std::vector<std::string_view> names;
    for (const auto& [name, bindings] : names_)
      if (!bindings.empty()) names.push_back(name);
    std::sort(names.begin(), names.end());  // of equally good suggestions the same one each time
    return names;
  }

 private:
  std::unordered_map<std::string_view, std::vector<std::pair<T, std::size_t>>> names_;
  std::vector<std::string_view> log_;
  std::vector<std::size_t> marks_;
};

// The referent of `meta[key][i]`.
using MetaSections = std::unordered_map<std::string, std::vector<relay::MetaEntry>>;
// Reads `#[metadata]` and the JSON after it. False after a diagnostic.
bool read_metadata(relay::Context& ctx, Node section, MetaSections& sections, source::Diagnostics& out);

struct Number {
  bool is_float = false;
  int bits = 32;
  std::int64_t integer = 0;
  double real = 0;
};
// False after a diagnostic.
bool read_number(Node n, Number& number, source::Diagnostics& out);

// Syntax errors. False when there is one.
bool report_damage(const cst::Tree& tree, source::Diagnostics& out);
// The same of this tree alone, which may be that of a piece of a text (units.h).
bool report_errors(const cst::Tree& tree, source::Diagnostics& out);

class Reader {
 public:
  Reader(relay::Context& ctx, source::Diagnostics& out, const RelayOptions& options)
      : ctx_(ctx), out_(out), options_(options) {}

  // With a memo, what each statement found is remembered there.
  RelayResult read(const cst::Tree& tree, RelayMemo* memo = nullptr);
  // After an edit within functions: the tree leaves the statements out that the memo keeps. The types and the metadata
  // of the text are as they were.
  RelayResult read_again(const cst::Tree& tree);
  // A reading in parts cannot follow free variables, nor texts that are too deep.
  bool is_divisible() const { return free_.empty() && !too_deep_; }

 private:
  // Whether a `match` or a block may be bare: where a whole expression is expected, but not among operators.
  enum class Place { Item, Operand };

  // ---- definitions (reader.cc) ----
  bool read_version(Node file);
  void use_initial();
  void read_type(Node n);
  void read_constructors(Node n, std::string_view type_name, std::vector<const relay::Constructor*>& made);
  void read_global(Node n);
  void check_globals();
  RelayResult read_definitions(Node file, bool again);
  // The parts of a function before its body.
  struct Header {
    std::vector<const relay::TypeVar*> generics;
    std::vector<const relay::Var*> params;
    const relay::Type* result = nullptr;
    std::vector<relay::NamedAttr> attrs;
  };
  Header header(Node n);
  const relay::Function* function(Node n);
  const relay::Function* function_of_module(Node n, const relay::GlobalVar* name);
  const relay::Var* parameter(Node n);
  const relay::AttrValue* virtual_device(Node parameter);

  // ---- expressions (expr.cc) ----
  const relay::Expr* expr(Node n, Place place);
  const relay::Expr* expr_of(Node n);
  const relay::Expr* in_scope(Node n);
  const relay::Expr* sequence(Node n);
  const relay::Var* let_variable(Node n, RelayStatement* memo);
  void graph_binding(Node n, RelayStatement* memo);
  void free_variable(Node n);
  void use_global(Node n);
  void note_graph(std::string_view name, const relay::Expr* value, source::Span at, RelayStatement* memo);
  // The value of a statement; with a memo it is kept if it may be.
  const relay::Expr* value_of(Node n, Place place, RelayStatement* memo);
  const relay::Expr* kept_value(RelayStatement& memo);
  const relay::Expr* constant(Node n);
  const relay::Expr* local(Node n);
  const relay::Expr* graph(Node n);
  const relay::Expr* meta_expr(Node n);
  const relay::Expr* named(Node n, bool called);
  const relay::Expr* binary(Node n);
  const relay::Expr* call(Node n);
  const relay::Expr* projection(Node n);
  const relay::Expr* if_expr(Node n);
  const relay::Expr* match(Node n);
  const relay::Pattern* pattern(Node n);
  const relay::Expr* tuple(Node n);
  const relay::Expr* broken(Node n);  // a placeholder for an expression whose error was reported
  void bind(Node name, const relay::Var* v);

  // ---- types (types.cc) ----
  const relay::Type* type(Node n);
  const relay::Type* tensor_type(Node n);
  const relay::Type* function_type(Node n);
  relay::Dim dim(Node n);
  const relay::Type* named_type(Node n);
  std::vector<const relay::Type*> types_of(Node n, Field except = Field::None);
  std::vector<const relay::TypeVar*> type_params(Node n);

  // ---- attributes (attributes.cc) ----
  std::vector<relay::NamedAttr> attributes(const std::vector<Node>& nodes);
  const relay::AttrValue* attr_value(Node n);
  std::vector<relay::NamedAttr> fitted(const relay::OpInfo& op, Node call, const std::vector<relay::NamedAttr>& given,
                                       const std::vector<Node>& nodes);
  const relay::MetaEntry* meta(Node n);

  template <std::size_t Places, class... Args>
  void error(Node n, const source::Diag<Places>& row, const Args&... args) {
    out_.add(n.span(), source::message(row, args...));
  }
  const relay::Expr* placed(const relay::Expr* e, Node n);

  relay::Context& ctx_;
  source::Diagnostics& out_;
  const RelayOptions& options_;

  Scopes<const relay::Var*> locals_;
  std::unordered_map<std::string_view, const relay::Var*> free_;
  std::unordered_set<const relay::Var*> being_defined_;              // by a let whose value is not a function
  std::unordered_map<std::string_view, const relay::Expr*> graphs_;  // by interned name
  Scopes<const relay::TypeVar*> type_vars_;
  std::unordered_map<std::string_view, const relay::Constructor*> constructors_;
  std::unordered_map<std::string_view, const relay::TypeDefinition*> types_;
  std::unordered_map<std::string_view, relay::Definition> functions_;
  std::unordered_map<std::string_view, source::Span> used_globals_;
  MetaSections meta_;
  std::size_t graph_definitions_ = 0;
  relay::TextNames graph_names_;
  bool too_deep_ = false;
  source::FileId file_;

  // ---- with a memo ----
  RelayMemo* memo_ = nullptr;
  Node body_;                            // of the function of the module that is being read
  RelayStatement* recording_ = nullptr;  // the statement that is being read, and the scopes around it
  std::size_t recording_depth_ = 0;
};

// A dotted name without the blanks that are allowed around its dots.
std::string plain_name(std::string_view text);

}  // namespace rldb::frontend::relay_text

namespace rldb::frontend {

// The first message comes first in the text.
void add_in_order(const source::Diagnostics& found, source::Diagnostics& out);
// `v0.0.4` at the beginning of a text that is older than 0.0.5, behind comments; else empty.
std::string_view old_relay_version(std::string_view text);
// Of such a text, whose contents do not matter, this is the only error. False: it is none.
bool report_old_relay(std::string_view text, source::FileId file, source::Diagnostics& out);

}  // namespace rldb::frontend
