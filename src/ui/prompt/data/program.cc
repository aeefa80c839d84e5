// The program, its functions and operators; passes and versions.
#include "rldb/ir/printer.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/option.h"
#include "rldb/ui/render/diff_stat.h"

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
  if (s.program() && s.program()->version_count() > 0) {
    out["version"] = s.program()->position();
    out["versions"] = s.program()->version_count();
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
  for (const session::NamedValue& v : repl.session().values().in_order())
    rows.push_back({{"name", v.name}, {"value", value_json(v.value, repl.print_format.max_elements)}});
  return rows;
}

Json options_json(Repl& repl) {
  Json rows = Json::array();
  for (const Option& o : options())
    rows.push_back({{"name", o.name}, {"value", o.get(repl)}, {"values", o.values}, {"doc", o.doc}});
  return rows;
}

Json aliases_json(Repl& repl) {
  Json rows = Json::array();
  for (const auto& [name, entry] : repl.aliases) rows.push_back({{"name", name}, {"entry", entry.text}});
  return rows;
}

Json text_json(std::string_view function, const std::string& text) {
  return {{"function", or_null(function)}, {"text", text}};
}

// `file` and `line` of a node; null where it is not in a text.
static void add_place(Repl& repl, const ir::Node* node, Json& out) {
  const source::Span span = repl.session().context().span_of(node);
  const source::Buffer* buffer = repl.session().sources().find(span.file);
  out["file"] = buffer ? Json(buffer->name()) : Json();
  out["line"] = buffer ? Json(buffer->line_column(span.begin).line) : Json();
}

Json uses_json(Repl& repl, std::string_view name, const std::vector<VariableUse>& uses) {
  Json rows = Json::array();
  for (const VariableUse& use : uses) {
    Json row{{"function", use.function}, {"name", nullptr}, {"binding", nullptr}, {"file", nullptr}, {"line", nullptr}};
    row["name"] = or_null(use.name);
    row["binding"] = or_null(use.text);
    if (use.binding) add_place(repl, use.binding, row);
    row["returned"] = use.name.empty();
    rows.push_back(std::move(row));
  }
  return {{"name", name}, {"uses", std::move(rows)}};
}

Json matches_json(Repl& repl, const std::vector<passes::FoundPattern>& found) {
  Json rows = Json::array();
  for (const passes::FoundPattern& f : found) {
    Json parts = Json::array();
    for (const ir::Binding* b : f.made_of) {
      Json part{{"name", b->var->name}, {"binding", ir::print_binding(b)}};
      add_place(repl, b, part);
      parts.push_back(std::move(part));
    }
    Json row{{"function", f.function},
             {"name", f.binding ? Json(f.binding->var->name) : Json()},
             {"text", f.binding ? ir::print_binding(f.binding) : ir::print_expr(f.value)}};
    add_place(repl, f.binding ? static_cast<const ir::Node*>(f.binding) : f.value, row);
    row["with"] = std::move(parts);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json schedule_json(Repl& repl, std::string_view kernel, const ir::PrimFunc* f, const schedule::Result& result) {
  const ir::PrintOptions& print = repl.session().options().print;
  Json steps = Json::array();
  for (const schedule::Step& step : result.steps) {
    const schedule::StepInfo& info = schedule::info_of(step.id);
    steps.push_back({{"name", info.name},
                     {"block", step.block},
                     {"doc", info.doc},
                     {"text", ir::print_function(kernel, step.after, print)}});
  }
  return {{"kernel", kernel},
          {"is_scheduled", schedule::is_scheduled(f)},
          {"text", ir::print_function(kernel, f, print)},
          {"steps", std::move(steps)}};
}

Json kernel_states_json(Repl& repl) {
  const session::Options& options = repl.session().options();
  Json rows = Json::array();
  for (const session::Session::KernelState& k : repl.session().kernel_states()) {
    const auto own = options.kernel_engines.find(k.name);
    rows.push_back({{"kernel", k.name},
                    {"engine", session::to_string(own == options.kernel_engines.end() ? options.engine : own->second)},
                    {"compiled", k.compiled},
                    {"from_cache", k.from_cache},
                    {"tier", !k.compiled ? Json(nullptr) : Json(k.quick ? "quick" : "full")},
                    {"improving", k.improving},
                    {"nanoseconds", k.compile_ns}});
  }
  return rows;
}

Json version_json(Repl& repl) {
  const session::Program& program = *repl.session().program();
  return {{"version", program.position()}, {"versions", program.version_count()}};
}

Json validation_json(const repro::Validation& v) {
  return {{"difference", or_null(v.difference)},
          {"compared", v.compared},
          {"not_run", v.not_run},
          {"in_part", v.in_part},
          {"unchanged", v.unchanged}};
}

Json passes_json(const std::vector<const pipeline::PassRow*>& all) {
  Json rows = Json::array();
  for (const pipeline::PassRow* p : all) {
    Json options = Json::array();
    for (const pipeline::OptionInfo& o : p->options)
      options.push_back(
          {{"name", o.name}, {"type", pipeline::to_string(o.type)}, {"default", o.fallback}, {"doc", o.doc}});
    rows.push_back({{"name", p->name}, {"options", std::move(options)}, {"doc", p->doc}});
  }
  return rows;
}

Json pipelines_json(std::span<const pipeline::NamedPipeline> all) {
  Json rows = Json::array();
  for (const pipeline::NamedPipeline& p : all) rows.push_back({{"name", p.name}, {"passes", p.passes}, {"doc", p.doc}});
  return rows;
}

Json pass_json(const session::Program& program, std::size_t version) {
  const session::Version made = program.version(version);
  return {{"pass", made.pass},
          {"ok", true},
          {"nanoseconds", made.nanoseconds},
          {"changed", stats_json(diff_stat(program, program.history().module_at(version - 1),
                                           program.history().module_at(version), made.changed))}};
}

Json pass_record_json(const session::Program& program, const pipeline::Record& r) {
  Json out{{"pass", pipeline::to_string(r.pass)}, {"ok", bool(r.after)}, {"nanoseconds", r.nanoseconds}};
  out["changed"] = r.after ? stats_json(diff_stat(program, r.before, r.after, r.changed)) : Json::array();
  return out;
}

Json history_json(Repl& repl) {
  using By = session::Version::By;
  const session::Program& program = *repl.session().program();
  Json rows = Json::array();
  for (std::size_t v = 0; v < program.version_count(); ++v) {
    const session::Version made = program.version(v);
    Json bookmarks = Json::array();
    for (const auto& [name, version] : program.bookmarks())
      if (version == v) bookmarks.push_back(name);
    rows.push_back({{"version", v},
                    {"current", v == program.position()},
                    {"by", made.by == By::Load   ? "load"
                           : made.by == By::Pass ? "pass"
                                                 : "edit"},
                    {"pass", or_null(made.pass)},
                    {"changed", made.changed},
                    {"bookmarks", std::move(bookmarks)}});
  }
  return rows;
}

Json diff_json(Repl& repl, std::size_t before, std::size_t after) {
  const session::Program& program = *repl.session().program();
  const std::string a = *program.text(before, session::TextFor::Comparing);
  const std::string b = *program.text(after, session::TextFor::Comparing);
  return {{"before", before},
          {"after", after},
          {"functions", stats_json(diff_stat(program, program.history().module_at(before),
                                             program.history().module_at(after), program.changed(before, after)))},
          {"diff", text_diff(a, b, "before", "after")}};
}

}  // namespace rldb::ui
