// Dataflow patterns: the structure of a value, as a tree; TVM's relax.dpl under its names.
//
//   is_op("relax.nn.relu")(is_op("relax.nn.conv2d")(wildcard(), wildcard()) | is_op("relax.add")(wildcard(),
//   wildcard()))
//
// A pattern is a value; copies are the same pattern, and a pattern that occurs twice in a tree must match the same
// value at both places. Matching looks through a variable to the value that it is bound to. `add` and `multiply` match
// with their operands in either order. Patterns are built here or parsed from text (`parse_pattern`, docs/passes.md).
// Users: FuseOpsByPattern, tests.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

enum class PatternKind : std::uint8_t {
  Wildcard,
  Op,         // the operator itself: the callee of a call
  GlobalVar,  // a function of the module
  ExternFunc,
  Var,
  Constant,
  Call,
  Tuple,
  TupleGetItem,
  Or,
  And,
  Not,
  HasDtype,
  HasShape,
  HasAttr,
};

struct PatternNode;

class Pattern {
 public:
  explicit Pattern(std::shared_ptr<const PatternNode> node) : node_(std::move(node)) {}
  const PatternNode* operator->() const { return node_.get(); }
  const PatternNode* get() const { return node_.get(); }

  // A call of this with these arguments.
  template <class... P>
  Pattern operator()(const P&... args) const {
    return call({args...});
  }
  Pattern call(std::vector<Pattern> args) const;
  Pattern any_call() const;  // whatever the arguments
  Pattern operator|(const Pattern& other) const;
  Pattern operator&(const Pattern& other) const;
  Pattern operator~() const;
  Pattern operator[](std::int64_t index) const;  // a field of it
  Pattern has_dtype(ir::DType dtype) const;
  Pattern has_shape(std::vector<std::int64_t> shape) const;     // -1: any dim
  Pattern has_attr(std::string name, std::string value) const;  // as text: "NCHW", [1, 1], True

 private:
  std::shared_ptr<const PatternNode> node_;
};

struct PatternNode {
  PatternKind kind = PatternKind::Wildcard;
  std::vector<Pattern> parts;  // Call: callee, arguments; Tuple: fields; others: their operands
  bool any_arguments = false;  // Call
  std::string name;            // Op, GlobalVar, ExternFunc, Var (empty: any), HasAttr
  std::string value;           // HasAttr
  std::int64_t index = -1;     // TupleGetItem; -1: any
  ir::DType dtype;
  std::vector<std::int64_t> shape;
};

Pattern wildcard();
Pattern is_op(std::string_view name);  // with or without `relax.`
Pattern is_gv(std::string_view name = {});
Pattern is_extern(std::string_view name = {});
Pattern is_var(std::string_view name = {});
Pattern is_const();
Pattern is_tuple(std::vector<Pattern> fields);
Pattern is_tuple_get_item(const Pattern& tuple, std::int64_t index = -1);
Pattern is_call_tir(std::string_view function, std::vector<Pattern> args);
Pattern is_call_dps_packed(std::string_view function, std::vector<Pattern> args);

// Reads the spelling above, and that in which TVM prints patterns (`*`, `ir.Op(..., name="relax.add", ...)(*, *)`).
ir::Result<Pattern> parse_pattern(std::string_view text);
std::string to_string(const Pattern& p);

// The values that variables are bound to, for a pattern to look through.
using BoundValues = std::unordered_map<const ir::Var*, const ir::Expr*>;

// The match of each part of a pattern: the value, not the variable that names it.
class PatternMatch {
 public:
  const ir::Expr* operator[](const Pattern& p) const;  // null if it was not part of the match
  struct Part {
    const PatternNode* pattern;
    const ir::Expr* value;
    const ir::Var* var;  // through which it was reached; null if directly
  };
  const std::vector<Part>& parts() const { return parts_; }

 private:
  friend class PatternMatcher;
  std::vector<Part> parts_;
};

bool match(const Pattern& p, const ir::Expr* e, const BoundValues& bound, PatternMatch& out);

// Patterns connected by use: for constraints that a tree cannot express, such as two matmuls of one operand.
class PatternGraph {
 public:
  // `producer` is an operand of the call `reader`: the one at `index`, or any. Fields of a tuple operand count as well.
  void used_by(const Pattern& producer, const Pattern& reader, int index = -1) { add(producer, reader, index, false); }
  // And nothing else reads it.
  void only_used_by(const Pattern& producer, const Pattern& reader, int index = -1) {
    add(producer, reader, index, true);
  }

  // The first match in a block, by the order of its bindings: a distinct variable for each pattern, including those
  // that the block only reads. Empty if there is none.
  using Match = std::unordered_map<const PatternNode*, const ir::Var*>;
  Match match(const ir::BindingBlock* block) const;
  // All matches that share no variable with an earlier one: each could be replaced.
  std::vector<Match> all_matches(const ir::BindingBlock* block) const;
  const std::vector<Pattern>& nodes() const { return nodes_; }

 private:
  friend class GraphMatcher;
  struct Use {
    std::size_t producer;
    std::size_t reader;
    int index;
    bool only;
  };
  void add(const Pattern& producer, const Pattern& reader, int index, bool only);
  std::size_t node_of(const Pattern& p);

  std::vector<Pattern> nodes_;
  std::vector<Use> uses_;
};

// The query of `:match`. The text is a pattern, or several statements (`;` or line ends between them): `name =
// pattern` names one for the others to use, `a >> b` (also `a.only_used_by(b)`) and `a ^ b` (`a.used_by(b, index)`)
// connect two.
struct PatternQuery {
  std::optional<Pattern> tree;  // null: the graph
  PatternGraph graph;
};
ir::Result<PatternQuery> parse_query(std::string_view text);

struct FoundPattern {
  std::string_view function;
  const ir::Binding* binding;  // null: the result of the function or of a branch
  const ir::Expr* value;       // the match as a whole
  std::vector<const ir::Binding*>
      made_of;  // the other bindings that the match consists of, leaving out those that matched wildcards
};
// In every Relax function, or one; in the order of the text.
std::vector<FoundPattern> find_pattern(const ir::Module* module, const PatternQuery& query,
                                       std::string_view function = {});

}  // namespace rldb::passes
