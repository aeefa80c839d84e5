// Emitter: what translators from other formats (Relay, ONNX) share: calls of operators by their Python signatures,
// kernels of their own, casts and reshapes that fold, broadcasting of dims that are not known. New bindings are
// appended to the current body of the block builder. A failure is a message whose text says why; the translator adds
// what it is about.
#pragma once

#include <string>
#include <vector>

#include "rldb/ir/arith.h"
#include "rldb/ir/block_builder.h"
#include "rldb/ir/scalar.h"
#include "rldb/ops/arguments.h"
#include "rldb/ops/legalize.h"

namespace rldb::ops {

using ir::DType;
using ir::Expr;
using Made = ir::Result<const Expr*>;
using Dims = std::vector<const Expr*>;
using Exprs = std::vector<const Expr*>;
using Ints = std::vector<std::int64_t>;
using Te = Legalizer::Te;

// Where new nodes go.
struct Output {
  ir::Context& ctx;
  ir::BlockBuilder& blocks;
  Legalizer& kernels;
};

support::Failure<source::Message> refuse(std::string why);
inline std::optional<std::int64_t> int_of(const Expr* e) { return ir::const_int(e); }
Ints iota(std::int64_t from, std::int64_t to);

class Emitter {
 public:
  explicit Emitter(Output out) : ctx(out.ctx), blocks(out.blocks), kernels(out.kernels) {}

  ir::Context& ctx;
  ir::BlockBuilder& blocks;
  Legalizer& kernels;

  static ir::Result<const ir::TensorType*> tensor_of(const Expr* e);
  // Its dims, which are known: tensors get them by match_cast before they become operands.
  static ir::Result<Dims> dims_of(const Expr* e);
  // An axis of a tensor of that rank; negative ones count from the end.
  ir::Result<std::size_t> axis(std::int64_t axis, std::size_t rank) const;

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

}  // namespace rldb::ops
