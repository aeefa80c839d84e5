// Debugger: stops, steps and questions about a running program, as data. Knows nothing about terminals.
//
// A run is a vm::Machine that stops at instructions; positions are translated with the executable's debug info to
// bindings, source lines, shape-heap symbols. A breakpoint keeps the user's spec and is resolved to sites (pcs)
// whenever code is rebuilt. Stepping inside a kernel switches the kernel's call to an eval::TirMachine.
// Time is (run, instruction index): going back restores the nearest checkpoint and runs forward; breakpoints belong
// here and checkpoints hold none. Ideas: sdb (intent and site), rr (timeline), gdb (verbs). User: ui.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/author.h"
#include "rldb/debug/story.h"
#include "rldb/session/session.h"

namespace rldb::debug {

using bytecode::FunctionIndex;
using bytecode::Pc;

// The place where a binding becomes code: an instruction, and the binding's index among those that the instruction
// serves (0, unless they were fused or merged).
struct Site {
  Pc pc = -1;
  int part = 0;
  friend auto operator<=>(const Site&, const Site&) = default;
};

struct KernelPlace;  // inside a kernel

enum class PointKind : std::uint8_t { Break, Watch, Catch };

// Which of a breakpoint's hits stop: all, the one with this number, those from it on, or its multiples.
struct HitRule {
  enum class When : std::uint8_t { Always, Equal, AtLeast, Multiple } when = When::Always;
  std::uint64_t count = 0;  // not 0, unless Always
};

// A breakpoint, watchpoint or catchpoint. Forms of `spec`:
//   Break  `main:lv1` (binding), `main` (function entry), `file.py:12` or `12` (line), `*17` (VM pc), `op:matmul` (each
//          call of an operator), `node:NAME` (of the ONNX model behind the module), `add1` (kernel: each call of it),
//          `vm.builtin.match_shape` (any callee), and inside a kernel `add1:14` (a line of its text), `add1:i` (each
//          value of a loop variable or axis), `add1:C` (each write to a buffer, each entry of a block)
//   Watch  an expression over names of a frame, `storage(lv1)` (the memory that it lies in)
//   Catch  `nan`, `inf`, `denormal` (in a call's result), `error`, `alloc`, `free`, `call NAME`, `shape n` (a symbolic
//          variable gets a value), `slot 3`
struct Breakpoint {
  int number = 0;
  PointKind kind = PointKind::Break;
  std::string spec;
  bool enabled = true;
  bool temporary = false;
  std::string condition;  // a scalar expression over what is visible at the stop
  std::uint64_t ignore = 0;
  std::uint64_t hits = 0;
  HitRule rule;
  // How many of the next hits do not stop; the largest number: none will.
  std::uint64_t hits_to_pass() const;
  std::vector<std::string> commands;
  Author commands_by;
  // Not empty: shown instead of stopping, with each {EXPRESSION} replaced by its value.
  std::string log;
  std::size_t frame = 0;          // Watch: counted from the outermost
  std::string function;           // Watch: the function of that frame; empty: the one that is run
  std::uint64_t entered = 0;      // Watch: when that frame was entered
  bool every_activation = false;  // Watch: every call of the function instead
  bool iterations = false;        // Watch: its stops tell which iteration of a kernel stored the value
  std::string moved_to;     // where it stops, because the binding became no instruction: `main:next`, `the end of main`
  std::vector<Site> sites;  // empty: not resolved now (pending), or of a kind that has no sites
  std::shared_ptr<const KernelPlace> in_kernel;  // instead of sites
  std::string place;        // inside a kernel: what it stops at; of a kernel that nothing calls: that it is so
  std::string kernel;       // the kernel's name; empty: not inside one
  std::string kernel_file;  // the file of these lines; empty: the printed kernel
  std::vector<std::uint32_t> kernel_lines;  // where it stops
};

enum class StopKind : std::uint8_t {
  None,   // not running
  Entry,  // started, nothing executed yet
  Breakpoint,
  Step,
  Finished,  // the outermost function returned
  Fault,     // the program stopped by itself
  Interrupted,
  HistoryEnd,  // reached the first instruction going backwards
};

// The position of a frame, in terms of every level from the source to the VM.
struct Position {
  std::string function;
  Pc pc = -1;
  std::string binding;     // variable that the current binding defines; empty when not known
  std::uint32_t node = 0;  // ir node id of the binding; 0: not known
  source::Span span;       // of the binding in the text; no place when not known
  std::string written_in;  // function that the binding is written in: `function`, unless it was inlined or lifted
  // When one piece of code serves several bindings (fused, merged): their names, which one this is, the kernel.
  std::vector<std::string> group;
  int part = 0;
  std::string kernel;
};

struct StopReport {
  StopKind kind = StopKind::None;
  std::vector<int> breakpoints;      // numbers of the points that were hit
  std::vector<std::string> details;  // what watchpoints and catchpoints among them saw, in the same order
  std::string element;               // `lv2[0, 3]`: what a catchpoint among them found
  Position where;
  std::uint64_t time = 0;          // instructions completed in this run
  runtime::Value value;            // Finished: the result
  std::optional<vm::Fault> fault;  // Fault
  std::string returned_from;       // finish: the function that returned, and its value
  runtime::Value returned;
  bool in_kernel = false;  // stopped at a TensorIR statement; see kernel_position
  std::string note;        // further remarks: a condition that cannot be evaluated, no history
};

// A frame that does not exist in the machine: the function that a binding was written in, or fused into, is not called
// there. Shown as debuggers show inlined functions.
enum class VirtualFrame : std::uint8_t { None, Fused, Inlined };

struct FrameInfo {
  int number = 0;  // 0 is innermost
  Position where;
  bool in_kernel = false;                        // the kernel being inspected, on top of the machine's frames
  VirtualFrame is_virtual = VirtualFrame::None;  // its code is part of the next frame's
};

struct LocalInfo {
  std::string name;
  runtime::Value value;
  bytecode::RegName reg = -1;
  std::string type;  // annotation text; empty when not known
  bool live = true;  // the register still holds it
};

struct SlotInfo {
  std::int64_t slot = 0;
  std::string expression;  // `n`, `n * 2`
  std::int64_t value = 0;
  bool set = false;      // written already in this frame
  std::string bound_by;  // `parameter x, dimension 0`, `match_cast lv5`, `computed`
};

class Debugger {
 public:
  explicit Debugger(session::Session& session);
  ~Debugger();

  // ---- breakpoints ----
  // Null and diagnosed when the spec has no possible meaning; pending when nothing matches yet.
  const Breakpoint* add_breakpoint(std::string_view spec, bool temporary, source::Diagnostics& out);
  // In a frame (0 is innermost); without a run, in the outermost frame of the next one.
  // `every_activation`: in every call of that frame's function. Names and indices must exist.
  const Breakpoint* add_watchpoint(std::string_view expression, int frame, bool every_activation,
                                   source::Diagnostics& out);
  const Breakpoint* add_catchpoint(std::string_view event, source::Diagnostics& out);
  Breakpoint* find_breakpoint(int number);
  // False and diagnosed when the text cannot be read as an expression.
  static bool is_expression(std::string_view text, source::Diagnostics& out);
  // False and diagnosed when it cannot be read. Empty: none.
  bool set_condition(int number, std::string_view condition, source::Diagnostics& out);
  // A log point from now on; false and diagnosed when an {EXPRESSION} cannot be read. Number 0: it is only read.
  bool set_log(int number, std::string_view text, source::Diagnostics& out);
  bool remove_breakpoint(int number);
  const std::map<int, Breakpoint>& breakpoints() const;
  // After an edit of the program's text: breakpoints at its lines move along. `moved`: from old lines to new ones.
  void move_line_breakpoints(std::string_view file, const std::function<std::uint32_t(std::uint32_t)>& moved);
  // After a change of the program: the breakpoints that have lost their place, with the reason.
  std::vector<std::pair<int, std::string>> resolve_breakpoints();

  // ---- running ----
  bool active() const;  // there is a run that has not finished
  // There is one that has finished and can still be asked: its names have the values that they had before it returned.
  bool finished() const;
  // Puts a run that has finished to the moment before it returned, where it has frames. False: nothing can be asked.
  bool ask_at_end();
  // How often the run was changed (assign, skip, return_from, replace_kernel, revert_kernel).
  std::uint64_t changes() const;
  // If the run has no history.
  std::string why_no_history() const;
  // The function and the arguments that the run began with. Nullopt: no run, or it has no history and may have changed
  // them.
  std::string run_function() const;
  // A separate machine as it was at a time of the run. Nullopt: no run, no history, or interrupted.
  std::optional<vm::Machine> machine_at(std::uint64_t time) const;
  std::optional<std::vector<runtime::Value>> run_arguments() const;
  // Runs a build that is not the session's: an entry at the prompt.
  StopReport start(std::shared_ptr<const session::Build> build, std::string_view function,
                   std::span<const runtime::Value> args, bool stop_at_entry, source::Diagnostics& out);
  StopReport start(std::string_view function, std::span<const runtime::Value> args, bool stop_at_entry,
                   source::Diagnostics& out);
  // Nested in a stopped run: a call that an entry makes there. The stopped run waits until this one has finished or is
  // abandoned; one that finishes without a stop has returned to it already.
  StopReport start_nested(std::shared_ptr<const session::Build> build, std::string_view function,
                          std::span<const runtime::Value> args, source::Diagnostics& out);
  // Returns to the waiting run when the nested one is over. False: no run waits, or the nested one is not over.
  bool return_to_outer();
  // Where the waiting run is stopped; null: no run waits.
  const StopReport* outer_stop() const;
  StopReport resume();                       // continue
  StopReport step(std::uint64_t count = 1);  // bindings, into calls
  StopReport next(std::uint64_t count = 1);  // bindings, over calls
  // Until frame `frame` (0 is innermost) has returned; a virtual one: until its bindings are done.
  StopReport finish(int frame = 0);
  StopReport until(std::string_view spec, source::Diagnostics& out);
  StopReport step_instruction(std::uint64_t count = 1);
  StopReport next_instruction(std::uint64_t count = 1);
  StopReport step_statement(std::uint64_t count = 1);  // TensorIR
  // To the next new value of a loop variable or axis, the next entry of a block (`block`: of any), the next write to a
  // buffer; at the kernel's end after its call.
  StopReport step_to_in_kernel(std::string_view what, std::uint64_t count, source::Diagnostics& out);
  // Backwards.
  StopReport reverse_resume();
  StopReport reverse_step(std::uint64_t count = 1);
  StopReport reverse_next(std::uint64_t count = 1);
  StopReport reverse_finish();
  StopReport reverse_step_instruction(std::uint64_t count = 1);
  StopReport reverse_step_statement(
      std::uint64_t count = 1);  // inside a kernel; at its first statement: before the call
  StopReport reverse_step_to_in_kernel(std::string_view what, std::uint64_t count, source::Diagnostics& out);
  StopReport go_to(std::uint64_t time);
  // To where frame `frame` began: its first binding, or the first statement of its kernel.
  StopReport restart_frame(int frame);
  // ---- changing the run: the recorded future is discarded; going back and forth keeps the change ----
  // TARGET: a local of the frame, `x[0, :2]` (elements), a symbolic variable, `slot 3`. Returns one line: what was set.
  std::optional<std::string> assign(std::string_view target, std::string_view expression, int frame,
                                    source::Diagnostics& out);
  // Skips the calls of the current binding (its memory is allocated); inside a binding, the one instruction.
  StopReport skip(source::Diagnostics& out);
  // Makes frame `frame` return the value now, skipping the rest of it; null without an expression.
  StopReport return_from(int frame, std::string_view expression, source::Diagnostics& out);
  // The kernel's calls run `f` from now on. False: diagnosed, nothing is changed.
  bool replace_kernel(std::string_view kernel, const ir::PrimFunc* f, session::Engine engine, source::Diagnostics& out);
  // Undoes this: the kernel's calls run what they ran when the run began.
  bool revert_kernel(std::string_view kernel, source::Diagnostics& out);
  // The function that the kernel runs now; null: the run has no such kernel.
  const ir::PrimFunc* kernel_of_run(std::string_view kernel) const;
  // Goes back to the kernel's last call, and repeats it with the kernel as it is now and the same arguments.
  StopReport call_again(std::string_view kernel, source::Diagnostics& out);

  void kill();      // with the waiting runs
  void kill_one();  // returns to the waiting run, if there is one
  const StopReport& last_stop() const;

  // A snapshot of the state that a verb may change, for callers that abandon one half-way. Restoring it runs again from
  // the checkpoint before, and leaves a kernel that was being stepped.
  struct Snapshot;
  std::shared_ptr<Snapshot> snapshot() const;
  void restore(Snapshot& snapshot);

  // ---- questions; frame 0 is innermost ----
  // Of a site in the code that runs, or would run; empty: there is none.
  Position position_at(const Site& site) const;
  // The calls that the current binding has yet to make, in the order of the code.
  struct BindingCall {
    std::string callee;
    Pc pc = -1;
    bool is_kernel = false;  // `stept` can enter it; otherwise it is a bytecode function, or has no code here
    bool is_function = false;
  };
  std::vector<BindingCall> calls_of_binding() const;
  const vm::Machine* machine() const;
  std::shared_ptr<const session::Build> build() const;  // null for a loaded executable
  // The functions of the run as they were written, before any pass; null: no run, or an executable from a file.
  const ir::Module* written_module() const;
  std::vector<FrameInfo> frames() const;
  // The frame of the machine (0: innermost) behind a frame: a kernel's and a virtual one count as their caller.
  int machine_frame(int frame) const;
  // The position of that frame of the machine; empty if there is no such frame.
  Position function_position(int frame) const;
  std::vector<LocalInfo> locals(int frame) const;
  // At most so many of them, from `first` on; without it the last page of all.
  struct LocalsPage {
    std::vector<LocalInfo> list;
    std::size_t first = 0, total = 0;
  };
  LocalsPage locals_page(int frame, std::optional<std::size_t> first, std::size_t most) const;
  std::vector<SlotInfo> heap(int frame) const;
  // Any name of the source (a local, a value that was freed since, a binding that was fused away, a symbolic variable),
  // a session value, or an expression over them. `notes` tell how values that were not at hand were obtained.
  // `run` executes the functions of the module that it calls; if one of them stops, the evaluation is abandoned.
  std::optional<runtime::Value> evaluate(std::string_view text, int frame, source::Diagnostics& out,
                                         std::vector<std::string>* notes = nullptr,
                                         const session::Session::EntryRunner& run = {}) const;
  // A runner whose calls are runs of this debugger (start_nested), as long as there are breakpoints and an engine that
  // stops at them; else empty. `stop`: where one stopped. Both must outlive the runner.
  session::Session::EntryRunner call_runner(std::optional<StopReport>& stop, source::Diagnostics& out);
  // When a name of the frame got its value and when its register was freed. Empty: diagnosed.
  NameHistory when(std::string_view name, int frame, source::Diagnostics& out) const;
  // The origin of a value: the bindings and symbols behind it with their values, `depth` levels of them. Of one element
  // (`out[3, 4]`): the kernels that made it and the elements that they read, as far as these are single elements.
  std::vector<CauseStep> why(std::string_view name, int frame, int depth, source::Diagnostics& out) const;
  // The bindings that began most recently before now, in order of time.
  std::vector<std::pair<std::uint64_t, Position>> last_bindings(std::size_t count) const;
  // Moments of this run by name.
  void set_checkpoint(std::string name);
  std::optional<std::uint64_t> checkpoint(std::string_view name) const;
  const std::map<std::string, std::uint64_t, std::less<>>& checkpoints() const;
  // How far back one can go, and what that costs. nullopt: there is no run.
  std::optional<RunHistory> history() const;
  // From an instruction back to the binding and line it came from: one line per step of the provenance.
  std::vector<std::string> origin(Pc pc) const;

  // ---- inside a kernel ----
  // An element that the statement touches.
  struct KernelAccess {
    std::string element;                   // `C[i, j]`
    std::string at;                        // `C[2, 3]`
    std::optional<runtime::Value> before;  // none: outside the buffer
    std::optional<runtime::Value> after;   // of a write
    bool write = false;
  };
  struct KernelPosition {
    std::string kernel;
    std::uint32_t statement = 0;  // ir node id
    std::string text;
    std::uint64_t steps = 0;                                    // statements done in this call
    const source::Buffer* source = nullptr;                     // the user's text that holds it; null: it is printed
    std::uint32_t line = 0;                                     // of that text, or of the printed one
    std::vector<std::string> blocks;                            // around it, outermost first
    std::vector<std::pair<std::string, runtime::Value>> loops;  // variables of the loops around it
    std::vector<std::pair<std::string, runtime::Value>> variables;
    std::vector<std::pair<std::string, runtime::Value>> buffers;
    std::vector<KernelAccess> accesses;
  };
  std::optional<KernelPosition> kernel_position() const;
  // Lines around the statement, or around a line.
  struct KernelLine {
    std::uint32_t number = 0;
    std::string text;
    bool current = false;
  };
  std::vector<KernelLine> kernel_lines(std::size_t count, std::optional<std::uint32_t> around = {}) const;

  struct Impl;  // private to the room

 private:
  std::unique_ptr<Impl> impl_;
  friend Impl& impl_of(Debugger& debugger);
  friend const Impl& impl_of(const Debugger& debugger);
};

}  // namespace rldb::debug
