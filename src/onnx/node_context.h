// One node, as the function that translates it sees it: operands as Relax values or as values that are known,
// attributes by name with their defaults, makers of Relax calls (ops::Emitter). Inside the room only.
//
// A *known* value is a scalar or a vector whose elements are expressions of literals and shape variables: shapes that
// the graph computes, and small constants. Operators on known values are computed here, so that Shape, Gather, Concat,
// Reshape give `(n, 4)`, not a tensor of unknown rank. A known vector of integers stays known while it is reshaped,
// sliced and transposed: exporters turn paddings around in this way.
#pragma once

#include <onnx.pb.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "onnx/attribute.h"
#include "onnx/pt2/arguments.h"
#include "rldb/ops/emitter.h"

namespace rldb::onnx {

namespace pb = ::onnx;
using ir::DType;
using ir::Expr;
using ops::Dims;
using ops::Exprs;
using ops::int_of;
using ops::Ints;
using ops::iota;
using ops::Made;
using ops::refuse;
using ops::Te;

// More elements than that are a tensor like any other.
inline constexpr std::int64_t kMostKnown = 1024;

struct Known {
  DType dtype;
  int rank = 1;
  Exprs items;      // int64, or of `dtype` if that is a float or bool
  Ints shape = {};  // of rank 2 and more only: most readers know scalars and vectors
};

struct Value {
  const Expr* expr = nullptr;  // null: known, and not made a tensor yet
  std::shared_ptr<const Known> known;
  // A constant: what an initialiser holds that is a parameter. Read where the translation has to know an operand.
  const Expr* weight = nullptr;
};
using Values = std::vector<Value>;

Ints shape_of(const Known& known);
// All its elements are numbers.
bool is_literal(const Known& known);
// As a tensor, if it is literal.
ir::Result<runtime::Value> literal_value(const Known& known);

// Attributes of the node that calls a function, by name.
using CallAttributes = std::map<std::string, const pb::AttributeProto*, std::less<>>;
// The outputs of a subgraph with these inputs.
using RunGraph = std::function<ir::Result<Values>(const pb::GraphProto&, const Values&)>;

class NodeContext : public ops::Emitter {
 public:
  const pb::NodeProto& node;
  std::int64_t opset = 0;
  std::string_view target;  // the Relax operator that the row names, or empty
  std::string_view folder;  // of the model
  Values inputs;
  const CallAttributes* outer = nullptr;
  const Arguments* arguments = nullptr;  // of a node of PyTorch
  std::optional<DType> recorded;         // the dtype of its first result, as the program says it
  // Numbers of attributes that are not rounded to float32, which ONNX's are: of nodes that stand for one of PyTorch.
  std::map<std::string, double, std::less<>> exact_reals;
  RunGraph run_graph;
  // Gets the parameters whose initialisers were read.
  std::unordered_set<const Expr*>* read = nullptr;
  std::shared_ptr<const Known> result;  // a body that returns null has set it
  Values results;                       // of a subgraph: a body that returns null may set them instead

  NodeContext(ops::Output out, const pb::NodeProto& node) : Emitter(out), node(node) {}

  // ---- operands ----
  bool has(std::size_t i) const { return i < inputs.size() && (inputs[i].expr || inputs[i].known); }
  std::size_t count() const { return inputs.size(); }
  std::size_t outputs() const { return std::size_t(node.output_size()); }
  bool wants(std::size_t output) const { return output < outputs() && !node.output(int(output)).empty(); }
  Made in(std::size_t i);  // as a tensor
  Made tensor_of_value(const Value& v);
  ir::Result<Exprs> all();  // all operands as tensors
  ir::Result<const ir::TensorType*> type(std::size_t i);
  ir::Result<Dims> dims(std::size_t i);
  std::shared_ptr<const Known> known(std::size_t i) const;
  // The same, or the integers of an initialiser that is a parameter: of an operand that decides beside sizes, as an
  // index into a shape. One that uses them calls `note_read`.
  std::shared_ptr<const Known> known_beside_sizes(std::size_t i) const;
  static std::shared_ptr<const Known> known_of(ir::Context& ctx, const Value& v);
  const runtime::Tensor* constant(std::size_t i) const;  // null: no constant
  // The elements of an operand that the translation needs. A message that tells to give the value if it is not known.
  ir::Result<Ints> ints_in(std::size_t i);
  ir::Result<Dims> dims_in(std::size_t i);  // the same, and shape variables
  // The same of a shape: an operand that is not known is read when the program runs. Its dims are checked to be at
  // least 0.
  ir::Result<Dims> shape_in(std::size_t i);
  support::Failure<source::Message> must_be_known(std::size_t i) const;
  bool is_literal(std::size_t i) const;  // all its elements are known numbers
  // The same of an operand that decides: the numbers of an initialiser that is a parameter are read then.
  bool decides(std::size_t i) const;
  void note_read(std::size_t i) const;
  ir::Result<std::vector<double>> reals_in(std::size_t i);
  ir::Result<double> real_in(std::size_t i, double otherwise);

  // ---- attributes ----
  // One that was asked for and is of another kind; empty: there is none.
  mutable std::string wrong_attribute;
  const pb::AttributeProto* attr(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  // The word that it is, out of those that its operator has; `otherwise` if it is not given. An error that tells them.
  ir::Result<std::string> word(std::string_view name, std::string_view otherwise,
                               std::initializer_list<std::string_view> allowed) const;
  ir::Result<std::int64_t> choice(std::string_view name, std::int64_t otherwise, const Ints& allowed) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::optional<Ints> ints(std::string_view name) const;
  Ints ints(std::string_view name, std::size_t count, std::int64_t otherwise) const;
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  const pb::GraphProto* graph(std::string_view name) const;
  const pb::TensorProto* tensor(std::string_view name) const;
  // An attribute of older versions that became an operand; nullopt: neither is given.
  ir::Result<std::optional<Ints>> ints_of(std::string_view name, std::size_t operand);

  // ---- makers ----
  const Expr* know(Known value);  // the result of the node
  Made each(std::string_view relax_op, const Expr* a, const Expr* b) { return broadcast_emit(relax_op, {a, b}); }
  Made broadcast_emit(std::string_view relax_op, const Exprs& operands);
  // The same with a scalar of the dtype of `a`.
  Made with_scalar(std::string_view relax_op, const Expr* a, double b);
  Made reduced(std::string_view relax_op, const Expr* x, const Ints& axes, bool keepdims);
  Made take_axis(const Expr* x, const Expr* indices, std::size_t axis);
  Made sliced(const Expr* x, std::size_t axis, const Expr* begin, const Expr* end);
  Made joined(const Exprs& tensors, std::int64_t axis);
  ir::Result<Exprs> fields_of(const Expr* tuple);
  ir::Result<Exprs> pieces(const Expr* x, const Ints& ends, std::int64_t axis);  // a split at these places
  Made tensor_from(const Known& known);

 private:
  // Known, or the numbers of an initialiser that is a parameter: what is no size is left to the program.
  std::shared_ptr<const Known> readable(std::size_t i) const;
  // The attribute, if it is of this kind; another one is noted. `present`: it has such a value.
  template <class Present>
  const pb::AttributeProto* attr_of(std::string_view name, int kind, Present&& present) const;
};

using Translate = Made (*)(NodeContext&);

}  // namespace rldb::onnx
