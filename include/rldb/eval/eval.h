// Eval: the slow, obvious evaluator of TensorIR and Relax: the oracle for every other engine, and the
// statement-level stepper of the debugger.
//
// TensorIR: loops, blocks (with init), stores and loads over runtime tensors; every access is bounds-checked and an
// error names buffer, indices and loop variables. Relax: functions, bindings, ifs, tuples, closures, call_tir,
// match_cast, packed calls; operators without a meaning of their own here are evaluated by legalising them first
// (the caller does). State is explicit data (a stack of activities), so a run may be stopped between two statements
// and cloned. Sources: RFC 0089 sections 3 and 4.1. Users: session (engine `eval`), debug, tests.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/runtime/kernel.h"
#include "rldb/runtime/packed.h"

namespace rldb::eval {

class AccessWatcher;
class CompiledStatements;

// The requirements of a PrimFunc on its callers; also used by the JIT and the executable writer.
ir::Result<runtime::KernelSignature> signature_of(const ir::PrimFunc* f, std::string_view name);

// A PrimFunc run by the evaluator, as a kernel of the table. `poisoned_memory`: as EvalEnv's.
std::shared_ptr<runtime::Kernel> make_eval_kernel(const ir::PrimFunc* f, runtime::KernelSignature signature,
                                                  const runtime::PackedRegistry* registry, std::atomic<bool>* interrupt,
                                                  bool poisoned_memory = false);

// A scalar expression under an environment of variables: `print n * 2` at a stop, condition of a breakpoint.
struct ScalarEnv {
  std::function<std::optional<runtime::Value>(const ir::Var*)> var;
  std::function<std::optional<runtime::Value>(const ir::Buffer*)> buffer;  // tensor behind a buffer
};
runtime::Result<runtime::Value> eval_scalar(const ir::Expr* e, const ScalarEnv& env);

// A moment in a call of a PrimFunc, recorded without a TirMachine: the statement that runs next and
// what is in scope. The contents of memory at that moment are in the call's tensors and in `allocations`.
struct TirPlace {
  const ir::Stmt* statement = nullptr;
  bool init_done = false;                                           // a block: its init has run, the body is next
  std::uint64_t steps = 0;                                          // that a TirMachine makes to get here
  std::unordered_map<const ir::Var*, runtime::Value> variables;     // loop variables, axes, lets
  std::unordered_map<const ir::ForStmt*, std::int64_t> loop_ends;   // of those that depend on memory
  std::unordered_map<const ir::Node*, runtime::Value> allocations;  // tensors: by ir::Buffer, or the Var of an Allocate
};

// Where TirMachine::run ends before the end of the function.
struct RunLimits {
  std::optional<std::uint64_t> until;            // in steps since the start
  const std::atomic<bool>* interrupt = nullptr;  // set by others
};

// One TensorIR function in progress, a statement at a time, or faster.
class TirMachine {
 public:
  enum class Ran : std::uint8_t { Finished, AtLimit, Interrupted };

  TirMachine(const ir::PrimFunc* f, const runtime::PackedRegistry* registry);
  ~TirMachine();
  TirMachine(const TirMachine& other);  // clones the activities; tensors are shared
  TirMachine& operator=(const TirMachine&) = delete;

  runtime::Result<support::Unit> start(runtime::PackedArgs args);
  bool running() const;
  // The statement that runs next (a store, evaluate, loop head, block...), null when finished.
  const ir::Stmt* current() const;
  runtime::Result<support::Unit> step();  // one statement
  // Many steps, with compiled forms of the statements: every state in which it ends, and every error, is one of `step`.
  // Nothing is compiled if there is a watcher.
  runtime::Result<Ran> run(const RunLimits& limits = {});
  // Before `run`: where compiled forms are kept, for several calls of functions that live as long.
  void share(std::shared_ptr<CompiledStatements> compiled);
  // Before `start`: memory that the function allocates holds large numbers (runtime/fresh_memory.h), not 0.
  void set_poisoned_memory();
  // Before `start`; null: nobody.
  void watch(AccessWatcher* watcher);
  // Variables in scope, innermost last: loop variables, block axes, lets, shape variables.
  std::vector<std::pair<const ir::Var*, runtime::Value>> variables() const;
  std::vector<std::pair<const ir::Buffer*, runtime::Value>> buffers() const;
  // Whether a loop, block or while is in progress. (A loop or block at its beginning is not.)
  bool inside(const ir::Stmt* s) const;
  std::vector<const ir::Stmt*> enclosing() const;  // those in progress, outermost first
  // A scalar expression of the function, now.
  runtime::Result<runtime::Value> value_of(const ir::Expr* e) const;
  // After `start`: continues as if `place.steps` steps had been made.
  runtime::Result<support::Unit> seek(const TirPlace& place);
  std::uint64_t steps() const;
  runtime::Value result() const;  // of a PrimFunc that returns a value

 private:
  friend class MachineAccess;  // machine_view.h
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Observes a run of Relax as it happens: traces, and sanitizers. A callback that returns an error ends the run with it.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void enter(std::string_view /*name*/, const ir::Function* /*f*/, runtime::PackedArgs /*args*/) {}
  virtual void leave(const runtime::Value& /*result*/) {}
  virtual void begin(const ir::Binding* /*b*/) {}
  virtual runtime::Result<support::Unit> bound(const ir::Binding* /*b*/, const runtime::Value& /*value*/) {
    return support::Unit{};
  }
  // The memory that an output is written to, before the write.
  virtual void allocated(const runtime::Value& /*tensor*/) {}
  // A call to something that is not Relax: a kernel (`f`), or an operator, builtin or packed function (`f` is null).
  virtual runtime::Result<support::Unit> calling(std::string_view /*name*/, const ir::PrimFunc* /*f*/,
                                                 runtime::PackedArgs /*args*/) {
    return support::Unit{};
  }
  virtual runtime::Result<support::Unit> called(std::string_view /*name*/, const ir::PrimFunc* /*f*/,
                                                runtime::PackedArgs /*args*/, const runtime::Value& /*result*/) {
    return support::Unit{};
  }
};

// Runs a PrimFunc instead of the evaluator; nullopt: the evaluator runs it.
using RunKernel = std::function<std::optional<runtime::Result<runtime::Value>>(
    const ir::PrimFunc* f, std::string_view name, runtime::PackedArgs args)>;

// Relax, whole functions. `module` has to be legal (no operator without a meaning here): see `unsupported`.
struct EvalEnv {
  const ir::Module* module = nullptr;
  ir::Context* context = nullptr;  // the module's; null: operators that were not legalised cannot be passed on
  const runtime::PackedRegistry* registry = nullptr;
  runtime::Output* output = nullptr;
  std::atomic<bool>* interrupt = nullptr;
  std::uint64_t max_statements = 0;  // of kernels, over all calls; 0: any number
  // Outputs of kernels, and the memory that kernels allocate, hold large numbers at first, not zeros: what is read
  // before it is written, or never written, shows.
  bool poisoned_memory = false;
  std::size_t max_depth = 100'000;  // calls; as many as the machine has frames (vm::Limits)
  // From this depth on a call in tail position takes the place of its caller, as on the machine. With a watcher, which
  // is told where each call ends, it does not.
  std::size_t tail_depth = 10'000;
  std::size_t max_tail_calls = 1'000'000;
  Watcher* watcher = nullptr;
  RunKernel run_kernel;         // empty: kernels are evaluated
  runtime::DeviceList devices;  // of the module; none: everything is on the host
};
runtime::Result<runtime::Value> call_function(const EvalEnv& env, std::string_view name, runtime::PackedArgs args);
// Names of operators in a function that the evaluator cannot interpret.
std::vector<std::string> unsupported(const ir::Module* module, std::string_view function);

}  // namespace rldb::eval
