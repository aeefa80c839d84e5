// Threads of a GPU kernel in progress. Room-private.
//
// A kernel without a barrier runs as loops over its threads, one thread to its end before the next begins. With
// barriers (T.tvm_storage_sync) or exchanges (warp shuffles, T.tvm_thread_allreduce) it is a Grid: the blocks one after
// another, and within a block every thread with a stack and an environment of its own. They take turns: one runs up to
// its next meeting with others or its end, then the next.
#pragma once

#include <map>

#include "eval/tir/environment.h"
#include "rldb/ir/threads.h"

namespace rldb::eval {

inline constexpr std::int64_t kWarpSize = 32;        // unless a shuffle specifies another
inline constexpr std::int64_t kMaxWarpSize = 64;     // a mask has a bit for each
inline constexpr std::int64_t kMaxThreads = 16'384;  // of a block

// A statement in progress. The meaning of the numbers depends on the statement: a loop counts in `at` up to `end`, a
// sequence indexes in `at`, a block goes through its phases.
struct Activity {
  const ir::Stmt* stmt;
  std::int64_t at = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
  bool started = false;
  bool met = false;  // its thread has waited at the barrier that belongs before it
};

struct ThreadAxis {
  std::string_view tag;
  std::int64_t extent;
  std::int64_t at = 0;
};

// Where a thread waits for others, and its operands there.
struct Wait {
  const ir::Stmt* at = nullptr;  // null: it does not wait
  const ir::Call* call = nullptr;
  ir::Meeting meeting = ir::Meeting::None;
  std::vector<Scalar> given;  // Shuffle: its value; AllReduce: its values, and afterwards the reduced ones
  // Shuffle: the lanes that must arrive (0: the target has no masks), the operand, and the number of lanes in a group.
  std::uint64_t mask = 0;
  std::int64_t operand = 0, width = 0;
  // AllReduce: over which of the grid's thread axes, and how.
  std::vector<bool> reduced;
  const ir::CommReducer* reducer = nullptr;

  explicit operator bool() const { return at != nullptr; }
  bool same_place(const Wait& other) const { return at == other.at && call == other.call; }
};

struct Thread {
  std::vector<Activity> stack;
  Environment env;
  Wait waits;
  bool begun = false;
  bool done = false;
};

struct Grid {
  const ir::Stmt* root = nullptr;           // the outermost statement of a thread
  std::int64_t root_min = 0;                // where its variable begins
  std::int64_t block = 0;                   // the current one
  std::vector<Activity> below;              // activities up to the root's; every thread's stack begins with them
  Environment outer;                        // when the kernel began
  std::vector<ThreadAxis> blocks, threads;  // the innermost first
  std::vector<Thread> running;              // of the current block; the state of the thread whose turn it is is in Impl
  std::size_t current = 0;
  std::int64_t warp_size = kWarpSize;
  // Memory shared by threads: a buffer or pointer, of the block (0) or of a warp (its number plus 1).
  std::map<std::pair<const ir::Node*, std::int64_t>, Pointer> shared;

  std::size_t depth() const { return below.size(); }
  const ThreadAxis* axis(std::string_view tag) const;
  void place(std::size_t thread);                  // sets `at` of the threads' axes
  std::int64_t lanes() const;                      // threads of a block, not counting virtual ones
  std::int64_t warp_of(std::size_t thread) const;  // by threadIdx, x innermost
  std::int64_t lane_of(std::size_t thread) const { return std::int64_t(thread) % lanes() % warp_size; }
  std::map<std::int64_t, std::vector<std::size_t>> warps() const;  // the threads of each, by lane
  std::string name_of(std::size_t thread);                         // "threadIdx.x = 3"
};

}  // namespace rldb::eval
