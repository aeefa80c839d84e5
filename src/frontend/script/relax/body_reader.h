// BodyReader: statements of one Relax function into its Body. Room-private; body.cc, bindings.cc, match.cc, dataflow.cc
// and branch.cc hold its parts.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/script/memo.h"
#include "frontend/script/relax/relax.h"
#include "rldb/ir/size.h"

namespace rldb::frontend::script {

// Which statement of a dataflow block defines which output.
struct Outputs {
  std::unordered_map<std::string_view, std::size_t> last;  // output name -> last statement that binds it
  std::size_t statement = 0;                               // the one being read
};

class BodyReader {
 public:
  explicit BodyReader(Reader& r)
      : r_(r), fn_(*r.fn), body_(*r.fn->body), memo_(r.memo && r.memo->function() == r.fn ? r.memo : nullptr) {}

  BlockResult function_body(Node block);
  // A statement at the top of the body or of a dataflow block: may have been read before.
  void remembered_statement(Node s);
  void statement(Node s);

 private:
  struct Branch {
    const ir::SeqExpr* seq = nullptr;
    const ir::Var* var = nullptr;
    Node block;
    bool poisoned = false;
  };

  // ---- body.cc ----
  Node header_of(Node s);
  const ir::Expr* returned_value(Node s);
  static bool cut_short(Node s);
  void expression_statement(Node s);
  void func_attr(Node value);
  // ---- bindings.cc ----
  void binding(Node s);
  void assign(Node s, Node target, const Val& v, Node value, const ir::Type* type, Node annotation);
  void define_broken(Node target, const ir::Type* type);
  bool makes_output(std::string_view name) const;
  const ir::Var* make_var(Node target, const ir::Type* type, bool is_tuple = false);
  static bool is_device_copy(const ir::Expr* e);
  bool within_limits(Node target, const ir::Type* type);
  void bind(Node s, Node target, const ir::Expr* e, const ir::Type* type, Node annotation);
  void declare(Node s, Node target, ir::DType dtype);
  void unpack(Node s, Node target, Node value);
  void poison(const std::vector<Node>& targets);
  // ---- match.cc ----
  const ir::Type* pattern_type(const ir::Expr* value, const Val& pattern, Node at);
  void declare_pattern(Node n);
  void match_cast(Node s, Node target, Node value, bool is_match_shape);
  void match_shape_targets(Node s, const std::vector<Node>& targets, Node value);
  void bare_match(Node s, Node value, bool is_match_shape);
  // ---- dataflow.cc ----
  static bool is_output(Reader& r, Node s);
  static void names_in(Node n, std::vector<Node>& out);
  void collect_outputs(const std::vector<Node>& statements, Node next, Outputs& out);
  void remember_outputs(const Outputs& outputs);
  void dataflow(Node s, Node next);
  void report_not_bound(Node name, Node block);
  void poison_bindings(Node n);
  static std::vector<std::string_view> names_bound_in(Node n);
  // ---- branch.cc ----
  Branch branch(const std::function<void()>& read, Node block);
  Branch block_branch(Node block);
  void if_statement(Node s);
  static bool may_be_condition(const ir::Type* t);
  void if_chain(Node s, Node condition, Node consequence, const std::vector<Node>& alternatives, std::size_t at);
  void finish_if(Node s, Node condition, const ir::Expr* cond, const Branch& yes, const Branch& no);

  Reader& r_;
  FunctionState& fn_;
  Body& body_;
  BodyMemo* memo_;
  std::size_t broken_definitions_ = 0;  // names so far whose values could not be read
  std::uint32_t behind_last_ = 0;       // the row after the last remembered statement, 0 at the start of a block
  Outputs* outputs_ = nullptr;
  ir::TypeBudget budget_;  // of the variables read so far
  bool together_too_large_ = false;
};

}  // namespace rldb::frontend::script
