// RelayMemo: what reading each statement of a function of a Relay module found and made, so that after an edit only
// those are read again that the edit touched, or that see something else under a name.
//
// Remembered are the statements at the top of the functions' bodies: the names each looked up outside of itself with
// what they meant, the graph variables it defined, the functions it named, its value. A statement is kept when its text
// is the same. If its names mean the same, its value is the old node; if graph variables have other values now, the
// value is rebuilt around those. A new `let` takes over the variable of an old one when name and annotation are equal,
// so that users of the variable are kept. Types, constructors and metadata are those of the whole text: edits of these
// are not followed. Statements with a diagnostic, and those that bind a name around themselves, are read each time.
// Filled by the Reader, kept by document.cc.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/cst/parser.h"
#include "rldb/frontend/document.h"
#include "rldb/relay/ir/context.h"

namespace rldb::frontend::relay_text {

struct RelayLookup {
  enum Kind : std::uint8_t { Local, Graph };
  Kind kind;
  std::string_view name;  // interned, as all names here
  const relay::Expr* found;
};

struct RelayStatement {
  std::uint32_t begin = 0, end = 0;
  cst::Kind kind = cst::Kind::Other;
  bool known = false;  // kept from the reading before: the tree has no inside of it
  bool fresh = false;  // is to be read next time
  bool recursive = false;
  std::string_view name;                       // of a `let` or a graph variable
  std::uint32_t name_begin = 0, name_end = 0;  // these and those below count from `begin`
  const relay::Var* var = nullptr;             // of a `let`, and of an expression that another statement follows
  const relay::Expr* value = nullptr;
  const relay::Let* let = nullptr;
  std::vector<RelayLookup> lookups;
  struct Definition {
    std::string_view name;
    std::uint32_t begin, end;
    const relay::Expr* value;
  };
  std::vector<Definition> inner;  // graph variables
  struct Use {
    std::string_view name;
    std::uint32_t begin, end;
  };
  std::vector<Use> globals;

  void forget();
  void set_name(std::string_view n, std::uint32_t from, std::uint32_t to);
  source::Span name_span(source::FileId file) const { return span(file, name_begin, name_end); }
  source::Span span(source::FileId file, std::uint32_t from, std::uint32_t to) const {
    return {file, begin + from, begin + to};
  }
  void look_up(const RelayLookup& lookup);
  void define(std::string_view n, std::uint32_t from, std::uint32_t to, const relay::Expr* made) {
    inner.push_back({n, from - begin, to - begin, made});
  }
  bool defines(std::string_view n) const;
  void use_global(std::string_view n, std::uint32_t from, std::uint32_t to) {
    globals.push_back({n, from - begin, to - begin});
  }
};

struct RelayFunction {
  std::string_view name;
  std::uint32_t begin = 0, body = 0, end = 0;
  bool header_kept = false;
  bool header_fresh = false;  // is to be read next time
  std::vector<const relay::TypeVar*> generics;
  std::vector<const relay::Var*> params;
  const relay::Type* result = nullptr;
  std::vector<relay::NamedAttr> attrs;
  std::deque<RelayStatement> statements;
  const relay::Function* function = nullptr;
};

// Graph variables whose values have changed: the old one, the new one.
using Replacements = std::vector<std::pair<const relay::Expr*, const relay::Expr*>>;
// The value with these replaced, made of new calls, tuples and projections; null when it holds anything else.
const relay::Expr* rebuilt(relay::Context& ctx, const relay::Expr* e, const Replacements& replaced,
                           const std::vector<RelayLookup>& outside);

class RelayMemo final : public cst::KnownStatements {
 public:
  // ---- around a reading, for the document ----

  // The function that an edit is in, before `apply`: behind its name and before its last bracket; null: none.
  const RelayFunction* function_at(const TextEdit& edit) const;
  const std::deque<RelayFunction>& functions() const { return functions_; }
  // Ranges follow the edit; what it touches is marked. Begins the next reading.
  void apply(const TextEdit& edit);
  bool keeps(const Statement& statement) override;
  bool next(Statement&) override { return false; }
  // Reads the inside of a statement that was left out, after all.
  std::function<cst::Tree(cst::Kind, std::uint32_t begin)> reload;
  bool abandoned() const { return abandoned_; }
  std::size_t read_count() const { return read_count_; }
  // Of which something was read, by their positions.
  const std::set<std::size_t>& read_functions() const { return read_functions_; }

  // ---- for the reader ----

  RelayFunction& open_function(std::string_view name, std::uint32_t begin, std::uint32_t body, std::uint32_t end);
  void set_header(RelayFunction& f, std::vector<const relay::TypeVar*> generics, std::vector<const relay::Var*> params,
                  const relay::Type* result, std::vector<relay::NamedAttr> attrs);
  void close_function();
  RelayStatement& open(cst::Node statement);
  // A variable of a statement or header that is not kept, for a new one of that name and annotation; or null.
  const relay::Var* take_variable(std::string_view name, const relay::Type* annotation);
  void note_read() {
    ++read_count_;
    read_functions_.insert(next_function_);
  }
  void abandon() { abandoned_ = true; }

 private:
  void spare_variable(const relay::Var* v) {
    if (v) spare_.emplace(v->name, v);
  }

  std::deque<RelayFunction> functions_;  // of the last reading, and of the one in progress up to `next_function_`
  std::size_t next_function_ = 0;
  bool again_ = false;
  std::deque<RelayStatement> old_;  // of the function that is being read
  std::size_t next_old_ = 0;
  std::size_t kept_function_ = 0, kept_statement_ = 0;  // where `keeps` looked last
  std::unordered_multimap<std::string_view, const relay::Var*> spare_;
  std::size_t read_count_ = 0;
  std::set<std::size_t> read_functions_;
  bool abandoned_ = false;
};

}  // namespace rldb::frontend::relay_text
