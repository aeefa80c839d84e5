// Relax text: read or translated, its versions, the parameters of its functions, the file of its build.
#include "session/program/relax_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/bytecode/serialise.h"
#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay.h"
#include "rldb/ir/verifier.h"
#include "rldb/onnx/model.h"
#include "rldb/pipeline/instruments.h"
#include "rldb/relay/passes/pass.h"
#include "rldb/relay/to_relax.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_onnx.h"
#include "rldb/source/diagnostic_program.h"
#include "session/engines.h"
#include "session/inputs/object_use.h"
#include "session/program/executable_devices.h"

namespace rldb::session {

Session::RelaxText::RelaxText(Session& session, std::string path, const ir::Module* module, bool check_well_formed)
    : Program(session, std::move(path)), check_well_formed_(check_well_formed) {
  history_.start(module);
}

std::unique_ptr<Program> Session::RelaxText::copy() const { return std::make_unique<RelaxText>(*this); }

std::unique_ptr<Program> Session::RelaxText::read(Session& session, std::string path, std::string text,
                                                  Diagnostics& out) {
  if (session.options_.keep_document) return read_document(session, std::move(path), std::move(text), out);
  const source::FileId file = session.sources_.add(path, std::move(text));
  Diagnostics found;
  const frontend::ParseResult parsed = frontend::parse(*session.ctx_, session.sources_, file, found);
  if (parsed.module) {
    frontend::verify_parsed(*session.ctx_, session.sources_, parsed, found);
  } else if (!found.has_errors()) {
    found.add({file, 0, 0}, source::message(diag::NothingToLoad, path));
  }
  // One list for the reader, in text order.
  std::vector<source::Diagnostic> all = found.all();
  std::stable_sort(all.begin(), all.end(), [](const source::Diagnostic& a, const source::Diagnostic& b) {
    return a.span.begin < b.span.begin;
  });
  for (source::Diagnostic& d : all) out.add(std::move(d));
  if (found.has_errors()) return nullptr;
  return std::make_unique<RelaxText>(session, std::move(path), parsed.module, parsed.check_well_formed);
}

const ir::Module* translated(ir::Context& ctx, relay::Context& relay, const relay::Module* module,
                             const relay::Typing& typing, Diagnostics& out) {
  // An operator used as a value becomes a function, with the types of its use.
  constexpr std::string_view kOperatorsAsFunctions = "EtaExpand(expand_constructor=False)";
  relay::PassEnv env{relay, out};
  const auto passes = pipeline::parse(relay::pass_table(), kOperatorsAsFunctions);
  const relay::Module* expanded = relay::run_pipeline(env, module, *passes, {});
  if (!expanded) return nullptr;
  if (expanded == module) return relay::to_relax(ctx, relay, *module, typing, out);
  relay::Typing own;
  return relay::infer_types(relay, expanded, own, out) ? relay::to_relax(ctx, relay, *expanded, own, out) : nullptr;
}

std::unique_ptr<Program> Session::RelaxText::translate(Session& session, std::string path, std::string text,
                                                       Diagnostics& out) {
  if (session.options_.keep_document) return translate_document(session, std::move(path), std::move(text), out);
  relay::Context relay;
  const source::FileId file = session.sources_.add(path, std::move(text));
  const frontend::RelayResult parsed = frontend::parse_relay_program(relay, session.sources_, file, out);
  relay::Typing typing;
  if (!parsed.module || !relay::infer_types(relay, parsed.module, typing, out)) return nullptr;
  const ir::Module* module = translated(*session.ctx_, relay, parsed.module, typing, out);
  if (!module || !ir::verify(*session.ctx_, module, out)) return nullptr;
  return std::make_unique<RelaxText>(session, std::move(path), module, true);
}

static void warn_of_unknown_inputs(const onnx::Model& model, const onnx::Tensors& bound, Diagnostics& out) {
  const std::vector<std::string> names = onnx::bindable_names(model);
  for (const auto& [name, value] : bound) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    source::Message m = source::message(diag::OnnxNoInput, name);
    const std::string_view near = source::nearest(name, {names.begin(), names.end()});
    out.add({}, near.empty() ? std::move(m) : std::move(m).with_hint(fmt::format("did you mean `{}`?", near)));
  }
}

std::unique_ptr<Program> Session::RelaxText::import(Session& session, const std::string& path, std::string_view bytes,
                                                    Diagnostics& out) {
  const onnx::ModelRef model = onnx::read_model(path, bytes, out);
  if (!model) return nullptr;
  const source::FileId file = session.sources_.add(path, onnx::listing(*model));
  warn_of_unknown_inputs(*model, session.options_.bound_inputs, out);
  const onnx::Options options{!session.options_.bind_params, session.options_.bound_inputs};
  auto made = onnx::to_relax(*session.ctx_, model, file, options, out);
  if (!made || !ir::verify(*session.ctx_, made->module, out)) return nullptr;
  auto program = std::make_unique<RelaxText>(session, path, made->module, true);
  program->initialisers_ = made;
  program->onnx_ = std::move(made);
  return program;
}

// ---- functions ----

std::vector<std::string> Session::RelaxText::function_names() const {
  std::vector<std::string> names;
  for (const ir::ModuleEntry& entry : module()->entries)
    if (ir::isa<ir::Function>(entry.function) || ir::isa<ir::PrimFunc>(entry.function)) names.emplace_back(entry.name);
  return names;
}

std::optional<std::vector<Parameter>> Session::RelaxText::parameters(std::string_view function,
                                                                     std::string& not_runnable) {
  std::vector<Parameter> params;
  const ir::Expr* found = module()->find(function);
  if (const auto* f = ir::as<ir::Function>(found)) {
    for (const ir::Var* v : f->params)
      params.push_back({std::string(v->name), v->type, ir::as<ir::PrimType>(v->type) ? v : nullptr,
                        type_it_is_used_as(module(), f, v)});
    return params;
  }
  if (const auto* f = ir::as<ir::PrimFunc>(found)) {
    const auto* type = ir::as<ir::FuncType>(f->type);
    for (std::size_t i = 0; i < f->params.size(); ++i) {
      const ir::PrimParam& p = f->params[i];
      params.push_back({std::string(p.buffer ? p.buffer->name : p.var->name),
                        type && i < type->params.size() ? type->params[i] : nullptr, p.buffer ? nullptr : p.var});
    }
    return params;
  }
  if (found) not_runnable = "not a function with a body";
  return std::nullopt;
}

// ---- versions ----

std::vector<std::string> Session::RelaxText::changed_between(pipeline::ModuleRef a, pipeline::ModuleRef b) const {
  return passes::changed_functions(a.as<ir::Module>(), b.as<ir::Module>());
}

std::optional<std::string> Session::RelaxText::text_of(pipeline::ModuleRef version, TextFor purpose,
                                                       std::string_view function) const {
  const auto* module = version.as<ir::Module>();
  ir::PrintOptions print = session_.options_.print;
  print.check_well_formed = check_well_formed_;
  print.show_meta = print.show_meta || purpose == TextFor::Saving;
  if (function.empty()) return ir::print(module, print);
  const ir::Expr* f = module->find(function);
  if (!f) return std::nullopt;
  return ir::print_function(function, f, print);
}

std::vector<std::string> Session::RelaxText::functions_of(pipeline::ModuleRef module) const {
  std::vector<std::string> names;
  for (const ir::ModuleEntry& entry : module.as<ir::Module>()->entries) names.emplace_back(entry.name);
  return names;
}

bool Session::RelaxText::run(const std::vector<pipeline::Invocation>& passes, Diagnostics& out,
                             const pipeline::Instruments& instruments) {
  // An instrument may run other programs in the session and put back a copy of this one: this object may be gone then.
  Session& session = session_;
  PassKernels kernels(session);
  passes::PassEnv env{*session.ctx_, out, &kernels};
  passes::Verification verification(env);
  pipeline::Versions versions([&session]() -> pipeline::History* {
    RelaxText* program = session.relax();
    return program ? &program->history_ : nullptr;
  });
  passes::RunOptions options{false, instruments};
  if (session.options_.verify_each) options.instruments.push_back(&verification);
  options.instruments.push_back(&versions);
  auto result = passes::run_pipeline(env, module(), passes, options);
  if (!result.ok()) out.add({}, std::move(result).error());
  return result.ok();
}

// ---- code ----

std::optional<std::string> Session::RelaxText::executable_file(Diagnostics& out, const bytecode::DebugInfo* names) {
  const auto built = session_.build(out);
  if (!built) return std::nullopt;
  bytecode::Executable exe = *built->executable;
  if (names) exe.debug = *names;
  const ir::Module* typed = built->legal ? built->legal : built->lowered;
  note_devices(exe, session_.devices_of(typed), typed);
  if (!session_.add_kernels_of_file(exe, built->lowered, out)) return std::nullopt;
  auto bytes = bytecode::serialise(exe);
  if (bytes.ok()) return std::move(bytes).value();
  out.add({}, source::message(diag::NotSerialisable, bytes.error().message));
  return std::nullopt;
}

}  // namespace rldb::session
