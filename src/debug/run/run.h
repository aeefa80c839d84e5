// Run: one execution being debugged: its machine, its timeline, the kernel being stepped.
//
// Moves the machine forward (to stops, or by a number of instructions) and backwards (nearest checkpoint, then forward
// again with the program's output muted). Knows instructions and times; bindings and breakpoints are Debugger's
// concern. Packed functions with effects outside the machine are called again on the way; see docs/debug.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "debug/kernel/stepper.h"
#include "debug/look/code_map.h"
#include "debug/run/change.h"
#include "debug/run/kernel_memory.h"
#include "debug/run/timeline.h"
#include "rldb/session/process_group.h"

namespace rldb::debug {

class Observer;

// The requested instructions were executed, and nothing else ended it.
inline bool ran_out(const vm::Outcome& o) { return o.stopped() && o.reason == vm::StopReason::Stepped; }
// Between two instructions, or in a kernel.
bool was_interrupted(const vm::Outcome& o);
// A machine took the interrupt while a question was answered: there is no answer. Throws support::Cancelled.
[[noreturn]] void abandon_question();

class Run {
 public:
  // `function` and `args`: with which the machine was started.
  Run(std::shared_ptr<const CodeMap> code, vm::Machine machine, session::Session& session, std::string_view function,
      std::span<const runtime::Value> args)
      : code_(std::move(code)),
        machine_(std::move(machine)),
        session_(session),
        function_(function),
        args_(args.begin(), args.end()) {
    machine_.set_call_log(std::make_shared<vm::CallLog>());
    take_part();
    tell_kernel_writes(machine_.program(), lowered_of(machine_));
    timeline_.begin(machine_);
  }

  ~Run();  // a process that it shows goes on alone
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Of another process (attach): it can be looked at, and moved forward.
  bool is_foreign() const;
  const CodeMap& code() const { return *code_; }
  const vm::Machine& machine() const { return machine_; }
  const std::string& function() const { return function_; }  // the one that was started
  // Its arguments, which it may have changed.
  std::span<const runtime::Value> given() const { return args_; }
  // Its arguments as they were then; nullopt: the run has no history, and may have changed them.
  std::optional<std::vector<runtime::Value>> arguments() const;
  const Timeline& timeline() const { return timeline_; }
  // If it has none.
  std::string why_no_history() const;
  // The latest checkpoint at or before a time, those of questions too; null: none.
  const vm::Machine* nearest(std::uint64_t time) const;
  Pc pc() const { return machine_.running() ? machine_.frame().pc : Pc(-1); }
  std::size_t depth() const { return machine_.frames().size(); }
  std::uint64_t time() const { return machine_.instructions(); }
  // Nanoseconds that going back to the current time would take.
  std::uint64_t cost_of_return() const { return timeline_.cost_of_return(); }
  // It has ended, and its result cannot be read.
  void result_lost(vm::Fault why) { kernel_fault_ = std::move(why); }
  const std::optional<vm::Fault>& fault() const { return kernel_fault_ ? kernel_fault_ : machine_.fault(); }

  // ---- forward ----
  // At least one instruction, then on to the next stop in the set or to `until` (a time).
  static constexpr std::uint64_t kForever = ~std::uint64_t(0);
  // With an observer, also to its first hit (the outcome is then `Stepped`).
  vm::Outcome advance(const vm::StopSet* stops, std::uint64_t until = kForever, Observer* observer = nullptr);

  // ---- changing ----
  // At the current time; everything later is discarded. The outcome: how the run ended with it.
  std::optional<vm::Outcome> change(bool moves, std::function<std::optional<vm::Outcome>(vm::Machine&)> apply,
                                    std::optional<Change::Target> writes = {}, Change::Said said = {});

  const Changes& changes() const { return changes_; }
  // For machines of this run that are about to execute.
  session::ProcessGroup::Together with_ranks() const { return session::ProcessGroup::Together(ranks_); }
  // Its kernels are no longer those that it began with.
  bool has_other_kernels() const { return !builds_.empty(); }
  std::uint64_t changed_times() const { return changed_times_; }

  // A build with other kernels for the same executable: the program calls those from now on.
  void replace_build(std::shared_ptr<const session::Build> build);
  // The build that replaces the first one now; null: none.
  std::shared_ptr<const session::Build> replaced_build() const;
  // The build that a machine of this run executes; null for a loaded executable.
  const session::Build* build_of(const vm::Machine& m) const;

  // ---- backwards ----
  enum class Seek { Done, NoHistory, Interrupted, Ended };
  // To a time already passed, or ahead if it is later than now; Ended: the run was over before.
  Seek go_to(std::uint64_t time, vm::Outcome* ended = nullptr);
  // The same, always from a checkpoint: the machine's current state must not be relied on.
  Seek go_back(std::uint64_t time);
  // Shows `visit` every moment in [begin of a window, now) whose instruction is in `stops`, in time order; the windows
  // come from the latest back to the first. `leave` is called after each window; true: stop searching. An observer
  // keeps the last thing that it saw in the window.
  Seek search(const vm::StopSet& stops, const std::function<void(const vm::Machine&)>& visit,
              const std::function<bool()>& leave, Observer* observer = nullptr) const;

  // Executes the interval from the last checkpoint before a time up to it again: `begun` at its start, `visit` before
  // each instruction in `stops`, `ended` at the time itself. NoHistory: also without memory for it.
  using Visit = std::function<void(const vm::Machine&)>;
  Seek replay_before(std::uint64_t end, const vm::StopSet& stops, const Visit& begun, const Visit& visit,
                     const Visit& ended) const;

  // A separate machine as it was at a past time. Nullopt: `how` tells whether it was interrupted.
  std::optional<vm::Machine> machine_at(std::uint64_t time, Seek* how = nullptr) const;
  // Such a machine on to a later time. NoHistory: without memory for it.
  Seek carry_on(vm::Machine& m, std::uint64_t time) const;

  // Storages of so many bytes and more are left out where a part of the run is skimmed (run/skim.h); kNoSkim: nothing
  // is skimmed.
  static constexpr std::size_t kNoSkim = ~std::size_t(0);
  std::size_t skim_from() const { return skim_from_; }
  void set_skim_from(std::size_t bytes) { skim_from_ = bytes; }

  // ---- kernels ----
  // It went back while foreign code kept memory of its first execution, and has run on past the end of that: the time
  // from which on writes of that code may be missing. Nullopt: none are.
  std::optional<std::uint64_t> apart_since() const {
    return kept_until_ && time() > *kept_until_ ? kept_until_ : std::nullopt;
  }
  bool in_kernel() const { return kernel_ != nullptr; }
  KernelStepper* kernel() const { return kernel_.get(); }
  KernelCode& kernel_code() { return kernel_code_; }
  // The kernel that a machine would call next, opened for stepping; null: no kernel, or its arguments do not fit.
  std::unique_ptr<KernelStepper> look_into(const vm::Machine& m);
  // Is the instruction at a pc a call of a kernel, by name or through vm.builtin.call_tir_dyn?
  bool is_kernel_call(Pc pc) const { return kernel_called_at(pc) >= 0; }
  bool is_direct_kernel_call(Pc pc) const { return kernel_called_at(pc) == code_->executable().instruction(pc).callee; }
  // The name of the kernel that a pc calls; empty: none.
  std::string_view kernel_called(Pc pc) const;
  // The PrimFunc run by a call at a pc; null: it is no such call, or its TensorIR is not known.
  const ir::PrimFunc* kernel_function(const vm::Machine& m, Pc pc) const;
  bool next_is_kernel_call() const;
  // Its PrimFunc; null when the next instruction is no such call, or its TensorIR is not known.
  const ir::PrimFunc* next_kernel(std::string* name = nullptr) const;
  // The same for a machine of this run: a copy with which a search continues.
  const ir::PrimFunc* kernel_of(const vm::Machine& m, std::string* name = nullptr) const;
  // Its arguments, as the kernel gets them. Nullopt: the call does not have them.
  std::optional<std::vector<runtime::Value>> kernel_arguments(const vm::Machine& m) const;
  bool enter_kernel();
  // Back to before its call, as if it had not been opened.
  void give_kernel_up();
  // One statement; if it was the last one, the call has been made.
  vm::Outcome step_kernel();
  vm::Outcome finish_kernel();
  // The same statement by statement, so that a fault is seen where it happens.
  vm::Outcome walk_kernel_out();
  // Repeated execution prints nothing, nor does one that another one needs on its way.
  class Muted {
   public:
    explicit Muted(const Run& run) : run_(run) {
      if (run_.muted_++ == 0) run_.session_.mute(true);
    }
    ~Muted() {
      if (--run_.muted_ == 0) run_.session_.mute(false);
    }
    Muted(const Muted&) = delete;
    Muted& operator=(const Muted&) = delete;

   private:
    const Run& run_;
  };
  template <class F>
  auto quietly(F f) const {
    const Muted muted(*this);
    return f();
  }

 private:
  void take_part();
  Seek seek(std::uint64_t target, vm::Outcome* ended, bool from_checkpoint);
  // Machine::step, up to a time, applying changes on the way.
  vm::Outcome step(vm::Machine& m, std::uint64_t until, const vm::StopSet* stops, Observer* observer) const;
  vm::StopSet with_last_return(const vm::StopSet* stops);
  bool stands_at_return_only(const vm::Outcome& o, const vm::StopSet* stops) const;
  vm::Outcome complete_kernel();
  vm::Outcome kernel_failed(runtime::Error error);
  const ir::Module* lowered_of(const vm::Machine& m) const;
  FunctionIndex kernel_called_at(Pc pc) const;  // index into the function table, or -1
  vm::Outcome call_alone();
  std::optional<runtime::Value> argument(const vm::Machine& m, bytecode::Arg arg) const;

  std::shared_ptr<const CodeMap> code_;
  vm::Machine machine_;
  session::Session& session_;
  session::ProcessGroup* ranks_ = nullptr;  // of which it is one
  std::string function_;
  std::vector<runtime::Value> args_;
  TensorBytes untouched_args_;  // of a kernel run alone, from before it ran
  Timeline timeline_;
  // Of machines that questions executed again: whoever asks about a moment soon asks about one a little before it.
  mutable Timeline asked_;
  Changes changes_;
  std::optional<std::vector<Pc>> returns_;  // of the outermost function
  std::uint64_t changed_times_ = 0;
  std::vector<std::shared_ptr<const session::Build>> builds_;  // that replaced the first one
  KernelCode kernel_code_{session_};
  std::unique_ptr<KernelStepper> kernel_;
  std::optional<vm::Fault> kernel_fault_;
  std::optional<std::uint64_t> kept_until_;  // how far the execution came whose memory foreign code keeps
  bool over_ = false;                        // a machine without frames has run
  mutable int muted_ = 0;
  std::size_t skim_from_ = std::size_t(1) << 20;
  bool can_go_back_ = true;  // false: there was no memory to save untouched_args_
};

}  // namespace rldb::debug
