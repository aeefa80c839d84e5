// The rows of onnx_op.def and aten/aten_op.def, and what a model needs of them.
#include "onnx/operators.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "onnx/aten/variant.h"
#include "rldb/ir/op_id.h"

namespace rldb::onnx {

namespace {

constexpr std::string_view kContribDomain = "com.microsoft";

const OperatorRow kRows[] = {
#define RLDB_ONNX_OP(Name, since, function, Target) \
  {kOnnxDomain, #Name, since, bodies::function, op::row(op::Id::Target).name},
#define RLDB_ONNX_OP_OWN(Name, since, function) {kOnnxDomain, #Name, since, bodies::function, {}},
#define RLDB_ONNX_CONTRIB(Name, since, function, Target) \
  {kContribDomain, #Name, since, bodies::function, op::row(op::Id::Target).name},
#define RLDB_ONNX_CONTRIB_OWN(Name, since, function) {kContribDomain, #Name, since, bodies::function, {}},
#define RLDB_ONNX_REFUSED(domain, name, why) {domain, name, 1, nullptr, why},
#include "onnx/onnx_op.def"
#define RLDB_ATEN_OP(domain, name, function, Target) {domain, name, 1, aten::function, aten::target::Target},
#define RLDB_ATEN_OP_OWN(domain, name, function) {domain, name, 1, aten::function, {}},
#define RLDB_ATEN_VIEW(domain, name, function) {domain, name, 1, aten::function, {}, true},
#define RLDB_ATEN_REFUSED(domain, name, why) {domain, name, 1, nullptr, why},
#include "onnx/aten/aten_op.def"
};

// Calls `visit` for each node of a graph, its subgraphs, and the functions that they call.
class Walk {
 public:
  using Visit = std::function<void(const pb::NodeProto&, int index, std::int64_t opset)>;
  Walk(const Model& model, Visit visit) : model_(model), visit_(std::move(visit)) {}

  void run() {
    nodes(model_.proto.graph().node(), nullptr);
    for (const auto& f : model_.proto.functions()) nodes(f.node(), &f);
  }

 private:
  template <class Nodes>
  void nodes(const Nodes& all, const pb::FunctionProto* function) {
    int index = 0;
    for (const auto& node : all) {
      visit_(node, index++, opset(node.domain(), function));
      for (const auto& a : node.attribute()) {
        if (a.has_g()) nodes(a.g().node(), function);
        for (const auto& g : a.graphs()) nodes(g.node(), function);
      }
    }
  }

  std::int64_t opset(const std::string& domain, const pb::FunctionProto* function) const {
    if (function)
      for (const auto& import : function->opset_import())
        if (domain_name(import.domain()) == domain_name(domain)) return import.version();
    return model_.opset(domain);
  }

  const Model& model_;
  Visit visit_;
};

}  // namespace

std::span<const OperatorRow> operator_rows() { return kRows; }

const OperatorRow* operator_row(const std::string& domain, const std::string& name) {
  static const auto kIndex = [] {
    std::map<std::pair<std::string_view, std::string_view>, const OperatorRow*> index;
    for (const OperatorRow& row : kRows) index.emplace(std::pair(row.domain, row.name), &row);
    return index;
  }();
  const std::string of = domain_name(domain);
  const auto found = kIndex.find(std::pair<std::string_view, std::string_view>(of, name));
  return found == kIndex.end() ? nullptr : found->second;
}

std::string refusal(const Model& model, const pb::NodeProto& node, std::int64_t opset) {
  if (model.function(node.domain(), node.op_type())) return {};
  const OperatorRow* row = operator_row(node.domain(), node.op_type());
  if (!row) return "it is not one of the operators that rldb knows";
  if (!row->body) return std::string(row->target);
  if (opset == 0) return fmt::format("the model does not import a version of `{}`", domain_name(node.domain()));
  if (opset < row->since) return fmt::format("its definition before opset {} is not translated", row->since);
  return {};
}

std::vector<OperatorUse> operators_of(const Model& model, std::span<const NodeRefusal> refusals) {
  std::unordered_map<const pb::NodeProto*, const NodeRefusal*> refused;
  for (const NodeRefusal& r : refusals) refused.emplace(r.node, &r);
  std::map<std::tuple<std::string, std::string, std::int64_t>, OperatorUse> found;
  Walk(model, [&](const pb::NodeProto& node, int index, std::int64_t opset) {
    OperatorUse& use = found[{domain_name(node.domain()), node.op_type(), opset}];
    const std::string label = node_label(node, index);
    if (use.nodes++ == 0) {
      use.domain = domain_name(node.domain());
      use.name = node.op_type();
      use.version = opset;
      use.first_node = label;
    }
    std::string why = refusal(model, node, opset);
    if (const auto by_itself = refused.find(&node); why.empty() && by_itself != refused.end())
      why = by_itself->second->why;
    if (why.empty() || use.refused_nodes++ > 0) return;
    use.refused_node = label;
    use.refused = std::move(why);
  }).run();
  std::vector<OperatorUse> uses;
  for (auto& [key, use] : found) uses.push_back(std::move(use));
  return uses;
}

std::string operator_table(const Model& model, std::span<const NodeRefusal> refusals) {
  std::string text;
  for (const OperatorUse& use : operators_of(model, refusals)) {
    const std::string some =
        use.refused_nodes < use.nodes ? fmt::format(", at least {} of them", use.refused_nodes) : "";
    text +=
        fmt::format("{:24} {:>3} {:>6} {}\n", use.domain == kOnnxDomain ? use.name : use.domain + "." + use.name,
                    use.version, use.nodes,
                    use.refused.empty() ? "translated"
                                        : fmt::format("refused{} (node {}): {}", some, use.refused_node, use.refused));
  }
  return text;
}

}  // namespace rldb::onnx
