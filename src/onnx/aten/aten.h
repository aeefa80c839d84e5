// A node of PyTorch as the function that translates it sees it: arguments by the names of the operator's schema, and
// ONNX operators as the makers of results. Inside the room only.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "onnx/op_name.h"
#include "onnx/ops/chain.h"

namespace rldb::onnx::aten {

using Texts = std::vector<std::string>;

// An attribute of an ONNX node.
struct Attribute {
  std::string_view name;
  std::variant<std::int64_t, double, std::string, Ints, Texts> value;
};
using Attributes = std::vector<Attribute>;

class Aten : public bodies::Chain {
 public:
  explicit Aten(NodeContext& c) : Chain(c) {}

  // ---- arguments ----
  const Argument* argument(std::string_view name) const { return c.arguments ? c.arguments->find(name) : nullptr; }
  const Argument* first() const { return c.arguments && !c.arguments->all.empty() ? &c.arguments->all[0] : nullptr; }
  bool given(std::string_view name) const;  // and not None
  const Expr* self();                       // the first argument, whatever its name
  Value self_value();
  const Expr* tensor(std::string_view name);
  // A number becomes a constant of that dtype.
  const Expr* tensor_as(std::string_view name, DType t);
  // Null without a failure: it is not given.
  const Expr* tensor_if(std::string_view name) { return given(name) ? tensor(name) : nullptr; }
  Value value(std::string_view name);
  std::vector<Value> values(const Argument* list);
  std::int64_t integer(std::string_view name, std::int64_t otherwise);
  double real(std::string_view name, double otherwise);
  bool truth(std::string_view name, bool otherwise) { return integer(name, otherwise) != 0; }
  std::string text(std::string_view name, std::string_view otherwise) const;
  Ints ints(std::string_view name, const Ints& otherwise);
  // Numbers and symbols.
  Dims sizes(std::string_view name);
  // The one number of a list serves all axes; an empty list is `otherwise`.
  Ints per_axis(std::string_view name, std::size_t axes, const Ints& otherwise);
  // Axes that are not negative; all of them if none are given.
  Ints axes(std::string_view name, const Expr* x);

  // ---- dtypes ----
  // As PyTorch promotes operands: numbers and tensors of rank 0 count only by their category.
  DType promoted(const std::vector<std::string_view>& operands);
  DType result_type(DType otherwise) const { return c.recorded.value_or(otherwise); }

  // An argument with a value for each channel, which is axis 1; all of them are `otherwise` if it is not given.
  Value per_channel(std::string_view name, const Expr* x, double otherwise);

  // ---- makers ----
  static Value of(const Expr* e) { return {e, nullptr}; }
  Value known(const Dims& dims) const;
  Value known(const Ints& values);
  Values onnx_all(std::string_view op, const Values& inputs, const Attributes& attributes, int outputs);
  const Expr* onnx(std::string_view op, const Values& inputs, const Attributes& attributes = {});

  // The node's results.
  Made give(Values values);

 private:
  Value item_value(const Item& item);
  const Expr* size_of(const Item& item);
};

// The data in groups of channels, each of which has mean 0 and variance 1, with the weights of the node.
const Expr* normalised_groups(Aten& m, const Expr* x, std::int64_t groups);

}  // namespace rldb::onnx::aten
