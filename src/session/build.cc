// From a module version to something executable: the minimum build, code generation, kernels, linking.
#include <fmt/format.h>

#include <unordered_map>

#include "rldb/codegen/gpu/options.h"
#include "rldb/codegen/nvptx/nvptx.h"
#include "rldb/codegen/opencl/opencl.h"
#include "rldb/codegen/vm/compile.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_id.h"
#include "rldb/pipeline/instruments.h"
#include "rldb/runtime/foreign_code.h"
#include "rldb/runtime/guarded.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/support/text.h"
#include "rldb/vm/instruction_set.h"
#include "session/engines.h"
#include "session/linked_calls.h"
#include "session/program/executable_devices.h"

namespace rldb::session {

namespace {

bool same_jit(const codegen::JitOptions& a, const codegen::JitOptions& b) {
  return a.fp == b.fp && a.check_bounds == b.check_bounds && a.check_accesses == b.check_accesses &&
         a.poisoned_memory == b.poisoned_memory && a.opt_level == b.opt_level && a.tiers == b.tiers &&
         a.schedule == b.schedule && a.cache_dir == b.cache_dir;
}

}  // namespace

codegen::Jit* Session::jit(Diagnostics& out) {
  codegen::JitOptions wanted;
  wanted.fp = options_.fast_math ? codegen::FpMode::Fast : codegen::FpMode::Strict;
  wanted.check_bounds = options_.check_bounds;
  wanted.check_accesses = options_.check_accesses;
  wanted.poisoned_memory = options_.poisoned_memory;
  wanted.opt_level = options_.opt_level;
  wanted.tiers = options_.quick_kernels;
  wanted.schedule = options_.schedule;
  wanted.cache_dir = options_.cache_dir;
  wanted.registry = &registry_;
  wanted.interrupt = &support::cancel_flag();
  if (engines_->jit && same_jit(engines_->jit_options, wanted)) return engines_->jit.get();
  std::swap(engines_->jit, engines_->spare);
  std::swap(engines_->jit_options, engines_->spare_options);
  if (engines_->jit && same_jit(engines_->jit_options, wanted)) return engines_->jit.get();
  auto made = codegen::Jit::create(wanted);
  if (!made.ok()) {
    out.add({}, std::move(made).error());
    return nullptr;
  }
  // Kernels keep alive what they need of a dropped one.
  engines_->jit = std::move(made).value();
  engines_->jit_options = wanted;
  return engines_->jit.get();
}

Engine Session::engine_of(std::string_view kernel) const {
  const auto own = options_.kernel_engines.find(kernel);
  return own == options_.kernel_engines.end() ? options_.engine : own->second;
}

codegen::GpuOptions Session::gpu_options() const {
  return {options_.check_bounds, options_.fast_math, &support::cancel_flag()};
}

ir::Result<std::shared_ptr<runtime::Kernel>> Session::device_kernel(const ir::PrimFunc* f, std::string_view name,
                                                                    Engine engine) {
  if (engine == Engine::Cuda) return codegen::cuda_kernel(*ctx_, f, name, gpu_options());
  return codegen::opencl_kernel(*ctx_, f, name, gpu_options());
}

std::shared_ptr<runtime::Kernel> Session::make_kernel(const ir::PrimFunc* f, std::string_view name, Engine engine,
                                                      Diagnostics& out) {
  // Functions of the host (sizes that the lowering computes) have no threads, and no device to run on.
  if (is_on_device(engine) && ir::find_attr(f->attrs, attr_name::IsHostFunc)) engine = Engine::Jit;
  if (engine == Engine::Jit) {
    codegen::Jit* compiler = jit(out);
    if (!compiler) return nullptr;
    auto kernel = compiler->add(*ctx_, f, name);
    if (kernel.ok()) return options_.check_bounds ? *kernel : guarded(*kernel);
    out.add(ctx_->span_of(f), source::message(diag::KernelNotCompiled, name, kernel.error().text));
  }
  if (is_on_device(engine)) {
    auto kernel = device_kernel(f, name, engine);
    if (kernel.ok()) return *kernel;
    out.add(ctx_->span_of(f), std::move(kernel).error());
    return nullptr;
  }
  auto signature = eval::signature_of(f, name);
  if (!signature.ok()) {
    out.add(ctx_->span_of(f), std::move(signature).error());
    return nullptr;
  }
  return eval::make_eval_kernel(f, std::move(signature).value(), &registry_, &support::cancel_flag(),
                                options_.poisoned_memory);
}

// Null: it cannot be compiled, for `reasons`.
runtime::Kernel* Session::PassKernels::find(const ir::PrimFunc* f, std::string_view name, Engine engine,
                                            Diagnostics& reasons) {
  std::shared_ptr<runtime::Kernel>& kernel = kernels_[f];
  if (!kernel) kernel = session_.make_kernel(f, name, engine, reasons);
  return kernel.get();
}

runtime::Result<support::Unit> Session::PassKernels::run(const ir::PrimFunc* f, std::string_view name,
                                                         runtime::PackedArgs args) {
  Diagnostics reasons;  // a kernel that cannot be compiled is not the program's fault: its call stays
  // Functions that passes compute are not scheduled yet.
  const Engine engine = is_on_device(session_.engine_of(name)) ? Engine::Jit : session_.engine_of(name);
  runtime::Kernel* kernel = find(f, name, engine, reasons);
  if (!kernel)
    return runtime::fail(runtime::ErrorKind::Unsupported,
                         reasons.all().empty() ? std::string(name) : reasons.all()[0].message);
  runtime::foreign_code_has_run();  // the terminal's, between two passes
  RLDB_TRY_VOID(runtime::call_kernel(*kernel, args));
  return support::Unit{};
}

std::optional<runtime::Result<runtime::Value>> Session::PassKernels::try_call(const ir::PrimFunc* f,
                                                                              std::string_view name,
                                                                              runtime::PackedArgs args) {
  Diagnostics reasons;
  const Engine engine = session_.engine_of(name);
  runtime::Kernel* kernel = find(f, name, engine, reasons);
  if (!kernel && is_on_device(engine))
    return runtime::fail(runtime::ErrorKind::Unsupported,
                         reasons.all().empty() ? std::string(name) : reasons.all()[0].message);
  if (!kernel) return std::nullopt;  // the evaluator, which runs it instead, reports why it cannot either
  runtime::foreign_code_has_run();
  return runtime::call_kernel(*kernel, args);
}

bool Session::add_kernels(const ir::Module* module, Engine engine, runtime::KernelTable& table, Diagnostics& out) {
  for (const ir::ModuleEntry& entry : module->entries) {
    const auto* f = ir::as<ir::PrimFunc>(entry.function);
    if (!f) continue;
    const auto own = options_.kernel_engines.find(entry.name);
    auto kernel = make_kernel(f, entry.name, own == options_.kernel_engines.end() ? engine : own->second, out);
    if (!kernel) return false;
    table.set(std::string(entry.name), std::move(kernel));
  }
  return true;
}

std::shared_ptr<const Build> Session::build(Diagnostics& out) {
  Engines& e = *engines_;
  // Where accesses are not checked, the memory is guarded.
  runtime::set_guarded_storage(options_.engine == Engine::Jit && !options_.check_bounds);
  const bool current = e.build && e.build_engine == options_.engine &&
                       e.build_kernel_engines == options_.kernel_engines && e.build_devices == options_.devices &&
                       e.build->source == module() &&
                       (!e.build_jit || options_.engine != Engine::Jit || jit(out) == e.build_jit);
  if (current) return e.build;
  if (!module()) {
    out.add({}, no_module("building"));
    return nullptr;
  }
  auto built = build_module(module(), out);
  if (!built) return nullptr;
  e.build = built;
  e.build_engine = options_.engine;
  e.build_kernel_engines = options_.kernel_engines;
  e.build_devices = options_.devices;
  e.build_jit = e.jit.get();
  return built;
}

namespace {

constexpr std::size_t kMostOrigins = 16;  // that are followed from one variable

// Where VMShapeLower puts shapes into registers, the types of new tensors say no more than their rank. The debugger
// shows those from before it.
void restore_types(const ir::Context& ctx, const std::vector<pipeline::Record>& records, bytecode::DebugInfo& debug) {
  std::unordered_map<std::uint32_t, const ir::Type*> types;
  for (const pipeline::Record& record : records) {
    if (passes::info(record.pass).id != passes::PassId::VMShapeLower) continue;
    for (const ir::ModuleEntry& e : record.before.as<ir::Module>()->entries)
      ir::walk(e.function, [&](const ir::Node* n) {
        if (ir::isa<ir::PrimFunc>(n)) return false;
        const auto* b = ir::as<ir::Binding>(n);
        const auto* tensor = b ? ir::as<ir::TensorType>(b->var->type) : nullptr;
        if (tensor && tensor->has_shape) types.emplace(b->var->id, tensor);
        return true;
      });
  }
  for (bytecode::FunctionDebug& f : debug.functions)
    for (bytecode::VariableRange& v : f.variables) {
      std::vector<std::uint32_t> nodes{v.node};
      for (std::size_t i = 0; i < nodes.size() && i < kMostOrigins; ++i) {
        if (const auto it = types.find(nodes[i]); it != types.end()) {
          v.type = ir::print_type(it->second);
          break;
        }
        for (const std::uint32_t id : ctx.origins().get(nodes[i])) nodes.push_back(id);
      }
    }
}

}  // namespace

std::shared_ptr<const Build> Session::build_module(const ir::Module* module, Diagnostics& out) {
  auto build = std::make_shared<BuildWithKernels>();
  build->source = module;
  module = engines_->with_external_kernels(*ctx_, sources_, module, out);
  if (!module) return nullptr;

  std::vector<passes::PassInvocation> steps;
  const auto then = [&](const std::vector<passes::PassInvocation>& more) {
    steps.insert(steps.end(), more.begin(), more.end());
  };
  if (has_device_hints(*module)) then(passes::pipeline_of(passes::PassId::RealizeVDevice));
  // A linear layer, matmul(x, permute_dims(w)), reads its weights as they lie: transposing them takes longer than the
  // product.
  then(passes::pipeline_of(passes::PassId::FuseTransposeMatmul));
  then(passes::parse_pipeline("minimum").value());
  pipeline::Recorder recorder;
  PassKernels kernels(*this);
  passes::PassEnv env{*ctx_, out, &kernels};
  auto lowered = passes::run_pipeline(env, module, steps, {options_.verify_each, {&recorder}});
  if (!lowered.ok()) {
    out.add({}, std::move(lowered).error());
    return nullptr;
  }
  build->lowered = with_linked_calls(*ctx_, lowered.value(), registry_);
  build->records = std::move(recorder.records);
  for (const pipeline::Record& record : build->records)
    if (passes::info(record.pass).id == passes::PassId::LegalizeOps) build->legal = record.after.as<ir::Module>();
  std::shared_ptr<DimChecks> checks;
  for (const pipeline::Record& record : build->records)
    if (passes::info(record.pass).id == passes::PassId::LegalizeOps)
      checks = engines_->check_dims(*ctx_, record.before.as<ir::Module>(), build->legal);

  auto compiled = codegen::compile_vm(*ctx_, build->lowered, out);
  if (!compiled.ok()) return nullptr;  // each fault is in `out`, at its place
  bytecode::Executable exe = std::move(compiled).value();
  bytecode::resolve_locations(exe.debug, sources_);
  restore_types(*ctx_, build->records, exe.debug);
  build->executable = std::make_shared<const bytecode::Executable>(std::move(exe));

  if (!add_kernels(build->lowered, options_.engine, build->kernels, out)) return nullptr;
  if (checks) build->kernels = DimChecks::checked(checks, std::move(build->kernels));
  return link(std::move(build), program_path(), out) ? engines_->linked : nullptr;
}

// Links the build's executable against its own kernels; leaves the result in engines_->linked.
bool Session::link(std::shared_ptr<BuildWithKernels> build, std::string_view path, Diagnostics& out) {
  const runtime::PackedRegistry* functions = engines_->functions_of(build->lowered, registry_, out);
  if (!functions) return false;
  if (build->functions) functions = build->functions;
  vm::Environment env{&build->kernels, functions, output_, &support::cancel_flag(), devices_of(build->lowered)};
  if (env.devices.empty()) env.devices = noted_devices(*build->executable);
  auto program = vm::Program::link(build->executable, env);
  if (!program.ok()) {
    out.add({}, source::message(diag::BadExecutable, path, program.error().message));
    return false;
  }
  build->program = std::move(program).value();
  engines_->linked = std::move(build);
  return true;
}

namespace {

// Why a call that passes the arguments of one signature does not fit another; empty: it does.
std::string parameters_differ(const runtime::KernelSignature& now, const runtime::KernelSignature& wanted) {
  if (now.params.size() != wanted.params.size())
    return fmt::format("it has {}, its calls pass {}", support::counted(wanted.params.size(), "parameter"),
                       now.params.size());
  for (std::size_t i = 0; i < now.params.size(); ++i) {
    const runtime::KernelParam& a = now.params[i];
    const runtime::KernelParam& b = wanted.params[i];
    if (a.is_tensor == b.is_tensor && a.dtype == b.dtype && a.shape.size() == b.shape.size() && a.opaque == b.opaque)
      continue;
    const auto text = [](const runtime::KernelParam& p) {
      return p.is_tensor ? fmt::format("a tensor of {} dimensions, {}", p.shape.size(), to_string(p.dtype))
                         : fmt::format("a scalar, {}", to_string(p.dtype));
    };
    return fmt::format("parameter `{}` is {}, its calls pass {}", b.name, text(b), text(a));
  }
  return {};
}

}  // namespace

std::shared_ptr<const Build> Session::with_kernel(const Build& build, std::string_view kernel, const ir::PrimFunc* f,
                                                  Engine engine, Diagnostics& out) {
  const runtime::KernelTable* kernels = build.program->environment().kernels;
  runtime::Kernel* now = kernels ? kernels->find(kernel) : nullptr;
  if (now && vm::instructions_of(*build.program)) {
    out.add({}, source::message(diag::NotReplaceable, kernel, "it is a primitive of a program of the Relay VM"));
    return nullptr;
  }
  if (!now || !build.lowered) {
    out.add({}, source::message(diag::NoSuchThing, "kernel of the run", kernel));
    return nullptr;
  }
  auto made = make_kernel(f, kernel, engine, out);
  if (!made) return nullptr;
  if (std::string why = parameters_differ(now->signature(), made->signature()); !why.empty()) {
    out.add(ctx_->span_of(f), source::message(diag::NotReplaceable, kernel, why));
    return nullptr;
  }
  auto changed = std::make_shared<BuildWithKernels>();
  static_cast<Build&>(*changed) = build;
  changed->kernels = *kernels;
  changed->kernels.set(std::string(kernel), std::move(made));
  ir::ModuleBuilder builder(*ctx_, *build.lowered);
  builder.set(kernel, f);
  changed->lowered = builder.build();
  vm::Environment env = build.program->environment();
  env.kernels = &changed->kernels;
  auto program = vm::Program::link(build.executable, env);
  if (!program.ok()) {
    out.add({}, source::message(diag::BadExecutable, program_path(), program.error().message));
    return nullptr;
  }
  changed->program = std::move(program).value();
  return changed;
}

}  // namespace rldb::session
