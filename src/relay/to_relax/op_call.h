// One call of a Relay operator, as seen by a function of the translation table: operands as Relax values, attributes by
// name with their defaults, and builders of Relax calls. New bindings are appended to the current body.
#pragma once

#include <string>

#include "rldb/ops/emitter.h"
#include "rldb/relay/ir/attributes.h"

namespace rldb::to_relax {

using ir::DType;
using ir::Expr;
using ops::Dims;
using ops::Exprs;
using ops::int_of;
using ops::Ints;
using ops::iota;
using ops::Made;
using ops::Output;
using ops::refuse;
using ops::Te;

class OpCall : public relay::Attributes, public ops::Emitter {
 public:
  OpCall(Output out, const relay::Call& call, const relay::OpInfo& op, Exprs args, const relay::Type* result,
         std::string_view target)
      : Attributes(call, op), Emitter(out), args(std::move(args)), result(result), target(target) {}

  using Emitter::call;
  Exprs args;                 // variables and constants; tuples may be written out
  const relay::Type* result;  // the inferred type; a hole: unknown
  std::string_view target;    // the Relax operator that the row names, or empty

  // ---- operands ----
  const Expr* arg(std::size_t i) const { return args[i]; }
  ir::Result<const ir::TensorType*> tensor(std::size_t i) const { return tensor_of(args[i]); }
  ir::Result<Dims> dims(std::size_t i) const { return dims_of(args[i]); }
  // The tensors of a tuple operand.
  ir::Result<Exprs> fields(std::size_t i);
  // The tensor that a constant operand holds, or null.
  const runtime::Tensor* constant(std::size_t i) const;
  std::optional<double> number(std::size_t i) const;  // that of a constant with one element
  std::optional<Ints> constant_ints(std::size_t i) const;
  // The attribute `axis`; without one `x` is flattened, and the axis is 0.
  ir::Result<std::size_t> axis_or_flat(const Expr*& x, const Dims& dims);
};

using Translate = Made (*)(OpCall&);
struct Translation {
  Translate make = nullptr;  // null: refused
  std::string_view target;   // Relax operator, or why it is refused
};
Translation translation_of(relay::OpId id);

}  // namespace rldb::to_relax
