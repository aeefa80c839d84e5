// :external: functions made by code generators, and the nodes of their graphs with values.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/operator_text.h"
#include "rldb/passes/codegen.h"
#include "rldb/passes/external_module.h"
#include "rldb/session/external.h"
#include "rldb/session/value_text.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/ui/prompt/command.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/table.h"

namespace rldb::ui {

namespace {

using passes::ExternalGraph;
using passes::GraphEntry;
using runtime::Value;

constexpr std::size_t kValueWidth = 72;

// The session's module, or that of the running program if it came from a file.
const ir::Module* module_of(Repl& repl) {
  if (repl.session().module()) return repl.session().module();
  source::Diagnostics ignored;  // an executable that cannot be built has nothing to show
  const auto build = repl.session().runnable(ignored);
  return build ? build->lowered : nullptr;
}

Status list_external(Repl& repl, const std::vector<const ir::Attr*>& modules) {
  if (modules.empty() && !repl.wants_json()) repl.print("the module has no external functions\n");
  Table table({"function", "kind", "from"});
  Json rows = Json::array();
  const auto add = [&](const std::string& symbol, const std::string& kind, const std::string& library) {
    table.add({symbol, kind, library});
    rows.push_back({{"function", symbol}, {"kind", kind}, {"library", library.empty() ? Json() : Json(library)}});
  };
  const auto text = [](const ir::Attr* a, std::string_view key) { return std::string(passes::string_of(a, key)); };
  for (const ir::Attr* m : modules) {
    const std::string kind = text(m, passes::external::kKind), library = text(m, passes::external::kLibrary);
    if (const std::string symbol = text(m, passes::external::kSymbol); !symbol.empty()) add(symbol, kind, library);
    const ir::Attr* symbols =
        m->is(ir::AttrKind::Dict) ? ir::find_attr(m->fields, passes::external::kSymbols) : nullptr;
    if (!symbols || !symbols->is(ir::AttrKind::List)) continue;
    for (const ir::Attr* s : symbols->items) add(std::string(s->string), kind, library);
  }
  if (repl.wants_json()) return repl.give(rows);
  if (!table.empty()) repl.print("{}", table.text());
  return Status::Good;
}

// `R.add(%0, %2)` of `R.add(operand_0_, operand_1_)`; a further output is `%2.1`.
std::string call_text(const ExternalGraph& graph, const passes::GraphKernel& kernel) {
  std::string text = kernel.call;
  const auto put = [&](const std::string& name, const std::string& shown) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + shown.size()))
      text.replace(at, name.size(), shown);
  };
  for (std::size_t i = kernel.inputs.size(); i-- > 0;) {
    const GraphEntry& e = kernel.inputs[i];
    put(ir::operand_name(i), e.output == 0 ? fmt::format("%{}", e.node) : fmt::format("%{}.{}", e.node, e.output));
  }
  for (std::size_t i = graph.dims.size(); i-- > 0;) put(passes::dim_name(i), graph.dims[i]);
  return text;
}

std::string values_text(const session::GraphFunction::NodeValues& values, std::size_t node) {
  if (node >= values.size()) return {};
  std::string text;
  for (const Value& v : values[node]) text += (text.empty() ? "" : ", ") + runtime::format_brief(v);
  return cut(text, kValueWidth);
}

void print_nodes(Repl& repl, const ExternalGraph& graph, const session::GraphFunction::NodeValues& values) {
  Table table({"node", "is", "of", "value"});
  std::size_t node = 0;
  for (const passes::GraphTensor& t : graph.inputs) {
    table.add({fmt::format("%{}", node), t.name, "input", values_text(values, node)});
    ++node;
  }
  for (const passes::GraphKernel& k : graph.kernels) {
    table.add({fmt::format("%{}", node), call_text(graph, k), k.composite, values_text(values, node)});
    ++node;
  }
  repl.print("{}", table.text());
}

Json nodes_json(Repl& repl, const ExternalGraph& graph, const session::GraphFunction::NodeValues& values) {
  Json rows = Json::array();
  const auto add = [&](const std::string& is, const std::string& of) {
    const std::size_t node = rows.size();
    Json outputs = Json::array();
    if (node < values.size())
      for (const Value& v : values[node]) outputs.push_back(value_json(v, repl.print_format.max_elements));
    rows.push_back({{"node", node}, {"is", is}, {"of", of}, {"values", std::move(outputs)}});
  };
  for (const passes::GraphTensor& t : graph.inputs) add(t.name, "input");
  for (const passes::GraphKernel& k : graph.kernels) add(call_text(graph, k), k.composite);
  return {{"function", graph.symbol}, {"nodes", std::move(rows)}};
}

// As a table, or as data.
Status tell_nodes(Repl& repl, const ExternalGraph& graph, const session::GraphFunction::NodeValues& values) {
  if (repl.wants_json()) return repl.give(nodes_json(repl, graph, values));
  print_nodes(repl, graph, values);
  return Status::Good;
}

// The arguments of the next call of a function in the current frame of the machine; empty: there is no such call, or an
// argument has no value yet.
std::vector<Value> arguments_of_call(Repl& repl, std::string_view symbol, std::size_t count) {
  const vm::Machine* m = repl.debugger().machine();
  if (!m || !m->running()) return {};
  const bytecode::Executable& exe = m->executable();
  const bytecode::FunctionIndex here = exe.function_of(m->frame().pc);
  const bytecode::Pc end = here < 0 ? m->frame().pc : exe.functions[std::size_t(here)].end;
  for (bytecode::Pc pc = m->frame().pc; pc < end; ++pc) {
    const bytecode::Instruction i = exe.instruction(pc);
    if (i.op != bytecode::Opcode::Call || exe.functions[std::size_t(i.callee)].name != symbol) continue;
    std::vector<Value> args;
    for (std::size_t a = 0; a < std::min(count, i.args.size()); ++a) {
      const bytecode::Arg arg = i.arg(a);
      const Value* v = nullptr;
      if (arg.kind() == bytecode::ArgKind::Register) v = m->read_register(m->frames().size() - 1, arg.reg());
      if (arg.kind() == bytecode::ArgKind::Constant) v = &exe.constants[std::size_t(arg.value())];
      if (!v || !v->is(runtime::ValueKind::Tensor)) return {};
      args.push_back(*v);
    }
    return args;
  }
  return {};
}

std::optional<std::vector<Value>> arguments_given(Repl& repl, std::span<const std::string> texts) {
  std::vector<Value> args;
  for (const std::string& text : texts) {
    if (auto literal = session::value_of_text(text); literal.ok()) {
      args.push_back(std::move(*literal));
      continue;
    }
    source::Diagnostics problems;
    auto value = repl.debugger().evaluate(text, repl.frame(), problems);
    if (!value) {
      repl.report(problems);
      return std::nullopt;
    }
    args.push_back(std::move(*value));
  }
  return args;
}

Status show_graph(Repl& repl, const ir::Attr* external, std::span<const std::string> texts) {
  auto graph = passes::read_graph(external);
  const std::string_view symbol = passes::string_of(external, passes::external::kSymbol);
  if (!graph.ok()) return repl.fail(source::message(diag::ExternalUnusable, symbol, graph.error()));
  auto function = session::GraphFunction::make(std::move(*graph), repl.session().registry());
  if (!function.ok()) return repl.fail(source::message(diag::ExternalUnusable, symbol, function.error().message));
  auto args = arguments_given(repl, texts);
  if (!args) return Status::Failed;
  const ExternalGraph& g = function->graph();
  if (args->empty()) *args = arguments_of_call(repl, g.symbol, g.inputs.size());
  if (args->empty()) return tell_nodes(repl, g, {});
  auto values = function->all_values(*args);
  if (!values.ok()) {
    source::Message m = source::message(diag::RunFailed, values.error().message);
    for (const std::string& note : values.error().notes) m.notes.push_back({{}, note});
    return repl.fail(std::move(m));
  }
  return tell_nodes(repl, g, *values);
}

// The TensorIR of a function that is a kernel; it is stepped like the others.
Status show_kernel(Repl& repl, const ir::Attr* external) {
  const std::string text(passes::string_of(external, passes::external::kTensorIr));
  if (repl.wants_json())
    return repl.give(
        {{"function", std::string(passes::string_of(external, passes::external::kSymbol))}, {"module", text}});
  repl.print("{}", text);
  return Status::Good;
}

}  // namespace

Status command_External(Repl& repl, std::string_view rest) {
  const ir::Module* module = module_of(repl);
  if (!module) return repl.fail(source::message(diag::NoProgram));
  const std::vector<const ir::Attr*> modules = passes::external_modules(module);
  const std::vector<std::string> words = split_values(rest);
  if (words.empty()) return list_external(repl, modules);
  for (const ir::Attr* m : modules)
    if (passes::string_of(m, passes::external::kSymbol) == words[0])
      return passes::string_of(m, passes::external::kKind) == passes::kernel_codegen_name::Tir
                 ? show_kernel(repl, m)
                 : show_graph(repl, m, std::span(words).subspan(1));
  return repl.fail(source::message(diag::NoSuchThing, "external function with a graph", words[0]));
}

}  // namespace rldb::ui
