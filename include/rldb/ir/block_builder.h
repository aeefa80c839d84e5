// BlockBuilder: writes Relax function bodies: names, blocks, normal form.
//
// `emit` returns a fresh variable of the value's type and appends a binding to the current block; names are made unique
// within the function. `normalize` flattens nested calls into bindings (ANF). The idea is TVM's relax::BlockBuilder.
// Users: the front end, legalisation, passes.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/context.h"

namespace rldb::ir {

class BlockBuilder {
 public:
  explicit BlockBuilder(Context& ctx) : ctx_(ctx) {}
  Context& context() { return ctx_; }

  // A scope is one sequence: a function body or a branch. begin_scope .. end_scope(result) gives the SeqExpr.
  void begin_scope();
  const SeqExpr* end_scope(const Expr* result);
  void begin_dataflow();
  void end_dataflow();
  bool in_dataflow() const;

  const Var* emit(const Expr* value, std::string_view hint = "lv");         // DataflowVar inside dataflow
  const Var* emit_output(const Expr* value, std::string_view hint = "gv");  // plain Var
  const Var* emit_match_cast(const Expr* value, const Type* type, std::string_view hint = "lv");
  void append(const Binding* b);  // unchanged

  // A leaf for the value: the value if it is a leaf, else a new binding.
  const Expr* normalize_leaf(const Expr* e);
  std::string_view unique_name(std::string_view hint);
  void reserve_name(std::string_view name);

 private:
  struct Scope {
    std::vector<const BindingBlock*> blocks;
    std::vector<const Binding*> current;
    bool dataflow = false;
  };
  void flush();
  Context& ctx_;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string_view, int> names_;
};

bool is_leaf(const Expr* e);  // rule 10 of the verifier

}  // namespace rldb::ir
