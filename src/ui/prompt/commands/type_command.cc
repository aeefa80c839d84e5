// `:type`: the type of an expression over existing values, of a function, or of a binding of the text.
#include <fmt/format.h>

#include "rldb/debug/graph.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/binding_info.h"
#include "ui/prompt/entry/frame_scope.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

void print_type(Repl& repl, const ir::Type* type) {
  repl.last().type = type;
  if (repl.wants_json()) {
    repl.give(type_json(type));
    return;
  }
  {
    const Repl::Kind script(repl, OutputKind::Script);  // highlighted where it is a page or a notebook
    repl.console().write(ir::print_type(type) + "\n");
  }
  for (const std::string& line : explain_type(type)) repl.print("  {}\n", line);
}

// The type of a parameter or binding of a Relax function, nested blocks included; null: there is none of that name.
const ir::Type* variable_type(const ir::Module* module, std::string_view function, std::string_view name) {
  const auto* f = module ? ir::as<ir::Function>(module->find(function)) : nullptr;
  if (!f) return nullptr;
  for (const ir::Var* p : f->params)
    if (p->name == name) return p->type;
  const ir::Type* type = nullptr;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* b = ir::as<ir::Binding>(n);
    if (b && b->var->name == name && !type) type = b->var->type;
    return !type;
  });
  return type;
}

// `lv1` (of the frame's function, else main), `main:lv1`.
const ir::Type* binding_type(Repl& repl, std::string_view what) {
  const auto colon = what.find(':');
  const std::string_view name = colon == std::string_view::npos ? what : what.substr(colon + 1);
  if (!is_one_name(name)) return nullptr;
  const std::string function =
      colon == std::string_view::npos ? function_at_hand(repl) : std::string(what.substr(0, colon));
  return variable_type(repl.session().module(), function, name);
}

// Of a program without a module: the type of a variable of its code, as its debug information has it.
Status type_in_code(Repl& repl, std::string_view name) {
  const auto graph = debug::binding_graph(repl.debugger(), repl.session(), function_at_hand(repl), repl.frame());
  for (const debug::GraphNode& n : graph ? graph->nodes : std::vector<debug::GraphNode>()) {
    if (n.name != name || n.type.empty()) continue;
    if (repl.wants_json()) return repl.give({{"type", n.type}});
    repl.print("{}\n", n.type);
    return Status::Good;
  }
  needs(repl, fmt::format("the type of `{}`, which has no value now,", name), session::kModule);
  return Status::Failed;
}

}  // namespace

Status command_Type(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  const bool only_code = repl.session().program() && !repl.session().module();
  if (only_code && is_one_name(rest) && !repl.session().find_value(rest) && frame_name_kind(repl, rest).empty())
    return type_in_code(repl, rest);
  const bool stopped = repl.debugger().active();
  const bool known =
      repl.session().find_value(rest) || (repl.session().module() && repl.session().module()->find(rest));
  if (const ir::Type* type = stopped || !known ? binding_type(repl, rest) : nullptr) {
    print_type(repl, type);
    source::Diagnostics none;  // a value that does not exist yet is not an error here
    if (repl.wants_json()) return Status::Good;
    const auto value = stopped && is_one_name(rest) ? repl.debugger().evaluate(rest, repl.frame(), none) : std::nullopt;
    if (value && !value->is_null()) repl.print("  now: {}\n", runtime::describe(*value));
    return Status::Good;
  }
  const auto colon = rest.find(':');
  const bool place =
      colon != std::string_view::npos && is_one_name(rest.substr(0, colon)) && is_one_name(rest.substr(colon + 1));
  if (place) return repl.fail(source::message(diag::NoSuchThing, "binding", rest));
  source::Diagnostics diagnostics;
  FrameScope scope(repl, rest);
  const ir::Type* type = repl.session().type_of(rest, diagnostics);
  scope.close();
  if (repl.report(diagnostics) == Status::Failed) return Status::Failed;
  if (!type) return repl.fail(source::message(diag::NoSuchThing, "value", rest));
  print_type(repl, type);
  return Status::Good;
}

}  // namespace rldb::ui
