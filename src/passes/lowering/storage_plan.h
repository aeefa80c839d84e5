// The memory plan of one Relax function: which R.builtin.alloc_tensor share a storage.
//
// A tensor takes part when its live range is known: used only in the binding block that allocates it, only by kernels
// (PrimFuncs) and views, never returned, captured, or passed to a function that may keep it. Tensors are tracked
// through variables, tuples, views and match_casts: an alias keeps its target's storage alive. User:
// static_plan_block_memory.cc.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "passes/common.h"
#include "rldb/ir/arith.h"

namespace rldb::passes {

// A free storage is reused when it is at most this many times larger or smaller.
inline constexpr std::int64_t kMatchRange = 16;

// One storage to be allocated. It grows during planning; `var` is set when its allocation is emitted.
struct PlannedStorage {
  const ir::Expr* bytes = nullptr;
  std::int64_t const_bytes = -1;  // -1: symbolic
  ir::DType dtype;
  std::string_view scope;
  std::int64_t device = 0;  // its number
  const ir::Var* var = nullptr;
};

class StoragePlan {
 public:
  StoragePlan(ir::Context& ctx, const ir::Module* module, const ir::Function* f, ir::Analyzer& analyzer);
  // The storage of an allocation, or null when it keeps its own.
  PlannedStorage* storage_of(const ir::Call* alloc) const;
  bool empty() const { return storages_.empty(); }

 private:
  struct Token;
  // The storages that a value may occupy: one tensor, or a tuple of such. Shared like the values: a tuple that contains
  // itself twice at each of thirty levels has only thirty nodes. Null: no planned storage.
  struct Tree {
    Token* leaf = nullptr;
    std::vector<Tree*> fields;
    bool dropped = false;
    std::uint64_t seen = 0;  // the last walk that visited this node
  };
  using Tokens = Tree*;
  struct Token {
    int uses = 0;
    bool dropped = false;
    const ir::BindingBlock* block = nullptr;
    const ir::Expr* bytes = nullptr;
    std::int64_t const_bytes = -1;
    ir::DType dtype;
    std::string_view scope;
    std::int64_t device = 0;
    PlannedStorage* storage = nullptr;
  };
  // Free storages of one device, scope and dtype, by size; equal sizes in order of release.
  using Pool = std::multimap<std::int64_t, PlannedStorage*>;
  using Pools = std::map<std::tuple<std::int64_t, std::string_view, std::string>, Pool>;
  enum class Phase { Count, Assign };

  void visit_seq(const ir::SeqExpr* s);
  void visit_binding(const ir::Binding* b);
  Tokens visit_value(const ir::Expr* value);
  Tokens visit_call(const ir::Call* call);
  void visit_if(const ir::If* branch);
  void visit_local_function(const ir::Function* f);
  Tokens tokens_of(const ir::Expr* leaf);
  void use(Tokens t);
  void use_leaf(Token* token);
  void use_in_packed_call(const ir::Call* call);
  void drop(Tokens t);
  Tokens leaf_of(Token* token);
  bool is_kernel(const ir::Expr* callee) const;
  Tokens allocate(const ir::Call* call);
  Token* make_token(const ir::Call* call);
  void assign(Token* token);
  PlannedStorage* reuse(const Token& token);
  void release(Token* token);

  ir::Context& ctx_;
  const ir::Module* module_;
  ir::Analyzer& analyzer_;
  Phase phase_ = Phase::Count;
  const ir::BindingBlock* block_ = nullptr;
  std::unordered_map<const ir::Var*, Tokens> vars_;
  std::unordered_map<const ir::Call*, Token*> allocs_;
  std::deque<Token> tokens_;
  std::deque<Tree> trees_;
  std::uint64_t walks_ = 0;
  std::deque<PlannedStorage> storages_;
  Pools pools_;
};

// Upper bounds that the function's attributes give to the symbolic variables of its signature.
ir::Result<support::Unit> bind_upper_bounds(const ir::Function* f, ir::Analyzer& analyzer);
// A dim's upper bound when it has one, else the dim.
const ir::Expr* upper_bound(ir::Context& ctx, ir::Analyzer& analyzer, const ir::Expr* dim);

}  // namespace rldb::passes
