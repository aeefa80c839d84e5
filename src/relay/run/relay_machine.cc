// A Relay program as a build of the session: its code as a map, its primitives as kernels for stepping.
#include "rldb/relay/run/relay_machine.h"

#include <chrono>

#include "relay/run/kernel_texts.h"
#include "rldb/frontend/relay.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/relay/passes/pass.h"
#include "rldb/relay/run/check_passes.h"
#include "rldb/relay/run/program.h"
#include "rldb/relay/vm/on_machine.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/support/cancel.h"

namespace rldb::relay_run {

using runtime::Value;
using session::Build;
using session::RelayHistory;
using source::Diagnostics;

namespace {

// A primitive has a name and a place among the kernels; the program's own machine makes the calls.
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

// A Relay text and the environment of its versions.
struct RelayText {
  relay::Context ctx;
  relay::Typing typing;
  relay::TextNames names;
  std::string path;
};

struct RelayBuild : Build {
  std::shared_ptr<RelayText> text;  // null: of a file
  RelayHistory history;
  std::unique_ptr<Program> relay;
  runtime::KernelTable kernels;
};

const RelayBuild& cast(const Build& build) {
  return static_cast<const RelayBuild&>(build);  // no other build has this machine's instructions
}

const relay::Type* parameter_type(const RelayBuild& build, std::string_view function, std::size_t parameter) {
  const relay::Module* m = build.text ? build.history.versions[build.history.position].module : nullptr;
  const relay::Function* f = m ? m->find(function) : nullptr;
  if (!f || parameter >= f->params.size()) return nullptr;
  const relay::Type* known = build.text->typing.of(f->params[parameter]);
  return known ? known : f->params[parameter]->annotation;
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
    return opened(session, std::move(loaded).value(), path, out);
  }

  std::shared_ptr<const Build> compile(session::Session& session, source::FileId file, Diagnostics& out) override {
    auto text = std::make_shared<RelayText>();
    const frontend::RelayResult parsed = frontend::parse_relay_program(text->ctx, session.sources(), file, out);
    if (!parsed.module || !relay::infer_types(text->ctx, parsed.module, text->typing, out)) return nullptr;
    text->names = parsed.graph_names;
    text->path = session.sources().find(file)->name();
    return compiled(session, std::move(text), {{{"", {}, 0, parsed.module}}, 0, {}}, out);
  }

  std::shared_ptr<const Build> again(session::Session& session, const Build& build, Diagnostics& out) override {
    const RelayBuild& old = cast(build);
    if (old.text) return compiled(session, old.text, old.history, out);
    return opened(session, old.relay->executable(), session.program_path(), out);
  }

  const RelayHistory* history(const Build& build) const override {
    return cast(build).text ? &cast(build).history : nullptr;
  }
  std::string text(const session::RelayVersion& version, bool metadata) const override {
    relay::PrintOptions options;
    options.metadata = metadata;
    return relay::print(version.module, options);
  }

  bool run_passes(session::Session& session, const Build& build, std::string_view pipeline, RelayHistory& history,
                  Diagnostics& out) override {
    RelayText& text = *cast(build).text;
    const auto passes = relay::parse_passes(pipeline, out);
    if (!passes) return false;
    const auto evaluator = make_evaluator(text.ctx, session.options());
    relay::PassEnv env{text.ctx, out, "main", &text.names, evaluator.get()};
    for (const relay::PassInvocation& pass : *passes)
      if (!run_pass(pass, env, history)) return false;
    return true;
  }

  std::shared_ptr<const Build> with_history(session::Session& session, const Build& build, RelayHistory history,
                                            Diagnostics& out) override {
    return compiled(session, cast(build).text, std::move(history), out);
  }

  std::string compare_versions(session::Session& session, const Build& build, std::size_t before, bool& same) override {
    const RelayBuild& relay = cast(build);
    const auto& versions = relay.history.versions;
    const Validation v =
        validate(relay.text->ctx, versions[before].module, versions[relay.history.position].module, session.options());
    same = v.difference.empty() && !v.compared.empty();
    return to_string(v);
  }

  runtime::Result<Value> argument(const Build& build, const session::Options& options, std::string_view function,
                                  std::size_t parameter, const Value& given) const override {
    const relay::Type* type = parameter_type(cast(build), function, parameter);
    return relay_run::argument(given, type, options, options.seed + parameter);
  }

 private:
  // Adds one more version.
  static bool run_pass(const relay::PassInvocation& pass, relay::PassEnv& env, RelayHistory& history) {
    const relay::Module* before = history.versions[history.position].module;
    const auto start = std::chrono::steady_clock::now();
    const relay::Module* after = relay::run_pass(pass, env, before);
    const auto time = std::chrono::steady_clock::now() - start;
    relay::Typing typing;
    if (!after || !relay::infer_types(env.ctx, after, typing, env.out)) return false;
    history.versions.resize(history.position + 1);
    std::erase_if(history.bookmarks, [&](const auto& b) { return b.second > history.position; });
    history.versions.push_back({relay::to_string(pass), changed_functions(before, after),
                                std::uint64_t(std::chrono::nanoseconds(time).count()), after});
    ++history.position;
    return true;
  }

  static std::shared_ptr<const Build> opened(session::Session& session, relay_bytecode::Executable exe,
                                             const std::string& path, Diagnostics& out) {
    auto build = std::make_shared<RelayBuild>();
    build->relay = Program::open(std::move(exe), session.options(), &session.output(), out);
    return finish(session, std::move(build), path, out);
  }

  static std::shared_ptr<const Build> compiled(session::Session& session, std::shared_ptr<RelayText> text,
                                               RelayHistory history, Diagnostics& out) {
    auto build = std::make_shared<RelayBuild>();
    build->relay = Program::compile(text->ctx, history.versions[history.position].module, session.options(),
                                    &session.output(), out, "main", &text->names);
    const std::string path = text->path;
    build->text = std::move(text);
    build->history = std::move(history);
    return finish(session, std::move(build), path, out);
  }

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
