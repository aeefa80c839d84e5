// Calls by Python's signatures, compositions, broadcasting of dims that are not known.
#include "rldb/ops/emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "rldb/bytecode/builtin/relay.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/dtype.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/printer.h"
#include "rldb/source/diagnostic_translate.h"

namespace rldb::ops {

support::Failure<source::Message> refuse(std::string why) {
  return support::Failure(source::message(diag::Untranslatable, why));
}

Ints iota(std::int64_t from, std::int64_t to) {
  Ints list;
  for (; from < to; ++from) list.push_back(from);
  return list;
}

// ---- operands ----

ir::Result<const ir::TensorType*> Emitter::tensor_of(const Expr* e) {
  const auto* t = ir::as<ir::TensorType>(e->type);
  if (t && t->has_shape && !t->dtype.is_void()) return t;
  return refuse(fmt::format("the shape of an operand is not known: it is `{}`", ir::print_type(e->type)));
}

ir::Result<Dims> Emitter::dims_of(const Expr* e) {
  RLDB_TRY(const ir::TensorType* t, tensor_of(e));
  return Dims(t->shape.begin(), t->shape.end());
}

ir::Result<std::size_t> Emitter::axis(std::int64_t axis, std::size_t rank) const {
  const auto n = std::int64_t(rank);
  if (axis < -n || axis >= n) return refuse(fmt::format("there is no axis {} in a tensor of rank {}", axis, rank));
  return std::size_t(axis < 0 ? axis + n : axis);
}

// ---- makers ----

Made Emitter::call(std::string_view relax_op, const Exprs& values, const std::vector<ir::NamedAttr>& attrs) {
  std::vector<CallArg> given;
  for (const Expr* v : values) given.push_back({{}, v, nullptr});
  for (const ir::NamedAttr& a : attrs) given.push_back({a.name, nullptr, a.value});
  RLDB_TRY(const ir::CallSpec spec, normalize_arguments(ctx, relax_op, given));
  RLDB_TRY(const ir::Call* made, ctx.call(spec));
  return static_cast<const Expr*>(made);
}

Made Emitter::emit(std::string_view relax_op, const Exprs& values, const std::vector<ir::NamedAttr>& attrs) {
  RLDB_TRY(const Expr* made, call(relax_op, values, attrs));
  return bind(made);
}

const Expr* Emitter::packed(std::string_view builtin, const Exprs& values, const ir::Type* type) {
  Exprs all{ctx.extern_func(builtin)};
  all.insert(all.end(), values.begin(), values.end());
  const std::vector<const ir::Type*> types{type};
  return blocks.emit(ctx.call_typed(ctx.op(op::CallPurePacked), all, type, {}, types));
}

Made Emitter::kernel(std::string_view name, const Exprs& tensors, const Legalizer::Body& body) {
  RLDB_TRY(const Expr* made, kernels.call_te(name, tensors, nullptr, body));
  return bind(made);
}

const Expr* Emitter::scalar(DType t, double value) {
  auto made = runtime::Tensor::empty({}, t);
  if (!made.ok()) throw std::bad_alloc();  // the memory limit
  runtime::store_double((*made)->data(), t, value);
  return ctx.constant(runtime::Value(*made));
}

const Expr* Emitter::prims(const Ints& values) {
  Exprs items;
  for (const std::int64_t v : values) items.push_back(ctx.i64(v));
  return ctx.tuple(items);
}

// ---- compositions ----

Made Emitter::cast(const Expr* x, DType t) {
  const auto* type = ir::as<ir::TensorType>(x->type);
  if (type && type->dtype == t) return x;
  return emit(op::Astype, {x}, {{op_attr::Dtype, ctx.attr(t)}});
}

Made Emitter::reshape(const Expr* x, const Dims& dims) {
  RLDB_TRY(const Dims old, dims_of(x));
  const bool same = old.size() == dims.size() &&
                    std::equal(old.begin(), old.end(), dims.begin(), [&](auto* a, auto* b) { return same_dim(a, b); });
  return same ? Made(x) : emit(op::Reshape, {x, ctx.shape(dims)});
}

Made Emitter::permute(const Expr* x, const Ints& axes) {
  if (axes == iota(0, std::int64_t(axes.size()))) return x;
  return emit(op::PermuteDims, {x}, {{op_attr::Axes, ints_attr(axes)}});
}

Made Emitter::expand(const Expr* x, const Ints& axes) {
  if (axes.empty()) return x;
  return emit(op::ExpandDims, {x}, {{op_attr::Axis, ints_attr(axes)}});
}

bool Emitter::same_dim(const Expr* a, const Expr* b) {
  if (a == b) return true;
  const Expr* left[] = {a};
  const Expr* right[] = {b};
  return ir::prove_shapes_equal(ctx, left, right);
}

const Expr* Emitter::with_dim(const Expr* x, std::size_t dim, const Expr* wanted) {
  const auto* t = ir::as<ir::TensorType>(x->type);
  if (!t || !t->has_shape || dim >= t->shape.size() || same_dim(t->shape[dim], wanted)) return x;
  if (int_of(t->shape[dim]) && int_of(wanted)) return x;  // inference reports that they differ
  Dims dims(t->shape.begin(), t->shape.end());
  dims[dim] = wanted;
  return blocks.emit_match_cast(x, ctx.tensor(dims, t->dtype));
}

ir::Result<Dims> Emitter::dims_of_shape(const Expr* shape, std::size_t rank) {
  Dims dims;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(ctx.var(blocks.unique_name("n"), ctx.int64()));
  blocks.emit_match_cast(shape, ctx.shape_type(dims));
  return dims;
}

ir::Result<Dims> Emitter::dims_of_values(const Expr* tensor, std::size_t count) {
  RLDB_TRY(const Expr* wide, cast(tensor, DType::Int(64)));
  RLDB_TRY(const Expr* shape, emit(op::TensorToShape, {wide}));
  return dims_of_shape(shape, count);
}

Made Emitter::broadcast_to(const Expr* x, const Dims& dims) {
  RLDB_TRY(const Dims from, dims_of(x));
  if (dims.size() < from.size())
    return refuse(fmt::format("a tensor of rank {} is to be broadcast to rank {}", from.size(), dims.size()));
  const std::size_t skipped = dims.size() - from.size();
  bool proved = true;
  for (std::size_t i = 0; i < from.size(); ++i)
    proved = proved && (ir::is_const(from[i], 1) || same_dim(from[i], dims[skipped + i]));
  if (proved) return emit(op::BroadcastTo, {x, ctx.shape(dims)});
  // A dim may be 1 at run time.
  return kernel("relay_broadcast_to", {x}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor in = te.in[0];
    Dims to;
    for (const Expr* d : dims) to.push_back(te.map(d));
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          Dims at;
          for (std::size_t k = 0; k < in->shape.size(); ++k) {
            const Expr* index = i[skipped + k];
            const Expr* one = ir::compare(ctx, ir::BinaryKind::EQ, in->shape[k], ctx.i64(1));
            const Expr* first = ctx.i64(0);
            at.push_back(ir::is_const(in->shape[k], 1) ? first : ctx.select(one, first, index));
          }
          return te.graph.load(in, at);
        },
        "T_broadcast_to")};
  });
}

ir::Result<Exprs> Emitter::broadcastable(const Exprs& tensors) {
  std::vector<Dims> all;
  std::size_t rank = 0;
  for (const Expr* t : tensors) {
    RLDB_TRY(Dims dims, dims_of(t));
    rank = std::max(rank, dims.size());
    all.push_back(std::move(dims));
  }
  // Dim by dim from the right: proved when all dims other than 1 are equal.
  bool proved = true;
  for (std::size_t i = 0; i < rank; ++i) {
    const Expr* wide = nullptr;
    for (const Dims& dims : all) {
      if (i >= dims.size()) continue;
      const Expr* d = dims[dims.size() - 1 - i];
      if (ir::is_const(d, 1)) continue;
      const bool both_known = wide && int_of(wide) && int_of(d);
      proved = proved && (!wide || both_known || same_dim(wide, d));
      wide = d;
    }
  }
  if (proved) return tensors;
  Exprs shapes;
  for (const Dims& dims : all) shapes.push_back(ctx.shape(dims));
  const Expr* shape = packed(builtin::BroadcastShape, shapes, ctx.shape_type_ndim(int(rank)));
  RLDB_TRY(const Dims dims, dims_of_shape(shape, rank));
  Exprs made;
  for (const Expr* t : tensors) {
    RLDB_TRY(const Expr* wide, broadcast_to(t, dims));
    made.push_back(wide);
  }
  return made;
}

Made Emitter::broadcast(std::string_view relax_op, const Exprs& tensors) {
  RLDB_TRY(const Exprs operands, broadcastable(tensors));
  return call(relax_op, operands);
}

}  // namespace rldb::ops
