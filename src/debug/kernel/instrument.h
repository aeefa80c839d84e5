// A kernel that stops itself: TensorIR to TensorIR.
//
// The instrumented function does what the evaluator does, in the same order, and counts the evaluator's steps. It
// returns when the count passed to it is reached, or at a probe's arrival, with the loop variables in its last two
// parameters; then an eval::TirMachine is moved to that place. Allocations are parameters, so that they outlive it. It
// is compiled like any kernel: a condition that first holds at iteration 10^8 is reached at the speed of machine code.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/eval/eval.h"
#include "rldb/ir/context.h"
#include "rldb/support/result.h"

namespace rldb::debug {

// A condition as TensorIR.
struct ConditionCode {
  const ir::Expr* holds = nullptr;        // a bool over the names in scope and `memory`; null: there is none
  const ir::Stmt* before = nullptr;       // loops that compute what `holds` reads from `memory`; null: none
  std::vector<const ir::Buffer*> memory;  // words, each of them a buffer of one element
  // Tensors from outside of the kernel that `holds` and `before` read, which the kernel does not write.
  std::vector<std::pair<const ir::Buffer*, runtime::Value>> given;
  // Only the machine code has what it reads; elsewhere the language decides.
  bool needs_code() const { return before != nullptr || !given.empty(); }
  explicit operator bool() const { return holds != nullptr; }
};

// A kind of moment to search for.
struct Probe {
  enum class Arrival : std::uint8_t {
    Statement,  // it runs next; a loop: it begins
    Iteration,  // of the loop `at`: its variable has a new value
    Block,      // the block `at` was entered: its axes have values
    NewValue,   // the block `at` was entered and the axis `axis` has another value than before
  };
  Arrival arrival = Arrival::Statement;
  const ir::Stmt* at = nullptr;
  const ir::Var* axis = nullptr;
  ConditionCode condition;  // over the names in scope there; without one: always
  bool asks = false;        // its condition has no code: the caller of the function is asked at each arrival
  std::size_t group = 0;    // arrivals are counted by group: the probes of one breakpoint
};

struct Instrumented {
  // Words of the int64 parameter; three words per group and the values of integer variables follow.
  enum Word : std::size_t {
    StopAt,   // in: the steps to stop after; kNever
    After,    // in: arrivals count when more steps than this were made (kNever: all)
    Before,   // in: and fewer than this
    Stopped,  // out: 1
    Steps,    // out: where it stopped or ended
    Site,     // out: index into `sites`
    Asking,   // out: bits, the probes that ask whether they stop here; kCodeStops: others do
    kWords
  };
  enum GroupWord : std::size_t {
    Pass,  // in: stop at the arrival after that many; kNever
    Hits,  // out: arrivals that counted
    Last,  // out: steps of the last one, or kNever
    kGroupWords
  };
  static constexpr std::int64_t kNever = -1;
  static constexpr std::size_t kMostProbes = 62;  // where some ask
  static constexpr std::int64_t kCodeStops = std::int64_t(1) << kMostProbes;
  // The packed function that the code calls at a place where probes ask: whether it stops there. It may count arrivals
  // in the words of the groups.
  static constexpr std::string_view kAsk = "rldb.debug.stops_here";
  static std::size_t group_word(std::size_t group, GroupWord word) { return kWords + kGroupWords * group + word; }

  struct Stop {
    const ir::Stmt* statement;
    bool init_done;
    std::vector<const ir::Var*> scope;
    std::vector<const ir::ForStmt*> loops;  // those whose ends are recorded
  };
  struct Memory {
    const ir::Node* key;  // as in eval::TirPlace::allocations
    std::vector<const ir::Expr*> shape;
    runtime::DType dtype;
  };

  const ir::PrimFunc* function = nullptr;  // parameters: the kernel's, `memory`, `given`, int64 words, float64 words
  std::vector<Stop> sites;
  std::vector<Memory> memory;
  std::vector<runtime::Value> given;                       // to conditions
  std::unordered_map<const ir::Node*, std::size_t> slots;  // of Vars and of loops' ends
  std::size_t ints = kWords, floats = 0;                   // words in use
  static constexpr std::int64_t kMaxWords = 256;           // size of the parameters
};

// Failure: what prevents it (the evaluator then goes there step by step).
support::Result<Instrumented, std::string> instrument(ir::Context& ctx, const ir::PrimFunc* f,
                                                      std::span<const Probe> probes);

}  // namespace rldb::debug
