// Relay text: its versions, the parameters of its functions, its code on the Relay VM.
#include "rldb/session/relay_text.h"

#include <algorithm>

#include "rldb/frontend/relay.h"
#include "rldb/pipeline/instruments.h"
#include "rldb/relay/passes/pass.h"
#include "rldb/session/session.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/support/entry_function.h"
#include "session/inputs/executable_types.h"
#include "session/relay/relay_build.h"
#include "session/relay/relay_values.h"

namespace rldb::session {

RelayText* relay_text(Program* program) {
  return program && program->kind() == ProgramKind::RelayText ? static_cast<RelayText*>(program) : nullptr;
}

RelayText::RelayText(Session& session, std::string path, std::shared_ptr<RelaySource> source,
                     const relay::Module* module)
    : Program(session, std::move(path)), source_(std::move(source)), entry_(support::kEntryFunction) {
  history_.start(module);
}

std::unique_ptr<RelayText> RelayText::read(Session& session, std::string path, std::string text, Diagnostics& out) {
  if (session.options().keep_document) return read_document(session, std::move(path), std::move(text), out);
  auto source = std::make_shared<RelaySource>(std::make_shared<relay::Context>());
  source->file = session.sources().add(path, std::move(text));
  frontend::RelayResult parsed = frontend::parse_relay_program(source->ctx, session.sources(), source->file, out);
  if (!parsed.module) return nullptr;
  const bool typed = !parsed.module->functions.empty();
  if (typed && !relay::infer_types(source->ctx, parsed.module, source->typing, out)) return nullptr;
  source->names = std::move(parsed.graph_names);
  return std::unique_ptr<RelayText>(new RelayText(session, std::move(path), std::move(source), parsed.module));
}

std::unique_ptr<Program> RelayText::copy() const { return std::unique_ptr<Program>(new RelayText(*this)); }

// A lone expression is not typed, as in TVM.
bool RelayText::verify(Diagnostics& out) const {
  relay::Typing typing;
  return module()->functions.empty() || relay::infer_types(source_->ctx, module(), typing, out);
}

// ---- functions ----

std::vector<std::string> RelayText::function_names() const {
  std::vector<std::string> names;
  for (const relay::Definition& d : module()->functions)
    if (!relay::is_primitive(d.function)) names.emplace_back(d.name->name);
  return names;
}

std::optional<std::vector<Parameter>> RelayText::parameters(std::string_view function, std::string&) {
  const relay::Function* f = module()->find(function);
  if (function != entry_) {  // it has code only if the entry reaches it
    Diagnostics ignored;     // a run reports them
    const auto build = runnable(ignored);
    if (build && build->executable->find_function(function) >= 0) {
      if (!f) return parameters_of(session_.context(), session_.sources(), *build->executable, function);
    } else if (f) {
      entry_ = function;
    }
  }
  if (!f) return std::nullopt;
  std::vector<Parameter> params;
  for (const relay::Var* p : f->params) {
    const relay::Type* known = source_->typing.of(p);
    params.push_back({std::string(p->name), parameter_type(session_.context(), known ? known : p->annotation)});
  }
  return params;
}

runtime::Result<runtime::Value> RelayText::as_argument(runtime::Value given, const Parameter& p) const {
  return relay_argument(given, p.type);
}

// ---- versions ----

std::vector<std::string> RelayText::changed_between(pipeline::ModuleRef before, pipeline::ModuleRef after) const {
  return relay::changed_functions(before.as<relay::Module>(), after.as<relay::Module>());
}

std::optional<std::string> RelayText::text_of(pipeline::ModuleRef version, TextFor purpose,
                                              std::string_view function) const {
  const auto* module = version.as<relay::Module>();
  if (function.starts_with('@')) function.remove_prefix(1);
  if (!function.empty()) {
    const relay::Function* f = module->find(function);
    if (!f) return std::nullopt;
    return relay::print_expr(f);
  }
  relay::PrintOptions options;
  options.metadata = purpose != TextFor::Comparing;
  std::string text = relay::print(module, options);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<std::string> RelayText::functions_of(pipeline::ModuleRef module) const {
  std::vector<std::string> names;
  for (const relay::Definition& d : module.as<relay::Module>()->functions) names.emplace_back(d.name->name);
  return names;
}

const pipeline::PassTable& RelayText::passes() const { return relay::pass_table(); }

bool RelayText::run(const std::vector<pipeline::Invocation>& passes, Diagnostics& out,
                    const pipeline::Instruments& instruments) {
  entered_at_ = std::min(entered_at_, position());  // the versions behind are given up
  const auto evaluator = make_evaluator(source_->ctx, session_.options());
  relay::PassEnv env{source_->ctx, out, entry_, &source_->names, evaluator.get()};
  relay::TypeCheck types(env);
  pipeline::Versions versions(history_);
  pipeline::Instruments all = instruments;
  if (session_.options().verify_each) all.push_back(&types);
  all.push_back(&versions);
  return relay::run_pipeline(env, module(), passes, all) != nullptr;
}

// ---- code ----

std::shared_ptr<const Build> RelayText::runnable(Diagnostics& out) {
  if (build_ && built_ == module() && built_entry_ == entry_ && same_code(*built_with_, session_.options()))
    return build_;
  if (module()->functions.empty()) {
    out.add({}, source::message(diag::NoFunctionToRun, entry_));
    return nullptr;
  }
  auto code =
      RelayCode::compile(source_->ctx, module(), session_.options(), &session_.output(), out, entry_, &source_->names);
  auto made = relay_build(session_, path_, std::move(code), source_, out);
  if (!made) return nullptr;
  built_ = module();
  built_entry_ = entry_;
  built_with_ = std::make_shared<const Options>(session_.options());
  return build_ = std::move(made);
}

std::optional<std::string> RelayText::executable_file(Diagnostics& out, const bytecode::DebugInfo*) {
  const auto build = runnable(out);
  return build ? relay_file(relay_code(*build), out) : std::nullopt;
}

std::string RelayText::listing(const Build& build) const {
  return relay_bytecode::as_text(relay_code(build).executable());
}

}  // namespace rldb::session
