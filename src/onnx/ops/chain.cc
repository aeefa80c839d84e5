// Makers that do nothing after a failure.
#include "onnx/ops/chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/printer.h"

namespace rldb::onnx::bodies {

const Expr* Chain::fail(std::string why) {
  if (!failure_) failure_ = refuse(std::move(why)).error;
  return nullptr;
}

Made Chain::done(const Expr* made) const {
  if (failure_) return support::Failure(*failure_);
  return made;
}

// ---- operands, types ----

const Expr* Chain::in(std::size_t i) { return good() ? take(c.in(i)) : nullptr; }

DType Chain::dtype(const Expr* x) {
  if (!good() || !x) return DType();
  const auto* t = take(c.tensor_of(x));
  return t ? t->dtype : DType();
}

Dims Chain::dims(const Expr* x) { return good() && x ? take(c.dims_of(x)) : Dims(); }

std::int64_t Chain::size(const Expr* x, std::size_t axis) {
  const Dims all = dims(x);
  const auto n = axis < all.size() ? int_of(all[axis]) : std::nullopt;
  if (!n && good())
    fail(axis < all.size()
             ? fmt::format("the size of axis {} of an operand must be known: it is {}", axis, ir::print_type(x->type))
             : "its operand has too few dims");
  return n.value_or(1);
}

std::size_t Chain::axis(std::int64_t axis, const Expr* x) {
  const std::size_t n = rank(x);
  return good() ? take(c.axis(axis, n)) : 0;
}

// ---- makers ----

const Expr* Chain::op(std::string_view relax_op, const Exprs& values, const std::vector<ir::NamedAttr>& attrs) {
  const bool missing = std::find(values.begin(), values.end(), nullptr) != values.end();
  return good() && !missing ? take(c.emit(relax_op, values, attrs)) : nullptr;
}

const Expr* Chain::each(std::string_view relax_op, const Expr* a, const Expr* b) {
  return good() && a && b ? take(c.each(relax_op, a, b)) : nullptr;
}

const Expr* Chain::lit(const Expr* like, double v) {
  const DType t = dtype(like);
  return good() && like ? c.scalar(t, v) : nullptr;
}

const Expr* Chain::add(const Expr* a, const Expr* b) { return each(op::Add, a, b); }
const Expr* Chain::sub(const Expr* a, const Expr* b) { return each(op::Subtract, a, b); }
const Expr* Chain::mul(const Expr* a, const Expr* b) { return each(op::Multiply, a, b); }
const Expr* Chain::div(const Expr* a, const Expr* b) { return each(op::Divide, a, b); }
const Expr* Chain::max(const Expr* a, const Expr* b) { return each(op::Maximum, a, b); }
const Expr* Chain::min(const Expr* a, const Expr* b) { return each(op::Minimum, a, b); }
const Expr* Chain::exp(const Expr* x) { return unary(op::Exp, x); }
const Expr* Chain::sqrt(const Expr* x) { return unary(op::Sqrt, x); }

const Expr* Chain::where(const Expr* condition, const Expr* a, const Expr* b) {
  return good() && condition && a && b ? take(c.broadcast_emit(op::Where, {condition, a, b})) : nullptr;
}

const Expr* Chain::reduce(std::string_view relax_op, const Expr* x, const Ints& axes, bool keepdims) {
  return good() && x ? take(c.reduced(relax_op, x, axes, keepdims)) : nullptr;
}

const Expr* Chain::cast(const Expr* x, DType t) { return good() && x ? take(c.cast(x, t)) : nullptr; }

const Expr* Chain::reshape(const Expr* x, const Dims& dims) { return good() && x ? take(c.reshape(x, dims)) : nullptr; }

const Expr* Chain::permute(const Expr* x, const Ints& axes) { return good() && x ? take(c.permute(x, axes)) : nullptr; }

const Expr* Chain::expand(const Expr* x, const Ints& axes) { return good() && x ? take(c.expand(x, axes)) : nullptr; }

const Expr* Chain::take_at(const Expr* x, const Expr* indices, std::size_t axis) {
  return good() && x && indices ? take(c.take_axis(x, indices, axis)) : nullptr;
}

const Expr* Chain::slice(const Expr* x, std::size_t axis, std::int64_t begin, std::int64_t end) {
  return good() && x ? take(c.sliced(x, axis, c.i64(begin), c.i64(end))) : nullptr;
}

const Expr* Chain::join(const Exprs& tensors, std::int64_t axis) {
  return good() ? take(c.joined(tensors, axis)) : nullptr;
}

const Expr* Chain::matmul(const Expr* a, const Expr* b) { return op(op::Matmul, {a, b}); }

const Expr* Chain::broadcast_to(const Expr* x, const Dims& dims) {
  return good() && x ? take(c.broadcast_to(x, dims)) : nullptr;
}

const Expr* Chain::full(const Dims& dims, DType t, double v) {
  return op(op::Full, {ctx.shape(dims), c.scalar(t, v)}, {{op_attr::Dtype, ctx.attr(t)}});
}

const Expr* Chain::positions(const Expr* extent, std::size_t axis, std::size_t rank) {
  const Expr* line = op(op::Arange, {c.i64(0), extent, c.i64(1)}, {{op_attr::Dtype, ctx.attr(DType::Int(64))}});
  Dims dims(rank, c.i64(1));
  dims[axis] = extent;
  return reshape(line, dims);
}

const Expr* Chain::from_start(const Expr* indices, const Expr* extent) {
  if (!good() || !indices) return nullptr;
  const auto* constant = ir::as<ir::Constant>(indices);
  if (constant) {
    const runtime::Tensor& t = constant->value->as_tensor();
    bool negative = false;
    for (std::int64_t i = 0; i < t.element_count() && !negative; ++i)
      negative = runtime::load_as_int(t.data() + std::size_t(i) * t.dtype().bytes(), t.dtype()) < 0;
    if (!negative) return indices;
  }
  const Dims one{extent};
  const auto n = int_of(extent);
  const Expr* length =
      n ? lit(indices, double(*n)) : cast(reshape(op(op::ShapeToTensor, {ctx.shape(one)}), {}), dtype(indices));
  return where(each(op::Less, indices, lit(indices, 0)), add(indices, length), indices);
}

namespace {

// The largest number of a format of 8 bits.
double largest(DType t) {
  std::byte bits{0x7e};
  if (t.code == runtime::TypeCode::Float8E5M2) bits = std::byte{0x7b};
  if (t.code == runtime::TypeCode::Float8E4M3FNUZ || t.code == runtime::TypeCode::Float8E5M2FNUZ)
    bits = std::byte{0x7f};
  return runtime::load_as_double(&bits, t);
}

}  // namespace

const Expr* Chain::to_float8(const Expr* x, DType t) {
  // Rounded to the dtype of the data: the largest number of float8 is one of it.
  const Expr* within = clamp(x, lit(x, -largest(t)), lit(x, largest(t)));
  return cast(where(unary(op::Isnan, x), x, within), t);
}

const Expr* Chain::ints(const Ints& values) {
  auto made = runtime::Tensor::empty({std::int64_t(values.size())}, DType::Int(64));
  if (!made.ok()) return fail(made.error().message);
  for (std::size_t i = 0; i < values.size(); ++i)
    runtime::store_int((*made)->data() + 8 * i, DType::Int(64), values[i]);
  return ctx.constant(runtime::Value(*made));
}

const Expr* Chain::constant(const std::vector<double>& values, const Ints& shape, DType t) {
  auto made = runtime::Tensor::empty(shape, t);
  if (!made.ok()) return fail(made.error().message);
  for (std::size_t i = 0; i < values.size(); ++i) runtime::store_double((*made)->data() + i * t.bytes(), t, values[i]);
  return ctx.constant(runtime::Value(*made));
}

}  // namespace rldb::onnx::bodies
