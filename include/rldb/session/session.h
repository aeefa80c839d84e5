// Session: one program under inspection: its texts, the versions of its module, what was built from them, its values.
//
// The program is of one of several kinds (session/program.h). The only room that knows the order of the phases: text ->
// parse -> verify -> (passes) -> minimum build -> executable and kernels -> run. Every step keeps its results, so that
// each can be queried; a step that fails leaves the session unchanged (values, module, breakpoints' home). Nothing here
// prints: diagnostics are returned, output goes to the runtime::Output given. Users: ui, debug (read, run), repro.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/bytecode/executable.h"
#include "rldb/ir/context.h"
#include "rldb/passes/pass.h"
#include "rldb/runtime/packed.h"
#include "rldb/runtime/plugin.h"
#include "rldb/session/options.h"
#include "rldb/session/program.h"
#include "rldb/source/buffer.h"
#include "rldb/source/diagnostic.h"
#include "rldb/support/cancel.h"
#include "rldb/support/name_table.h"
#include "rldb/vm/machine.h"

namespace rldb::codegen {
class Jit;
struct GpuOptions;
}  // namespace rldb::codegen
namespace rldb::eval {
class Watcher;
struct EvalEnv;
}  // namespace rldb::eval
namespace rldb::frontend {
enum class ItemKind : std::uint8_t;
struct Environment;
}  // namespace rldb::frontend
namespace rldb::runtime {
struct Isolation;
}

namespace rldb::session {

using source::Diagnostics;

struct BuildWithKernels;

// The stages of a module on its way to the machine. Immutable; holds the session's kernel table alive by name.
struct Build {
  const ir::Module* source = nullptr;   // the version it was built from
  const ir::Module* legal = nullptr;    // after LegalizeOps: what the evaluator runs
  const ir::Module* lowered = nullptr;  // after the minimum build; debug info points into it
  std::vector<pipeline::Record> records;
  std::shared_ptr<const bytecode::Executable> executable;
  std::shared_ptr<const vm::Program> program;
};

// A value that the user named (`:input x 2x3xf32=ones`, `y = R.add(x, x)`), or `_`.
struct NamedValue {
  std::string name;
  runtime::Value value;
  const ir::Var* var = nullptr;  // as the front end sees it: typed by the value
};
// An entry at the prompt costs the same however many values there are.
using ValueTable = support::NameTable<NamedValue>;
using SymbolTable = support::NameTable<const ir::Var*>;

// The outcome of a run, with the details for the user.
struct RunResult {
  bool ok = false;
  runtime::Value value;
  std::optional<vm::Fault> fault;  // when the program stopped by itself
  std::uint64_t instructions = 0;
  std::uint64_t nanoseconds = 0;
};

// One argument that the session generated or was given, for the note that is printed.
struct Argument {
  std::string parameter;
  runtime::Value value;
  bool generated = false;
  bool of_model = false;  // the initialiser that this parameter of a model has
};

// The effects of an entry at the prompt.
struct EntryResult {
  struct Item {
    frontend::ItemKind kind;
    std::string name;                     // defined or bound name; empty for an expression
    std::optional<runtime::Value> value;  // of a binding or expression
    const ir::Type* type = nullptr;
  };
  std::vector<Item> items;
  bool ok = true;
};

// The effects of an edit of the program's text.
struct TextChange {
  bool whole = true;                 // all of it was read again
  std::size_t functions = 0;         // otherwise: functions that were read again, in part or as a whole
  std::size_t statements = 0;        // and statements in those that were read in part
  bool same_kind = false;            // the program is of the same kind as before; otherwise the rest is not known
  std::vector<std::string> changed;  // functions added, removed or changed in the current version
  std::vector<std::string> passes;   // applied again, to the new text
  std::size_t hand_made = 0;         // versions made by hand, which are lost
  // Lines of the old text: those from `behind` on have moved by `delta`; those after `from` and before `behind` are
  // gone. Ascending. Empty if it was read as a new text.
  struct LineShift {
    std::uint32_t from, behind;
    std::int64_t delta;
  };
  std::vector<LineShift> shifts;
  // Where a line of the old text is now; of a removed one: where it was.
  std::uint32_t moved_line(std::uint32_t line) const;
};

class Session {
 public:
  explicit Session(Options options = {}, runtime::Output* output = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Options& options() { return options_; }
  const Options& options() const { return options_; }
  ir::Context& context() { return *ctx_; }
  const ir::Context& context() const { return *ctx_; }
  source::SourceManager& sources() { return sources_; }
  const source::SourceManager& sources() const { return sources_; }
  runtime::PackedRegistry& registry() { return registry_; }
  runtime::Output& output() { return *output_; }
  // The flag that ^C and time limits set; one per process (support/cancel.h).
  std::atomic<bool>& interrupt() { return support::cancel_flag(); }

  // ---- the program ----
  // A text or an executable, of which kind tells its content; options().machine tells what Relay text becomes. Replaces
  // the program; on errors nothing changes.
  bool load_file(const std::string& path, Diagnostics& out);
  bool load_text(std::string name, std::string text, Diagnostics& out);
  // Reads the program's file again: an edit of its text.
  bool reload(Diagnostics& out, TextChange* change = nullptr);
  // Gives the program another text, as an edit of the present one where the program has its document
  // (Options::keep_document): only what the edit touches is read, typed and verified, and places in the text follow it.
  // The passes that led to the current version are applied again; one that fails is diagnosed, and the versions before
  // it stay. False: the text has errors, which are diagnosed, and nothing changes.
  bool edit_text(std::string text, Diagnostics& out, TextChange* change = nullptr);
  Program* program() const { return program_.get(); }  // null: none is loaded
  void set_program(std::unique_ptr<Program> program);
  // Lends the session another program: returns its own, which may be running passes, to be put back.
  std::unique_ptr<Program> exchange_program(std::unique_ptr<Program> program);
  // As if it had been loaded under the program's name.
  void set_program(const ir::Module* module);
  const std::string& program_path() const;  // empty: none, or entered at the prompt
  // ---- of Relax text; null and without versions for programs of other kinds ----
  const ir::Module* module() const { return history().current().as<ir::Module>(); }
  const pipeline::History& history() const;
  // False: the loaded text requested with check_well_formed=False to be accepted unchecked.
  bool check_well_formed() const;
  // As the options say; what was loaded unchecked says so, too.
  ir::PrintOptions print_options() const;

  bool verify(Diagnostics& out);
  // Applies a pipeline to the current version; each pass becomes a version. False: the failing pass is diagnosed, the
  // versions before it stay.
  bool run_passes(std::string_view passes, Diagnostics& out, const pipeline::Instruments& instruments = {});
  void set_module(const ir::Module* module);  // a version made by hand

  // ---- building and running ----
  // Of the current version; cached until the version or a relevant option changes. Null: diagnosed.
  std::shared_ptr<const Build> build(Diagnostics& out);
  // The program as the bytes of an .rlvm file (Program::executable_file).
  std::optional<std::string> serialise(Diagnostics& out, const bytecode::DebugInfo* names = nullptr);
  // Arguments from texts in `--input` form (positional, or `name=...`), names of session values, `:input` values bound
  // to parameter names, and generated ones for the rest. Checks count, kinds, ranks, dtypes and symbolic dims.
  std::optional<std::vector<Argument>> arguments(std::string_view function, std::span<const std::string> texts,
                                                 Diagnostics& out);
  RunResult run(std::string_view function, std::span<const runtime::Value> args, Diagnostics& out);
  // The same on the evaluator with an observer, whatever the engine: each binding of the module as written (its
  // operators made kernels, nothing else). Kernels run on the engine of the options.
  RunResult run_watched(const ir::Module* module, std::string_view function, std::span<const runtime::Value> args,
                        eval::Watcher& watcher, Diagnostics& out);
  // A machine with the call on it, nothing run yet: for stepping by the debugger.
  std::optional<vm::Machine> start(const Build& build, std::string_view function, std::span<const runtime::Value> args,
                                   Diagnostics& out);
  std::optional<vm::Machine> start(std::string_view function, std::span<const runtime::Value> args, Diagnostics& out);
  std::vector<std::string> function_names() const;  // runnable ones
  // The program's code (Program::runnable, viewable).
  std::shared_ptr<const Build> runnable(Diagnostics& out);
  // A build with one of its kernels replaced: another program for the same executable. The parameters must match those
  // that its calls pass. Null: diagnosed.
  std::shared_ptr<const Build> with_kernel(const Build& build, std::string_view kernel, const ir::PrimFunc* f,
                                           Engine engine, Diagnostics& out);
  std::shared_ptr<const Build> viewable(Diagnostics& out);
  // While muted, the output of programs is dropped: for execution that only repeats what was seen already.
  void mute(bool on) { gate_->muted = on; }
  bool muted() const { return gate_->muted; }

  // ---- kernels ----
  struct KernelState {
    std::string name;
    bool compiled = false;
    bool from_cache = false;
    std::uint64_t compile_ns = 0;
    bool quick = false;      // the code that runs is of the quick tier (codegen/llvm/jit.h)
    bool improving = false;  // better code is being compiled
  };
  std::vector<KernelState> kernel_states() const;
  // For a PrimFunc of the module or of its lowered form (legalised operators, shape functions). Empty: diagnosed.
  enum class KernelText { Llvm, Assembly, OpenCl, Ptx };
  // A PrimFunc of the module or of its build.
  const ir::PrimFunc* find_kernel(std::string_view name, Diagnostics& out);
  std::optional<std::string> kernel_text(std::string_view name, KernelText what, Diagnostics& out);
  bool compile_kernel(std::string_view name, Diagnostics& out);

  // ---- values and entries at the prompt ----
  // Bare TVMScript: definitions replace their namesakes, bindings and expressions are evaluated; all or nothing.
  // `run`: executes an entry that calls functions of the module, in place of this session; nullopt: it stopped on
  // the way, and nothing of the entry is kept.
  using EntryRunner = std::function<std::optional<runtime::Value>(
      std::shared_ptr<const Build>, std::string_view function, std::span<const runtime::Value> args)>;
  EntryResult enter(std::string_view text, Diagnostics& out, const EntryRunner& run = {});
  // The value of a binding of a function, on the evaluator: everything up to it is executed. Nullopt: diagnosed, or the
  // function ends without having executed it.
  std::optional<runtime::Value> value_of_binding(std::string_view function, std::string_view binding,
                                                 std::span<const runtime::Value> args, Diagnostics& out);
  // Symbolic variables without a value that entries have introduced.
  const SymbolTable& symbols() const { return symbols_; }
  // The type of an expression or name, without evaluating it.
  const ir::Type* type_of(std::string_view text, Diagnostics& out);
  void set_value(std::string name, runtime::Value value);
  const runtime::Value* find_value(std::string_view name) const;
  const ValueTable& values() const { return values_; }
  // The value of one expression over more names than the session's: a debugger's locals. They hide namesakes. The
  // session is not changed.
  std::optional<runtime::Value> evaluate_with(std::string_view text,
                                              std::span<const std::pair<std::string, runtime::Value>> scope,
                                              Diagnostics& out, const EntryRunner& run = {});

  // A function that is not part of the program, on the evaluator, with its callees taken from `module`.
  std::optional<runtime::Value> evaluate_function(const ir::Function* function, const ir::Module* module,
                                                  std::span<const runtime::Value> args, Diagnostics& out,
                                                  eval::Watcher* watcher = nullptr);

  // ---- going back ----
  // A snapshot of the state that an entry may change. Whoever abandons an entry half-way (no memory, cancelled, a bug)
  // restores it: commands change the session in several steps, and the last step, reporting, can fail too.
  struct Snapshot {
    Options options;
    std::unique_ptr<Program> program;
    ValueTable values;
    SymbolTable symbols;
    std::shared_ptr<const Build> build;
  };
  Snapshot snapshot() const;
  void restore(Snapshot snapshot) noexcept;

  // ---- plugins ----
  bool load_plugin(const std::string& path, Diagnostics& out);
  const std::vector<runtime::PluginInfo>& plugins() const { return plugins_; }  // in the order of loading
  // Adds a note for each of rldb's helpers for RFC 0089's examples that was called since the last time.
  void report_helpers(Diagnostics& out);

  // ---- devices ----
  // Of a module's code: those of the options, else those that it declares. Empty: everything is on the host.
  runtime::DeviceList devices_of(const ir::Module* module) const;
  // Arguments of a function on the devices that its parameters' types name, without such a word on the first one.
  // Values may come from a version of the module with other devices.
  struct Misplaced {
    std::size_t index;
    std::string why;
  };
  support::Result<std::vector<runtime::Value>, Misplaced> placed(const ir::Module* module, std::string_view function,
                                                                 std::vector<runtime::Value> values) const;

 private:
  struct Engines;
  class PassKernels;
  struct Gate : runtime::Output {
    explicit Gate(runtime::Output& to) : to(&to) {}
    void write(std::string_view text) override {
      if (!muted) to->write(text);
    }
    runtime::Output* to;  // in a guard process: the channel to this one
    bool muted = false;
  };
  class RelaxText;
  class RelaxExecutable;
  class RelayExecutable;
  void apply_again(const Program& before, Diagnostics& out, TextChange& change);
  bool load_onnx(const std::string& path, std::string_view bytes, Diagnostics& out);
  RelaxText* relax() const;  // null: the program is of another kind
  const ir::Module* legalised(std::string_view function);
  std::optional<runtime::Value> made_by(const std::string& function);
  source::Message no_module(std::string_view purpose) const;
  codegen::Jit* jit(Diagnostics& out);
  std::shared_ptr<const Build> build_module(const ir::Module* module, Diagnostics& out);
  bool add_kernels_of_file(bytecode::Executable& exe, const ir::Module* lowered, Diagnostics& out);
  std::shared_ptr<runtime::Kernel> guarded(std::shared_ptr<runtime::Kernel> kernel) const;
  bool link(std::shared_ptr<BuildWithKernels> build, std::string_view path, Diagnostics& out);
  // A PrimFunc that the JIT refuses runs on the evaluator, with a warning that names it; one that a device's engine
  // refuses is an error.
  codegen::GpuOptions gpu_options() const;
  // Of the engine opencl or cuda.
  ir::Result<std::shared_ptr<runtime::Kernel>> device_kernel(const ir::PrimFunc* f, std::string_view name,
                                                             Engine engine);
  Engine engine_of(std::string_view kernel) const;
  std::shared_ptr<runtime::Kernel> make_kernel(const ir::PrimFunc* f, std::string_view name, Engine engine,
                                               Diagnostics& out);
  bool add_kernels(const ir::Module* module, Engine engine, runtime::KernelTable& table, Diagnostics& out);
  RunResult run_build(const Build& build, std::string_view function, std::span<const runtime::Value> args,
                      Diagnostics& out);
  // The module with its operators as kernels, sufficient for the evaluator; kept until the version changes.
  const ir::Module* evaluable(Diagnostics& out);
  const ir::Module* with_kernels(const ir::Module* module, Diagnostics& out);
  RunResult run_evaluator(const ir::Module* module, std::string_view function, std::span<const runtime::Value> args,
                          Diagnostics& out);
  RunResult run_in(const eval::EvalEnv& env, std::string_view function, std::span<const runtime::Value> args,
                   Diagnostics& out);
  eval::EvalEnv evaluation_of(const ir::Module* module);
  // `rldb.call_operator` (operator.cc).
  runtime::Result<runtime::Value> call_operator(runtime::PackedArgs args);
  std::shared_ptr<const Build> build_operator(const std::string& text, const std::vector<NamedValue>& names,
                                              Diagnostics& out);
  struct EntryValues;
  std::optional<runtime::Value> evaluate(const ir::SeqExpr* value, const ir::Module* module, const EntryValues& values,
                                         source::Span span, const EntryRunner& run, Diagnostics& out);

  Options options_;
  std::shared_ptr<ir::Context> ctx_;  // documents share it
  source::SourceManager sources_;
  std::vector<std::string> helpers_called_;  // before the registry, whose functions note themselves here
  runtime::PackedRegistry registry_;
  std::vector<runtime::PluginInfo> plugins_;
  std::unique_ptr<Gate> gate_;
  runtime::Output* output_;                        // the gate
  std::shared_ptr<runtime::Isolation> isolation_;  // kept up to date with the options
  std::unique_ptr<Program> program_;
  ValueTable values_;
  SymbolTable symbols_;
  std::unique_ptr<Engines> engines_;
};

// The type of a run-time value: static shapes, known dtypes.
const ir::Type* type_of_value(ir::Context& ctx, const runtime::Value& value);

// Whether cancelled work still runs on a thread of its own: the process must end by _exit (see codegen/llvm/jit.h).
bool work_left_behind();

}  // namespace rldb::session
