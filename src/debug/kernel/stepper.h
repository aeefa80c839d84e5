// KernelStepper: one call of a kernel that is looked at from inside, on the run's own tensors.
//
// It only shows: at the end the tensors are as before and the run's own engine makes the call, so that what is computed
// does not depend on whether anybody looked (an engine may round the last bits in another way). A moment of the call is
// a number of steps of the evaluator. Near moments are walked to; far ones are reached by machine code that stops
// itself (self_stopping.h), where the session's engine is the JIT and the kernel allows it.
#pragma once

#include <functional>
#include <map>

#include "debug/kernel/self_stopping.h"

namespace rldb::debug {

// The contents of the tensors of a call before it is made.
class TensorBytes {
 public:
  // False: no memory for the copies.
  bool save(std::span<const runtime::Value> values, std::span<const runtime::Value> constants);
  void restore() const;
  bool empty() const { return kept_.empty(); }

 private:
  bool save_storage(const support::Ref<runtime::Storage>& storage);
  std::vector<std::pair<support::Ref<runtime::Storage>, support::Ref<runtime::Storage>>> kept_;  // (of the run, copy)
};

// Code that was made for kernels, by what it looks for.
class KernelCode {
 public:
  explicit KernelCode(session::Session& session) : session_(session), compiler_(session) {}
  session::Session& session() const { return session_; }
  // Null: the evaluator has to do it.
  SelfStopping* find(const ir::PrimFunc* f, std::string_view name, std::span<const Probe> probes);
  // Conditions in a form that machine code can judge, and what they were made from.
  struct Condition {
    const ir::Stmt* at;
    Probe::Arrival arrival;
    std::string text;
    std::vector<std::pair<std::string, runtime::Value>> numbers;  // names from outside of the kernel
    const ir::Expr* made;                                         // null: there is no such form
  };
  std::vector<Condition> conditions;
  // Steps that are walked before code is made.
  std::uint64_t near = 20'000;

 private:
  session::Session& session_;
  session::AsideCompiler compiler_;
  std::map<std::vector<std::uintptr_t>, std::unique_ptr<SelfStopping>> made_;
};

// What to look for inside a call.
struct KernelSearch {
  std::vector<Probe> probes;
  // Of a group that the machine code cannot judge; null: it holds. Asked at an arrival.
  std::function<bool(std::size_t group, const eval::TirMachine&)> condition;
  bool compiled = true;                            // no group needs `condition`
  std::vector<std::optional<std::uint64_t>> pass;  // by group: arrivals to pass; none: it never stops
};

class KernelStepper {
 public:
  // Null: the arguments do not fit, or there is no memory to keep what is in them.
  static std::unique_ptr<KernelStepper> enter(KernelCode& code, std::string name, const ir::PrimFunc* f,
                                              std::vector<runtime::Value> args,
                                              std::span<const runtime::Value> constants);

  const std::string& name() const { return name_; }
  const ir::PrimFunc* function() const { return f_; }
  const eval::TirMachine& machine() const { return *machine_; }
  runtime::Result<support::Unit> step() { return machine_->step(); }
  // The tensors as they were before the call; this is good for nothing then but to go to a moment.
  void put_back() const { before_.restore(); }

  enum class Found : std::uint8_t { Yes, No, Interrupted };
  // To a moment of the call. No: the call ends before it, or fails.
  Found go_to(std::uint64_t steps);
  // To the first arrival after the present moment (from the beginning: at any) that a group stops at. `groups` says
  // what was met on the way. After a No the tensors are anything.
  Found forward(const KernelSearch& search, bool from_beginning, std::optional<std::uint64_t> before,
                std::vector<Arrivals>& groups);
  // The last arrival before a moment; none: in the whole call. Afterwards the tensors are anything: go to a moment.
  std::optional<std::uint64_t> last_arrival(const KernelSearch& search, std::optional<std::uint64_t> before,
                                            std::vector<Arrivals>& groups);

 private:
  KernelStepper(KernelCode& code, std::string name, const ir::PrimFunc* f, std::vector<runtime::Value> args)
      : code_(code), name_(std::move(name)), f_(f), args_(std::move(args)) {}
  bool start_again();
  bool put_to(const eval::TirPlace& place);
  bool interrupted() { return code_.session().interrupt().exchange(false); }
  Found walk_to(std::uint64_t steps);
  Found walk(const KernelSearch& search, const Window& window, std::uint64_t limit, bool& reached,
             std::vector<Arrivals>& groups);
  std::optional<Found> run(const KernelSearch& search, const Window& window, std::vector<Arrivals>& groups);
  Found search(const KernelSearch& search, const Window& window, bool from_beginning, std::vector<Arrivals>& groups);

  KernelCode& code_;
  std::string name_;
  const ir::PrimFunc* f_;
  std::vector<runtime::Value> args_;
  TensorBytes before_;
  std::unique_ptr<eval::TirMachine> machine_;
};

}  // namespace rldb::debug
