#include "session/relay/relay_build.h"

#include "rldb/relay/vm/on_machine.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/cancel.h"
#include "session/relay/kernel_texts.h"

namespace rldb::session {

namespace {

// A primitive has a name and a place among the kernels; the program's own machine makes the calls.
class PrimitiveKernel : public runtime::Kernel {
 public:
  explicit PrimitiveKernel(std::string name) { signature_.name = std::move(name); }
  const runtime::KernelSignature& signature() const override { return signature_; }
  runtime::Result<runtime::Value> run(runtime::PackedArgs, std::span<const std::int64_t>) override {
    return runtime::fail(runtime::ErrorKind::Unsupported, "a primitive of the Relay VM is called by its program only");
  }

 private:
  runtime::KernelSignature signature_;
};

}  // namespace

std::shared_ptr<const RelayBuild> relay_build(Session& session, std::string_view path, std::unique_ptr<RelayCode> code,
                                              std::shared_ptr<const void> kept, Diagnostics& out) {
  if (!code) return nullptr;
  auto build = std::make_shared<RelayBuild>();
  build->kept = std::move(kept);
  build->code = std::move(code);
  auto map = relay_vm::map_of(build->code->executable());
  if (!map.ok()) {
    out.add({}, source::message(diag::BadExecutable, path, map.error().message));
    return nullptr;
  }
  bytecode::resolve_locations(map->debug, session.sources());
  build->executable = std::make_shared<const bytecode::Executable>(std::move(map).value());
  for (const std::string& name : build->code->executable().primitives)
    build->primitives.set(name, std::make_shared<PrimitiveKernel>(name));
  build->lowered = kernel_texts(session.context(), *build->code);
  vm::Environment env;
  env.kernels = &build->primitives;
  env.output = &session.output();
  env.interrupt = &support::cancel_flag();
  auto linked = vm::link_other(build->executable, env, relay_vm::instruction_set(build->code->linked()));
  if (!linked.ok()) {
    out.add({}, source::message(diag::BadExecutable, path, linked.error().message));
    return nullptr;
  }
  build->program = std::move(linked).value();
  return build;
}

const RelayCode& relay_code(const Build& build) {
  return *static_cast<const RelayBuild&>(build).code;  // no other build has this machine's instructions
}

std::optional<std::string> relay_file(const RelayCode& code, Diagnostics& out) {
  auto bytes = relay_bytecode::serialise(code.executable());
  if (bytes.ok()) return std::move(bytes).value();
  out.add({}, source::message(diag::NotSerialisable, bytes.error().message));
  return std::nullopt;
}

bool same_code(const Options& a, const Options& b) {
  return a.engine == b.engine && a.devices == b.devices && a.kernel_engines == b.kernel_engines &&
         a.fast_math == b.fast_math && a.check_accesses == b.check_accesses && a.check_bounds == b.check_bounds &&
         a.opt_level == b.opt_level && a.schedule == b.schedule && a.cache_dir == b.cache_dir && a.isolate == b.isolate;
}

}  // namespace rldb::session
