// The schedules, one file each: the nests they recognise, and the replacement of the nest after each of their steps.
// An empty list: not recognised. Internal to the room.
#pragma once

#include <unordered_set>

#include "rldb/schedule/bounds.h"
#include "rldb/schedule/target.h"
#include "schedule/build.h"
#include "schedule/nest.h"

namespace rldb::schedule {

// The steps' knowledge of the function and of the machine.
struct Scene {
  ir::Context& ctx;
  const Target& target;
  bool noalias;
  bool all_steps;                               // not only the last stage of each nest
  std::unordered_set<const ir::Buffer*> views;  // targets of match_buffer: their layout is another buffer's
  std::unordered_set<const ir::Var*> dims;      // dimensions of parameters: not negative
  std::vector<const ir::Expr*> extents;         // the same, those that are not variables
};

Scene scene_of(ir::Context& ctx, const ir::PrimFunc* f, const Options& options, const Target& target);  // schedule.cc

// An elementwise nest that is one loop over a flat index, whatever its dims are: buffers of the nest's own shape that
// are indexed by its variables in order, or that have the same elements in the same order (a reshape).
struct FlatNest : ElementwiseNest {
  std::vector<const ir::Buffer*> flat;  // accessed at the position of the element
  bool reshapes = false;                // some of them by other indices than the axes
};
std::optional<FlatNest> match_flat(const Scene& scene, const ir::ForStmt* loop);  // elementwise.cc

// The function's body with fewer quotients and remainders in indices; `about`: the first buffer accessed so.
std::optional<Stage> simplify_indices(const Scene& scene, const ir::PrimFunc* f,
                                      std::string_view& about);  // indices.cc
// The function's body with a convolution of a spread input as one for each phase; `about`: its block.
std::optional<Stage> split_phases(const Scene& scene, const ir::PrimFunc* f, std::string_view& about);  // phases.cc
// The function's body with elementwise stages computed where they are read; `about`: the last buffer that is gone.
std::optional<Stage> inline_stages(const Scene& scene, const ir::PrimFunc* f, std::string_view& about);  // inline.cc
// The function's body with chains of nests done a block of rows at a time; `about`: the last block of the last chain.
std::optional<Stage> fuse_rows(const Scene& scene, const ir::PrimFunc* f, std::string_view& about);  // fuse_rows.cc

// The body of a scheduled function with its independent outer loops marked as parallel (facts: of that body, where
// accesses have to be proved); `about`: what the first of them writes.
std::optional<Stage> mark_parallel(const Scene& scene, const ir::Stmt* body, const BoundsFacts* facts,
                                   std::string_view& about);  // parallel.cc

// Whether it is never negative, judging by the dimensions of parameters.
bool not_negative(const Scene& scene, const ir::Expr* e, int depth = 0);  // elementwise.cc

std::vector<Stage> schedule_contraction(const Scene& scene, const ir::ForStmt* loop);  // contract/
std::vector<Stage> schedule_row_lanes(const Scene& scene, const ir::ForStmt* loop);    // row_lanes.cc
std::vector<Stage> schedule_rows(const Scene& scene, const ir::ForStmt* loop);         // rows.cc
std::vector<Stage> schedule_reduction(const Scene& scene, const ir::ForStmt* loop);    // reduction.cc
std::vector<Stage> schedule_transpose(const Scene& scene, const ir::ForStmt* loop);    // transpose.cc
std::vector<Stage> schedule_elementwise(const Scene& scene, const ir::ForStmt* loop);  // elementwise.cc
std::vector<Stage> schedule_vectors(const Scene& scene, const ir::ForStmt* loop);      // vectors.cc
std::vector<Stage> schedule_scan(const Scene& scene, const ir::ForStmt* loop);         // scan.cc
std::vector<Stage> hoist_init(const Scene& scene, const ir::ForStmt* loop);            // init.cc

}  // namespace rldb::schedule
