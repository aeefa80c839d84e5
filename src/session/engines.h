// Engines of a session: the JIT and the kernel tables it fills. Room-private.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "rldb/codegen/llvm/jit.h"
#include "rldb/ir/context.h"
#include "rldb/runtime/kernel.h"
#include "rldb/session/session.h"
#include "session/dim_checks.h"

namespace rldb::session {

struct Session::Engines {
  std::unique_ptr<codegen::Jit> jit;  // made at first use: LLVM's start costs milliseconds
  codegen::JitOptions jit_options;    // those with which `jit` was made
  // The previous one: `:time` switches to unchecked code and back, and nothing is compiled twice.
  std::unique_ptr<codegen::Jit> spare;
  codegen::JitOptions spare_options;

  // The last build and its inputs.
  std::shared_ptr<const Build> build;
  Engine build_engine{};
  decltype(Options::kernel_engines) build_kernel_engines;
  runtime::DeviceList build_devices;
  const codegen::Jit* build_jit = nullptr;
  std::shared_ptr<const Build> linked;  // the last result of `link`

  // The form of a version that the evaluator runs: operators legalised, otherwise unchanged.
  const ir::Module* evaluated = nullptr;
  const ir::Module* evaluable = nullptr;

  // Of legalised modules, for the evaluator.
  std::unordered_map<const ir::Module*, std::shared_ptr<DimChecks>> dim_checks;

  std::shared_ptr<DimChecks> check_dims(ir::Context& ctx, const ir::Module* before, const ir::Module* legal) {
    std::shared_ptr<DimChecks> checks = DimChecks::of(ctx, before, legal);
    if (checks) dim_checks[legal] = checks;
    return checks;
  }

  // Programs of operators encountered while running, by text and types of operands.
  std::unordered_map<std::string, std::shared_ptr<const Build>> operators;

  // The functions available to a module's code: the session's, and those of its external modules (external.cc). Null:
  // diagnosed. Everything created here is kept, because programs refer to it.
  const runtime::PackedRegistry* functions_of(const ir::Module* module, const runtime::PackedRegistry& own,
                                              Diagnostics& out);
  std::unordered_map<const ir::Attr*, std::shared_ptr<const runtime::PackedRegistry>> externals;
  std::vector<std::shared_ptr<const runtime::PackedRegistry>> kept_externals;

  // The module with the kernels that it carries as external modules (external_kernels.cc). Null: diagnosed.
  const ir::Module* with_external_kernels(ir::Context& ctx, source::SourceManager& sources, const ir::Module* module,
                                          Diagnostics& out);
  std::unordered_map<const ir::Attr*, const ir::PrimFunc*> external_kernels;

  std::uint32_t plugins = 0;  // loaded so far: code linked before is linked again
  std::uint32_t entries = 0;  // prompt entries so far, for buffer names
};

// The session's engine, lent to a pipeline. Each function is compiled once per pipeline.
class Session::PassKernels : public passes::KernelRunner {
 public:
  explicit PassKernels(Session& session) : session_(session) {}
  runtime::Result<support::Unit> run(const ir::PrimFunc* f, std::string_view name, runtime::PackedArgs args) override;
  // nullopt: the session cannot make this kernel.
  std::optional<runtime::Result<runtime::Value>> try_call(const ir::PrimFunc* f, std::string_view name,
                                                          runtime::PackedArgs args);

 private:
  runtime::Kernel* find(const ir::PrimFunc* f, std::string_view name, Engine engine, Diagnostics& reasons);
  Session& session_;
  std::unordered_map<const ir::PrimFunc*, std::shared_ptr<runtime::Kernel>> kernels_;
};

// Whether hints say where its tensors are: they become copies before anything else.
bool has_device_hints(const ir::Module& module);
// The module with such hints realized, which may determine the devices of parameters. Null: diagnosed.
const ir::Module* with_hints_realized(ir::Context& ctx, const ir::Module* module, bool verify_each, Diagnostics& out);

// A Build that owns the kernel table its program calls into.
struct BuildWithKernels : Build {
  runtime::KernelTable kernels;
  // The functions of the session and those of the program's library, one of `kept_externals`; null: the session's.
  const runtime::PackedRegistry* functions = nullptr;
};

}  // namespace rldb::session
