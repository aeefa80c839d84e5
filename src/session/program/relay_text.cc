// Relay text: its versions, the parameters of its functions, its code on the Relay VM.
#include "rldb/session/relay_text.h"

#include <algorithm>
#include <chrono>

#include "rldb/frontend/relay.h"
#include "rldb/relay/passes/pass.h"
#include "rldb/session/session.h"
#include "rldb/source/diagnostic_program.h"
#include "session/inputs/executable_types.h"
#include "session/relay/relay_build.h"
#include "session/relay/relay_values.h"

namespace rldb::session {

RelayText* relay_text(Program* program) {
  return program && program->kind() == ProgramKind::RelayText ? static_cast<RelayText*>(program) : nullptr;
}

std::vector<std::string> changed_functions(const relay::Module* before, const relay::Module* after) {
  std::vector<std::string> names;
  for (const relay::Definition& d : after->functions)
    if (before->find(d.name->name) != d.function) names.emplace_back(d.name->name);
  for (const relay::Definition& d : before->functions)
    if (!after->find(d.name->name)) names.emplace_back(d.name->name);
  std::sort(names.begin(), names.end());
  return names;
}

std::unique_ptr<RelayText> RelayText::read(Session& session, std::string path, std::string text, Diagnostics& out) {
  auto source = std::make_shared<RelaySource>();
  source->file = session.sources().add(path, std::move(text));
  frontend::RelayResult parsed = frontend::parse_relay_program(source->ctx, session.sources(), source->file, out);
  if (!parsed.module) return nullptr;
  const bool typed = !parsed.module->functions.empty();
  if (typed && !relay::infer_types(source->ctx, parsed.module, source->typing, out)) return nullptr;
  source->names = std::move(parsed.graph_names);
  std::unique_ptr<RelayText> program(new RelayText(session, std::move(path)));
  program->source_ = std::move(source);
  program->versions_.push_back({{}, parsed.module});
  program->entry_ = "main";
  return program;
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

std::vector<std::string> RelayText::changed(std::size_t a, std::size_t b) const {
  return changed_functions(module_at(a), module_at(b));
}

std::optional<std::string> RelayText::text(std::size_t v, TextFor purpose, std::string_view function) const {
  if (function.starts_with('@')) function.remove_prefix(1);
  if (!function.empty()) {
    const relay::Function* f = module_at(v)->find(function);
    if (!f) return std::nullopt;
    return relay::print_expr(f);
  }
  relay::PrintOptions options;
  options.metadata = purpose != TextFor::Comparing;
  std::string text = relay::print(module_at(v), options);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool RelayText::go_to(std::size_t version) {
  if (version >= versions_.size()) return false;
  position_ = version;
  return true;
}

void RelayText::push(RelayVersion version) {
  versions_.resize(position_ + 1);
  std::erase_if(bookmarks_, [&](const auto& b) { return b.second > position_; });
  versions_.push_back(std::move(version));
  ++position_;
}

void RelayText::set_module(const relay::Module* module) { push({{Version::By::Edit, {}, {}, 0}, module}); }

bool RelayText::run_passes(std::string_view pipeline, Diagnostics& out, const PassObserver& before) {
  const auto passes = relay::parse_passes(pipeline, out);
  if (!passes) return false;
  const auto evaluator = make_evaluator(source_->ctx, session_.options());
  relay::PassEnv env{source_->ctx, out, entry_, &source_->names, evaluator.get()};
  for (const relay::PassInvocation& pass : *passes) {
    const std::string name = relay::to_string(pass);
    if (before) before(name);
    const relay::Module* now = module();
    const auto start = std::chrono::steady_clock::now();
    const relay::Module* after = relay::run_pass(pass, env, now);
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
    relay::Typing typing;
    if (!after || !relay::infer_types(source_->ctx, after, typing, out)) return false;
    push({{Version::By::Pass, name, changed_functions(now, after), std::uint64_t(time.count())}, after});
  }
  return true;
}

std::vector<PassRow> RelayText::passes() const {
  std::vector<PassRow> rows;
  for (const relay::PassId id : relay::all_passes()) {
    const relay::PassInfo& p = relay::info(id);
    rows.push_back({p.name, p.short_name, p.options, p.doc});
  }
  return rows;
}

std::vector<PipelineRow> RelayText::pipelines() const {
  std::vector<PipelineRow> rows;
  for (const relay::PipelineInfo& p : relay::named_pipelines()) rows.push_back({p.name, p.passes, p.doc});
  return rows;
}

std::vector<std::string> RelayText::minimum() const {
  Diagnostics ignored;
  std::vector<std::string> names;
  const auto passes = relay::parse_passes(relay::kMinimumPipeline, ignored);
  for (const relay::PassInvocation& pass : *passes) names.push_back(relay::to_string(pass));
  return names;
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
