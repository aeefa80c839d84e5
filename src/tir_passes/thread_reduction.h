// The code of one reduction across threads: LowerThreadAllreduce.
#pragma once

#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/stmt.h"

namespace rldb::passes {

class ThreadReduction {
 public:
  ThreadReduction(ir::Context& ctx, const ir::CommReducer* combiner, std::int64_t warp)
      : ctx_(ctx), combiner_(combiner), warp_(warp) {}

  std::vector<const ir::Expr*> values;  // of this thread
  const ir::Expr* index = nullptr;      // of this thread among those that reduce together
  const ir::Expr* group = nullptr;      // of those
  std::int64_t extent = 1;              // how many threads reduce together
  std::int64_t groups = 1;
  std::int64_t neighbours = 1;  // how many of them have consecutive numbers
  bool by_shuffles = false;
  bool masked = true;  // shuffles take a mask of the active threads

  // The statements, and where the results are after them.
  const ir::Stmt* make();
  std::vector<const ir::Buffer*> result_buffers;
  const ir::Expr* result_index = nullptr;

 private:
  using Exprs = std::vector<const ir::Expr*>;
  using Stmts = std::vector<const ir::Stmt*>;

  const ir::Stmt* one_warp();
  const ir::Stmt* several_warps();
  const ir::Stmt* through_memory();
  std::vector<const ir::Buffer*> shuffled(std::int64_t count, const ir::Expr* only_if, Stmts& out);
  void halve(std::int64_t align, const std::vector<const ir::Buffer*>& buffers, Stmts& out);
  void halve_in_warp(std::int64_t align, const std::vector<const ir::Buffer*>& buffers, Stmts& out);
  const ir::Expr* shuffle(ir::Intrinsic id, const ir::Buffer* mask, const ir::Expr* value, const ir::Expr* lane);
  Exprs combined(const Exprs& a, const Exprs& b);
  Exprs combined_at(std::int64_t distance, const std::vector<const ir::Buffer*>& buffers);
  const ir::Stmt* stored(const std::vector<const ir::Buffer*>& buffers, Exprs made, const ir::Expr* at);
  const ir::Expr* place(const ir::Expr* index);
  const ir::Expr* imm(std::int64_t value) { return ctx_.int_imm(index->dtype(), value); }
  const ir::Expr* below(std::int64_t bound);
  const ir::Expr* at(const ir::Buffer* b, const ir::Expr* index) { return ctx_.load(b, {{index}}); }
  const ir::Buffer* buffer(std::string_view name, std::int64_t size, ir::DType dtype, std::string_view scope);
  const ir::Stmt* sync(std::string_view scope);

  ir::Context& ctx_;
  const ir::CommReducer* combiner_;
  std::int64_t warp_;
  std::vector<const ir::Buffer*> temporaries_;  // to allocate before the code
};

// How many threads the target's warps have (1: none), and its blocks at most (-1: unknown).
std::int64_t warp_of(const ir::Attr* target);
std::int64_t max_threads_of(const ir::Attr* target);

}  // namespace rldb::passes
