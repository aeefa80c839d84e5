// The program, its functions and operators; passes and versions.
#include "rldb/ir/printer.h"
#include "ui/diff_stat.h"
#include "ui/repl/commands/option.h"
#include "ui/repl/data/data.h"

namespace rldb::ui {

namespace {

std::string_view kind_of(const ir::Expr* f) {
  if (ir::isa<ir::Function>(f)) return "relax";
  if (ir::isa<ir::PrimFunc>(f)) return "prim_func";
  return ir::isa<ir::ExternFunc>(f) ? "extern" : "python";
}

Json names_json(const debug::BindingGraph& graph, const std::vector<int>& nodes) {
  Json names = Json::array();
  for (const int i : nodes) names.push_back(graph.nodes[std::size_t(i)].name);
  return names;
}

Json or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }

Json stats_json(const std::vector<DiffStat>& stats) {
  Json rows = Json::array();
  for (const DiffStat& s : stats)
    rows.push_back({{"function", s.function},
                    {"added", s.count.added},
                    {"removed", s.count.removed},
                    {"is_new", s.added},
                    {"is_gone", s.removed}});
  return rows;
}

}  // namespace

Json program_json(Repl& repl) {
  session::Session& s = repl.session();
  Json out{{"program", or_null(s.program_path())},
           {"functions", s.function_names()},
           {"engine", session::to_string(s.options().engine)},
           {"version", nullptr},
           {"versions", nullptr},
           {"stopped", nullptr}};
  if (s.module()) {
    out["version"] = s.history().position();
    out["versions"] = s.history().size();
  }
  if (repl.debugger().active()) out["stopped"] = position_json(repl, repl.debugger().last_stop().where);
  return out;
}

Json functions_json(const ir::Module* module) {
  Json rows = Json::array();
  for (const ir::ModuleEntry& entry : module->entries)
    rows.push_back(
        {{"name", entry.name}, {"kind", kind_of(entry.function)}, {"type", type_json(entry.function->type)}});
  return rows;
}

Json operator_json(const ops::OpInfo& op) {
  Json args = Json::array(), attrs = Json::array();
  for (const ops::ArgInfo& a : op.args)
    args.push_back({{"name", a.name}, {"optional", a.optional}, {"variadic", a.variadic}});
  for (const ops::AttrInfo& a : op.attrs)
    attrs.push_back({{"name", a.name}, {"required", a.required}, {"default", or_null(a.default_text)}});
  return {{"name", op.name},
          {"signature", op.signature},
          {"doc", op.doc},
          {"pure", op.purity == ops::Purity::Pure},
          {"args", args},
          {"attrs", attrs},
          {"legalised", op.legalize != nullptr}};
}

Json binding_json(const debug::BindingGraph& graph, const debug::GraphNode& n) {
  return {{"name", n.name},
          {"function", graph.function},
          {"parameter", n.parameter},
          {"line", n.line > 0 ? Json(n.line) : Json()},
          {"type", n.type},
          {"value", or_null(n.value)},
          {"inputs", names_json(graph, n.inputs)},
          {"users", names_json(graph, n.users)},
          {"result", n.result},
          {"current", n.current}};
}

Json graph_json(const debug::BindingGraph& graph) {
  Json nodes = Json::array();
  for (const debug::GraphNode& n : graph.nodes) nodes.push_back(binding_json(graph, n));
  return {{"function", graph.function}, {"nodes", std::move(nodes)}};
}

Json session_values_json(Repl& repl) {
  Json rows = Json::array();
  for (const session::NamedValue& v : repl.session().values())
    rows.push_back({{"name", v.name}, {"value", value_json(v.value, repl.print_format.max_elements)}});
  return rows;
}

Json options_json(Repl& repl) {
  Json rows = Json::array();
  for (const Option& o : options())
    rows.push_back({{"name", o.name}, {"value", o.get(repl)}, {"values", o.values}, {"doc", o.doc}});
  return rows;
}

Json passes_json(const std::vector<passes::PassInfo>& all) {
  Json rows = Json::array();
  for (const passes::PassInfo& p : all) rows.push_back({{"name", p.name}, {"options", p.options}, {"doc", p.doc}});
  return rows;
}

Json pipelines_json() {
  Json rows = Json::array();
  for (const passes::PipelineInfo& p : passes::named_pipelines())
    rows.push_back({{"name", p.name}, {"passes", p.passes}, {"doc", p.doc}});
  return rows;
}

Json pass_record_json(const passes::PassRecord& r, const ir::PrintOptions& print) {
  Json out{{"pass", passes::to_string(r.pass)}, {"ok", r.after != nullptr}, {"nanoseconds", r.nanoseconds}};
  out["changed"] = r.after ? stats_json(diff_stat(r.before, r.after, r.changed, print)) : Json::array();
  return out;
}

Json history_json(Repl& repl) {
  const passes::History& history = repl.session().history();
  Json rows = Json::array();
  for (std::size_t v = 0; v < history.size(); ++v) {
    const bool by_pass = v > 0 && !history.is_edit(v);
    Json bookmarks = Json::array();
    for (const auto& [name, version] : history.bookmarks())
      if (version == v) bookmarks.push_back(name);
    rows.push_back({{"version", v},
                    {"current", v == history.position()},
                    {"by", v == 0    ? "load"
                           : by_pass ? "pass"
                                     : "edit"},
                    {"pass", by_pass ? Json(passes::to_string(history.record(v).pass)) : Json()},
                    {"changed", by_pass ? Json(history.record(v).changed) : Json::array()},
                    {"bookmarks", std::move(bookmarks)}});
  }
  return rows;
}

Json diff_json(Repl& repl, std::size_t before, std::size_t after) {
  const passes::History& history = repl.session().history();
  const ir::Module *a = history.module_at(before), *b = history.module_at(after);
  const ir::PrintOptions& print = repl.session().options().print;
  return {{"before", before},
          {"after", after},
          {"functions", stats_json(diff_stat(a, b, changed_functions(a, b), print))},
          {"diff", unified_diff(ir::print(a, print), ir::print(b, print), "before", "after")}};
}

}  // namespace rldb::ui
