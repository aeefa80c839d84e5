// Session: files and texts to modules, passes, version history, builds, runs.
#include "rldb/session/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/bytecode/builtin/absent.h"
#include "rldb/bytecode/serialise.h"
#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay.h"
#include "rldb/ir/verifier.h"
#include "rldb/ops/op_info.h"
#include "rldb/relay/passes/pass_id.h"
#include "rldb/relay/to_relax.h"
#include "rldb/runtime/isolate.h"
#include "rldb/runtime/plugin.h"
#include "rldb/session/program_kind.h"
#include "rldb/session/relay_machine.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/support/file.h"
#include "session/contrib.h"
#include "session/engines.h"

namespace rldb::session {

std::string_view to_string(Engine engine) {
  switch (engine) {
    case Engine::Jit:
      return "jit";
    case Engine::Eval:
      return "eval";
    case Engine::Vm:
      return "vm";
  }
  RLDB_UNREACHABLE("engine");
}

Session::Session(Options options, runtime::Output* output)
    : options_(std::move(options)),
      ctx_(std::make_unique<ir::Context>()),
      gate_(std::make_unique<Gate>(output ? *output : runtime::stdout_output())),
      output_(gate_.get()),
      engines_(std::make_unique<Engines>()) {
  ops::install(*ctx_);
  runtime::register_test_functions(registry_, *output_);
  registry_.register_function(
      std::string(builtin::CallOperator), [this](runtime::PackedArgs args) { return call_operator(args); },
      "an operator whose operands' types are known only when it runs");
  register_contrib(registry_);
  isolation_ = std::make_shared<runtime::Isolation>();
  isolation_->on = &options_.isolate;
  isolation_->interrupt = &support::cancel_flag();
  isolation_->output = &gate_->to;
}

Session::~Session() {
  // Functions of plugins may outlive the session as values; its options do not.
  isolation_->on = nullptr;
  isolation_->output = nullptr;
}

namespace {

bool read_program(const std::string& path, std::string& bytes, Diagnostics& out) {
  auto read = support::read_file(path, source::kMaxBytes);
  if (read.ok()) {
    bytes = std::move(read).value();
    return true;
  }
  const support::FileError& error = read.error();
  if (error.too_large)
    out.add({}, source::message(diag::FileTooLarge, path, error.size, source::kMaxBytes));
  else
    out.add({}, source::message(diag::FileNotFound, path, error.reason));
  return false;
}

// A Relay program as a Relax module, whose nodes have their places in the Relay text. Nothing else of it is kept.
const ir::Module* translated(ir::Context& ctx, source::SourceManager& sources, const std::string& name,
                             std::string text, Diagnostics& out) {
  relay::Context relay;
  const source::FileId file = sources.add(name, std::move(text));
  const frontend::RelayResult parsed = frontend::parse_relay_program(relay, sources, file, out);
  relay::Typing typing;
  if (!parsed.module || !relay::infer_types(relay, parsed.module, typing, out)) return nullptr;
  // An operator used as a value becomes a function, with the types of its use.
  relay::PassEnv env{relay, out};
  const relay::Module* module =
      relay::run_pass({relay::PassId::EtaExpand, {{"expand_constructor", 0}}}, env, parsed.module);
  if (module && module != parsed.module) {
    typing = relay::Typing();
    if (!relay::infer_types(relay, module, typing, out)) return nullptr;
  }
  return module ? relay::to_relax(ctx, relay, *module, typing, out) : nullptr;
}

}  // namespace

bool Session::load_file(const std::string& path, Diagnostics& out) {
  std::string bytes;
  if (!read_program(path, bytes, out)) return false;
  if (!bytecode::is_executable_file(bytes)) return load_text(path, std::move(bytes), out);

  return open_executable(path, bytes, out);
}

bool Session::load_text(std::string name, std::string text, Diagnostics& out) {
  if (frontend::is_relay(name, text) && relay_machine() && relay_machine()->wanted == Machine::Relay)
    return open_executable(name, text, out);
  if (frontend::is_relay(name, text)) {
    const ir::Module* module = translated(*ctx_, sources_, name, std::move(text), out);
    if (!module || !ir::verify(*ctx_, module, out)) return false;
    adopt(module, std::move(name));
    check_well_formed_ = true;
    return true;
  }
  const source::FileId file = sources_.add(name, std::move(text));
  Diagnostics found;
  const frontend::ParseResult parsed = frontend::parse(*ctx_, sources_, file, found);
  if (parsed.module) {
    frontend::verify_parsed(*ctx_, sources_, parsed, found);
  } else if (!found.has_errors()) {
    found.add({file, 0, 0}, source::message(diag::NothingToLoad, name));
  }
  // One list for the reader, in text order.
  std::vector<source::Diagnostic> all = found.all();
  std::stable_sort(all.begin(), all.end(), [](const source::Diagnostic& a, const source::Diagnostic& b) {
    return a.span.begin < b.span.begin;
  });
  for (source::Diagnostic& d : all) out.add(std::move(d));
  if (found.has_errors()) return false;
  adopt(parsed.module, std::move(name));
  check_well_formed_ = parsed.check_well_formed;
  return true;
}

bool Session::reload(Diagnostics& out) {
  if (path_.empty()) {
    out.add({}, source::message(diag::NoProgram));
    return false;
  }
  return load_file(path_, out);
}

void Session::adopt(const ir::Module* module, std::string path) {
  history_.start(module);
  path_ = std::move(path);
  loaded_executable_ = nullptr;
  engines_->build = nullptr;
  engines_->view = nullptr;
}

bool Session::verify(Diagnostics& out) {
  if (!module()) {
    out.add({}, no_module("verifying"));
    return false;
  }
  return ir::verify(*ctx_, module(), out);
}

bool Session::run_passes(std::string_view pipeline, Diagnostics& out, const passes::RunOptions& options) {
  if (!module()) {
    out.add({}, no_module("running passes"));
    return false;
  }
  auto parsed = passes::parse_pipeline(pipeline);
  if (!parsed.ok()) {
    out.add({}, std::move(parsed).error());
    return false;
  }
  passes::RunOptions recording = options;
  recording.after = [&](const passes::PassRecord& record) {
    if (record.after) history_.push(record);
    if (options.after) options.after(record);
  };
  PassKernels kernels(*this);
  passes::PassEnv env{*ctx_, out, &kernels};
  auto result = passes::run_pipeline(env, module(), parsed.value(), recording);
  if (!result.ok()) {
    out.add({}, std::move(result).error());
    return false;
  }
  return true;
}

source::Message Session::no_module(std::string_view purpose) const {
  if (!loaded_executable_) return source::message(diag::NoProgram);
  const bool relay = engines_->view && is_on_relay_machine(*engines_->view);
  return *missing_ability(purpose, kModule, relay ? ProgramKind::RelayExecutable : ProgramKind::RelaxExecutable, path_);
}

std::vector<std::string> Session::function_names() const {
  std::vector<std::string> names;
  if (loaded_executable_) {
    for (const bytecode::FunctionEntry& f : loaded_executable_->functions)
      if (f.kind != bytecode::FunctionKind::Packed) names.push_back(f.name);
  } else if (module()) {
    for (const ir::ModuleEntry& entry : module()->entries)
      if (ir::isa<ir::Function>(entry.function) || ir::isa<ir::PrimFunc>(entry.function))
        names.emplace_back(entry.name);
  }
  return names;
}

Session::Snapshot Session::snapshot() const {
  return {options_, path_, check_well_formed_, history_, loaded_executable_, values_, engines_->build};
}

void Session::restore(Snapshot snapshot) noexcept {
  options_ = std::move(snapshot.options);
  path_ = std::move(snapshot.path);
  check_well_formed_ = snapshot.check_well_formed;
  history_ = std::move(snapshot.history);
  loaded_executable_ = std::move(snapshot.loaded_executable);
  values_ = std::move(snapshot.values);
  // A build of a module is made again on demand; that of a loaded executable is not.
  if (engines_->build != snapshot.build) engines_->build = loaded_executable_ ? std::move(snapshot.build) : nullptr;
  if (engines_->build && is_on_relay_machine(*engines_->build)) engines_->view = engines_->build;
  engines_->linked = nullptr;
}

bool Session::load_plugin(const std::string& path, Diagnostics& out) {
  auto loaded = runtime::load_plugin(registry_, path, isolation_);
  if (loaded.ok()) {
    engines_->build = nullptr;  // names resolve anew
    engines_->externals.clear();
    return true;
  }
  out.add({}, source::message(diag::PluginFailed, path, loaded.error().message));
  return false;
}

}  // namespace rldb::session
