// RuleMatch: does a value of a block look like the result of a pattern function? Users: rewrite rules.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

// A block as seen by matching: where its variables are bound, and the effects in between.
struct BlockView {
  explicit BlockView(const ir::BindingBlock* block);
  const ir::BindingBlock* block;
  std::unordered_map<const ir::Var*, std::size_t> place;
  std::vector<std::size_t> impure;  // the number of bindings before this one that have an effect

  // Follows aliases to the value, which is no longer a variable of the block.
  const ir::Expr* value_of(const ir::Expr* e, std::vector<std::size_t>* passed = nullptr) const;
};

// The parts of a pattern function, looked up once.
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

  // Matches the value of binding `at` with result number `result`. After a failure the match is of no further use.
  bool add_result(std::size_t result, std::size_t at);
  // Whether everything agrees, including sizes over symbolic variables, and every parameter is known.
  bool complete();
  std::vector<const ir::Expr*> arguments() const;  // in the order of the parameters
  // Bindings covered by the match.
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
