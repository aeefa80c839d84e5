// Compiling and linking for the Relay VM.
#include "rldb/session/relay_code.h"

#include "rldb/relay/ops/infer.h"
#include "rldb/relay/passes/pass.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "session/relay/kernel_maker.h"

namespace rldb::session {

RelayCode::~RelayCode() = default;

std::shared_ptr<relay::Evaluator> make_evaluator(relay::Context& ctx, const Options& options) {
  return std::make_shared<KernelMaker>(ctx, options, nullptr);
}

std::vector<Session::KernelState> RelayCode::kernel_states() const { return maker_->states(); }

bool RelayCode::link(source::Diagnostics& out) {
  relay_vm::Environment env;
  env.primitives = &primitives_;
  env.interrupt = &support::cancel_flag();
  env.devices = devices_;
  auto linked = relay_vm::Program::link(exe_, env);
  if (!linked.ok()) {
    out.add({}, source::message(diag::RunFailed, linked.error().message));
    return false;
  }
  linked_ = std::move(linked).value();
  return true;
}

std::unique_ptr<RelayCode> RelayCode::compile(relay::Context& ctx, const relay::Module* m, const Options& options,
                                              runtime::Output* output, source::Diagnostics& out, std::string_view entry,
                                              const relay::TextNames* names) {
  relay::TextNames named = names ? *names : relay::TextNames();
  relay::PassEnv env{ctx, out, entry, &named};
  const relay::Module* prepared = relay::prepare_for_vm(env, m);
  if (!prepared) return nullptr;
  relay::Typing typing;
  source::Diagnostics ignored;
  // Callers that inspect the program require names.
  const bool typed = names && relay::infer_types(ctx, prepared, typing, ignored);
  relay::TypeOfVariable types;
  if (typed) types = [&](const relay::Var* v) { return typing.of(v); };
  auto compiled = relay::compile_vm(ctx, prepared, out, &named, types);
  if (!compiled) return nullptr;
  std::unique_ptr<RelayCode> program(new RelayCode);
  program->ctx_ = &ctx;
  program->maker_ = std::make_shared<KernelMaker>(ctx, options, output);
  program->devices_ = options.devices;
  for (const relay::Kernel& k : compiled->kernels) program->primitives_.set(k.name, program->maker_->primitive(k));
  program->kernels_ = std::move(compiled->kernels);
  program->exe_ = std::make_shared<const relay_bytecode::Executable>(std::move(compiled->executable));
  return program->link(out) ? std::move(program) : nullptr;
}

namespace {

std::optional<relay::KernelKind> kernel_kind(std::string_view number) {
  for (const relay::KernelKind k : {relay::KernelKind::Compute, relay::KernelKind::Shape,
                                    relay::KernelKind::ShapeFromData, relay::KernelKind::Copy})
    if (number == std::to_string(int(k))) return k;
  return std::nullopt;
}

}  // namespace

// Primitives in a file that we wrote include their definition. Otherwise they are identified by name.
void RelayCode::primitives_of(const relay_bytecode::Executable& exe) {
  for (const auto& [index, attributes] : exe.primitive_attributes) {
    const auto text = [&](std::string_view key) {
      const auto found = attributes.find(std::string(key));
      return found == attributes.end() ? std::string() : found->second;
    };
    const std::string kind = text(relay::kernel_attr::Kind);
    const std::optional<relay::KernelKind> known = kernel_kind(kind);
    if (!known) continue;
    relay::Kernel kernel{*known, exe.primitives[std::size_t(index)]};
    if (kernel.kind != relay::KernelKind::Copy) {
      kernel.function = maker_->read_function(text(relay::kernel_attr::Function));
      if (!kernel.function) continue;
    }
    primitives_.set(kernel.name, maker_->primitive(kernel));
    kernels_.push_back(std::move(kernel));
  }
}

std::unique_ptr<RelayCode> RelayCode::open(relay_bytecode::Executable exe, const Options& options,
                                           runtime::Output* output, source::Diagnostics& out) {
  std::unique_ptr<RelayCode> program(new RelayCode);
  program->own_ = std::make_unique<relay::Context>();
  program->ctx_ = program->own_.get();
  program->maker_ = std::make_shared<KernelMaker>(*program->own_, options, output);
  program->devices_ = options.devices;
  program->primitives_of(exe);
  program->primitives_.set_fallback(
      [maker = program->maker_.get()](std::string_view name) { return maker->primitive_by_name(name); });
  program->exe_ = std::make_shared<const relay_bytecode::Executable>(std::move(exe));
  return program->link(out) ? std::move(program) : nullptr;
}

}  // namespace rldb::session
