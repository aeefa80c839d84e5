// BodyMemo: the effects that reading each statement of a Relax function had on its surroundings and vice versa, so that
// after an edit only those statements are read again that the edit touched or that see another value under a name.
//
// Remembered are the statements at the top of the body and of its dataflow blocks: the names each looked up and their
// values, the names it defined, the bindings it made. A statement is kept when its text is the same, is in the
// same kind of block, and finds the same values; its results are then restored without reading it. A new
// binding takes over the variable of the old one when name and type are the same, so that its users are kept as well.
//
// Not kept ("fresh"): statements with a diagnostic, those next to damage, and those that define something other than a
// value. A call of an operator whose operands are names is kept also while one of these is broken: its own name is
// broken then, nothing else, and its results come back with the operand. An attempt is abandoned (`abandoned`) when the
// edit changes the meaning of distant statements: the number of dataflow blocks, dtypes of symbolic variables. The
// function is then read as a whole. Used by relax/body.cc while reading, filled and queried by document.cc.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/cst/parser.h"
#include "frontend/script/body.h"
#include "frontend/script/scope.h"
#include "rldb/frontend/document.h"

namespace rldb::frontend::script {

struct Reader;
struct FunctionState;

using frontend::TextEdit;

class BodyMemo final : public cst::KnownStatements {
 public:
  explicit BodyMemo(FunctionState* function) : function_(function) {}

  // ---- around a reading of the body ----

  // Remembers the scope after the signature; call once, when the signature has been read.
  void start();
  // Before the body is read again: ranges follow the edit, statements that it touched are marked. `signature_too`: that
  // is read again as well, from statements that say dtypes of its variables, which are not kept then.
  void apply(const TextEdit& edit, bool signature_too = false);
  // And the function ends there now. A header that is typed into its body cuts statements off; they are known again
  // when the function takes them back.
  void reach(std::uint32_t end);
  // An edit anywhere in the text: statements that were cut off follow it.
  void move_cut_off(const TextEdit& edit);
  bool keeps(const cst::KnownStatements::Statement& statement) override;
  bool next(cst::KnownStatements::Statement& statement) override;
  // Begins a reading of the body; `whole`: nothing is kept.
  void begin(bool whole);
  // After it. Statements that contain one of these places had a diagnostic.
  void finish(const std::vector<source::Span>& places);
  bool abandoned() const { return abandoned_; }
  // The begins of the statement that holds or precedes an edit and of the one after it, before `apply`; both are
  // outside brackets and strings. 0 when there is none.
  std::pair<std::uint32_t, std::uint32_t> around(const TextEdit& edit) const;
  // Reads the inside of a statement that was left out, after all.
  std::function<cst::Node(cst::Kind, std::uint32_t begin, std::uint32_t end)> reload;
  // Bindings that were kept by the last reading.
  const std::vector<const ir::Binding*>& kept_bindings() const { return kept_bindings_; }
  std::size_t statement_count() const { return statements_.size(); }
  std::size_t read_count() const { return read_count_; }

  // ---- while the body is read ----

  const FunctionState* function() const { return function_; }
  bool is_open() const { return open_; }
  // A Kept node: restores its results. False: it has to be read after all, and `at` is now the node with its inside.
  // `makes_output`: whether the statement now binds an output of that name.
  bool replay(Reader& r, cst::Node& at, Body& body, bool adjacent,
              const std::function<bool(std::string_view)>& makes_output);
  // `adjacent`: the statement read or restored just before is directly before it.
  void open(cst::Node at, Body& body, bool adjacent);
  void close(Body& body, bool beside_damage);
  // A name was looked up in the function's scope.
  void looked_up(std::string_view name);
  void declared_symbol() { declares_ = true; }
  // The statement is to be read again whatever it finds.
  void read_always() { current_.fresh = true; }
  // The names of a dataflow block's outputs, sorted; block by block.
  void outputs(std::vector<std::string> names);
  // The names that a kept statement binds, if there is an output of its block among them.
  template <class F>
  void for_each_output(cst::Node kept, F&& f) const;
  // A variable of a statement that was removed, for a new binding of the same name and type; or null.
  const ir::Var* take_variable(std::string_view name, const ir::Type* type, bool dataflow);
  void abandon() { abandoned_ = true; }

 private:
  struct Use {
    Scope::Slot slot;
    ValKind kind;
    const void* pointer;
  };
  struct Definition {
    Scope::Slot slot;
    const ir::Expr* value;  // null: the module
  };
  // A name of a branch, say, which is not visible behind the statement.
  struct LeftName {
    Scope::Slot slot;
    ScopeKind scope;
    const ir::Expr* value;
  };
  struct Statement {
    std::uint32_t begin, end;
    cst::Kind kind;
    bool fresh;
    bool touched;   // by the last edit
    bool adjacent;  // directly follows the one before
    bool dataflow;
    bool output;    // binds an output of its block
    bool declares;  // n = T.int64()
    bool breaks;    // with a broken operand its name is broken, and nothing else happens
    int temporaries_before, temporaries_after;
    int inner_temporaries;  // those of its local functions have numbers below this
    std::uint32_t uses, use_count;
    std::uint32_t definitions, definition_count;
    std::uint32_t left, left_count;
    std::uint32_t bindings, binding_count;
  };
  static bool same(const Val* v, const Use& use);
  std::string_view name_of(Scope::Slot slot) const;
  // Values that mean the same after the text has been freed: IR, and the module (`cls = Module`).
  static bool is_value(const Val& v) { return (v.is(ValKind::Expr) || v.is(ValKind::Module)) && !v.fresh; }
  const Statement& record_of(cst::Node kept) const;
  bool finds_the_same(const Statement& s) const;
  bool is_broken_call(const Statement& s) const;
  bool is_output(Scope::Slot slot) const;
  bool gets_the_same_names(const Statement& s, Body& body) const;
  void note_written_names(Body& body);
  void give_up_variables(const Statement& s);
  void compact();

  FunctionState* function_;
  std::vector<Scope::Entry> start_;
  std::size_t start_symbols_ = 0;
  std::vector<Statement> statements_;  // of the last reading, in order
  std::vector<Statement> cut_off_;     // of an earlier one
  // Pools that the statements point into; grown by each reading, now and then compacted.
  std::vector<Use> uses_;
  std::vector<Definition> definitions_;
  std::vector<LeftName> left_;
  std::vector<const ir::Binding*> bindings_;

  std::vector<std::vector<std::string>> outputs_;  // by dataflow block

  // Of the reading in progress.
  std::vector<Statement> made_;
  std::vector<std::uint32_t> kept_;  // statements that the tree left out, in order
  std::size_t next_match_ = 0;
  TextEdit edit_;
  std::unordered_multimap<std::string_view, const ir::Var*> spare_;
  std::vector<const ir::Binding*> kept_bindings_;
  std::vector<Scope::Slot> log_;
  Statement current_{};
  cst::Node current_node_;
  std::size_t current_bindings_ = 0;
  std::uint32_t scope_size_ = 0;
  std::size_t block_ = 0;
  bool had_broken_ = false;  // statements whose operands were
  bool signature_too_ = false;
  bool other_outputs_ = false;  // the block has others than when its statements were read
  std::size_t read_count_ = 0;
  mutable std::size_t last_record_ = 0;                // where record_of looked last
  TemporaryNames written_names_, made_written_names_;  // of the last reading, of this one; if it had temporaries
  bool has_written_names_ = false;                     // of this one
  bool open_ = false;
  bool whole_ = true;
  bool declares_ = false;
  bool abandoned_ = false;
};

template <class F>
void BodyMemo::for_each_output(cst::Node kept, F&& f) const {
  const Statement& s = record_of(kept);
  if (!s.output && !other_outputs_) return;
  for (std::uint32_t i = 0; i < s.definition_count; ++i) f(name_of(definitions_[s.definitions + i].slot));
}

}  // namespace rldb::frontend::script
