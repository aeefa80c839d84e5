// RuleMatch: does a value of a block look like the result of a pattern function? Users: rewrite rules.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

// A block as matching sees it: where its variables are bound, and what lies between.
struct BlockView {
  explicit BlockView(const ir::BindingBlock* block);
  const ir::BindingBlock* block;
  std::unordered_map<const ir::Var*, std::size_t> place;
  std::vector<std::size_t> impure;  // how many bindings before this one have an effect

  // Through other names to the value, which is no variable of the block any more.
  const ir::Expr* value_of(const ir::Expr* e, std::vector<std::size_t>* passed = nullptr) const;
};

// What a pattern function is made of, looked up once.
struct PatternBody {
  explicit PatternBody(const ir::Function* f);
  const ir::Function* function;
  std::unordered_map<const ir::Var*, const ir::Expr*> values;  // of its bindings
  std::vector<const ir::Expr*> results;                        // fields when it returns a tuple, else one
  bool is_tuple = false;
  const ir::Expr* value_of(const ir::Expr* e) const;
};

class RuleMatch {
 public:
  RuleMatch(ir::Context& ctx, const PatternBody& pattern, const BlockView& view)
      : ctx_(&ctx), pattern_(&pattern), view_(&view) {}

  // The value of binding `at` is result number `result`. On failure the match is of no further use.
  bool add_result(std::size_t result, std::size_t at);
  // All of it agrees: sizes over symbolic variables too, and every parameter is known.
  bool complete();
  std::vector<const ir::Expr*> arguments() const;  // in the order of the parameters
  // Bindings that the match is made of.
  const std::vector<std::size_t>& bindings() const { return bindings_; }

 private:
  bool same(const ir::Expr* pattern, const ir::Expr* value);
  bool same_value(const ir::Expr* pattern, const ir::Expr* value);
  bool same_call(const ir::Call* pattern, const ir::Call* value);
  bool same_list(ir::Span<const ir::Expr*> pattern, ir::Span<const ir::Expr*> values);
  bool capture(const ir::Var* parameter, const ir::Expr* value);
  bool same_type(const ir::Type* pattern, const ir::Type* type);
  bool same_dims(ir::Span<const ir::Expr*> pattern, ir::Span<const ir::Expr*> dims);
  bool same_dim(const ir::Expr* pattern, const ir::Expr* dim);

  ir::Context* ctx_;
  const PatternBody* pattern_;
  const BlockView* view_;
  ir::VarMap captured_;  // parameters and the pattern's bindings
  ir::VarMap symbols_;
  std::vector<std::pair<const ir::Expr*, const ir::Expr*>> open_;  // sizes to be compared at the end
  std::vector<std::size_t> bindings_;
};

}  // namespace rldb::passes
