// Graphs of bindings: from a module, and from the code of an executable.
#include "rldb/debug/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "debug/look/code_graph.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::debug {

namespace {

constexpr std::size_t kWidth = 120;  // of a binding, in characters

class Builder {
 public:
  Builder(session::Session& session, BindingGraph& out, GraphDepth depth)
      : session_(session), out_(out), depth_(depth) {}

  void run(const ir::Function* f) {
    for (const ir::Var* p : f->params) add(p, nullptr);
    for (const ir::BindingBlock* block : f->body->blocks)
      for (const ir::Binding* b : block->bindings) {
        support::poll();
        const int node = add(b->var, b);
        connect(node, b->value);
        if (depth_ == GraphDepth::Inner) add_inner(b->value, node);
      }
    for (const ir::Var* v : ir::free_vars(f->body->body))
      if (const auto it = nodes_.find(v); it != nodes_.end()) out_.nodes[std::size_t(it->second)].result = true;
    if (ir::isa<ir::Var>(f->body->body) || ir::isa<ir::Tuple>(f->body->body)) return;
    // A result computed in place.
    GraphNode n;
    n.name = "return";
    n.value = support::one_line(ir::print_expr(f->body->body), kWidth);
    n.node = f->body->body->id;
    n.result = true;
    out_.nodes.push_back(std::move(n));
    connect(int(out_.nodes.size()) - 1, f->body->body);
  }

 private:
  // The bindings in the branches and local functions of a value; their results are what `outer` uses of them.
  void add_inner(const ir::Expr* value, int outer) {
    ir::walk(value, [&](const ir::Node* n) {
      if (const auto* b = ir::as<ir::Binding>(n)) connect(add(b->var, b), b->value);
      return true;
    });
    ir::walk(value, [&](const ir::Node* n) {
      const auto* branch = ir::as<ir::SeqExpr>(n);
      if (!branch) return true;
      for (const ir::Var* v : ir::free_vars(branch->body))
        if (const auto it = nodes_.find(v); it != nodes_.end() && it->second > outer)
          out_.nodes[std::size_t(it->second)].users.push_back(outer);
      return true;
    });
  }
  int add(const ir::Var* var, const ir::Binding* b) {
    GraphNode n;
    n.name = var->name;
    n.type = var->type ? ir::print_type(var->type) : std::string();
    n.parameter = b == nullptr;
    n.node = b ? b->id : var->id;
    if (b) n.value = support::one_line(ir::print_expr(b->value), kWidth);
    const source::Span span = b ? session_.context().span_of(b) : source::Span{};
    if (const source::Buffer* buffer = session_.sources().find(span.file))
      n.line = int(buffer->line_column(span.begin).line);
    out_.nodes.push_back(std::move(n));
    return nodes_[var] = int(out_.nodes.size()) - 1;
  }
  void connect(int to, const ir::Expr* value) {
    for (const ir::Var* v : ir::free_vars(value)) {
      const auto from = nodes_.find(v);
      if (from == nodes_.end() || from->second == to) continue;
      GraphNode& node = out_.nodes[std::size_t(to)];
      if (std::find(node.inputs.begin(), node.inputs.end(), from->second) != node.inputs.end()) continue;
      node.inputs.push_back(from->second);
      out_.nodes[std::size_t(from->second)].users.push_back(to);
    }
  }

  session::Session& session_;
  BindingGraph& out_;
  const GraphDepth depth_;
  std::unordered_map<const ir::Var*, int> nodes_;
};

}  // namespace

// Of a program without a module. Null: it has no such function.
static std::optional<BindingGraph> of_code(std::shared_ptr<const session::Build> build, session::Session& session,
                                           BindingGraph graph, const Debugger& debugger, int frame) {
  source::Diagnostics ignored;  // a program that does not build is diagnosed when it is run
  if (!build) build = session.viewable(ignored);
  const FunctionIndex f = build ? build->executable->find_function(graph.function) : FunctionIndex(-1);
  if (f < 0 || build->executable->functions[std::size_t(f)].kind != bytecode::FunctionKind::Bytecode)
    return std::nullopt;
  add_code(CodeMap(std::move(build), session), f, graph);
  const Position where = debugger.function_position(frame);
  for (GraphNode& n : graph.nodes)
    n.current = where.pc >= 0 && where.function == graph.function && n.name == where.binding;
  return graph;
}

std::optional<BindingGraph> binding_graph(Debugger& debugger, session::Session& session, std::string_view function,
                                          int frame, GraphOf version, GraphDepth depth) {
  const auto build = debugger.build();
  const ir::Module* module = version == GraphOf::Written ? debugger.written_module()
                             : build                     ? build->source
                                                         : session.module();
  BindingGraph graph;
  graph.function = function;
  if (!module)
    return version == GraphOf::Running ? of_code(build, session, std::move(graph), debugger, frame) : std::nullopt;
  const auto* f = ir::as<ir::Function>(module->find(function));
  if (!f || !f->body) return std::nullopt;
  Builder(session, graph, depth).run(f);
  const Position where = debugger.function_position(frame);
  if (where.pc < 0) return graph;
  for (GraphNode& n : graph.nodes)
    n.current = n.node == where.node && (where.function == function || where.written_in == function);
  return graph;
}

}  // namespace rldb::debug
