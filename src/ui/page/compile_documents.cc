// Documents of a compile, made when they are asked for.
#include "rldb/ui/page/compile_documents.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "rldb/bytecode/disassemble.h"
#include "rldb/debug/version_text.h"
#include "rldb/ir/printer.h"
#include "rldb/passes/memory_report.h"
#include "rldb/session/kernel_listing.h"
#include "rldb/support/cancel.h"
#include "rldb/support/line_diff.h"
#include "rldb/ui/render/memory_view.h"
#include "ui/page/graph_boxes.h"
#include "ui/page/graph_document.h"
#include "ui/page/relatives.h"
#include "ui/page/source_document.h"
#include "ui/page/version_document.h"

namespace rldb::ui {

namespace {

using PageJson = nlohmann::ordered_json;

std::string first_problem(const source::Diagnostics& diagnostics) {
  return diagnostics.all().empty() ? std::string() : diagnostics.all()[0].message;
}

auto as_tuple(const ir::PrintOptions& o) {
  return std::tie(o.syntax, o.show_meta, o.show_all_ty, o.header, o.pep695, o.tensor_ir, o.module_alias);
}

std::vector<std::string> kernel_names(const ir::Module* lowered) {
  std::vector<std::string> names;
  for (const ir::ModuleEntry& entry : lowered->entries)
    if (ir::isa<ir::PrimFunc>(entry.function)) names.emplace_back(entry.name);
  return names;
}

}  // namespace

struct CompileDocuments::State {
  State(session::Session& s, const debug::Debugger* d) : session(s), debugger(d) {}

  // Everything again if the program or its build is another one, or is to be printed in another way.
  void refresh() {
    std::shared_ptr<const session::Build> now = debugger ? debugger->build() : nullptr;
    if (session.program() && (!now || now->source != session.module())) {
      source::Diagnostics ignored;  // `problem` says that there is no build
      now = session.viewable(ignored);
      problem = now ? std::string() : first_problem(ignored);
    }
    std::vector<debug::ModuleVersion> list = debug::module_versions(session, now.get());
    const bool same =
        now == build && list.size() == versions.size() && as_tuple(print) == as_tuple(session.options().print) &&
        std::equal(list.begin(), list.end(), versions.begin(),
                   [](const debug::ModuleVersion& a, const debug::ModuleVersion& b) { return a.module == b.module; });
    if (same && relatives) return;
    build = std::move(now);
    versions = std::move(list);
    print = session.options().print;
    relatives.emplace(session.context(), versions);
    texts.clear();
    mapped.clear();
    graph_function = nullptr;
    ++number;
  }

  const debug::VersionText& mapped_text(std::size_t version) {
    auto& text = mapped[version];
    if (!text) text = std::make_unique<debug::VersionText>(session, versions, version, build);
    return *text;
  }

  const std::string& text_of(std::size_t version) {
    const auto it = texts.find(version);
    if (it != texts.end()) return it->second;
    return texts[version] = ir::print(versions[version].module, print);  // which may be cancelled
  }

  // Of the last function that was asked for; null: that version has no such function.
  const FunctionGraph* graph_of(std::size_t version, std::string_view function) {
    refresh();
    if (version >= versions.size()) return nullptr;
    const auto* f = ir::as<ir::Function>(versions[version].module->find(function));
    if (!f || !f->body) return nullptr;
    if (f != graph_function) {
      graph = ui::graph_of(f, *relatives);  // which may be cancelled
      graph_function = f;
    }
    return &graph;
  }

  session::Session& session;
  const debug::Debugger* debugger;
  std::shared_ptr<const session::Build> build;
  std::string problem;     // why there is no build
  ir::PrintOptions print;  // of all texts
  std::vector<debug::ModuleVersion> versions;
  std::optional<Relatives> relatives;
  std::map<std::size_t, std::string> texts;
  std::map<std::size_t, std::unique_ptr<debug::VersionText>> mapped;
  FunctionGraph graph;
  const ir::Function* graph_function = nullptr;
  KnownLayouts layouts;
  std::size_t number = 0;
};

CompileDocuments::CompileDocuments(session::Session& session, const debug::Debugger* debugger)
    : state_(std::make_unique<State>(session, debugger)) {}
CompileDocuments::~CompileDocuments() = default;

void CompileDocuments::limit_graphviz(double seconds) { state_->layouts.limit_graphviz(seconds); }

std::size_t CompileDocuments::number() {
  state_->refresh();
  return state_->number;
}

PageJson CompileDocuments::program() {
  State& s = *state_;
  s.refresh();
  PageJson versions = PageJson::array();
  for (std::size_t v = 0; v < s.versions.size(); ++v) {
    PageJson row{{"version", v}, {"pass", s.versions[v].pass}, {"by_build", s.versions[v].by_build}};
    PageJson changed = PageJson::array();
    if (v > 0)
      for (const std::string& name :
           s.session.program()->changed_between(s.versions[v - 1].module, s.versions[v].module))
        changed.push_back(name);
    row["changed"] = std::move(changed);
    versions.push_back(std::move(row));
  }
  PageJson kernels = PageJson::array(), functions = PageJson::array();
  if (s.build && s.build->lowered)
    for (std::string& name : kernel_names(s.build->lowered)) {
      PageJson row{{"name", name}};
      if (!s.versions.empty()) row["relatives"] = s.relatives->of_callers(s.versions.size() - 1, name);
      kernels.push_back(std::move(row));
    }
  if (const ir::Module* module = s.session.module())
    for (const ir::ModuleEntry& entry : module->entries)
      if (ir::isa<ir::Function>(entry.function)) functions.push_back(entry.name);
  return {{"file", s.session.program_path()},  {"document", s.number},          {"versions", std::move(versions)},
          {"functions", std::move(functions)}, {"kernels", std::move(kernels)}, {"problem", s.problem}};
}

std::optional<PageJson> CompileDocuments::source() {
  State& s = *state_;
  s.refresh();
  return source_document(s.session.context(), s.session.sources(), s.versions, *s.relatives, s.print);
}

std::optional<PageJson> CompileDocuments::text(std::size_t version) {
  State& s = *state_;
  s.refresh();
  if (version >= s.versions.size()) return std::nullopt;
  PageJson out = version_document(s.versions[version], version, *s.relatives, s.print);
  // The line of each instruction; 0: none.
  PageJson lines = PageJson::array();
  if (s.build && s.build->executable) {
    const debug::VersionText& mapped = s.mapped_text(version);
    for (debug::Pc pc = 0; pc < s.build->executable->end(); ++pc) lines.push_back(mapped.line_of(pc));
  }
  out["line_of_pc"] = std::move(lines);
  return out;
}

std::vector<std::string> CompileDocuments::places(std::size_t version, std::uint32_t line) {
  State& s = *state_;
  s.refresh();
  if (version >= s.versions.size()) return {};
  const auto place = s.mapped_text(version).place_at(line);
  return place ? place->specs : std::vector<std::string>();
}

std::optional<PageJson> CompileDocuments::diff(std::size_t version) {
  State& s = *state_;
  s.refresh();
  if (version >= s.versions.size()) return std::nullopt;
  PageJson hunks = PageJson::array();
  if (version > 0)
    for (const support::DiffHunk& hunk : support::diff_hunks(s.text_of(version - 1), s.text_of(version))) {
      PageJson rows = PageJson::array();
      for (const support::DiffLine& line : hunk.lines) {
        support::poll();
        rows.push_back({std::string(1, line.mark), line.before + 1, line.after + 1});
      }
      hunks.push_back(std::move(rows));
    }
  return PageJson{{"version", version}, {"hunks", std::move(hunks)}};
}

std::optional<PageJson> CompileDocuments::graph(std::size_t version, std::string_view function) {
  const FunctionGraph* graph = state_->graph_of(version, function);
  if (!graph) return std::nullopt;
  return PageJson{{"version", version}, {"function", function}, {"nodes", graph->nodes}};
}

std::optional<PageJson> CompileDocuments::layout(std::size_t version, std::string_view function, std::string_view view,
                                                 std::string_view open) {
  const FunctionGraph* graph = state_->graph_of(version, function);
  if (!graph) return std::nullopt;
  return graph_layout_document(graph->graph, graph_view(view, open), state_->layouts);
}

std::optional<PageJson> CompileDocuments::memory(std::size_t version) {
  State& s = *state_;
  s.refresh();
  if (version >= s.versions.size()) return std::nullopt;
  source::Diagnostics diagnostics;
  passes::PassEnv env{s.session.context(), diagnostics};
  auto functions = passes::memory_of(env, s.versions[version].module, s.session.options().dims);
  if (!functions.ok()) return PageJson{{"version", version}, {"problem", functions.error().text}};
  PageJson out = PageJson::parse(memory_json(*functions, memory_view(s.session, MemoryView().width)));
  out["version"] = version;
  return out;
}

std::optional<PageJson> CompileDocuments::kernel(const std::string& name) {
  State& s = *state_;
  s.refresh();
  source::Diagnostics diagnostics;
  const ir::PrimFunc* f = s.session.find_kernel(name, diagnostics);
  if (!f) return std::nullopt;
  ir::PrintOptions options;
  options.header = false;
  PageJson out{{"kernel", name}, {"tir", ir::print_function(name, f, options)}};
  auto listing = session::kernel_listing(s.session, name, diagnostics);
  out["compiled"] = listing ? PageJson(std::move(listing->tir)) : PageJson();
  for (const auto& [key, part] :
       {std::pair("llvm", &codegen::KernelListing::llvm), std::pair("asm", &codegen::KernelListing::assembly)}) {
    out[key] = listing ? PageJson((*listing.*part).text) : PageJson();
    if (listing) out[std::string(key) + "_lines"] = (*listing.*part).lines;
  }
  out["problem"] = first_problem(diagnostics);
  out["relatives"] = s.versions.empty() ? RelativeList() : s.relatives->of_callers(s.versions.size() - 1, name);
  return out;
}

std::optional<PageJson> CompileDocuments::instructions() {
  State& s = *state_;
  s.refresh();
  if (!s.build || !s.build->executable) return std::nullopt;
  const bytecode::Executable& exe = *s.build->executable;
  PageJson functions = PageJson::array();
  for (const bytecode::FunctionEntry& f : exe.functions) {
    if (f.kind != bytecode::FunctionKind::Bytecode) continue;
    PageJson rows = PageJson::array();
    for (debug::Pc pc = f.start; pc < f.end; ++pc) {
      support::poll();
      PageJson row{pc.value(), bytecode::instruction_text(exe, pc)};
      if (const bytecode::InstructionDebug* debug = exe.debug.instruction(pc)) {
        const RelativeList& list =
            s.relatives->of(debug->binding).empty() ? s.relatives->of(debug->node) : s.relatives->of(debug->binding);
        for (const std::uint32_t relative : list) row.push_back(relative);
      }
      rows.push_back(std::move(row));
    }
    functions.push_back({{"function", f.name}, {"instructions", std::move(rows)}});
  }
  return PageJson{{"functions", std::move(functions)}};
}

}  // namespace rldb::ui
