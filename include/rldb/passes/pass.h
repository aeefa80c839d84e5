// Passes: Module -> Module, under TVM's names. Rows of pass.def; textual pipelines; one runner with hooks.
//
// A pass reads the old version and returns a new one that shares every function it did not change. It never sees the
// terminal, the machine or the session. The runner measures, verifies and records; the record is History's.
// Pipelines are text: `LegalizeOps,FuseOps(fuse_opt_level=1),DeadCodeElimination(entry_functions=[main])`, or a named
// one (`minimum`, `zero`, `default`), as in `mlir-opt --pass-pipeline`.
// Users: session, repro, ui.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

// The rows of pass.def by name are in pass_id.h, so that a new row rebuilds few files; registered passes follow them.
enum class PassId : std::uint16_t;

enum class PassKind : std::uint8_t { Module, Function, DataflowBlock, PrimFunc };

// Options as written: positional options have an empty name.
struct PassOption {
  std::string name;
  std::string value;  // bare text; lists keep their brackets
};
using PassOptions = std::vector<PassOption>;

struct PassInvocation {
  PassId id{};
  PassOptions options;
};
std::string to_string(const PassInvocation& p);

// Runs PrimFuncs for passes that need values (FoldConstant): a pass knows no engine, so its caller provides one.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  // Destination-passing: inputs, then the tensors that the outputs are written to.
  virtual runtime::Result<support::Unit> run(const ir::PrimFunc* f, std::string_view name,
                                             runtime::PackedArgs args) = 0;
};

// Everything that a pass may use besides the module.
struct PassEnv {
  ir::Context& ctx;
  source::Diagnostics& diagnostics;  // warnings and notes; an error makes the pass fail
  KernelRunner* kernels = nullptr;   // null: nothing is run
};

using PassFn = ir::Result<const ir::Module*> (*)(PassEnv& env, const ir::Module* module, const PassOptions& options);

struct PassInfo {
  PassId id;
  std::string_view name;
  PassKind kind;
  std::string_view options;  // "level=int, entry_functions=[names]": parsed by check_options
  std::string_view doc;
  PassFn run;
};
const std::vector<PassInfo>& all_passes();
const PassInfo& info(PassId id);
const PassInfo* find_pass(std::string_view name);

struct PipelineInfo {
  std::string_view name;
  std::string_view passes;
  std::string_view doc;
};
const std::vector<PipelineInfo>& named_pipelines();

// Unknown passes and options are diagnosed with the nearest spelling.
ir::Result<std::vector<PassInvocation>> parse_pipeline(std::string_view text);

// The record of one application.
struct PassRecord {
  PassInvocation pass;
  const ir::Module* before = nullptr;
  const ir::Module* after = nullptr;  // null if it failed
  std::uint64_t nanoseconds = 0;
  std::vector<std::string> changed;  // functions added, removed or changed
};

struct RunOptions {
  bool verify_each = true;  // a pass that leaves a malformed module is refused, with the rule that it breaks
  int bisect_limit = -1;    // run only the first N passes; -1: all
  // Called around each pass; `before` may veto by returning false (the pass is skipped).
  std::function<bool(const PassInvocation&, const ir::Module*)> before;
  std::function<void(const PassRecord&)> after;
};
// Runs in order; stops at the first failure, which names the pass.
ir::Result<const ir::Module*> run_pipeline(PassEnv& env, const ir::Module* module,
                                           const std::vector<PassInvocation>& pipeline, const RunOptions& options = {});

// The versions of a module and how each was made; the compile-time axis of time travel.
class History {
 public:
  void start(const ir::Module* module);      // version 0; forgets the rest
  void push(PassRecord record);              // drops versions after the current one
  void push_edit(const ir::Module* module);  // a version made by hand (an edit at the prompt)
  const ir::Module* current() const;
  std::size_t position() const { return position_; }
  std::size_t size() const { return records_.size(); }
  const PassRecord& record(std::size_t version) const { return records_[version]; }  // record 0 has no pass
  bool is_edit(std::size_t version) const { return edits_[version]; }
  const ir::Module* module_at(std::size_t version) const { return records_[version].after; }
  bool rewind(std::size_t version);  // keeps later versions until the next push
  void bookmark(std::string name) { bookmarks_.emplace_back(std::move(name), position_); }
  const std::vector<std::pair<std::string, std::size_t>>& bookmarks() const { return bookmarks_; }

 private:
  std::vector<PassRecord> records_;
  std::vector<bool> edits_;
  std::size_t position_ = 0;
  std::vector<std::pair<std::string, std::size_t>> bookmarks_;
};

}  // namespace rldb::passes
