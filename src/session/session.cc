// Session: files and texts to programs; snapshots.
#include "rldb/session/session.h"

#include <fmt/format.h>

#include "rldb/bytecode/builtin/absent.h"
#include "rldb/bytecode/exported_library.h"
#include "rldb/bytecode/serialise.h"
#include "rldb/frontend/relay.h"
#include "rldb/ir/verifier.h"
#include "rldb/onnx/model.h"
#include "rldb/ops/op_info.h"
#include "rldb/relay/vm/executable.h"
#include "rldb/runtime/isolate.h"
#include "rldb/runtime/library_data.h"
#include "rldb/runtime/plugin.h"
#include "rldb/session/relay_text.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_run.h"
#include "session/contrib.h"
#include "session/engines.h"
#include "session/program/program_file.h"
#include "session/program/relax_executable.h"
#include "session/program/relax_text.h"
#include "session/program/relay_executable.h"

namespace rldb::session {

std::string_view to_string(Engine engine) {
  switch (engine) {
    case Engine::Jit:
      return "jit";
    case Engine::Eval:
      return "eval";
    case Engine::Vm:
      return "vm";
    case Engine::OpenCl:
      return "opencl";
    case Engine::Cuda:
      return "cuda";
  }
  RLDB_UNREACHABLE("engine");
}

std::optional<Engine> engine_named(std::string_view name) {
  for (const Engine e : kEngines)
    if (to_string(e) == name) return e;
  return std::nullopt;
}

std::string engine_names() {
  std::string names;
  for (const Engine e : kEngines) names.append(names.empty() ? "" : ", ").append(to_string(e));
  return names;
}

std::string_view to_string(Machine machine) {
  switch (machine) {
    case Machine::Relax:
      return "relax";
    case Machine::Relay:
      return "relay";
  }
  RLDB_UNREACHABLE("machine");
}

Session::Session(Options options, runtime::Output* output)
    : options_(std::move(options)),
      ctx_(std::make_shared<ir::Context>()),
      gate_(std::make_unique<Gate>(output ? *output : runtime::stdout_output())),
      output_(gate_.get()),
      engines_(std::make_unique<Engines>()) {
  ops::install(*ctx_);
  runtime::register_test_functions(registry_, *output_, &helpers_called_);
  runtime::PackedInfo& by_operator = registry_.register_function(
      std::string(builtin::CallOperator), [this](runtime::PackedArgs args) { return call_operator(args); },
      "an operator whose operands' types are known only at run time");
  by_operator.any_device = true;
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

bool Session::load_file(const std::string& path, Diagnostics& out) {
  std::string bytes;
  if (!read_program_file(path, bytes, out)) return false;
  if (onnx::is_model(path, bytes)) return load_onnx(path, bytes, out);
  if (!bytecode::is_executable_file(bytes)) return load_text(path, std::move(bytes), out);
  bytecode::ExportedExecutable file{bytes};
  const bool library = runtime::is_library_file(bytes);
  if (library) {
    auto exported = bytecode::executable_in_library(bytes, path);
    if (!exported.ok()) {
      std::string_view why = exported.error().message;
      if (const std::string named = fmt::format("`{}`: ", path); why.starts_with(named))
        why.remove_prefix(named.size());
      out.add({}, source::message(diag::BadExecutable, path, why));
      return false;
    }
    file = *exported;
  }
  std::unique_ptr<Program> program;
  if (relay_bytecode::is_executable_file(file.bytes))
    program = RelayExecutable::open(*this, path, std::string(file.bytes), out);
  else
    program = RelaxExecutable::open(*this, path, file.bytes, out, library ? std::optional(file.abi) : std::nullopt);
  if (!program) return false;
  set_program(std::move(program));
  return true;
}

bool Session::load_onnx(const std::string& path, std::string_view bytes, Diagnostics& out) {
  std::unique_ptr<Program> program = RelaxText::import(*this, path, bytes, out);
  if (!program) return false;
  set_program(std::move(program));
  return true;
}

bool Session::load_text(std::string name, std::string text, Diagnostics& out) {
  std::unique_ptr<Program> program;
  if (!frontend::is_relay(name, text))
    program = RelaxText::read(*this, std::move(name), std::move(text), out);
  else if (options_.machine == Machine::Relay)
    program = RelayText::read(*this, std::move(name), std::move(text), out);
  else
    program = RelaxText::translate(*this, std::move(name), std::move(text), out);
  if (!program) return false;
  set_program(std::move(program));
  return true;
}

void Session::set_program(std::unique_ptr<Program> program) { program_ = std::move(program); }

std::unique_ptr<Program> Session::exchange_program(std::unique_ptr<Program> program) {
  return std::exchange(program_, std::move(program));
}

void Session::set_program(const ir::Module* module) {
  auto program = std::make_unique<RelaxText>(*this, program_path(), module, true);
  if (const RelaxText* before = relax()) program->take_initialisers(*before);
  set_program(std::move(program));
}

void Session::set_module(const ir::Module* module) {
  if (RelaxText* text = relax())
    text->push_edit(module);
  else
    set_program(module);
}

const std::string& Session::program_path() const {
  static const std::string none;
  return program_ ? program_->path() : none;
}

Session::RelaxText* Session::relax() const {
  return program_ && program_->kind() == ProgramKind::RelaxText ? static_cast<RelaxText*>(program_.get()) : nullptr;
}

const pipeline::History& Session::history() const {
  static const pipeline::History none;
  const RelaxText* text = relax();
  return text ? text->history() : none;
}

bool Session::check_well_formed() const { return !relax() || relax()->check_well_formed(); }

ir::PrintOptions Session::print_options() const {
  ir::PrintOptions print = options_.print;
  print.check_well_formed = check_well_formed();
  return print;
}

bool Session::verify(Diagnostics& out) {
  if (module()) return ir::verify(*ctx_, module(), out);
  if (const RelayText* text = relay_text(program_.get())) return text->verify(out);
  if (program_) return true;  // an executable was verified when it was opened
  out.add({}, source::message(diag::NoProgram));
  return false;
}

bool Session::run_passes(std::string_view passes, Diagnostics& out, const pipeline::Instruments& instruments) {
  if (RelaxText* text = relax()) return text->run_passes(passes, out, instruments);
  out.add({}, no_module("running passes"));
  return false;
}

source::Message Session::no_module(std::string_view purpose) const { return *missing_ability(purpose, kModule, *this); }

std::vector<std::string> Session::function_names() const {
  return program_ ? program_->function_names() : std::vector<std::string>();
}

std::shared_ptr<const Build> Session::runnable(Diagnostics& out) {
  if (program_) return program_->runnable(out);
  out.add({}, source::message(diag::NoProgram));
  return nullptr;
}

std::shared_ptr<const Build> Session::viewable(Diagnostics& out) {
  return program_ ? program_->viewable(out) : runnable(out);
}

std::optional<std::string> Session::serialise(Diagnostics& out, const bytecode::DebugInfo* names) {
  if (program_) return program_->executable_file(out, names);
  out.add({}, source::message(diag::NoProgram));
  return std::nullopt;
}

Session::Snapshot Session::snapshot() const {
  return {options_, program_ ? program_->copy() : nullptr, values_, symbols_, engines_->build};
}

void Session::restore(Snapshot snapshot) noexcept {
  options_ = std::move(snapshot.options);
  program_ = std::move(snapshot.program);
  if (RelaxText* text = relax()) text->undo_edit();
  if (RelayText* text = relay_text(program_.get())) text->undo_edit();
  values_ = std::move(snapshot.values);
  symbols_ = std::move(snapshot.symbols);
  if (engines_->build != snapshot.build) engines_->build = nullptr;  // made again on demand
  engines_->linked = nullptr;
}

bool Session::load_plugin(const std::string& path, Diagnostics& out) {
  auto loaded = runtime::load_plugin(registry_, path, isolation_);
  if (loaded.ok()) {
    engines_->build = nullptr;  // names resolve anew
    ++engines_->plugins;
    std::erase_if(plugins_, [&](const runtime::PluginInfo& p) { return p.path == loaded->path; });
    plugins_.push_back(*std::move(loaded));
    engines_->externals.clear();
    return true;
  }
  out.add({}, source::message(diag::PluginFailed, path, loaded.error().message));
  return false;
}

void Session::report_helpers(Diagnostics& out) {
  if (!options_.rfc_functions)
    for (const std::string& name : helpers_called_) out.add({}, source::message(diag::OwnHelper, name));
  helpers_called_.clear();
}

runtime::DeviceList Session::devices_of(const ir::Module* module) const {
  if (!options_.devices.empty() || !module) return options_.devices;
  runtime::DeviceList devices;
  for (const ir::VDevice* d : module->vdevices)
    devices.push_back({runtime::device_type_of(d->target_kind), d->device_id});
  return devices;
}

}  // namespace rldb::session
