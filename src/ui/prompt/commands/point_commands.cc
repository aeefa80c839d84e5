// Breakpoints, watchpoints, catchpoints, log points: creating and changing them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>

#include "rldb/expression/language.h"
#include "rldb/ir/module.h"
#include "rldb/ir/printer.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

using debug::Breakpoint;

namespace {

bool readable(const std::string& condition, source::Diagnostics& diagnostics) {
  return condition.empty() || debug::Debugger::is_expression(condition, diagnostics);
}

// `WHAT if CONDITION`.
std::pair<std::string, std::string> split_condition(std::string_view rest) {
  const auto at = rest.find(" if ");
  if (at == std::string_view::npos) return {std::string(trim(rest)), {}};
  return {std::string(trim(rest.substr(0, at))), std::string(trim(rest.substr(at + 4)))};
}

bool lacks_condition(std::string_view rest) { return rest == "if" || trim(rest).ends_with(" if"); }

// Words of expressions that are no names of values.
bool is_word_of_language(std::string_view name) {
  constexpr std::string_view kWords[] = {"and",   "or",   "not",  "in",    "is", "if", "else", "True",
                                         "False", "None", "true", "false", "np", "R",  "T",    "_"};
  if (std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords)) return true;
  const std::vector<expression::LanguageRow> rows = expression::language_functions();
  return std::any_of(rows.begin(), rows.end(), [&](const expression::LanguageRow& row) { return row.name == name; });
}

// The text of the kernel that a point is in, as listings at a stop show it; empty: it is in none.
std::string text_of_kernel(Repl& repl, const Breakpoint& point) {
  const auto build = repl.debugger().build();
  const ir::Module* lowered = build ? build->lowered : nullptr;
  const ir::Expr* f = lowered && !point.kernel.empty() ? lowered->find(point.kernel) : nullptr;
  return f ? ir::print_function(point.kernel, f) : std::string();
}

// A name in a condition that occurs nowhere in the program is probably misspelt: at the stop it would have no value.
void tell_unknown_names(Repl& repl, const Breakpoint& point) {
  const session::Program* program = repl.session().program();
  if (point.condition.empty() || !program || !has_abilities(program->kind(), session::kText)) return;
  // Names of the program as loaded are known at a stop too, whichever passes were applied.
  const auto now = program->text(program->position(), session::TextFor::Reading);
  const auto loaded = program->text(0, session::TextFor::Reading);
  if (!now || !loaded) return;
  std::vector<std::string_view> known = expression::names_in(*now);
  for (const std::string_view name : expression::names_in(*loaded)) known.push_back(name);
  const std::string kernel = text_of_kernel(repl, point);
  for (const std::string_view name : expression::names_in(kernel)) known.push_back(name);
  for (const std::string_view name : expression::names_in(point.condition)) {
    if (is_word_of_language(name) || repl.session().find_value(name)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string_view near = source::nearest(name, known);
    repl.print("note: the program has no `{}`{}\n", name,
               near.empty() ? "" : fmt::format("; did you mean `{}`?", near));
  }
}

void tell_moved(Repl& repl, const Breakpoint& point) {
  repl.print("note: {} became no instruction of its own: breakpoint {} stops at {}\n", point.spec, point.number,
             point.moved_to);
}

// `breakpoint 1 at main:lv1`, `watchpoint 2: lv1.max()`.
std::string named(const Breakpoint& point) {
  const bool place = point.kind == debug::PointKind::Break;
  return fmt::format("{} {}{} {}", kind_name(point), point.number, place ? " at" : ":", point.spec);
}

// A newly created point, with a condition that parses.
Status made(Repl& repl, const Breakpoint* point, const std::string& condition, source::Diagnostics& diagnostics) {
  if (point && !condition.empty() && !repl.debugger().set_condition(point->number, condition, diagnostics)) {
    repl.debugger().remove_breakpoint(point->number);
    point = nullptr;
  }
  repl.report(diagnostics);
  if (!point) return Status::Failed;
  if (repl.wants_json()) return repl.give(breakpoint_json(*point));
  const bool pending = point->sites.empty() && !point->in_kernel && point->kind == debug::PointKind::Break;
  const std::string where = !point->place.empty() ? fmt::format(" ({})", point->place) : pending ? " (pending)" : "";
  repl.print("{}{}{}\n", named(*point), where, point->condition.empty() ? "" : " if " + point->condition);
  if (!point->moved_to.empty()) tell_moved(repl, *point);
  tell_unknown_names(repl, *point);
  return Status::Good;
}

Status add_breakpoint(Repl& repl, std::string_view rest, bool temporary) {
  if (lacks_condition(rest)) return Status::Usage;
  auto [spec, condition] = split_condition(rest);
  if (spec.empty()) {
    if (!repl.debugger().active()) return Status::Usage;
    const auto inside = repl.debugger().kernel_position();
    spec = inside ? fmt::format("{}:{}", inside->kernel, inside->line)
                  : fmt::format("*{}", repl.debugger().last_stop().where.pc);
  }
  source::Diagnostics diagnostics;
  if (!readable(condition, diagnostics)) return repl.report(diagnostics);
  const Breakpoint* point = repl.debugger().add_breakpoint(spec, temporary, diagnostics);
  return made(repl, point, condition, diagnostics);
}

template <class F>
Status for_breakpoints(Repl& repl, std::string_view rest, F f) {
  std::vector<int> numbers;
  for (const std::string& word : split_words(rest)) {
    const auto number = parse_count(word);
    if (!number || !repl.debugger().find_breakpoint(int(*number)))
      return repl.fail(source::message(diag::NoSuchNumber, "breakpoint", word));
    numbers.push_back(int(*number));
  }
  if (numbers.empty())
    for (const auto& [number, b] : repl.debugger().breakpoints()) numbers.push_back(number);
  for (const int n : numbers) f(n);
  return Status::Good;
}

// A breakpoint by its number; null after reporting that there is none.
Breakpoint* numbered(Repl& repl, std::uint64_t number) {
  Breakpoint* b = repl.debugger().find_breakpoint(int(number));
  if (!b) repl.fail(source::message(diag::NoSuchNumber, "breakpoint", number));
  return b;
}

}  // namespace

void resolve_and_tell(Repl& repl) {
  std::map<int, std::string> before;
  for (const auto& [number, b] : repl.debugger().breakpoints()) before[number] = b.moved_to;
  for (const auto& [number, why] : repl.debugger().resolve_breakpoints())
    repl.print("breakpoint {} at {} cannot be resolved any more: {}\n", number,
               repl.debugger().find_breakpoint(number)->spec, why);
  for (const auto& [number, b] : repl.debugger().breakpoints())
    if (!b.moved_to.empty() && b.moved_to != before[number]) tell_moved(repl, b);
}

std::string_view kind_name(const Breakpoint& b) {
  switch (b.kind) {
    case debug::PointKind::Break:
      return b.log.empty() ? "breakpoint" : "log point";
    case debug::PointKind::Watch:
      return "watchpoint";
    case debug::PointKind::Catch:
      return "catchpoint";
  }
  RLDB_UNREACHABLE("point kind");
}

Status command_Break(Repl& repl, std::string_view rest) { return add_breakpoint(repl, rest, false); }
Status command_Tbreak(Repl& repl, std::string_view rest) { return add_breakpoint(repl, rest, true); }

// A pattern is short, and so are names: matching is quick.
static std::optional<std::regex> pattern_of(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  if (text.size() > kLongest) return std::nullopt;
  try {
    return std::regex(text.begin(), text.end());
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

Status command_Rbreak(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  const auto pattern = pattern_of(rest);
  if (!pattern)
    return repl.fail(source::message(diag::BadArgument, fmt::format("`{}` is not a regular expression", rest)));
  std::vector<std::string> names = repl.session().function_names();
  if (const ir::Module* module = repl.session().module())
    for (const ir::ModuleEntry& entry : module->entries) names.emplace_back(entry.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  Json made_points = Json::array();
  Status status = Status::Good;
  std::size_t matched = 0;
  for (const std::string& name : names) {
    if (!std::regex_search(name, *pattern)) continue;
    ++matched;
    source::Diagnostics diagnostics;
    const Breakpoint* point = repl.debugger().add_breakpoint(name, false, diagnostics);
    if (repl.wants_json() && point) made_points.push_back(breakpoint_json(*point));
    if (repl.wants_json() ? repl.report(diagnostics) != Status::Good
                          : made(repl, point, {}, diagnostics) != Status::Good)
      status = Status::Failed;
  }
  if (matched == 0)
    return repl.fail(
        source::message(diag::BadArgument, fmt::format("no function or kernel has a name that matches `{}`", rest)));
  if (repl.wants_json()) return repl.give(made_points);
  return status;
}

Status command_Watch(Repl& repl, std::string_view rest) {
  bool every = false, iterations = false;
  while (rest.starts_with("-a ") || rest.starts_with("-i ")) {
    (rest[1] == 'a' ? every : iterations) = true;
    rest = trim(rest.substr(3));
  }
  const auto [expression, condition] = split_condition(rest);
  if (expression.empty() || lacks_condition(rest)) return Status::Usage;
  source::Diagnostics diagnostics;
  if (!readable(condition, diagnostics)) return repl.report(diagnostics);
  const Breakpoint* point = repl.debugger().add_watchpoint(expression, repl.frame(), every, diagnostics);
  if (point) repl.debugger().find_breakpoint(point->number)->iterations = iterations;
  return made(repl, point, condition, diagnostics);
}

Status command_Catch(Repl& repl, std::string_view rest) {
  const auto [event, condition] = split_condition(rest);
  if (event.empty() || lacks_condition(rest)) return Status::Usage;
  source::Diagnostics diagnostics;
  if (!readable(condition, diagnostics)) return repl.report(diagnostics);
  const Breakpoint* point = repl.debugger().add_catchpoint(event, diagnostics);
  return made(repl, point, condition, diagnostics);
}

Status command_Dprintf(Repl& repl, std::string_view rest) {
  const auto comma = rest.find(',');
  if (comma == std::string_view::npos) return Status::Usage;
  std::string_view text = trim(rest.substr(comma + 1));
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return Status::Usage;
  text = text.substr(1, text.size() - 2);
  source::Diagnostics diagnostics;
  // A text that cannot be read takes no number.
  if (!repl.debugger().set_log(0, text, diagnostics)) return repl.report(diagnostics);
  const Breakpoint* point = repl.debugger().add_breakpoint(trim(rest.substr(0, comma)), false, diagnostics);
  if (point) (void)repl.debugger().set_log(point->number, text, diagnostics);
  return made(repl, point, {}, diagnostics);
}

Status command_Commands(Repl& repl, std::string_view rest) {
  std::vector<std::string> lines;
  std::string_view first = rest.substr(0, rest.find('\n'));
  for (std::string_view left = rest; !left.empty();) {
    const auto end = left.find('\n');
    if (const std::string_view line = trim(left.substr(0, end)); !line.empty()) lines.emplace_back(line);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
  }
  if (const auto mark = first.rfind("<<"); mark != std::string_view::npos) first = first.substr(0, mark);
  const auto given = parse_count(trim(first));
  if (lines.empty()) return Status::Usage;
  if (given || lines.front().starts_with("<<")) lines.erase(lines.begin());
  if (!lines.empty()) lines.pop_back();  // `end`
  if (repl.debugger().breakpoints().empty()) return repl.fail(source::message(diag::NoBreakpoints));
  Breakpoint* b = numbered(repl, given ? *given : std::uint64_t(repl.debugger().breakpoints().rbegin()->first));
  if (!b) return Status::Failed;
  b->commands = std::move(lines);
  b->commands_by = repl.author();
  return Status::Good;
}

// `d` alone may have been meant to show a value.
static bool may_delete_all(Repl& repl) {
  const std::size_t count = repl.debugger().breakpoints().size();
  if (count == 0 || !repl.ask || repl.repeating || !repl.author().is_user()) return true;
  return repl.ask(
      fmt::format("delete {}? (y/n) ", count == 1 ? "the breakpoint" : fmt::format("all {} breakpoints", count)));
}

Status command_Delete(Repl& repl, std::string_view rest) {
  if (trim(rest).empty() && !may_delete_all(repl)) return Status::Failed;
  return for_breakpoints(repl, rest, [&](int n) { repl.debugger().remove_breakpoint(n); });
}
Status command_Enable(Repl& repl, std::string_view rest) {
  return for_breakpoints(repl, rest, [&](int n) { repl.debugger().find_breakpoint(n)->enabled = true; });
}
Status command_Disable(Repl& repl, std::string_view rest) {
  return for_breakpoints(repl, rest, [&](int n) { repl.debugger().find_breakpoint(n)->enabled = false; });
}

Status command_Condition(Repl& repl, std::string_view rest) {
  const auto blank = rest.find(' ');
  const auto number = parse_count(rest.substr(0, blank));
  if (!number) return Status::Usage;
  source::Diagnostics diagnostics;
  const bool done = repl.debugger().set_condition(
      int(*number), blank == std::string_view::npos ? "" : trim(rest.substr(blank)), diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !done) return Status::Failed;
  const Breakpoint& point = *repl.debugger().find_breakpoint(int(*number));
  if (!point.condition.empty()) repl.print("{} if {}\n", named(point), point.condition);
  tell_unknown_names(repl, point);
  return Status::Good;
}

Status command_Ignore(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  const auto number = words.size() == 2 ? parse_count(words[0]) : std::nullopt;
  const auto count = words.size() == 2 ? parse_count(words[1]) : std::nullopt;
  if (!number || !count) return Status::Usage;
  Breakpoint* b = numbered(repl, *number);
  if (!b) return Status::Failed;
  b->ignore = *count;
  return Status::Good;
}

}  // namespace rldb::ui
