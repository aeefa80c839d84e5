// Queries about the kernels of a program: state, LLVM IR, assembly.
#include "rldb/codegen/gpu/options.h"
#include "rldb/codegen/nvptx/nvptx.h"
#include "rldb/codegen/opencl/opencl.h"
#include "rldb/runtime/isolate.h"
#include "rldb/session/relay_text.h"
#include "rldb/source/diagnostic_missing.h"
#include "session/engines.h"
#include "session/program/relay_executable.h"
#include "session/relay/relay_build.h"

namespace rldb::session {

// Code that may write anywhere runs in a guard process if the option is set.
std::shared_ptr<runtime::Kernel> Session::guarded(std::shared_ptr<runtime::Kernel> kernel) const {
  return runtime::isolated_kernel(std::move(kernel), isolation_);
}

std::vector<Session::KernelState> Session::kernel_states() const {
  std::vector<KernelState> states;
  if (engines_->jit)
    for (const codegen::KernelStats& k : engines_->jit->stats())
      states.push_back(
          {k.name, k.compiled, k.from_cache, k.compile_ns, k.compiled && k.tier == codegen::Tier::Quick, k.improving});
  // Primitives of the Relay VM have a compiler of their own.
  const Build* relay = nullptr;
  if (program_ && program_->kind() == ProgramKind::RelayText) relay = static_cast<RelayText*>(program_.get())->built();
  if (program_ && program_->kind() == ProgramKind::RelayExecutable)
    relay = static_cast<RelayExecutable*>(program_.get())->built();
  if (!relay) return states;
  std::vector<KernelState> own = relay_code(*relay).kernel_states();
  states.insert(states.end(), own.begin(), own.end());
  return states;
}

const ir::PrimFunc* Session::find_kernel(std::string_view name, Diagnostics& out) {
  if (module())
    if (const auto* f = ir::as<ir::PrimFunc>(module()->find(name))) return f;
  auto built = runnable(out);
  if (!built) return nullptr;
  if (built->lowered)
    if (const auto* f = ir::as<ir::PrimFunc>(built->lowered->find(name))) return f;
  out.add({}, source::message(diag::NoSuchThing, "kernel", name));
  return nullptr;
}

std::optional<std::string> Session::kernel_text(std::string_view name, KernelText what, Diagnostics& out) {
  const ir::PrimFunc* f = find_kernel(name, out);
  if (f && (what == KernelText::OpenCl || what == KernelText::Ptx)) {
    auto code = what == KernelText::Ptx ? codegen::ptx_text(*ctx_, f, name, gpu_options())
                                        : codegen::opencl_source(*ctx_, f, name, gpu_options());
    if (code.ok()) return std::move(code).value();
    out.add(ctx_->span_of(f), std::move(code).error());
    return std::nullopt;
  }
  codegen::Jit* compiler = f ? jit(out) : nullptr;
  if (!compiler) return std::nullopt;
  auto text = what == KernelText::Llvm ? compiler->llvm_ir(*ctx_, f, name) : compiler->assembly(*ctx_, f, name);
  if (text.ok()) return std::move(text).value();
  out.add(ctx_->span_of(f), std::move(text).error());
  return std::nullopt;
}

bool Session::compile_kernel(std::string_view name, Diagnostics& out) {
  const ir::PrimFunc* f = find_kernel(name, out);
  codegen::Jit* compiler = f ? jit(out) : nullptr;
  if (!compiler) return false;
  auto added = compiler->add(*ctx_, f, name);
  if (!added.ok()) {
    out.add(ctx_->span_of(f), std::move(added).error());
    return false;
  }
  auto compiled = compiler->compile(name);
  if (compiled.ok()) return true;
  out.add(ctx_->span_of(f), std::move(compiled).error());
  return false;
}

bool work_left_behind() { return codegen::compilations_left_behind() > 0; }

}  // namespace rldb::session
