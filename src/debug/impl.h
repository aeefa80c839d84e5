// Debugger's state, and the functions behind its verbs. Room-private.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "debug/kernel/place.h"
#include "debug/run/run.h"
#include "debug/watch/memory_of_name.h"
#include "rldb/expression/expression.h"

namespace rldb::debug {

class Observer;

struct Debugger::Impl {
  explicit Impl(session::Session& s) : session(s) {}

  session::Session& session;
  std::map<int, Breakpoint> breakpoints;
  int next_number = 1;
  // Moves of the lines of files that were edited during a run. Its code keeps the places of the text that it began
  // with, and so do breakpoints until it is over.
  struct LineMove {
    std::string file;
    std::function<std::uint32_t(std::uint32_t)> moved;
  };
  std::vector<LineMove> moves;
  std::shared_ptr<Run> run;                     // shared with snapshots
  mutable std::shared_ptr<const CodeMap> code;  // of the last program inspected
  StopReport last;
  std::map<std::string, std::uint64_t, std::less<>> checkpoints;
  // Of watchpoints, by number: where the names lay while their registers held them.
  std::map<int, std::map<std::string, MemoryOfName, std::less<>>> watched_memory;
  int part = 0;  // the binding at which the run is, of those that the code there serves
  // Runs suspended by a call that was made while they were stopped, the innermost last.
  struct Waiting {
    std::shared_ptr<Run> run;
    StopReport last;
    int part = 0;
    std::map<std::string, std::uint64_t, std::less<>> checkpoints;
  };
  std::vector<Waiting> waiting;
  std::map<std::string, runtime::Value, std::less<>> rank_values;  // of other ranks, by `a@1`
  // The other run of a pair (side_by_side.h).
  struct Beside {
    Waiting other;
    std::string labels[2];
    int present = 1;
  };
  std::optional<Beside> beside;
  // Runs of other ranks, by their numbers.
  std::map<int, Waiting> parked;
  // It becomes the present run.
  void take(Waiting next) {
    run = std::move(next.run);
    last = std::move(next.last);
    part = next.part;
    checkpoints = std::move(next.checkpoints);
  }

  // A finished run of the present program is asked about the moment before it returned: its machine goes there, and the
  // report of its end stays. `to_end` is the way back, for verbs that go on from the end. True: it can be asked.
  bool look_back();
  void to_end();
  // There is a run with frames that questions can be about: a stopped one, or one that has finished.
  bool can_be_asked() { return run && (last.kind != StopKind::Finished || look_back()); }

  // ---- breakpoints (breakpoints.cc) ----
  // The map of the program that would run now; null when there is none, or it does not build.
  std::shared_ptr<const CodeMap> current_code();
  std::shared_ptr<const CodeMap> code_of(std::shared_ptr<const session::Build> build) const;
  struct Resolved {
    std::vector<Site> sites;
    bool pending = false;                                    // may resolve later
    std::optional<source::Message> problem;                  // if it does not resolve now
    std::shared_ptr<const KernelPlace> in_kernel = nullptr;  // a place inside a kernel, instead of sites
    std::string moved_to = {};                               // see Breakpoint
    bool alone = false;                                      // a kernel that nothing calls: it may be run by itself
  };
  Resolved resolve(std::string_view spec, const CodeMap* map) const;
  Resolved resolve_line(std::string_view file, std::uint32_t line, const CodeMap& map) const;
  Resolved resolve_name(std::string_view name, const CodeMap& map) const;
  Resolved resolve_catch(std::string_view event, const CodeMap& map) const;
  Resolved resolve_point(const Breakpoint& b, const CodeMap* map) const;
  // False and diagnosed: a name of the expression does not exist or has no memory, or an index is out of range. `m`:
  // the run in which it is watched, if there is one.
  bool check_watch(const Breakpoint& b, const CodeMap& map, const vm::Machine* m, source::Diagnostics& out) const;
  Resolved resolve_operator(std::string_view name, const CodeMap& map) const;
  Resolved resolve_node(std::string_view label, const CodeMap& map) const;
  Resolved resolve_binding(std::string_view function, std::string_view name, const CodeMap& map) const;
  static Resolved next_place(int binding, const CodeMap& map);
  std::string default_file(const CodeMap& map) const;
  static void set_place(Breakpoint& b, Resolved r);
  void move_lines(const LineMove& move);
  // Those that have waited for the end of the run, once no run goes on.
  void catch_up_with_moves();
  bool active() const;
  void add_breakpoint_sites(vm::StopSet& stops) const;
  // The breakpoints that stop a machine where it is, at the first binding of the group there that has some: going
  // forward the first at or after `from`, going back the last at or before it. `count` counts hits and uses up ignores.
  enum class Order { Forward, Backward };
  struct Hit {
    int part = 0;
    std::vector<int> numbers;
  };
  static constexpr int kLastPart = std::numeric_limits<int>::max();
  Hit triggered(const vm::Machine& m, Order order, int from, bool count, std::string* note);
  // Prints the text of a log point.
  void log(const Breakpoint& b, const vm::Machine& m, int at_part, const eval::TirMachine* kernel = nullptr) const;
  // The stop for an observer's hits, and for breakpoints at the next instruction. Nullopt: all are
  // ignored.
  std::optional<StopReport> report_seen(Observer& observer);
  // Inside a kernel, the kernel's names come first.
  runtime::Result<runtime::Value> evaluate_at(std::string_view text, const vm::Machine& m, int at_part,
                                              const eval::TirMachine* kernel = nullptr) const;
  bool condition_holds(const Breakpoint& b, const vm::Machine& m, int at_part, std::string* note,
                       const eval::TirMachine* kernel = nullptr) const;

  // ---- stops (stepping.cc) ----
  StopReport begin(Debugger& debugger, std::shared_ptr<const session::Build> build, std::string_view function,
                   std::span<const runtime::Value> args, bool stop_at_entry, source::Diagnostics& out);
  StopReport report(StopKind kind);
  StopReport report_outcome(vm::Outcome outcome);
  void keep_written(StopReport& finished) const;
  StopReport not_running();
  // Decides about a stop that a verb requested.
  using Accept = std::function<bool()>;
  // Runs to a breakpoint, or to a stop of `mine` that `accept` accepts. A kernel in progress is finished first.
  StopReport forward(vm::StopSet mine, const Accept& accept, std::uint64_t until = Run::kForever);
  std::optional<StopReport> leave_kernel();
  void tell_breakpoints() const;
  // True and diagnosed: the run belongs to another process, and `what` would change it.
  bool is_foreign(std::string_view what, source::Diagnostics& out) const;
  // A breakpoint at the current instruction, on the binding `from` of its group or a later one.
  std::optional<StopReport> breakpoint_here(int from = 0);
  // The next binding that the code here serves, if there is one: a step that executes no instruction.
  std::optional<StopReport> next_part();
  // The bindings between two stops of a frame for which there is no code.
  std::string passed_over(int from, int to) const;
  int binding_here() const;
  template <class Verb>
  StopReport repeat(std::uint64_t count, Verb verb);
  StopReport step_once();
  StopReport next_once();
  StopReport next_start();
  StopReport next_instruction_once();
  StopReport to_kernel_of_binding();
  vm::StopSet no_stops() const { return vm::StopSet(run->code().executable().instruction_count()); }

  // ---- frames (inspect.cc); `index` counts from the outermost ----
  VirtualFrame virtual_frame(std::size_t index) const;
  Position position_of(std::size_t index) const;
  Position caller_of_virtual(Position where, VirtualFrame kind) const;
  StopReport finish_virtual(VirtualFrame kind);

  // ---- stories (story.cc) ----
  std::vector<CauseStep> why(const Debugger& debugger, std::string_view name, int frame, int depth,
                             source::Diagnostics& out) const;
  std::vector<CauseStep> why_element(const Debugger& debugger, std::string_view name, std::string_view subscript,
                                     int frame, int depth, source::Diagnostics& out) const;

  // ---- changing (changing.cc) ----
  std::optional<std::string> assign_register(std::string_view name, runtime::Value value, std::size_t frame,
                                             const Change::Said& said, source::Diagnostics& out);
  std::optional<std::string> assign_elements(std::string_view name, std::string_view subscript, runtime::Value value,
                                             std::size_t frame, const Change::Said& said, source::Diagnostics& out);
  std::optional<std::string> assign_slot(std::int64_t slot, const runtime::Value& value, std::size_t frame,
                                         const Change::Said& said, source::Diagnostics& out);
  // Those up to now that set the variable, or elements of it, in this activation: "`set a[7] = 5` at time 12".
  std::vector<std::string> commands_on(std::string_view name, std::size_t frame) const;
  // The variable of that name that is currently in a register of the frame; null: there is none.
  const UserVariable* live_variable(std::string_view name, std::size_t frame) const;

  // ---- backwards (reverse.cc) ----
  // Goes to the latest moment before now that `candidate` accepts, or (with `breakpoints`) that has a breakpoint.
  using Candidate = std::function<bool(const vm::Machine&)>;
  StopReport backward(vm::StopSet mine, const Candidate& candidate, bool frames_alive);
  // The latest time before now at which frame `frame` was about to execute `pc`, in the call in progress.
  std::optional<std::uint64_t> latest_time(Pc pc, std::size_t frame) const;
  StopReport arrive(std::uint64_t time, StopKind kind, int at_part = 0);
  int last_part(Pc pc) const;
  bool looks_at_contents() const;
  template <class Verb>
  StopReport repeat_back(std::uint64_t count, Verb verb);

  // ---- inside kernels (kernel/control.cc, kernel/resolve.cc) ----
  Resolved resolve_in_kernel(const KernelText& text, std::string_view said, const CodeMap& map) const;
  const ir::Module* lowered_of(const CodeMap& map) const;
  std::optional<KernelText> kernel_text(std::string_view name, const CodeMap& map) const;
  // The kernel whose text in a file contains the line.
  std::optional<KernelText> kernel_at(std::string_view file, std::uint32_t line, const CodeMap& map) const;
  static constexpr int kOwn = 0;  // not a breakpoint number: the target of a verb
  struct KernelTargets {
    KernelSearch search;
    std::vector<int> numbers;           // of the breakpoints, by group
    std::shared_ptr<std::string> note;  // conditions that could not be evaluated
  };
  struct KernelMoment {
    std::uint64_t steps = 0;
    std::vector<int> numbers;
    std::string note;
  };
  bool reads_memory_of_call(std::string_view text, const vm::Machine& m) const;
  ConditionCode compiled_condition(const Breakpoint& b, const Probe& probe, const vm::Machine& m);
  KernelTargets kernel_targets(const ir::PrimFunc* f, const vm::Machine& m, std::vector<Probe> mine);
  bool has_breakpoints_in(const ir::PrimFunc* f) const;
  std::optional<StopReport> kernel_forward(std::vector<Probe> mine, bool from_beginning,
                                           std::optional<std::uint64_t> before = {});
  std::vector<int> count_hits(KernelTargets& t, const std::vector<Arrivals>& met, bool stopped, bool& own);
  StopReport report_in_kernel(std::vector<int> hits, std::string note);
  std::optional<StopReport> stop_in_next_kernel();
  std::optional<StopReport> stop_in_lone_kernel();
  std::optional<StopReport> stop_in_this_kernel();
  StopReport kernel_ended();
  StopReport until_in_kernel(const std::shared_ptr<const KernelPlace>& place);
  std::optional<KernelMoment> last_in_kernel(KernelStepper& k, const vm::Machine& m, std::vector<Probe> mine,
                                             std::optional<std::uint64_t> before);
  std::optional<KernelMoment> last_in_next_kernel(const vm::Machine& m);
  std::optional<StopReport> kernel_backward(std::vector<Probe> mine);
  StopReport stop_at(const KernelMoment& moment);
  StopReport before_the_call(StopKind kind);
  StopReport not_in_kernel();
  // Runs to the kernel call of the current binding and enters it. A report: it stopped on the way.
  std::optional<StopReport> into_kernel();
  StopReport step_far(std::uint64_t count);

  FrameInfo kernel_frame() const;

  // ---- queries (inspect.cc) ----
  // A local of a frame, whose value is read when it is wanted.
  struct LocalRow {
    const UserVariable* variable;  // null: a parameter that the debug info does not name
    bool live;
    std::size_t parameter = 0;
  };
  static std::optional<LocalRow> local_row(const CodeMap& map, const vm::Frame& f, const UserVariable& v);
  static LocalRow later_one(const LocalRow& a, const LocalRow& b);
  std::vector<LocalRow> local_rows(const vm::Machine& m, const CodeMap& map, std::size_t frame) const;
  std::optional<LocalRow> local_named(const vm::Machine& m, const CodeMap& map, std::size_t frame,
                                      std::string_view name) const;
  static LocalInfo local(const vm::Machine& m, const CodeMap& map, std::size_t frame, const LocalRow& row);
  std::vector<SlotInfo> heap(const vm::Machine& m, const CodeMap& map, std::size_t frame) const;
  enum class Found { No, Yes, Freed };
  // A name of the frame: a local, then a symbol; then a value of the session.
  Found find_name(const vm::Machine& m, const CodeMap& map, std::size_t frame, std::string_view name,
                  runtime::Value& out) const;
  // A variable or buffer in scope.
  static bool value_in_kernel(const eval::TirMachine& k, std::string_view name, runtime::Value& out);
};

// For the room's functions over a debugger, which are doors of their own (influence.h, side_by_side.h, ...).
Debugger::Impl& impl_of(Debugger& debugger);
const Debugger::Impl& impl_of(const Debugger& debugger);

struct Debugger::Snapshot {
  std::map<int, Breakpoint> breakpoints;
  int next_number = 1;
  std::shared_ptr<Run> run;
  std::uint64_t time = 0;
  int part = 0;
  StopReport last;
  std::vector<Debugger::Impl::Waiting> waiting;
  std::optional<Debugger::Impl::Beside> beside;
  std::map<int, Debugger::Impl::Waiting> parked;
  // A run that was put aside where it stood (parked_run.h): it goes on with the debugger's present breakpoints.
  bool set_aside = false;
  std::map<std::string, std::uint64_t, std::less<>> checkpoints = {};
};

// `mlp.py` matches `models/mlp.py`.
bool names_file(std::string_view said, std::string_view file);

// Users number frames from the innermost, the machine from the outermost. False: no such frame.
bool frame_index(const vm::Machine& m, int frame, std::size_t& index);

// Behind what the report notes already.
void add_note(StopReport& r, std::string_view note);

}  // namespace rldb::debug
