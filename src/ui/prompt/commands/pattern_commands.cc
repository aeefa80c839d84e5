// `:match` and `:rewrite`: patterns over the module.
#include <fmt/format.h>

#include "rldb/ir/printer.h"
#include "rldb/passes/rewrite.h"
#include "rldb/repro/validate.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/rewrite_file.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/example_file.h"

namespace rldb::ui {

namespace {

// `PATTERN in FUNCTION`: takes the function off the pattern; empty: every function.
std::string_view take_function(const ir::Module* module, std::string_view& rest) {
  const auto at = rest.rfind(" in ");
  if (at == std::string_view::npos) return {};
  const std::string_view name = trim(rest.substr(at + 4));
  if (name.find_first_of("\"'()[]{} ") != std::string_view::npos) return {};
  if (!ir::isa<ir::Function>(module->find(name))) return name;
  rest = rest.substr(0, at);
  return name;
}

std::string text_of(const passes::FoundPattern& found) {
  return found.binding ? ir::print_binding(found.binding) : ir::print_expr(found.value);
}

// Shows the match with its place, and its bindings with theirs.
void show(Repl& repl, std::size_t number, const passes::FoundPattern& found) {
  const ir::Context& ctx = repl.session().context();
  source::Message m = source::message(diag::PatternFound, number, found.function, text_of(found));
  for (const ir::Binding* b : found.made_of) m.notes.push_back({ctx.span_of(b), "with " + ir::print_binding(b)});
  source::RenderOptions options;
  options.color = repl.console().color();
  const ir::Node* place = found.binding ? static_cast<const ir::Node*>(found.binding) : found.value;
  repl.console().write(source::render(source::at(ctx.span_of(place), std::move(m)), repl.session().sources(), options));
}

}  // namespace

Status command_Match(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  const ir::Module* module = repl.session().module();
  const std::string_view function = take_function(module, rest);
  if (!function.empty() && !ir::isa<ir::Function>(module->find(function)))
    return repl.fail(source::message(diag::NoSuchThing, "Relax function", function));
  auto query = passes::parse_query(rest);
  if (!query.ok()) return repl.fail(std::move(query).error());
  const std::vector<passes::FoundPattern> found = passes::find_pattern(module, *query, function);
  if (repl.wants_json()) return repl.give(matches_json(repl, found));
  for (std::size_t i = 0; i < found.size(); ++i) show(repl, i + 1, found[i]);
  repl.print("{}\n", support::counted(found.size(), "match"));
  return Status::Good;
}

Status command_Rewrite(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  source::Diagnostics diagnostics;
  const ir::Module* before = repl.session().module();
  const std::optional<std::size_t> count = rewrite_by_file(repl.session(), example_file(repl, rest), diagnostics);
  repl.report(diagnostics);
  if (!count) return Status::Failed;
  const bool json = repl.wants_json();
  Json data{{"replaced", *count}, {"validation", nullptr}};
  if (json)
    repl.give(data);
  else
    repl.print("{} replaced\n", support::counted(std::size_t(*count), "match"));
  if (*count == 0) return Status::Good;
  repl.debugger().kill();
  repl.debugger().resolve_breakpoints();
  const repro::Validation result = repro::validate_versions(repl.session(), before, repl.session().module());
  data["validation"] = validation_json(result);
  if (json) repl.give(data);
  if (!result.difference.empty())
    return repl.fail(source::message(diag::ValuesDiffer, "the version before", result.difference));
  if (!json) repl.print("{}\n", repro::to_string(result));
  return Status::Good;
}

}  // namespace rldb::ui
