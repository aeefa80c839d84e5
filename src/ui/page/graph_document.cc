// Nodes in the order of the text, edges as the numbers of their inputs.
#include "ui/page/graph_document.h"

#include <algorithm>
#include <unordered_map>

#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::ui {

namespace {

using PageJson = nlohmann::ordered_json;
constexpr std::size_t kNodeText = 200;  // characters

class NodeList {
 public:
  explicit NodeList(const Relatives& relatives) : relatives_(relatives) {}

  FunctionGraph of(const ir::Function* function) {
    for (const ir::Var* p : function->params) add(p, nullptr);
    for (const ir::BindingBlock* block : function->body->blocks)
      for (const ir::Binding* b : block->bindings) {
        support::poll();
        PageJson inputs = inputs_of(b->value);
        add(b->var, b)["inputs"] = std::move(inputs);
      }
    for (const ir::Var* v : ir::free_vars(function->body->body))
      if (const auto it = numbers_.find(v); it != numbers_.end()) {
        nodes_[it->second]["result"] = true;
        graph_.nodes[it->second].result = true;
      }
    add_edges();
    return {std::move(nodes_), std::move(graph_)};
  }

 private:
  PageJson& add(const ir::Var* var, const ir::Binding* b) {
    numbers_[var] = nodes_.size();
    PageJson node{{"name", var->name}, {"type", var->type ? ir::print_type(var->type) : std::string()}};
    node["inputs"] = PageJson::array();
    if (b) {
      node["value"] = support::one_line(ir::print_expr(b->value), kNodeText);
      if (const RelativeList& list = relatives_.of(b->id); !list.empty()) node["relatives"] = list;
    } else {
      node["parameter"] = true;
    }
    debug::GraphNode plain;
    plain.name = node["name"].get<std::string>();
    plain.type = node["type"].get<std::string>();
    plain.value = node.value("value", "");
    plain.parameter = !b;
    graph_.nodes.push_back(std::move(plain));
    nodes_.push_back(std::move(node));
    return nodes_.back();
  }

  void add_edges() {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (const int from : nodes_[i]["inputs"].get<std::vector<int>>()) {
        graph_.nodes[i].inputs.push_back(from);
        graph_.nodes[std::size_t(from)].users.push_back(int(i));
      }
  }

  PageJson inputs_of(const ir::Expr* value) const {
    PageJson inputs = PageJson::array();
    for (const ir::Var* v : ir::free_vars(value))
      if (const auto it = numbers_.find(v); it != numbers_.end()) inputs.push_back(it->second);
    return inputs;
  }

  const Relatives& relatives_;
  PageJson nodes_ = PageJson::array();
  debug::BindingGraph graph_;
  std::unordered_map<const ir::Var*, std::size_t> numbers_;
};

}  // namespace

FunctionGraph graph_of(const ir::Function* function, const Relatives& relatives) {
  return NodeList(relatives).of(function);
}

}  // namespace rldb::ui
