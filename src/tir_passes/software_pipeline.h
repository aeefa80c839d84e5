// The code of one pipelined loop: InjectSoftwarePipeline.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rldb/ir/arith.h"
#include "rldb/ir/context.h"
#include "rldb/tir_passes/inline_kernel.h"

namespace rldb::passes {

// A statement of the loop, as a block.
struct PipelinePart {
  const ir::SBlock* block;
  std::int64_t stage;  // how many iterations later than stage 0 it runs
  std::int64_t order;  // its place in the new loop
  bool async;
};

// The statement as a block, with what it reads and writes.
const ir::SBlock* block_of(ir::Context& ctx, const ir::Stmt* s);

class SoftwarePipeline {
 public:
  SoftwarePipeline(ir::Context& ctx, const ir::ForStmt* loop, std::vector<PipelinePart> parts,
                   std::vector<const ir::Buffer*> allocated, const std::unordered_set<const ir::Buffer*>& doubled);

  const ir::Stmt* build();
  std::string refused;  // why there is no pipeline

 private:
  // Asynchronous writes of one stage: over the whole pipeline, and within one of its loops.
  struct AsyncStage {
    std::unordered_set<const ir::Buffer*> written;
    const ir::Expr* newest = nullptr;  // iteration of the last write, if it is known
    bool known = true;
  };
  struct AsyncPart {
    std::ptrdiff_t wait_before = -1;  // a part of the loop
    const ir::Expr* in_flight = nullptr;
    std::unordered_set<const ir::Buffer*> seen;
    const ir::Expr* newest = nullptr;
    const ir::Expr* predicate = nullptr;
    std::vector<std::vector<std::size_t>> groups;  // of parts that are committed together
    bool consumed = false;
  };
  struct Placed {
    std::int64_t stage;
    const ir::Expr* predicate;
    const ir::SBlock* block;
    const ir::Expr* iteration;
    bool async;
  };
  // One of the three loops.
  struct Part {
    const ir::Expr* var;
    const ir::Var* loop_var;  // null: one iteration, without a loop
    const ir::Expr* extent;
    std::vector<Placed> blocks;
    std::map<std::int64_t, AsyncPart> async;
    std::unordered_map<const ir::Buffer*, std::size_t> group_of;
    std::unique_ptr<ir::Analyzer> from_first;  // knows the loop variable's values, counted from the first
  };

  std::int64_t versions_of(const ir::Buffer* b) const;
  bool needs_two(const ir::Buffer* b) const;
  const ir::Buffer* with_versions(const ir::Buffer* b, std::int64_t count);
  const ir::Stmt* emit(const ir::Expr* start, const ir::Expr* end, bool unrolled, const ir::Expr* at_least = nullptr);
  void place(Part& part, const PipelinePart& p, const ir::Expr* start, const ir::Expr* at_least, ir::Analyzer& known);
  void note_async(Part& part, std::int64_t stage, const ir::SBlock* block, const ir::Expr* iteration,
                  const ir::Expr* predicate);
  void find_waits(Part& part);
  const ir::Expr* in_flight(Part& part, AsyncPart& state, std::int64_t stage, std::size_t reader);
  void add_waits(Part& part);
  std::vector<const ir::Stmt*> statements(Part& part);
  void advance(Part& part);
  const ir::Stmt* realized(const ir::Expr* predicate, const ir::SBlock* block);
  const ir::SBlock* with_body(const ir::SBlock* b, const ir::Stmt* body);
  const ir::Stmt* nothing();

  ir::Context& ctx_;
  const ir::ForStmt* loop_;
  std::vector<PipelinePart> parts_;
  std::vector<const ir::Buffer*> allocated_;
  const std::unordered_set<const ir::Buffer*>& doubled_;
  std::int64_t last_stage_ = 0;
  std::unordered_map<const ir::Buffer*, const ir::Buffer*> versioned_;
  std::map<std::int64_t, AsyncStage> async_;
};

}  // namespace rldb::passes
