// Translation of graphs to Relax. Inside the room only.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "onnx/operators.h"

namespace rldb::onnx {

// The values of a graph by name; those of the graphs around it are visible.
struct Scope {
  std::unordered_map<std::string, Value> values;
  const Scope* outer = nullptr;
  const Value* find(const std::string& name) const;
};

// The function whose body is translated: attributes of its call, and the versions of operators that it imports.
struct Frame {
  const pb::FunctionProto* function = nullptr;
  CallAttributes attributes;
  int depth = 0;
};

class Translator {
 public:
  Translator(ir::Context& ctx, const ModelRef& model, source::FileId file, const Options& options,
             source::Diagnostics& out);

  // Null after errors.
  const ir::Module* run(Translation& made);

 private:
  bool check_operators();
  void record(const Scope& scope, Translation& made) const;
  template <class Nodes>
  void record_inner(const Nodes& all, const std::string& around, Translation& made) const;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> expansions_of(const pb::NodeProto& n) const;
  void record_value(const std::string& name, const Value& value, Translation& made) const;
  bool add_inputs(Scope& scope);
  bool add_input(const pb::ValueInfoProto& input, Scope& scope);
  bool add_initialisers(const pb::GraphProto& graph, Scope& scope, bool as_params);
  const ir::Type* type_of(const pb::ValueInfoProto& input);
  bool bind_input(const pb::ValueInfoProto& input, const runtime::Value& value, Scope& scope);

  // False: diagnosed.
  template <class Nodes>
  bool nodes(const Nodes& all, Scope& scope, const Frame& frame);
  bool check_node(const pb::NodeProto& n, int index, const Scope& scope, const Frame& frame);
  bool node(const pb::NodeProto& n, int index, Scope& scope, const Frame& frame);
  bool call(const pb::NodeProto& n, const pb::FunctionProto& f, const Values& inputs, Scope& scope, const Frame& frame);
  ir::Result<Values> run_graph(const pb::GraphProto& graph, const Values& inputs, const Scope& around,
                               const Frame& frame);
  void take_change(const pb::NodeProto& n, Scope& scope);
  bool agrees_with_declared(const Scope& scope);
  bool agrees_with_record(const pb::NodeProto& n, int index, const Scope& scope);
  std::vector<ir::NamedAttr> symbol_bounds();
  bool take_results(const pb::NodeProto& n, int index, NodeContext& c, const Expr* made, Scope& scope);
  bool fail_left_out(const std::string& name);
  source::Span span_of_output(const std::string& name) const;
  const Expr* output(const std::string& name, const Scope& scope, std::string_view of);

  std::int64_t opset(const std::string& domain, const Frame& frame) const;
  void place(const pb::NodeProto* n);
  source::Span span_of(const pb::NodeProto& n) const;
  bool fail(const pb::NodeProto& n, int index, const source::Message& m);
  bool goes_on_after_failure();
  void lose(const pb::NodeProto& n, Scope& scope);

  ir::Context& ctx_;
  const Model& model_;
  const support::Ref<runtime::Object> owner_;  // of the model
  const source::FileId file_;
  const Options& options_;
  source::Diagnostics& out_;
  const Listing listing_;
  ir::ModuleBuilder builder_;
  ir::BlockBuilder blocks_;
  ops::Legalizer kernels_;
  std::vector<const ir::Var*> params_;
  std::size_t inputs_ = 0;                // of the parameters; the rest are weights
  Tensors weights_;                       // by the names of those parameters
  std::unordered_set<const Expr*> read_;  // parameters whose initialisers the translation has read
  // Outputs that the operator has and its translation has not.
  std::unordered_map<std::string, std::pair<const pb::NodeProto*, int>> left_out_;
  std::unordered_map<std::string, const ir::Var*> dims_;
  std::unordered_set<std::string> symbols_;  // dims of inputs, as they are written
  std::unordered_map<const pb::NodeProto*, std::vector<std::pair<std::uint32_t, std::uint32_t>>> expansions_;
  std::uint32_t placed_ = 0;
  // Values that nodes which are not translated would have: what reads them is left out without a message.
  std::unordered_set<std::string> lost_;
  bool met_lost_ = false;     // the node of the model's graph that is being translated reads one
  std::size_t failed_ = 0;    // nodes of the model's graph
  std::size_t expanded_ = 0;  // nodes of functions and of graphs inside of nodes
  // Of a program of PyTorch: types of values, and the values of tensors before they were changed in place.
  std::unordered_map<std::string, const pb::TypeProto*> recorded_;
  std::unordered_map<std::string, Value> before_change_;
};

}  // namespace rldb::onnx
