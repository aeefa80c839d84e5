// Legalisation: the operators of op/creation.def.
#include "rldb/ir/op/creation.h"

#include "ops/legal/util.h"
#include "rldb/bytecode/builtin/run.h"
#include "rldb/ir/intrinsic/trigonometry.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op_attr/axis_attr.h"

namespace rldb::ops::legal {

namespace {

constexpr const char* kNotInType = "the type of the tensor does not say it";

Result<const Expr*> filled(Legalizer& l, const ir::Call* c, std::string_view name, std::span<const Expr* const> args,
                           const std::function<const Expr*(Te&, DType)>& value) {
  RLDB_TRY(const TensorType* out, known_result(c));
  return l.call_te(name, args, c->type,
                   [&](Te& te) -> Tensors { return {Topi(te).full(mapped(te, out->shape), value(te, out->dtype))}; });
}

Result<const Expr*> full_with(Legalizer& l, const ir::Call* c) {
  const Expr* fill = c->args[1];
  const Expr* literal = tensor_type(fill) ? scalar_constant(l.context(), fill) : fill;
  if (literal)
    return filled(l, c, "full", {}, [&](Te& te, DType t) { return ir::cast_to(te.ctx, t, te.map(literal)); });
  const Expr* args[] = {fill};
  return filled(l, c, "full", args, [&](Te& te, DType t) {
    return ir::cast_to(te.ctx, t, te.graph.load(te.in[0], std::initializer_list<const Expr*>{}));
  });
}

Result<const Expr*> filled_with(Legalizer& l, const ir::Call* c, std::string_view op, int value) {
  return filled(l, c, op, {}, [&](Te& te, DType t) { return te.ctx.literal(t, value); });
}

Result<const Expr*> eye_with(Legalizer& l, const ir::Call* c, const Expr* k, std::string_view name) {
  RLDB_TRY(const TensorType* out, known_result(c));
  return l.call_te(name, {}, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) -> const Expr* {
          const Expr* on = t.eq(ir::sub(te.ctx, i[1], i[0]), ir::cast_to(te.ctx, DType::Int(64), te.map(k)));
          return te.ctx.select(on, t.lit(out->dtype, 1), t.lit(out->dtype, 0));
        },
        "eye")};
  });
}

}  // namespace

Result<const Expr*> full(Legalizer& l, const ir::Call* c) { return full_with(l, c); }
Result<const Expr*> full_like(Legalizer& l, const ir::Call* c) { return full_with(l, c); }
Result<const Expr*> ones(Legalizer& l, const ir::Call* c) { return filled_with(l, c, short_op::Ones, 1); }
Result<const Expr*> zeros(Legalizer& l, const ir::Call* c) { return filled_with(l, c, short_op::Zeros, 0); }
Result<const Expr*> eye(Legalizer& l, const ir::Call* c) { return eye_with(l, c, c->args[2], "eye"); }
Result<const Expr*> eye_like(Legalizer& l, const ir::Call* c) { return eye_with(l, c, c->args[1], "eye_like"); }

// The number, when it is a literal.
static std::optional<double> literal_number(const Expr* e) {
  if (const auto* f = ir::as<ir::FloatImm>(e)) return f->value;
  if (const auto i = ir::const_int(e)) return double(*i);
  return std::nullopt;
}

// The elements as NumPy fills them: the first two are rounded to the dtype, and the others continue with their
// difference, in float32 for the narrow floats.
static void fill_range(runtime::Tensor& tensor, DType t, double start, double step) {
  const std::int64_t n = tensor.shape()[0];
  const auto at = [&](std::int64_t i) { return tensor.data() + std::size_t(i) * t.bytes(); };
  const bool narrow = t.is_float() && t.bits <= 32;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(n, 2); ++i)
    runtime::store_double(at(i), t, start + double(i) * step);
  if (n < 3) return;
  const double first = runtime::load_as_double(at(0), t);
  const double delta = runtime::load_as_double(at(1), t) - first;
  for (std::int64_t i = 2; i < n; ++i) {
    const double exact = first + double(i) * delta;
    const float rounded = float(first) + float(i) * float(delta);
    runtime::store_double(at(i), t, narrow ? double(rounded) : exact);
  }
}

// start + i * step, as it fits into 64 bits.
static std::int64_t wrapped(std::int64_t start, std::int64_t i, std::int64_t step) {
  return std::int64_t(std::uint64_t(start) + std::uint64_t(i) * std::uint64_t(step));
}

Result<const Expr*> arange(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  ir::Context& ctx = l.context();
  const auto start = literal_number(c->args[0]), end = literal_number(c->args[1]), step = literal_number(c->args[2]);
  const auto count = ir::const_int(out->shape[0]);
  // All literal: the tensor itself.
  if (start && end && step && count) {
    auto tensor = runtime::Tensor::empty({*count}, out->dtype);
    if (!tensor.ok()) return refuse(c, "the tensor is too large");
    const auto from = ir::const_int(c->args[0]), by = ir::const_int(c->args[2]);
    if (from && by && !out->dtype.is_float())
      for (std::int64_t i = 0; i < *count; ++i)
        runtime::store_int((*tensor)->data() + std::size_t(i) * out->dtype.bytes(), out->dtype, wrapped(*from, i, *by));
    else
      fill_range(**tensor, out->dtype, *start, *step);
    return static_cast<const Expr*>(ctx.constant(runtime::Value(*tensor)));
  }
  return l.call_te("arange", {}, c->type, [&](Te& te) -> Tensors {
    const Expr* from = te.map(c->args[0]);
    const Expr* by = te.map(c->args[2]);
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) -> const Expr* {
          DType t = out->dtype;
          // start + step * i, computed in the dtype of the numbers.
          DType in = from->dtype().is_float() || by->dtype().is_float() ? DType::Float(32) : DType::Int(64);
          const Expr* e = ir::add(te.ctx, ir::cast_to(te.ctx, in, from),
                                  ir::mul(te.ctx, ir::cast_to(te.ctx, in, i[0]), ir::cast_to(te.ctx, in, by)));
          return ir::cast_to(te.ctx, t, e);
        },
        "T_arange")};
  });
}

Result<const Expr*> hamming_window(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  return l.call_te("hamming_window", {}, c->type, [&](Te& te) -> Tensors {
    ir::Context& ctx = te.ctx;
    DType t = out->dtype;
    const Expr* n = te.map(c->args[0]);
    bool periodic = ir::const_int(c->args[1]).value_or(1) != 0;
    const Expr* alpha = ir::cast_to(ctx, t, te.map(c->args[2]));
    const Expr* beta = ir::cast_to(ctx, t, te.map(c->args[3]));
    const Expr* steps = periodic ? n : ir::sub(ctx, n, ctx.i64(1));
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) -> const Expr* {
          const Expr* turn = ctx.literal(t, 6.283185307179586);
          const Expr* angle = ir::div(ctx, ir::mul(ctx, turn, ir::cast_to(ctx, t, i[0])), ir::cast_to(ctx, t, steps));
          const Expr* value = ir::sub(ctx, alpha, ir::mul(ctx, beta, ctx.intrin(t, ir::intrin::Cos, {angle})));
          // A window of one element is 1; the formula divides by zero there, or gives its edge.
          const auto known = ir::const_int(n);
          if (known) return *known == 1 ? ctx.literal(t, 1) : value;
          return ctx.select(ir::compare(ctx, ir::BinaryKind::EQ, n, ctx.int_imm(n->dtype(), 1)), ctx.literal(t, 1),
                            value);
        },
        "T_hamming_window")};
  });
}

static Result<const Expr*> triangle(Legalizer& l, const ir::Call* c, bool upper) {
  return l.call_te(op_name(c), c->args.first(1), c->type, [&](Te& te) -> Tensors {
    return {Topi(te).trilu(te.in[0], ir::cast_to(te.ctx, DType::Int(64), te.map(c->args[1])), upper)};
  });
}

Result<const Expr*> tril(Legalizer& l, const ir::Call* c) { return triangle(l, c, false); }
Result<const Expr*> triu(Legalizer& l, const ir::Call* c) { return triangle(l, c, true); }

Result<const Expr*> one_hot(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  int axis = axis_of(attr_int(spec(c), op_attr::Axis), out->ndim);
  return l.call_te("one_hot", c->args.first(1), c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) -> const Expr* {
          ExprList idx = topi::vars(i);
          const Expr* place = idx[std::size_t(axis)];
          idx.erase(idx.begin() + axis);
          const Expr* which = te.graph.load(te.in[0], std::span<const Expr* const>(idx));
          return te.ctx.select(t.eq(ir::cast_to(te.ctx, place->dtype(), which), place), te.map(c->args[1]),
                               te.map(c->args[2]));
        },
        "T_one_hot")};
  });
}

Result<const Expr*> shape_to_tensor(Legalizer& l, const ir::Call* c) {
  ir::Context& ctx = l.context();
  // The dims of a shape variable are not expressions that a function could take: a builtin computes this.
  auto by_builtin = [&]() -> Result<const Expr*> {
    const Type* types[] = {c->type};
    const Expr* args[] = {ctx.extern_func(builtin::RunShapeToTensor), c->args[0]};
    RLDB_TRY(const ir::Call* call, ctx.call({ctx.op(op::CallPurePacked), args, {}, types}));
    return static_cast<const Expr*>(call);
  };
  auto dims = shape_arg_dims(c->args[0]);
  if (!dims) return by_builtin();
  const std::int64_t n = std::int64_t(dims->size());
  if (n == 0) return by_builtin();
  return l.call_te("shape_to_tensor", {}, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    const ExprList values = mapped(te, *dims);
    const Expr* shape[] = {t.i64(n)};
    return {te.graph.compute(
        shape,
        [&](Indices i) -> const Expr* {
          const Expr* out = t.i64(0);
          for (std::int64_t k = n; k-- > 0;) out = t.if_else(t.eq(i[0], t.i64(k)), values[std::size_t(k)], out);
          return out;
        },
        "shape_to_tensor")};
  });
}

Result<const Expr*> size(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  return l.call_te("size", {}, c->type,
                   [&](Te& te) -> Tensors { return {Topi(te).full({}, ir::product(te.ctx, mapped(te, x->shape)))}; });
}

// ---- inspect ----
// Facts known from the type are folded; others are computed at run time: code generation calls a builtin.

static Result<const Expr*> field(const ir::Call* c, Legalizer& l,
                                 std::optional<std::int64_t> (*of)(const TensorType& x)) {
  const TensorType* x = tensor_type(c->args[0]);
  if (!x) return refuse(c, "its argument is not a tensor");
  if (const auto value = of(*x)) return static_cast<const Expr*>(l.context().int_imm(c->dtype(), *value));
  return refuse(c, kNotInType);
}

using Field = std::optional<std::int64_t>;

Result<const Expr*> inspect_ndim(Legalizer& l, const ir::Call* c) {
  return field(c, l, [](const TensorType& x) { return x.ndim == ir::kUnknownNdim ? Field() : Field(x.ndim); });
}
Result<const Expr*> inspect_dtype_code(Legalizer& l, const ir::Call* c) {
  return field(c, l, [](const TensorType& x) { return x.dtype.is_void() ? Field() : Field(int(x.dtype.code)); });
}
Result<const Expr*> inspect_dtype_bits(Legalizer& l, const ir::Call* c) {
  return field(c, l, [](const TensorType& x) { return x.dtype.is_void() ? Field() : Field(x.dtype.bits); });
}
Result<const Expr*> inspect_dtype_lanes(Legalizer& l, const ir::Call* c) {
  return field(c, l, [](const TensorType& x) { return x.dtype.is_void() ? Field() : Field(x.dtype.lanes); });
}
// Tensors of a Relax program are compact; the offset of one in its memory is known at run time only.
Result<const Expr*> inspect_offset(Legalizer& l, const ir::Call* c) {
  return field(c, l, [](const TensorType&) { return Field(); });
}

// An axis of a known shape, given as a literal.
static Result<std::size_t> known_axis(const ir::Call* c) {
  const TensorType* x = tensor_type(c->args[0]);
  if (!x) return refuse(c, "its argument is not a tensor");
  const auto axis = ir::const_int(c->args[1]);
  if (!x->has_shape || !axis || *axis < 0 || *axis >= x->ndim) return refuse(c, kNotInType);
  return std::size_t(*axis);
}

Result<const Expr*> inspect_shape(Legalizer&, const ir::Call* c) {
  RLDB_TRY(const std::size_t axis, known_axis(c));
  return tensor_type(c->args[0])->shape[axis];
}
Result<const Expr*> inspect_stride(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const std::size_t axis, known_axis(c));
  return simplify(l.context(), ir::product(l.context(), tensor_type(c->args[0])->shape.subspan(axis + 1)));
}

}  // namespace rldb::ops::legal
