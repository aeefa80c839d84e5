// Type inference: gathers, slices, products.
#include "ops/infer_util.h"
#include "rldb/ir/printer.h"

namespace rldb::ops::infer {

namespace {
const Type* typed(const TensorType* t) { return t; }

Result<support::Unit> integer_indices(const OpInfo& info, DType t, int argument) {
  if (t.is_void() || t.is_int() || t.is_uint()) return support::Unit{};
  return type_error(info, "the indices must have an integer dtype, they have " + to_string(t), argument);
}
}  // namespace

Result<const Type*> take(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* indices, tensor_or_prim_arg(info, call, 1));
  RLDB_TRY_VOID(integer_indices(info, indices ? indices->dtype : call.args[1]->dtype(), 1));
  int index_ndim = indices ? indices->ndim : 0;
  if (x->ndim == ir::kUnknownNdim || index_ndim == ir::kUnknownNdim)
    return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  if (attr_is_none(call, "axis") && x->ndim != 1)
    return type_error(info,
                      "without an axis the data must be 1-dimensional, it has " + std::to_string(x->ndim) + " dims", 0);
  RLDB_TRY(int axis, normalize_axis(info, attr_is_none(call, "axis") ? 0 : attr_int(call, "axis"), x->ndim));
  bool index_known = !indices || indices->has_shape || index_ndim == 0;
  bool x_known = x->has_shape || x->ndim == 1;
  if (!index_known || !x_known) return typed(make_ndim(ctx, x->ndim + index_ndim - 1, x->dtype, x));
  Dims dims;
  for (int i = 0; i < x->ndim; ++i) {
    if (i != axis)
      dims.push_back(x->shape[std::size_t(i)]);
    else if (indices && indices->has_shape)
      dims.insert(dims.end(), indices->shape.begin(), indices->shape.end());
  }
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> strided_slice(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::optional<Dims> lists[4];
  for (std::size_t i = 1; i < call.args.size(); ++i) lists[i - 1] = prims_arg(call.args[i]);
  if (x->ndim == ir::kUnknownNdim || !lists[0] || !lists[1] || !lists[2])
    return typed(make_ndim(ctx, x->ndim, x->dtype, x));
  bool has_strides = call.args.size() > 4;
  std::size_t n = lists[0]->size();
  if (lists[1]->size() != n || lists[2]->size() != n || (has_strides && lists[3] && lists[3]->size() != n))
    return type_error(info, "axes, begin, end and strides must have the same length: axes has " + std::to_string(n) +
                                ", begin " + std::to_string(lists[1]->size()) + ", end " +
                                std::to_string(lists[2]->size()));
  std::vector<std::int64_t> axes;
  for (const Expr* a : *lists[0]) {
    auto c = ir::const_int(a);
    if (!c) return type_error(info, "the axes must be literals", 1);
    axes.push_back(*c);
  }
  RLDB_TRY(auto where, normalize_axes(info, axes, x->ndim));
  if (n == 0) return typed(x);
  if (!x->has_shape || (has_strides && !lists[3])) return typed(make_ndim(ctx, x->ndim, x->dtype, x));
  Dims dims = dims_of(x);
  bool inbound = attr_bool(call, "assume_inbound");
  for (std::size_t i = 0; i < n; ++i) {
    const Expr* stride = has_strides ? (*lists[3])[i] : ctx.i64(1);
    const Expr*& d = dims[std::size_t(where[i])];
    if (ir::is_const(stride, 0)) return type_error(info, "a stride must not be 0", 4);
    const Expr* length = slice_length(ctx, (*lists[1])[i], (*lists[2])[i], stride, d, inbound);
    if (!length) return typed(make_ndim(ctx, x->ndim, x->dtype, x));
    d = length;
  }
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> dynamic_strided_slice(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  for (std::size_t i = 1; i < 4; ++i) {
    RLDB_TRY(const TensorType* b, tensor_arg(info, call, i));
    if (b->ndim != ir::kUnknownNdim && b->ndim != 1)
      return type_error(
          info, std::string(info.args[i].name) + " must be 1-dimensional, it has " + std::to_string(b->ndim) + " dims",
          int(i));
    if (!b->dtype.is_void() && b->dtype != DType::Int(64))
      return type_error(info, std::string(info.args[i].name) + " must have dtype int64, it has " + to_string(b->dtype),
                        int(i));
    if (b->has_shape && x->ndim != ir::kUnknownNdim)
      if (auto n = ir::const_int(b->shape[0]); n && *n != x->ndim)
        return type_error(info,
                          std::string(info.args[i].name) + " has " + std::to_string(*n) + " values, the data has " +
                              std::to_string(x->ndim) + " dims",
                          int(i));
  }
  return typed(make_ndim(ctx, x->ndim, x->dtype, x));
}

Result<const Type*> gather_elements(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* indices, tensor_arg(info, call, 1));
  RLDB_TRY_VOID(integer_indices(info, indices->dtype, 1));
  RLDB_TRY_VOID(normalize_axis(info, attr_int(call, "axis"), x->ndim));
  if (x->ndim != ir::kUnknownNdim && indices->ndim != ir::kUnknownNdim && x->ndim != indices->ndim)
    return type_error(info,
                      "the indices must have as many dims as the data (" + std::to_string(x->ndim) + "), they have " +
                          std::to_string(indices->ndim),
                      1);
  if (indices->has_shape) return typed(make_tensor(ctx, dims_of(indices), x->dtype, x));
  return typed(make_ndim(ctx, indices->ndim, x->dtype, x));
}

Result<const Type*> gather_nd(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* indices, tensor_arg(info, call, 1));
  RLDB_TRY_VOID(integer_indices(info, indices->dtype, 1));
  std::int64_t batch = attr_int(call, "batch_dims");
  if (!x->has_shape || !indices->has_shape || indices->ndim == 0)
    return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  auto depth = ir::const_int(indices->shape.back());
  if (!depth) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  if (batch < 0 || batch + *depth > x->ndim)
    return type_error(info,
                      "the last dim of the indices (" + std::to_string(*depth) +
                          ") and batch_dims are more than the dims of the data",
                      1);
  Dims dims(indices->shape.begin(), indices->shape.end() - 1);
  dims.insert(dims.end(), x->shape.begin() + std::ptrdiff_t(batch + *depth), x->shape.end());
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> index_tensor(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(auto indices, tensors_arg(info, call, 1));
  if (indices.empty()) return type_error(info, "there must be at least one index tensor", 1);
  std::optional<Dims> shape = Dims{};
  int ndim = 0;
  for (const TensorType* t : indices) {
    RLDB_TRY_VOID(integer_indices(info, t->dtype.is_bool() ? DType::Int(64) : t->dtype, 1));
    ndim = ndim == ir::kUnknownNdim || t->ndim == ir::kUnknownNdim ? ir::kUnknownNdim : std::max(ndim, t->ndim);
    if (!t->has_shape) shape.reset();
    if (!shape) continue;
    RLDB_TRY(shape, broadcast_dims(ctx, info, *shape, dims_of(t)));
  }
  if (x->ndim != ir::kUnknownNdim && int(indices.size()) > x->ndim)
    return type_error(
        info, "there are " + std::to_string(indices.size()) + " index tensors for " + std::to_string(x->ndim) + " dims",
        1);
  int out_ndim =
      ndim == ir::kUnknownNdim || x->ndim == ir::kUnknownNdim ? ir::kUnknownNdim : ndim + x->ndim - int(indices.size());
  if (!shape || !x->has_shape) return typed(make_ndim(ctx, out_ndim, x->dtype, x));
  shape->insert(shape->end(), x->shape.begin() + std::ptrdiff_t(indices.size()), x->shape.end());
  return typed(make_tensor(ctx, *shape, x->dtype, x));
}

Result<const Type*> matmul(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* a, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* b, tensor_arg(info, call, 1));
  DType out = attr_dtype(call, "out_dtype");
  if (out.is_void()) {
    if (!a->dtype.is_void() && !b->dtype.is_void() && a->dtype != b->dtype)
      return type_error(info, "the operands must have the same dtype, they have " + to_string(a->dtype) + " and " +
                                  to_string(b->dtype));
    out = a->dtype.is_void() || b->dtype.is_void() ? DType::Void() : a->dtype;
  }
  if (a->ndim == 0 || b->ndim == 0)
    return type_error(info, "the operands must have at least one dim", a->ndim == 0 ? 0 : 1);
  if (a->ndim == ir::kUnknownNdim || b->ndim == ir::kUnknownNdim)
    return typed(make_ndim(ctx, ir::kUnknownNdim, out, a));
  int cut = (a->ndim == 1 ? 1 : 0) + (b->ndim == 1 ? 1 : 0);
  int out_ndim = std::max({a->ndim, b->ndim, 2}) - cut;
  if (!a->has_shape || !b->has_shape) return typed(make_ndim(ctx, out_ndim, out, a));
  const Expr* ka = a->shape.back();
  const Expr* kb = b->ndim == 1 ? b->shape[0] : b->shape[b->shape.size() - 2];
  if (different_dim(ctx, ka, kb))
    return type_error(info, "the last dim of x1 is " + ir::print_expr(ka) + " and the first matrix dim of x2 is " +
                                ir::print_expr(kb) + ": they must be equal");
  Dims batch_a(a->shape.begin(), a->shape.end() - std::min(a->ndim, 2));
  Dims batch_b(b->shape.begin(), b->shape.end() - std::min(b->ndim, 2));
  RLDB_TRY(auto batch, broadcast_dims(ctx, info, batch_a, batch_b));
  if (!batch) return typed(make_ndim(ctx, out_ndim, out, a));
  if (a->ndim > 1) batch->push_back(a->shape[a->shape.size() - 2]);
  if (b->ndim > 1) batch->push_back(b->shape.back());
  return typed(make_tensor(ctx, *batch, out, a->vdevice ? a : b));
}

Result<const Type*> outer(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* a, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* b, tensor_arg(info, call, 1));
  for (const TensorType* t : {a, b})
    if (t->ndim != ir::kUnknownNdim && t->ndim != 1) return type_error(info, "the operands must be 1-dimensional");
  if (!a->has_shape || !b->has_shape) return typed(make_ndim(ctx, 2, a->dtype, a));
  return typed(make_tensor(ctx, {a->shape[0], b->shape[0]}, a->dtype, a));
}

Result<const Type*> einsum(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto operands, tensors_arg(info, call, 0));
  if (operands.empty()) return type_error(info, "there must be at least one operand", 0);
  std::string text;
  for (char c : attr_string(call, "subscripts"))
    if (c != ' ') text += c;
  auto arrow = text.find("->");
  std::string inputs = text.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (char c : inputs) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  if (terms.size() != operands.size())
    return type_error(info, "the subscripts name " + std::to_string(terms.size()) + " operands, " +
                                std::to_string(operands.size()) + " are given");
  if (text.find('.') != text.npos) return type_error(info, "an ellipsis in the subscripts is not supported");
  std::vector<std::pair<char, const Expr*>> known;
  auto lookup = [&](char c) -> const Expr** {
    for (auto& [k, d] : known)
      if (k == c) return &d;
    return nullptr;
  };
  bool all_known = true;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const TensorType* x = operands[t];
    if (x->ndim != ir::kUnknownNdim && x->ndim != int(terms[t].size()))
      return type_error(info, "operand " + std::to_string(t) + " has " + std::to_string(x->ndim) +
                                  " dims, its subscripts are \"" + terms[t] + "\"");
    if (!x->has_shape) {
      all_known = false;
      continue;
    }
    for (std::size_t i = 0; i < terms[t].size(); ++i) {
      const Expr** seen = lookup(terms[t][i]);
      if (!seen)
        known.emplace_back(terms[t][i], x->shape[i]);
      else if (is_one(*seen))
        *seen = x->shape[i];
      else if (!is_one(x->shape[i]) && different_dim(ctx, *seen, x->shape[i]))
        return type_error(info, std::string("subscript ") + terms[t][i] + " stands for " + ir::print_expr(*seen) +
                                    " and " + ir::print_expr(x->shape[i]));
    }
  }
  std::string result;
  if (arrow != text.npos) {
    result = text.substr(arrow + 2);
  } else {
    std::string letters;
    for (char c : inputs)
      if (c != ',') letters += c;
    for (char c = 'A'; c <= 'z'; ++c)
      if (std::count(letters.begin(), letters.end(), c) == 1) result += c;
  }
  DType dtype = operands[0]->dtype;
  if (!all_known) return typed(make_ndim(ctx, int(result.size()), dtype, operands[0]));
  Dims dims;
  for (char c : result) {
    const Expr** d = lookup(c);
    if (!d) return type_error(info, std::string("subscript ") + c + " of the result is in no operand");
    dims.push_back(*d);
  }
  return typed(make_tensor(ctx, dims, dtype, operands[0]));
}

}  // namespace rldb::ops::infer
