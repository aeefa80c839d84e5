// Bindings as a graph, and facts about one binding.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/debug/graph.h"
#include "rldb/session/default_function.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/ast_view.h"
#include "rldb/ui/render/graph.h"
#include "ui/prompt/commands/binding_info.h"
#include "ui/prompt/commands/draw_options.h"
#include "ui/prompt/entry/frame_scope.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

std::string function_at_hand(Repl& repl) {
  const debug::Position where = repl.debugger().function_position(repl.frame());
  if (where.pc < 0) return session::default_function(repl.session());
  return where.written_in.empty() ? where.function : where.written_in;
}

namespace {

std::vector<std::pair<std::string, std::int64_t>> dims_here(Repl& repl) {
  std::vector<std::pair<std::string, std::int64_t>> dims;
  if (repl.debugger().machine())
    for (const debug::SlotInfo& s : repl.debugger().heap(repl.frame()))
      if (s.set) dims.emplace_back(s.expression, s.value);
  for (const auto& [name, value] : repl.session().options().dims) dims.emplace_back(name, value);
  return dims;
}

std::string names_of(const debug::BindingGraph& graph, const std::vector<int>& nodes) {
  std::string text;
  for (const int i : nodes) {
    const debug::GraphNode& n = graph.nodes[std::size_t(i)];
    const bool unnamed = n.name == "_" && n.line > 0;
    text += (text.empty() ? "" : ", ") + (unnamed ? fmt::format("line {}", n.line) : n.name);
  }
  return text;
}

void print_cost(Repl& repl, const debug::BindingGraph& graph, const debug::GraphNode& n) {
  source::Diagnostics ignored;
  if (!repl.session().module()) return;  // costs are counted by bindings of a module
  const auto build = repl.debugger().build() ? repl.debugger().build() : repl.session().build(ignored);
  if (!build) return;
  const auto cost = debug::cost_of_binding(repl.session(), *build, graph.function, n.node, dims_here(repl));
  if (!cost) {
    repl.print("cost: none of its own: no code was generated for it\n");
    return;
  }
  if (cost->kernels.empty()) {
    repl.print("cost: no kernel computes it\n");
    return;
  }
  repl.print("cost: {} operations, {} bytes read, {} written, in {}{}\n", cost->operations, cost->bytes_read,
             cost->bytes_written, fmt::join(cost->kernels, ", "),
             cost->unknown.empty() ? "" : fmt::format(" (without {})", cost->unknown));
}

// The value of a name at the stop, if it has one.
void print_value_now(Repl& repl, std::string_view name, bool one_of_several = false) {
  source::Diagnostics none;
  if (const auto value = repl.debugger().evaluate(name, repl.frame(), none))
    repl.print("now{}: {}\n", one_of_several ? fmt::format(", of the `{}` in scope", name) : "",
               runtime::format_brief(*value));
}

}  // namespace

Status command_Graph(Repl& repl, std::string_view rest) {
  DrawOptions options;
  if (const std::string wrong = take_draw_options(rest, options); !wrong.empty())
    return repl.fail(source::message(diag::BadDrawOption, wrong));
  const std::string function = rest.empty() ? function_at_hand(repl) : std::string(rest);
  const auto graph = debug::binding_graph(repl.debugger(), repl.session(), function, repl.frame());
  if (!graph)
    return needs(repl, "`:graph`", 0) ? repl.fail(source::message(diag::NoSuchThing, "function", function))
                                      : Status::Failed;
  if (graph->nodes.empty() && !needs(repl, "`:graph` of code without debug information", session::kModule))
    return Status::Failed;
  if (repl.wants_json() && options.file.empty()) return repl.give(graph_json(*graph));
  if (options.file.ends_with(".dot")) return write_drawing(repl, options.file, graph_dot(*graph));
  if (options.file.ends_with(".svg")) {
    const GraphPicture picture = graph_picture(*graph);
    const Status status = write_drawing(repl, options.file, picture.svg);
    if (status == Status::Good && !picture.without_graphviz.empty())
      repl.print("simple layout: {}\n", picture.without_graphviz);
    return status;
  }
  if (!options.file.empty())
    return repl.fail(source::message(diag::OutputKind, options.file, "the name must end in .dot or .svg"));
  std::string parameters;
  for (const debug::GraphNode& n : graph->nodes)
    if (n.parameter) parameters += (parameters.empty() ? "" : ", ") + n.name;
  repl.print("{}({})\n", function, parameters);
  const std::string text = graph_text(*graph, draws_ascii(repl, options));
  constexpr std::size_t kMostDrawn = 200;  // nodes: laying out more takes too long
  if (graph->nodes.size() <= kMostDrawn)
    repl.show(text, {OutputKind::Picture, graph_svg(*graph), {}, {}, {}});
  else
    repl.print("{}", text);
  return Status::Good;
}

Status command_Ast(Repl& repl, std::string_view rest) {
  const ir::Module* module = repl.session().module();
  const auto colon = rest.find(':');
  std::string function(rest.substr(0, colon)), binding;
  if (colon != std::string_view::npos) {
    binding = rest.substr(colon + 1);
  } else if (rest.empty() || !ir::isa<ir::Function>(module->find(rest))) {
    function = function_at_hand(repl);
    binding = rest;
  }
  const auto* f = ir::as<ir::Function>(module->find(function));
  if (!f) return repl.fail(source::message(diag::NoSuchThing, "Relax function", function));
  const std::string text = ast_text(f, function, binding);
  if (text.empty())
    return repl.fail(
        source::message(diag::NoSuchThing, fmt::format("function, or binding of `{}`,", function), binding));
  if (repl.wants_json()) return repl.give({{"function", function}, {"text", text}});
  repl.console().write(text);
  return Status::Good;
}

static bool show_binding(Repl& repl, const std::string& function, std::string_view name, debug::GraphOf version);

bool show_binding(Repl& repl, std::string_view what) {
  const auto colon = what.find(':');
  const std::string function =
      colon == std::string_view::npos ? function_at_hand(repl) : std::string(what.substr(0, colon));
  const std::string_view name = colon == std::string_view::npos ? what : what.substr(colon + 1);
  // The text still shows bindings that a pass fused or folded.
  return show_binding(repl, function, name, debug::GraphOf::Running) ||
         show_binding(repl, function, name, debug::GraphOf::Written);
}

static bool show_binding(Repl& repl, const std::string& function, std::string_view name, debug::GraphOf version) {
  const auto graph =
      debug::binding_graph(repl.debugger(), repl.session(), function, repl.frame(), version, debug::GraphDepth::Inner);
  if (!graph) return false;
  int found = 0;  // both branches of an `if` may bind it
  for (const debug::GraphNode& n : graph->nodes) {
    if (n.name != name) continue;
    ++found;
    if (repl.wants_json()) {
      repl.give(binding_json(*graph, n));
      continue;
    }
    repl.print("{} of {}{}: {}\n", n.parameter ? "parameter " + n.name : n.name, function,
               n.line > 0 ? fmt::format(", line {}", n.line) : "", n.type);
    if (!n.parameter) repl.print("value: {}\n", n.value);
    if (!n.inputs.empty()) repl.print("from: {}\n", names_of(*graph, n.inputs));
    repl.print("used by: {}{}\n", n.users.empty() && !n.result ? "nothing" : names_of(*graph, n.users),
               n.result ? (n.users.empty() ? "the result" : ", the result") : "");
    if (!n.parameter) print_cost(repl, *graph, n);
  }
  const bool is_here = repl.debugger().active() && function == function_at_hand(repl);
  if (found > 0 && is_here && !repl.wants_json()) print_value_now(repl, name, found > 1);
  return found > 0;
}

bool show_frame_name(Repl& repl, std::string_view what) {
  const std::string_view kind = frame_name_kind(repl, what);
  if (kind.empty()) return false;
  if (repl.wants_json()) {
    source::Diagnostics none;
    const auto now = repl.debugger().evaluate(what, repl.frame(), none);
    const std::int64_t most = repl.print_format.max_elements;
    repl.give({{"name", what}, {"kind", kind}, {"value", now ? value_json(*now, most) : Json()}});
    return true;
  }
  repl.print("{}: {} of {}\n", what, kind, function_at_hand(repl));
  print_value_now(repl, what);
  return true;
}

}  // namespace rldb::ui
