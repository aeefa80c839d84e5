// `:info`: a topic of the session, as in gdb (`info locals`), or whatever has the name: a binding, an operator, a
// function, a value.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/debug/storage.h"
#include "rldb/ops/op_info.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/binding_info.h"
#include "ui/prompt/commands/handlers.h"
#include "ui/prompt/commands/info_topic.h"
#include "ui/prompt/commands/loaded.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

Status show_arguments(Repl& repl) {
  if (!repl.debugger().machine()) return repl.fail(source::message(diag::NotStopped));
  const auto arguments = debug::arguments_of(repl.debugger(), repl.frame());
  if (repl.wants_json()) {
    Json rows = Json::array();
    for (const auto& [name, value] : arguments)
      rows.push_back({{"name", name}, {"value", value.is_null() ? Json() : value_json(value, 0)}});
    return repl.give(rows);
  }
  if (arguments.empty()) repl.print("no arguments\n");
  for (const auto& [name, value] : arguments)
    repl.print("{} = {}\n", name, value.is_null() ? "(freed)" : runtime::format_brief(value));
  return Status::Good;
}

Status show_points(Repl& repl, std::optional<debug::PointKind> kind = std::nullopt) {
  if (repl.wants_json()) return repl.give(breakpoints_json(repl, kind));
  show_breakpoints(repl, kind);
  return Status::Good;
}

Status show_session(Repl& repl) {
  if (repl.wants_json()) return repl.give(program_json(repl));
  show_program(repl);
  return Status::Good;
}

struct Topic {
  std::string_view name;
  std::size_t shortest;  // letters that are enough
  Status (*show)(Repl&);
};

// The first that begins with the word is meant.
constexpr Topic kTopics[] = {
    {"program", 1, show_session},
    {"breakpoints", 1, [](Repl& r) { return show_points(r); }},
    {"watchpoints", 2, [](Repl& r) { return show_points(r, debug::PointKind::Watch); }},
    {"functions", 1, list_program},
    {"values", 1, [](Repl& r) { return command_Input(r, ""); }},
    {"args", 1, show_arguments},
    {"arguments", 1, show_arguments},
    {"locals", 2, [](Repl& r) { return command_Locals(r, ""); }},
    {"registers", 1, [](Repl& r) { return command_Registers(r, ""); }},
    {"heap", 1, [](Repl& r) { return command_Heap(r, ""); }},
    {"display", 1, [](Repl& r) { return command_Display(r, ""); }},
    {"frame", 1, [](Repl& r) { return command_Bt(r, ""); }},
};

const Topic* topic_of(std::string_view word) {
  for (const Topic& t : kTopics)
    if (word.size() >= t.shortest && t.name.starts_with(word)) return &t;
  return nullptr;
}

Status show_any_operator(Repl& repl, const ops::OpInfo& op) {
  if (repl.wants_json()) return repl.give(operator_json(op));
  show_operator(repl, op);
  return Status::Good;
}

Status show_any_function(Repl& repl, std::string_view name, const ir::Expr* f) {
  if (repl.wants_json()) return command_Type(repl, name);
  show_function(repl, name, f);
  return Status::Good;
}

Status show_any_value(Repl& repl, std::string_view name, const runtime::Value& value) {
  if (repl.wants_json())
    return repl.give({{"name", name}, {"value", value_json(value, repl.print_format.max_elements)}});
  repl.print("{}: {}\n", name, runtime::describe(value));
  return Status::Good;
}

// A local of the frame, a function or a value. Nothing: there is none.
std::optional<Status> show_of_program(Repl& repl, std::string_view name) {
  if (show_frame_name(repl, name)) return Status::Good;
  const ir::Module* module = repl.session().module();
  if (const ir::Expr* f = module ? module->find(name) : nullptr) return show_any_function(repl, name, f);
  if (const runtime::Value* v = repl.session().find_value(name)) return show_any_value(repl, name, *v);
  if (module) return std::nullopt;
  const std::vector<std::string> names = repl.session().function_names();  // of Relay or code
  if (std::find(names.begin(), names.end(), name) != names.end()) return command_List(repl, name);
  return std::nullopt;
}

}  // namespace

bool is_info_topic(std::string_view word) {
  for (const Topic& t : kTopics)
    if (t.name == word) return true;
  return false;
}

std::optional<Status> show_named(Repl& repl, std::string_view name) {
  if (show_binding(repl, name)) return Status::Good;
  return show_of_program(repl, name);
}

Status command_Info(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  if (words.empty()) return show_session(repl);
  std::string_view what = words[0];
  // A variable with this name takes precedence over a letter or the beginning of a word.
  if (words.size() == 1 && show_binding(repl, what)) return Status::Good;
  // A kernel is often named as the operator that it was made of, which is `R.matmul` then.
  const ir::Module* module = repl.session().module();
  if (const ir::Expr* f = module ? module->find(what) : nullptr) return show_any_function(repl, what, f);
  if (what.starts_with("R.")) what.remove_prefix(2);
  if (const ops::OpInfo* op = ops::find(what)) return show_any_operator(repl, *op);
  if (const Topic* topic = topic_of(what)) return topic->show(repl);
  if (const auto shown = show_of_program(repl, what)) return *shown;
  source::Message m = source::message(diag::NoSuchThing, "operator, function, binding or value", what);
  const std::string_view near = ops::nearest_name(what);
  if (!near.empty()) m.hint = fmt::format("did you mean the operator `{}`?", near);
  return repl.fail(std::move(m));
}

}  // namespace rldb::ui
