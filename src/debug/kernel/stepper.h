// KernelStepper: one call of a kernel observed from inside, on the run's own tensors.
//
// It only observes: at the end the tensors are restored and the run's own engine makes the call, so that results do not
// depend on whether anybody looked (an engine may round the last bits differently). A moment of the call is a number of
// steps of the evaluator. Near moments are reached by stepping; far ones by machine code that stops itself
// (self_stopping.h), where the session's engine is the JIT and the kernel allows it.
#pragma once

#include <functional>
#include <map>

#include "debug/kernel/self_stopping.h"
#include "rldb/eval/machine_view.h"
#include "rldb/runtime/shared_memory.h"

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

// Code made for kernels, by the moments it searches for.
class KernelCode {
 public:
  explicit KernelCode(session::Session& session) : session_(session), compiler_(session) {}
  session::Session& session() const { return session_; }
  // Null: the evaluator has to do it.
  SelfStopping* find(const ir::PrimFunc* f, std::string_view name, std::span<const Probe> probes);
  // Conditions in a form for machine code, and their inputs.
  struct Condition {
    const ir::Stmt* at;
    Probe::Arrival arrival;
    std::string text;
    std::vector<std::pair<std::string, runtime::Value>> numbers;  // names from outside the kernel
    std::vector<std::pair<std::string, runtime::Value>> tensors;  // the same
    ConditionCode made;                                           // none: there is no such form
  };
  std::vector<Condition> conditions;
  std::size_t code_count() const { return made_.size(); }
  // The number of steps to walk before code is made.
  std::uint64_t near = 20'000;

 private:
  session::Session& session_;
  session::AsideCompiler compiler_;
  std::map<std::vector<std::uintptr_t>, std::unique_ptr<SelfStopping>> made_;
};

// The moments to search for inside a call.
struct KernelSearch {
  std::vector<Probe> probes;
  // Of a group whose condition the machine code asks for, or has loops for; null: it holds. Called at an arrival.
  std::function<bool(std::size_t group, const eval::TirMachine&)> condition;
  std::vector<std::optional<std::uint64_t>> pass;  // by group: number of arrivals to pass; none: it never stops
};

class KernelStepper {
 public:
  // Null: the arguments do not fit, or there is no memory to save their contents.
  static std::unique_ptr<KernelStepper> enter(KernelCode& code, std::string name, const ir::PrimFunc* f,
                                              std::vector<runtime::Value> args,
                                              std::span<const runtime::Value> constants);

  const std::string& name() const { return name_; }
  const ir::PrimFunc* function() const { return f_; }
  const eval::TirMachine& machine() const { return *machine_; }
  runtime::Result<support::Unit> step() {
    seen_.reset();
    return machine_->step();
  }
  // The machine as questions see it: with the thread's turn that was chosen, until the next step.
  const eval::TirMachine& seen() const { return seen_ ? *seen_ : *machine_; }
  // False: there is no such thread, or it has not begun, or is done.
  bool look_at_thread(std::size_t thread) {
    auto view = eval::as_thread(*machine_, thread);
    if (!view) return false;
    seen_ = std::move(view);
    return true;
  }
  // Restores the tensors from before the call; afterwards this can only be used to go to a moment.
  void put_back() const { before_.restore(); }

  enum class Found : std::uint8_t { Yes, No, Interrupted };
  // Goes to a moment of the call. No: the call ends before it, or fails.
  Found go_to(std::uint64_t steps);
  // To the first arrival after the current moment (from the beginning: the first of all) at which a group stops.
  // `groups` receives the arrivals on the way. After a No the contents of the tensors are undefined.
  Found forward(const KernelSearch& search, bool from_beginning, std::optional<std::uint64_t> before,
                std::vector<Arrivals>& groups);
  // The last arrival before a moment; none: in the whole call. Leaves the tensors undefined: go to a moment.
  std::optional<std::uint64_t> last_arrival(const KernelSearch& search, std::optional<std::uint64_t> before,
                                            std::vector<Arrivals>& groups);
  const runtime::Pinned& pinned() const { return pinned_; }

 private:
  KernelStepper(KernelCode& code, std::string name, const ir::PrimFunc* f, std::vector<runtime::Value> args)
      : code_(code), name_(std::move(name)), f_(f), args_(std::move(args)), pinned_(args_) {}
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
  runtime::Pinned pinned_;  // machines that stand in the kernel have pointers to its memory
  TensorBytes before_;
  std::unique_ptr<eval::TirMachine> machine_;
  std::unique_ptr<eval::TirMachine> seen_;  // null: as it is
};

}  // namespace rldb::debug
