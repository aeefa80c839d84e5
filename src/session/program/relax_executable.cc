// Executables of the Relax VM from files. Opening one reads only its bytecode. Running it treats the kernels' TensorIR
// as untrusted text, which goes through the front end and the verifier, and compiles that; machine code stored in the
// file runs only if the user trusts it.
#include "session/program/relax_executable.h"

#include <fmt/format.h>

#include "rldb/bytecode/library_program.h"
#include "rldb/bytecode/serialise.h"
#include "rldb/frontend/parse.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/passes/external_module.h"
#include "rldb/runtime/library_code.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/file.h"
#include "session/engines.h"
#include "session/inputs/executable_types.h"

namespace rldb::session {

std::unique_ptr<Program> Session::RelaxExecutable::open(Session& session, const std::string& path,
                                                        std::string_view bytes, Diagnostics& out,
                                                        std::optional<bytecode::CodeAbi> library) {
  auto loaded = library == bytecode::CodeAbi::Rldb ? bytecode::load_library_program(bytes) : bytecode::load(bytes);
  if (!loaded.ok()) {
    out.add({}, source::message(diag::BadExecutable, path, loaded.error().message));
    return nullptr;
  }
  auto view = std::make_shared<BuildWithKernels>();
  view->executable = std::make_shared<const bytecode::Executable>(std::move(loaded).value());
  if (!session.link(view, path, out)) return nullptr;
  auto program = std::make_unique<RelaxExecutable>(session, path);
  program->view_ = std::move(view);
  program->library_ = library;
  return program;
}

std::unique_ptr<Program> Session::RelaxExecutable::copy() const { return std::make_unique<RelaxExecutable>(*this); }

std::vector<std::string> Session::RelaxExecutable::function_names() const { return function_names_of(executable()); }

std::optional<std::vector<Parameter>> Session::RelaxExecutable::parameters(std::string_view function, std::string&) {
  return parameters_of(*session_.ctx_, session_.sources_, executable(), function);
}

std::optional<std::string> Session::RelaxExecutable::executable_file(Diagnostics& out,
                                                                     const bytecode::DebugInfo* names) {
  if (library_ == bytecode::CodeAbi::Rldb) {
    out.add({}, source::message(diag::LibraryNotRun, path_));
    return std::nullopt;
  }
  bytecode::Executable exe = executable();
  if (names) exe.debug = *names;
  auto bytes = bytecode::serialise(exe);
  if (bytes.ok()) return std::move(bytes).value();
  out.add({}, source::message(diag::NotSerialisable, bytes.error().message));
  return std::nullopt;
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
const ir::Module* Session::RelaxExecutable::read_kernels(Diagnostics& out) {
  if (kernels_) return kernels_;
  ir::Context& ctx = *session_.ctx_;
  const std::string& given = session_.options_.kernels_file;
  if (!given.empty()) return kernels_ = read_kernels_file(ctx, session_.sources_, given, out);
  const bytecode::Executable& exe = executable();
  if (exe.tensor_ir.empty()) return kernels_ = ir::ModuleBuilder(ctx).build();
  const source::FileId file = session_.sources_.add(path_ + ":kernels", exe.tensor_ir);
  Diagnostics found;
  const frontend::ParseResult parsed = frontend::parse(ctx, session_.sources_, file, found);
  // check_well_formed=False is for texts that their author inspects: here findings of the verifier are errors.
  if (parsed.module && !found.has_errors()) ir::verify(ctx, parsed.module, found);
  for (const source::Diagnostic& d : found.all())
    if (d.severity == source::Severity::Error) out.add(d);
  if (found.has_errors()) return nullptr;
  if (!parsed.module) {
    out.add({}, source::message(diag::KernelsNotReadable, path_, "there is no module in the text"));
    return nullptr;
  }
  for (const ir::ModuleEntry& entry : parsed.module->entries) {
    if (ir::isa<ir::PrimFunc>(entry.function)) continue;
    out.add(ctx.span_of(entry.function),
            source::message(diag::KernelsNotReadable, path_, fmt::format("`{}` is not a PrimFunc", entry.name)));
    return nullptr;
  }
  return kernels_ = parsed.module;
}

// Uses stored machine code in place of compiling TensorIR, where it is usable.
void Session::RelaxExecutable::add_stored_kernels(runtime::KernelTable& table, Diagnostics& out) {
  for (const auto& [name, blob] : executable().kernels) {
    codegen::Jit* compiler = session_.jit(out);
    if (!compiler) return;
    auto kernel = compiler->add_object(blob, name);
    if (kernel.ok())
      table.set(name, session_.guarded(*kernel));
    else
      out.add({}, source::message(diag::StoredKernelUnused, name, path_, kernel.error().text));
  }
}

namespace {

// A kernel in a library, with the parameters of its TensorIR.
class LibraryKernel : public runtime::Kernel {
 public:
  LibraryKernel(runtime::KernelSignature signature, runtime::PackedFn code)
      : signature_(std::move(signature)), code_(std::move(code)) {}
  const runtime::KernelSignature& signature() const override { return signature_; }
  runtime::Result<runtime::Value> run(runtime::PackedArgs args, std::span<const std::int64_t>) override {
    return code_(args);
  }

 private:
  runtime::KernelSignature signature_;
  runtime::PackedFn code_;
};

}  // namespace

// Where the TensorIR of a kernel is known, the code is called as a kernel, else as a packed function, which checks its
// arguments by itself.
bool Session::RelaxExecutable::add_library_code(BuildWithKernels& build, Diagnostics& out) {
  if (*library_ == bytecode::CodeAbi::BeforeTvmFfi) {
    out.add({}, source::message(diag::LibraryCodeUnusable, path_, "its calling convention is that before tvm-ffi"));
    return false;
  }
  auto all = std::make_shared<runtime::PackedRegistry>(session_.registry_);
  auto code = runtime::load_library_code(path_, runtime::RegistryRef(*all), session_.isolation_);
  if (!code.ok()) {
    out.add({}, source::message(diag::LibraryCodeUnusable, path_, code.error().message));
    return false;
  }
  for (runtime::LibraryFunction& f : *code) {
    if (const runtime::Kernel* known = build.kernels.find(f.name))
      build.kernels.set(f.name, std::make_shared<LibraryKernel>(known->signature(), std::move(f.run)));
    else
      all->register_function(f.name, std::move(f.run), "of `" + path_ + "`").any_device = true;
  }
  build.functions = all.get();
  session_.engines_->kept_externals.push_back(std::move(all));
  return true;
}

// Those left without code are unresolved, and named when they are called.
void Session::RelaxExecutable::explain_missing(const BuildWithKernels& build, Diagnostics& out) const {
  for (const auto& [name, blob] : executable().kernels)
    if (!build.kernels.find(name)) out.add({}, source::message(diag::KernelWithoutSource, name, path_));
  if (library_ && !build.functions && session_.options_.kernels_file.empty() && !build.program->unresolved().empty())
    out.add({}, source::message(diag::LibraryCodeNotRun, path_));
}

std::shared_ptr<const Build> Session::RelaxExecutable::runnable(Diagnostics& out) {
  if (library_ == bytecode::CodeAbi::Rldb) {
    out.add({}, source::message(diag::LibraryNotRun, path_));
    return nullptr;
  }
  const Options& options = session_.options_;
  const bool jitted = options.engine == Engine::Jit;
  const bool trusted = options.trust_kernels && jitted;
  const auto same_jit = [&] { return !session_.engines_->jit || !jitted || session_.jit(out) == jit_; };
  if (build_ && engine_ == options.engine && kernel_engines_ == options.kernel_engines && trusted_ == trusted &&
      plugins_ == session_.engines_->plugins && same_jit())
    return build_;
  const ir::Module* kernels = read_kernels(out);
  if (!kernels) return nullptr;
  auto build = std::make_shared<BuildWithKernels>();
  build->executable = view_->executable;
  build->lowered = kernels;
  if (!session_.add_kernels(kernels, options.engine, build->kernels, out)) return nullptr;
  if (trusted) add_stored_kernels(build->kernels, out);
  if (trusted && library_ && !add_library_code(*build, out)) return nullptr;
  if (!session_.link(build, path_, out)) return nullptr;
  explain_missing(*build, out);
  build_ = build;
  engine_ = options.engine;
  kernel_engines_ = options.kernel_engines;
  trusted_ = trusted;
  plugins_ = session_.engines_->plugins;
  jit_ = session_.engines_->jit.get();
  return build_;
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
