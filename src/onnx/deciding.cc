// Inputs whose values the translation asks for: it is tried, each time with one more that it asked for.
#include <unordered_map>
#include <unordered_set>

#include "onnx/model.h"
#include "rldb/ops/op_info.h"

namespace rldb::onnx {

namespace {

// The inputs of the graph that a value is computed from; all of them for a value inside of a node.
class Origins {
 public:
  explicit Origins(const pb::GraphProto& graph) {
    for (const auto& n : graph.node())
      for (const std::string& output : n.output()) makers_[output] = &n;
  }
  bool knows(const std::string& value) const { return makers_.contains(value); }
  void follow(const std::string& value, std::unordered_set<std::string>& seen) const {
    std::vector<std::string> open{value};
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      if (!seen.insert(name).second) continue;
      if (const auto maker = makers_.find(name); maker != makers_.end())
        open.insert(open.end(), maker->second->input().begin(), maker->second->input().end());
    }
  }

 private:
  std::unordered_map<std::string, const pb::NodeProto*> makers_;
};

// Sizes, axes and paddings are scalars and vectors: a matrix behind them gives its shape only.
bool is_list(const runtime::Value& v) { return v.is(runtime::ValueKind::Tensor) && v.as_tensor().ndim() <= 1; }

}  // namespace

Tensors deciding_inputs(const ModelRef& model, Options options, const Tensors& offered) {
  const Origins origins(model->proto.graph());
  for (std::size_t before = options.bound.size() + 1; before != options.bound.size();) {
    before = options.bound.size();
    ir::Context ctx;
    ops::install(ctx);
    source::Diagnostics ignored;
    std::string asked;
    options.asked = &asked;
    if (to_relax(ctx, model, {}, options, ignored) || asked.empty()) break;
    if (const auto exact = offered.find(asked); exact != offered.end()) {
      options.bound.insert(*exact);
      continue;
    }
    std::unordered_set<std::string> behind;
    origins.follow(asked, behind);
    for (const auto& [name, value] : offered)
      if (is_list(value) && (behind.contains(name) || !origins.knows(asked))) options.bound.emplace(name, value);
  }
  return std::move(options.bound);
}

}  // namespace rldb::onnx
