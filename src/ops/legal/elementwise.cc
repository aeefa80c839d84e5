// Legalisation: elementwise operators, casts, where, creation.
#include "ops/legal/util.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/ir/op_name.h"

namespace rldb::ops::legal {

using ir::BinaryKind;

namespace {

// The result as the call is typed: a truth value of numbers is a number, and a scalar beside a 0-d tensor counts as one
// dim of 1.
Tensor as_typed(Topi& t, const ir::Call* c, Tensor r) {
  const TensorType* out = tensor_type(c);
  if (!out || out->dtype.is_void()) return r;
  if (r->dtype != out->dtype) r = t.map(r, [&](const Expr* e) { return ir::cast_to(t.ctx, out->dtype, e); });
  if (out->has_shape && out->ndim == 1 && r->ndim() == 0) r = t.expand_dims(r, {0});
  return r;
}

// The prefix keeps the kernel's name apart from the C library's function (TVM: legalize_ops/unary.py).
std::string unary_kernel(std::string_view op) {
  return op == short_op::Erf ? std::string(op) : fmt::format("tir_{}", op);
}

}  // namespace

Result<const Expr*> unary(Legalizer& l, const ir::Call* c) {
  std::string_view op = op_name(c);
  return l.call_te(unary_kernel(op), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {as_typed(t, c, t.unary(op, te.in[0]))};
  });
}

Result<const Expr*> clip(Legalizer& l, const ir::Call* c) {
  return l.call_te(unary_kernel(op_name(c)), c->args.first(1), c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor x = te.in[0];
    const Expr* low = ir::cast_to(te.ctx, x->dtype, te.map(c->args[1]));
    const Expr* high = ir::cast_to(te.ctx, x->dtype, te.map(c->args[2]));
    return {t.map(x, [&](const Expr* e) -> const Expr* {
      return te.ctx.binary(BinaryKind::Max, te.ctx.binary(BinaryKind::Min, e, high), low);
    })};
  });
}

Result<const Expr*> astype(Legalizer& l, const ir::Call* c) {
  DType to = attr_dtype(spec(c), "dtype");
  return l.call_te("cast", c->args, c->type,
                   [&](Te& te) -> Tensors { return {Topi(te).cast(te.in[0], to, "compute")}; });
}

namespace {

// Operands: constants become literals, scalars their own expression, the others placeholders.
struct Operands {
  std::vector<const Expr*> tensors;
  std::vector<const Expr*> scalars;  // null: a tensor
};
Operands sort_operands(Legalizer& l, std::span<const Expr* const> args) {
  Operands out;
  for (const Expr* a : args) {
    const Expr* s = tensor_type(a) ? scalar_constant(l.context(), a) : a;
    out.scalars.push_back(s);
    if (!s) out.tensors.push_back(a);
  }
  // Something must give the shape.
  if (out.tensors.empty())
    for (std::size_t i = 0; i < args.size(); ++i)
      if (tensor_type(args[i])) {
        out.tensors.push_back(args[i]);
        out.scalars[i] = nullptr;
        break;
      }
  return out;
}

}  // namespace

Result<const Expr*> binary(Legalizer& l, const ir::Call* c) {
  std::string_view op = op_name(c);
  if (!tensor_type(c)) return refuse(c, "it works on scalars: write the Python operator");
  Operands o = sort_operands(l, c->args);
  return l.call_te(op, o.tensors, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    std::size_t next = 0;
    auto side = [&](std::size_t i) -> Topi::Operand {
      if (!o.scalars[i]) return te.in[next++];
      return te.map(o.scalars[i]);
    };
    Topi::Operand a = side(0);
    Topi::Operand b = side(1);
    return {as_typed(t, c, t.binary(op, a, b))};
  });
}

Result<const Expr*> ewise_fma(Legalizer& l, const ir::Call* c) {
  return l.call_te("ewise_fma", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {t.binary("add", t.binary("multiply", te.in[0], te.in[1]), te.in[2])};
  });
}

Result<const Expr*> where(Legalizer& l, const ir::Call* c) {
  Operands o = sort_operands(l, c->args);
  RLDB_TRY(const TensorType* out, known_result(c));
  return l.call_te("where", o.tensors, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    ExprList shape = mapped(te, out->shape);
    return {te.graph.compute(
        shape,
        [&](Indices i) -> const Expr* {
          ExprList idx = topi::vars(i);
          std::size_t next = 0;
          const Expr* v[3];
          for (std::size_t k = 0; k < 3; ++k)
            v[k] = o.scalars[k] ? te.map(o.scalars[k]) : t.at(te.in[next++], idx, shape);
          return te.ctx.select(t.lt(t.i64(0), te.ctx.cast(DType::Int(64), v[0])), v[1], v[2]);
        },
        "T_where")};
  });
}

// ---- creation ----

namespace {

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

Result<const Expr*> ones_or_zeros(Legalizer& l, const ir::Call* c) {
  bool one = op_name(c).starts_with("ones");
  return filled(l, c, one ? "ones" : "zeros", {}, [&](Te& te, DType t) { return te.ctx.literal(t, one ? 1 : 0); });
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
Result<const Expr*> ones_zeros(Legalizer& l, const ir::Call* c) { return ones_or_zeros(l, c); }
Result<const Expr*> ones_zeros_like(Legalizer& l, const ir::Call* c) { return ones_or_zeros(l, c); }
Result<const Expr*> eye(Legalizer& l, const ir::Call* c) { return eye_with(l, c, c->args[2], "eye"); }
Result<const Expr*> eye_like(Legalizer& l, const ir::Call* c) { return eye_with(l, c, c->args[1], "eye_like"); }

// start + i * step, as 64 bits hold it.
static std::int64_t wrapped(std::int64_t start, std::int64_t i, std::int64_t step) {
  return std::int64_t(std::uint64_t(start) + std::uint64_t(i) * std::uint64_t(step));
}

Result<const Expr*> arange(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  ir::Context& ctx = l.context();
  auto start = ir::const_int(c->args[0]);
  auto step = ir::const_int(c->args[2]);
  auto count = ir::const_int(out->shape[0]);
  // All literal: the tensor itself.
  if (start && step && count && ir::const_int(c->args[1])) {
    auto tensor = runtime::Tensor::empty({*count}, out->dtype);
    if (!tensor.ok()) return refuse(c, "the tensor is too large");
    for (std::int64_t i = 0; i < *count; ++i) {
      void* at = (*tensor)->data() + std::size_t(i) * out->dtype.bytes();
      if (out->dtype.is_float())
        runtime::store_double(at, out->dtype, double(*start) + double(i) * double(*step));
      else
        runtime::store_int(at, out->dtype, wrapped(*start, i, *step));
    }
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
          return ir::sub(ctx, alpha, ir::mul(ctx, beta, ctx.intrin(t, ir::Intrinsic::Cos, {angle})));
        },
        "T_hamming_window")};
  });
}

Result<const Expr*> tril(Legalizer& l, const ir::Call* c) {
  bool upper = op_name(c) == "triu";
  return l.call_te(op_name(c), c->args.first(1), c->type, [&](Te& te) -> Tensors {
    return {Topi(te).trilu(te.in[0], ir::cast_to(te.ctx, DType::Int(64), te.map(c->args[1])), upper)};
  });
}

Result<const Expr*> one_hot(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  int axis = axis_of(attr_int(spec(c), "axis"), out->ndim);
  return l.call_te("one_hot", c->args.first(1), c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) -> const Expr* {
          ExprList idx = topi::vars(i);
          const Expr* place = idx[std::size_t(axis)];
          idx.erase(idx.begin() + axis);
          const Expr* which = te.graph.load(te.in[0], std::span<const Expr* const>(idx));
          return te.ctx.select(t.eq(which, ir::cast_to(te.ctx, which->dtype(), place)), te.map(c->args[1]),
                               te.map(c->args[2]));
        },
        "T_one_hot")};
  });
}

Result<const Expr*> shape_to_tensor(Legalizer& l, const ir::Call* c) {
  ir::Context& ctx = l.context();
  // The dims of a shape variable are not expressions that a function could take: a builtin reads them.
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

// What the type knows is folded; what it does not is asked at run time: code generation calls a builtin.
Result<const Expr*> inspect(Legalizer& l, const ir::Call* c) {
  ir::Context& ctx = l.context();
  const TensorType* x = tensor_type(c->args[0]);
  if (!x) return refuse(c, "its argument is not a tensor");
  std::string_view what = op_name(c).substr(15);  // after "inspect.tensor_"
  DType out = c->dtype();
  auto number = [&](std::int64_t v) { return static_cast<const Expr*>(ctx.int_imm(out, v)); };
  if (what == "ndim" && x->ndim != ir::kUnknownNdim) return number(x->ndim);
  if (!x->dtype.is_void()) {
    if (what == "dtype_code") return number(int(x->dtype.code));
    if (what == "dtype_bits") return number(x->dtype.bits);
    if (what == "dtype_lanes") return number(x->dtype.lanes);
  }
  // Tensors of a Relax program are compact; where one starts in its memory is known at run time only.
  if (c->args.size() > 1 && x->has_shape) {
    auto axis = ir::const_int(c->args[1]);
    if (axis && *axis >= 0 && *axis < x->ndim) {
      if (what == "shape_i") return x->shape[std::size_t(*axis)];
      return simplify(ctx, ir::product(ctx, x->shape.subspan(std::size_t(*axis) + 1)));
    }
  }
  return refuse(c, "the type of the tensor does not say it");
}

}  // namespace rldb::ops::legal
