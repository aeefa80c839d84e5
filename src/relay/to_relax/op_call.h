// One call of a Relay operator, as seen by a function of the translation table: operands as Relax values, attributes by
// name with their defaults, and builders of Relax calls. New bindings are appended to the current body.
#pragma once

#include <string>

#include "rldb/ir/arith.h"
#include "rldb/ir/block_builder.h"
#include "rldb/ir/scalar.h"
#include "rldb/ops/arguments.h"
#include "rldb/ops/legalize.h"
#include "rldb/relay/ir/attributes.h"

namespace rldb::to_relax {

using ir::DType;
using ir::Expr;
using Made = ir::Result<const Expr*>;
using Dims = std::vector<const Expr*>;
using Exprs = std::vector<const Expr*>;
using Ints = std::vector<std::int64_t>;
using Te = ops::Legalizer::Te;

// The output of the translation.
struct Output {
  ir::Context& ctx;
  ir::BlockBuilder& blocks;
  ops::Legalizer& kernels;
};

support::Failure<source::Message> refuse(std::string why);

class OpCall : public relay::Attributes {
 public:
  OpCall(Output out, const relay::Call& call, const relay::OpInfo& op, Exprs args, const relay::Type* result,
         std::string_view target)
      : Attributes(call, op),
        ctx(out.ctx),
        blocks(out.blocks),
        kernels(out.kernels),
        args(std::move(args)),
        result(result),
        target(target) {}

  ir::Context& ctx;
  ir::BlockBuilder& blocks;
  ops::Legalizer& kernels;
  Exprs args;                 // variables and constants; tuples may be written out
  const relay::Type* result;  // the inferred type; a hole: unknown
  std::string_view target;    // the Relax operator that the row names, or empty

  // ---- operands ----
  const Expr* arg(std::size_t i) const { return args[i]; }
  ir::Result<const ir::TensorType*> tensor(std::size_t i) const { return tensor_of(args[i]); }
  static ir::Result<const ir::TensorType*> tensor_of(const Expr* e);
  // Its dims, which are known: tensors get them by match_cast before they become operands.
  static ir::Result<Dims> dims_of(const Expr* e);
  ir::Result<Dims> dims(std::size_t i) const { return dims_of(args[i]); }
  // The tensors of a tuple operand.
  ir::Result<Exprs> fields(std::size_t i);
  // The tensor that a constant operand holds, or null.
  const runtime::Tensor* constant(std::size_t i) const;
  std::optional<double> number(std::size_t i) const;  // that of a constant with one element
  std::optional<Ints> constant_ints(std::size_t i) const;
  ir::Result<std::size_t> axis(std::int64_t axis, std::size_t rank) const;
  // The attribute `axis`; without one `x` is flattened, and the axis is 0.
  ir::Result<std::size_t> axis_or_flat(const Expr*& x, const Dims& dims);

  // ---- makers ----
  // A call of an operator by its Python signature, not bound yet.
  Made call(std::string_view relax_op, const Exprs& values, const std::vector<ir::NamedAttr>& attrs = {});
  // The same, bound to a variable.
  Made emit(std::string_view relax_op, const Exprs& values, const std::vector<ir::NamedAttr>& attrs = {});
  const Expr* bind(const Expr* e) { return blocks.normalize_leaf(e); }
  // A builtin without effects.
  const Expr* packed(std::string_view builtin, const Exprs& values, const ir::Type* type);
  // A kernel of our own, for operations that Relax lacks. Operands are tensors.
  Made kernel(std::string_view name, const Exprs& tensors, const ops::Legalizer::Body& body);

  const Expr* scalar(DType t, double value);  // a constant tensor of rank 0
  const Expr* prims(const Ints& values);      // a tuple of int64 literals
  const Expr* i64(std::int64_t v) { return ctx.i64(v); }
  const ir::Attr* ints_attr(const Ints& values) { return ctx.attr_ints(values); }

  // ---- compositions ----
  Made cast(const Expr* x, DType t);
  Made reshape(const Expr* x, const Dims& dims);
  Made permute(const Expr* x, const Ints& axes);
  Made expand(const Expr* x, const Ints& axes);
  // `x` with `dim` known to be `wanted`: checked at run time unless it can be proved.
  const Expr* with_dim(const Expr* x, std::size_t dim, const Expr* wanted);
  // Tensors in shapes that Relax operators broadcast: dims that provably fit stay, others are checked and repeated at
  // run time.
  ir::Result<Exprs> broadcastable(const Exprs& tensors);
  // A broadcasting Relax operator.
  Made broadcast(std::string_view relax_op, const Exprs& tensors);
  // A new variable for each dim of a shape value.
  ir::Result<Dims> dims_of_shape(const Expr* shape, std::size_t rank);
  // The elements of an integer tensor of rank 1 as dims.
  ir::Result<Dims> dims_of_values(const Expr* tensor, std::size_t count);
  Made broadcast_to(const Expr* x, const Dims& dims);

  bool same_dim(const Expr* a, const Expr* b);
};

inline std::optional<std::int64_t> int_of(const Expr* e) { return ir::const_int(e); }
Ints iota(std::int64_t from, std::int64_t to);

using Translate = Made (*)(OpCall&);
struct Translation {
  Translate make = nullptr;  // null: refused
  std::string_view target;   // Relax operator, or why it is refused
};
Translation translation_of(relay::OpId id);

}  // namespace rldb::to_relax
