// Executables from files. Opening one reads only its bytecode. Running it treats the kernels' TensorIR as untrusted
// text, which goes through the front end and the verifier, and compiles that; machine code stored in the file runs only
// if the user trusts it.
#include <fmt/format.h>

#include "rldb/bytecode/serialise.h"
#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/passes/external_module.h"
#include "rldb/session/relay_machine.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/file.h"
#include "session/engines.h"

namespace rldb::session {

namespace {

// Is this a program of the Relay VM, as a file or as text?
bool is_relay_program(const std::string& path, std::string_view bytes) {
  return relay_machine() && (relay_machine()->is_executable(bytes) || frontend::is_relay(path, bytes));
}

// Null: diagnosed.
std::shared_ptr<const Build> open_relay_program(Session& session, const std::string& path, std::string_view bytes,
                                                Diagnostics& out) {
  RelayMachine& machine = *relay_machine();
  if (machine.is_executable(bytes)) return machine.open(session, path, std::string(bytes), out);
  return machine.compile(session, session.sources().add(path, std::string(bytes)), out);
}

}  // namespace

// An executable of the Relax VM, or anything that the Relay VM runs.
bool Session::open_executable(const std::string& path, std::string_view bytes, Diagnostics& out) {
  if (is_relay_program(path, bytes)) {
    std::shared_ptr<const Build> build = open_relay_program(*this, path, bytes, out);
    if (!build) return false;
    path_ = path;
    check_well_formed_ = true;
    history_ = {};
    loaded_executable_ = build->executable;
    engines_->view = build;
    engines_->kernels = nullptr;
    engines_->build = std::move(build);
    engines_->build_engine = options_.engine;
    return true;
  }
  auto loaded = bytecode::load(bytes);
  if (!loaded.ok()) {
    out.add({}, source::message(diag::BadExecutable, path, loaded.error().message));
    return false;
  }
  auto view = std::make_shared<BuildWithKernels>();
  view->executable = std::make_shared<const bytecode::Executable>(std::move(loaded).value());
  if (!link(view, out)) return false;
  std::string name = path;
  path_ = std::move(name);
  history_ = {};
  loaded_executable_ = view->executable;
  engines_->view = std::move(view);
  engines_->kernels = nullptr;
  engines_->build = nullptr;
  return true;
}

namespace {

// External modules accompany the kernels: the code calls both.
ir::Span<ir::NamedAttr> external_attrs(ir::Context& ctx, const ir::Module* module) {
  const ir::Attr* modules = ir::find_attr(module->attrs, passes::external::kModules);
  return modules ? ctx.with_attr({}, passes::external::kModules, modules) : ir::Span<ir::NamedAttr>();
}

// Every kernel of a module and of its lowered form, also under TVM's names. Null: diagnosed.
const ir::Module* kernels_of(ir::Context& ctx, const ir::Module* module, Diagnostics& out) {
  Diagnostics found;  // warnings of lowering do not concern the executable
  passes::PassEnv env{ctx, found};
  const auto pipeline = passes::parse_pipeline("minimum");
  auto lowered = passes::run_pipeline(env, module, *pipeline);
  if (!lowered.ok()) {
    for (const source::Diagnostic& d : found.all())
      if (d.severity == source::Severity::Error) out.add(d);
    out.add({}, std::move(lowered).error());
    return nullptr;
  }
  ir::ModuleBuilder kernels(ctx);
  kernels.set_attrs(external_attrs(ctx, *lowered));
  for (const ir::ModuleEntry& entry : (*lowered)->entries)
    if (ir::isa<ir::PrimFunc>(entry.function)) kernels.set(entry.name, entry.function);
  return kernels.build();
}

// `--kernels`: a module from the user, who asserts that it contains the kernels called by the executable.
const ir::Module* read_kernels_file(ir::Context& ctx, source::SourceManager& sources, const std::string& path,
                                    Diagnostics& out) {
  auto text = support::read_file(path, source::kMaxBytes);
  if (!text.ok()) {
    out.add({}, source::message(diag::FileNotFound, path, text.error().reason));
    return nullptr;
  }
  const source::FileId file = sources.add(path, std::move(*text));
  Diagnostics found;
  const frontend::ParseResult parsed = frontend::parse(ctx, sources, file, found);
  if (parsed.module && !found.has_errors()) ir::verify(ctx, parsed.module, found);
  for (const source::Diagnostic& d : found.all())
    if (d.severity == source::Severity::Error) out.add(d);
  if (found.has_errors()) return nullptr;
  if (!parsed.module) {
    out.add({}, source::message(diag::KernelsNotReadable, path, "there is no module in the text"));
    return nullptr;
  }
  return kernels_of(ctx, parsed.module, out);
}

}  // namespace

// The module of an executable's kernels. Null: the text is not a module, which is diagnosed at its place.
const ir::Module* Session::read_kernels(Diagnostics& out) {
  if (engines_->kernels) return engines_->kernels;
  if (!options_.kernels_file.empty())
    return engines_->kernels = read_kernels_file(*ctx_, sources_, options_.kernels_file, out);
  const bytecode::Executable& exe = *loaded_executable_;
  if (exe.tensor_ir.empty()) return engines_->kernels = ir::ModuleBuilder(*ctx_).build();
  const source::FileId file = sources_.add(path_ + ":kernels", exe.tensor_ir);
  Diagnostics found;
  const frontend::ParseResult parsed = frontend::parse(*ctx_, sources_, file, found);
  // check_well_formed=False is for texts that their author inspects: here findings of the verifier are errors.
  if (parsed.module && !found.has_errors()) ir::verify(*ctx_, parsed.module, found);
  for (const source::Diagnostic& d : found.all())
    if (d.severity == source::Severity::Error) out.add(d);
  if (found.has_errors()) return nullptr;
  if (!parsed.module) {
    out.add({}, source::message(diag::KernelsNotReadable, path_, "there is no module in the text"));
    return nullptr;
  }
  for (const ir::ModuleEntry& entry : parsed.module->entries) {
    if (ir::isa<ir::PrimFunc>(entry.function)) continue;
    out.add(ctx_->span_of(entry.function),
            source::message(diag::KernelsNotReadable, path_, fmt::format("`{}` is not a PrimFunc", entry.name)));
    return nullptr;
  }
  return engines_->kernels = parsed.module;
}

// Uses stored machine code in place of compiling TensorIR, where it is usable.
void Session::add_stored_kernels(runtime::KernelTable& table, Diagnostics& out) {
  for (const auto& [name, blob] : loaded_executable_->kernels) {
    codegen::Jit* compiler = jit(out);
    if (!compiler) return;
    auto kernel = compiler->add_object(blob, name);
    if (kernel.ok())
      table.set(name, guarded(*kernel));
    else
      out.add({}, source::message(diag::StoredKernelUnused, name, path_, kernel.error().text));
  }
}

std::shared_ptr<const Build> Session::link_kernels(Diagnostics& out) {
  Engines& e = *engines_;
  if (e.build && is_on_relay_machine(*e.build)) {
    if (e.build_engine == options_.engine) return e.build;
    std::shared_ptr<const Build> made = relay_machine()->again(*this, *e.build, out);
    if (!made) return nullptr;
    loaded_executable_ = made->executable;
    e.build_engine = options_.engine;
    return e.view = e.build = std::move(made);
  }
  const bool jitted = options_.engine == Engine::Jit;
  const bool trusted = options_.trust_kernels && jitted;
  const bool current = e.build && e.build_engine == options_.engine &&
                       e.build_kernel_engines == options_.kernel_engines && e.build_trusted == trusted &&
                       (!e.jit || !jitted || jit(out) == e.build_jit);
  if (current) return e.build;
  const ir::Module* kernels = read_kernels(out);
  if (!kernels) return nullptr;
  auto build = std::make_shared<BuildWithKernels>();
  build->executable = loaded_executable_;
  build->lowered = kernels;
  if (!add_kernels(kernels, options_.engine, build->kernels, out)) return nullptr;
  if (trusted) add_stored_kernels(build->kernels, out);
  // Those left without code are unresolved, and named when they are called; this explains why.
  for (const auto& [name, blob] : loaded_executable_->kernels)
    if (!build->kernels.find(name)) out.add({}, source::message(diag::KernelWithoutSource, name, path_));
  if (!link(build, out)) return nullptr;
  e.build = build;
  e.build_engine = options_.engine;
  e.build_kernel_engines = options_.kernel_engines;
  e.build_trusted = trusted;
  e.build_jit = e.jit.get();
  return e.build;
}

// Kernels are stored in a file as TensorIR, and as machine code for this CPU where they compile.
bool Session::add_kernels_of_file(bytecode::Executable& exe, const ir::Module* lowered, Diagnostics& out) {
  codegen::Jit* compiler = jit(out);
  if (!compiler) return false;
  ir::ModuleBuilder kernels(*ctx_);
  kernels.set_attrs(external_attrs(*ctx_, lowered));
  bool any = !passes::external_modules(lowered).empty();
  for (const ir::ModuleEntry& entry : lowered->entries) {
    const auto* f = ir::as<ir::PrimFunc>(entry.function);
    if (!f) continue;
    kernels.set(entry.name, entry.function);
    any = true;
    auto object = compiler->object_code(*ctx_, f, entry.name);
    if (object.ok())
      exe.kernels[std::string(entry.name)] = std::move(object).value();
    else
      out.add(ctx_->span_of(f), source::message(diag::KernelNotCompiled, entry.name, object.error().text));
  }
  if (!any) return true;
  const ir::Module* module = kernels.build();
  ir::PrintOptions print;
  print.show_meta = true;
  const std::vector<std::string> gaps = ir::unsayable(module, print.syntax);
  for (const std::string& gap : gaps) out.add({}, source::message(diag::Unsayable, gap));
  if (!gaps.empty()) return false;
  exe.tensor_ir = ir::print(module, print);
  return true;
}

}  // namespace rldb::session
