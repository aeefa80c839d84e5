// A Relay program as a build of the session: its code as a map, its primitives as kernels that can be looked into.
#include "rldb/relay/run/relay_machine.h"

#include "relay/run/kernel_texts.h"
#include "rldb/frontend/relay.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/relay/run/program.h"
#include "rldb/relay/vm/on_machine.h"
#include "rldb/source/diagnostic_general.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"

namespace rldb::relay_run {

using runtime::Value;
using session::Build;
using source::Diagnostics;

namespace {

// A primitive has a name and a place among the kernels; the calls of a program are made by its own machine.
class PrimitiveKernel : public runtime::Kernel {
 public:
  explicit PrimitiveKernel(std::string name) { signature_.name = std::move(name); }
  const runtime::KernelSignature& signature() const override { return signature_; }
  runtime::Result<Value> run(runtime::PackedArgs, std::span<const std::int64_t>) override {
    return runtime::fail(runtime::ErrorKind::Unsupported, "a primitive of the Relay VM is called by its program only");
  }

 private:
  runtime::KernelSignature signature_;
};

struct RelayBuild : Build {
  relay::Context ctx;
  const relay::Module* module = nullptr;  // of a text
  relay::Typing typing;
  std::unique_ptr<Program> relay;
  runtime::KernelTable kernels;
};

const relay::Type* parameter_type(const RelayBuild& build, std::string_view function, std::size_t parameter) {
  const relay::Function* f = build.module ? build.module->find(function) : nullptr;
  return f && parameter < f->params.size() ? build.typing.of(f->params[parameter]) : nullptr;
}

class Machine : public session::RelayMachine {
 public:
  bool is_executable(std::string_view bytes) const override { return relay_bytecode::is_executable_file(bytes); }

  std::shared_ptr<const Build> open(session::Session& session, const std::string& path, const std::string& bytes,
                                    Diagnostics& out) override {
    auto loaded = relay_bytecode::load(bytes);
    if (!loaded.ok()) {
      out.add({}, source::message(diag::BadExecutable, path, loaded.error().message));
      return nullptr;
    }
    auto build = std::make_shared<RelayBuild>();
    build->relay = Program::open(std::move(loaded).value(), session.options(), &session.output(), out);
    return finish(session, std::move(build), path, out);
  }

  std::shared_ptr<const Build> compile(session::Session& session, source::FileId file, Diagnostics& out) override {
    auto build = std::make_shared<RelayBuild>();
    const frontend::RelayResult parsed = frontend::parse_relay_program(build->ctx, session.sources(), file, out);
    build->module = parsed.module;
    if (!parsed.module || !relay::infer_types(build->ctx, parsed.module, build->typing, out)) return nullptr;
    build->relay = Program::compile(build->ctx, parsed.module, session.options(), &session.output(), out, "main",
                                    &parsed.graph_names);
    return finish(session, std::move(build), session.sources().find(file)->name(), out);
  }

  runtime::Result<Value> argument(const Build& build, const session::Options& options, std::string_view function,
                                  std::size_t parameter, const Value& given) const override {
    const auto& relay = static_cast<const RelayBuild&>(build);  // no other build has this machine's instructions
    return relay_run::argument(given, parameter_type(relay, function, parameter), options, options.seed + parameter);
  }

 private:
  static std::shared_ptr<const Build> finish(session::Session& session, std::shared_ptr<RelayBuild> build,
                                             const std::string& path, Diagnostics& out) {
    if (!build->relay) return nullptr;
    auto map = relay_vm::map_of(build->relay->executable());
    if (!map.ok()) {
      out.add({}, source::message(diag::BadExecutable, path, map.error().message));
      return nullptr;
    }
    bytecode::resolve_locations(map->debug, session.sources());
    build->executable = std::make_shared<const bytecode::Executable>(std::move(map).value());
    for (const std::string& name : build->relay->executable().primitives)
      build->kernels.set(name, std::make_shared<PrimitiveKernel>(name));
    build->lowered = kernel_texts(session.context(), *build->relay);
    vm::Environment env;
    env.kernels = &build->kernels;
    env.output = &session.output();
    env.interrupt = &support::cancel_flag();
    auto linked = vm::link_other(build->executable, env, relay_vm::instruction_set(build->relay->linked()));
    if (!linked.ok()) {
      out.add({}, source::message(diag::BadExecutable, path, linked.error().message));
      return nullptr;
    }
    build->program = std::move(linked).value();
    return build;
  }
};

}  // namespace

std::shared_ptr<session::RelayMachine> make_relay_machine() { return std::make_shared<Machine>(); }

}  // namespace rldb::relay_run
