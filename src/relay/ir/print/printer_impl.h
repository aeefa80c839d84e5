// The printer's structure. A text is a chain of statements in a buffer; an expression without a place of its own is a
// statement `%n = ...;` in the buffer of the current scope.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/relay/ir/printer.h"

namespace rldb::relay::print_detail {

// Numbers of metadata entries by key.
class MetaReferences {
 public:
  std::string constant(const Constant* c);
  std::string object(const MetaObject* o);
  const MetaTable& table() const { return table_; }

 private:
  std::string reference(std::string_view key, MetaEntry entry, const void* identity);
  MetaTable table_;
  std::unordered_map<const void*, std::string> names_;
};

// Types and attributes, which need only their own names.
class Values {
 public:
  std::string type(const Type* t);
  std::string attr(const AttrValue* value);
  std::string attrs(Span<NamedAttr> attrs);  // `a=1, b=2`
  // The attributes of a call, including those that the operator's row always prints.
  std::string attrs_of(const OpInfo& op, Span<NamedAttr> given);
  // The literal of a scalar; empty if there is none.
  static std::string literal(const runtime::Tensor& scalar);
  MetaReferences& meta() { return meta_; }
  // Sets how an expression in an attribute is written, where names are available.
  void set_expr_text(std::function<std::string(const Expr*)> text) { expr_text_ = std::move(text); }

 private:
  std::string tensor(const TensorType& t);
  std::string part(const Type* t, int depth);
  MetaReferences meta_;
  std::function<std::string(const Expr*)> expr_text_;
  std::size_t parts_ = 0;  // of the current type
};

// With the suffix for `bits`; must read back as a number of `read_bits`.
std::string float_text(double value, int bits, int read_bits);
std::string metadata_json(const MetaTable& table);

class Printer {
 public:
  explicit Printer(Values& values) : values_(values) {
    values_.set_expr_text([this](const Expr* e) { return use(e, false); });
  }

  void count_uses(const Expr* root);
  std::string definition(const Definition& d);
  std::string expression(const Expr* e);  // a program that is one expression

 private:
  // How often the printed text refers to a node, and how it was written.
  struct State {
    std::uint32_t uses = 0;
    bool counted = false;
    bool written = false;  // `text` is the reference to it
    bool visited = false;  // `text` is its own text
    std::string text;
  };
  State& state(const Expr* e) { return states_[e]; }
  std::string& scope() { return scopes_.back(); }

  // The text that refers to `e`; emits a statement first if it has no place here.
  std::string use(const Expr* e, bool may_inline);
  // Operands first, without recursion: afterwards state(e).text is its own text.
  void visit(const Expr* e);
  std::string own_text(const Expr* e);
  std::string in_scope(const Expr* e);
  std::string body(const Expr* e);  // `{`, indented, `}`

  std::string call(const Call& e);
  std::string function(std::string_view prefix, const Function& f);
  std::string let(const Let& e);
  std::string if_expr(const If& e);
  std::string tuple(const Tuple& e);
  std::string match(const Match& e);
  std::string pattern(const Pattern* p);
  std::string binder(const Var* v);

  std::string unique(std::string name);

  Values& values_;
  // For the printed part only: a small function of a large program is cheap to print.
  std::unordered_map<const Expr*, State> states_;
  std::vector<std::string> scopes_;
  std::unordered_map<std::string, int> names_;
  std::unordered_map<const Expr*, std::string> free_;  // declarations of free variables, not yet in a text
  int next_graph_ = 0;
};

// The text with all lines after the first indented by two more columns.
std::string indented(std::string_view text);

}  // namespace rldb::relay::print_detail
