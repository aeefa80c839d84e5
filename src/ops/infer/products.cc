// Type inference: matrix products, Einstein summation.
#include <algorithm>

#include "ops/infer/subscripts.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/printer.h"
#include "rldb/support/text.h"

namespace rldb::ops::infer {

Result<const Type*> matmul(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* a, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* b, tensor_arg(info, call, 1));
  DType out = attr_dtype(call, op_attr::OutDtype);
  if (out.is_void()) {
    RLDB_TRY(out, common_dtype(info, {a, b}));
  }
  const TensorType* like = on_common_device({a, b});
  for (int i = 0; i < 2; ++i)
    if ((i == 0 ? a : b)->ndim == 0)
      return type_error(info,
                        "requires both inputs to have at least 1 dimension, but " + std::string(i == 0 ? "x1" : "x2") +
                            " is a 0-rank tensor",
                        i);
  if (a->ndim == ir::kUnknownNdim || b->ndim == ir::kUnknownNdim)
    return typed(make_ndim(ctx, ir::kUnknownNdim, out, like));
  int cut = (a->ndim == 1 ? 1 : 0) + (b->ndim == 1 ? 1 : 0);
  int out_ndim = std::max({a->ndim, b->ndim, 2}) - cut;
  if (!a->has_shape || !b->has_shape) return typed(make_ndim(ctx, out_ndim, out, like));
  const Expr* ka = a->shape.back();
  const Expr* kb = b->ndim == 1 ? b->shape[0] : b->shape[b->shape.size() - 2];
  if (different_dim(ctx, ka, kb))
    return type_error(info,
                      "requires the reduction length of x1 and x2 to be equal, but the reduction lengths of x1 "
                      "and x2 are " +
                          ir::print_expr(ka) + " and " + ir::print_expr(kb) + " respectively");
  Dims batch_a(a->shape.begin(), a->shape.end() - std::min(a->ndim, 2));
  Dims batch_b(b->shape.begin(), b->shape.end() - std::min(b->ndim, 2));
  RLDB_TRY(auto batch, broadcast_dims(ctx, info, batch_a, batch_b));
  if (!batch) return typed(make_ndim(ctx, out_ndim, out, like));
  if (a->ndim > 1) batch->push_back(a->shape[a->shape.size() - 2]);
  if (b->ndim > 1) batch->push_back(b->shape.back());
  return typed(make_tensor(ctx, *batch, out, like));
}

Result<const Type*> outer(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* a, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* b, tensor_arg(info, call, 1));
  for (int i = 0; i < 2; ++i) {
    const TensorType* t = i == 0 ? a : b;
    if (t->ndim != ir::kUnknownNdim && t->ndim != 1)
      return type_error(info, "expects both inputs to be 1-dimensional, but got ndim " + std::to_string(t->ndim), i);
  }
  RLDB_TRY(DType dtype, common_dtype(info, {a, b}));
  const TensorType* like = on_common_device({a, b});
  if (!a->has_shape || !b->has_shape) return typed(make_ndim(ctx, 2, dtype, like));
  return typed(make_tensor(ctx, {a->shape[0], b->shape[0]}, dtype, like));
}

namespace {

Result<std::string> read_term(const OpInfo& info, std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) {
      out += c;
    } else if (text.substr(i, 3) == "..." && out.find('.') == out.npos) {
      out += '.';
      i += 2;
    } else {
      return attr_error(info, op_attr::Subscripts,
                        "the subscripts \"" + std::string(text) + "\" are not letters with at most one ellipsis");
    }
  }
  return out;
}

}  // namespace

Result<Subscripts> read_subscripts(const OpInfo& info, std::string_view written) {
  std::string text;
  for (char c : written)
    if (c != ' ') text += c;
  Subscripts out;
  const auto arrow = text.find("->");
  std::string_view inputs = std::string_view(text).substr(0, arrow);
  for (std::size_t start = 0; start <= inputs.size();) {
    const std::size_t comma = std::min(inputs.find(',', start), inputs.size());
    RLDB_TRY(std::string term, read_term(info, inputs.substr(start, comma - start)));
    out.terms.push_back(std::move(term));
    start = comma + 1;
  }
  if (arrow != text.npos) {
    RLDB_TRY(out.result, read_term(info, std::string_view(text).substr(arrow + 2)));
    for (std::size_t i = 0; i < out.result.size(); ++i)
      if (out.result.find(out.result[i], i + 1) != out.result.npos)
        return attr_error(info, op_attr::Subscripts,
                          std::string("subscript ") + out.result[i] + " is twice in the result");
    return out;
  }
  // Without a result: the broadcast dims, then the letters that occur once, in order.
  std::string letters;
  for (const std::string& t : out.terms) letters += t;
  if (letters.find('.') != letters.npos) out.result = ".";
  for (char c = 'A'; c <= 'z'; ++c)
    if (std::count(letters.begin(), letters.end(), c) == 1) out.result += c;
  return out;
}

Result<const Type*> einsum(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto operands, tensors_arg(info, call, 0));
  if (operands.empty()) return type_error(info, "expects at least one tensor in the input Tuple, which is empty", 0);
  auto common = common_dtype(info, operands);
  if (!common.ok()) common.error().argument = 0;  // the operands are one argument
  RLDB_TRY(DType dtype, std::move(common));
  const TensorType* like = on_common_device(operands);
  RLDB_TRY(const Subscripts s, read_subscripts(info, attr_string(call, op_attr::Subscripts)));
  if (s.terms.size() != operands.size())
    return attr_error(info, op_attr::Subscripts,
                      "the subscripts name " + support::counted(s.terms.size(), "operand") + ", " +
                          std::to_string(operands.size()) + " given");
  std::vector<std::pair<char, const Expr*>> known;
  auto lookup = [&](char c) -> const Expr** {
    for (auto& [k, d] : known)
      if (k == c) return &d;
    return nullptr;
  };
  std::optional<Dims> broadcast = Dims{};
  int broadcast_ndim = 0;
  bool all_known = true;
  for (std::size_t t = 0; t < s.terms.size(); ++t) {
    const TensorType* x = operands[t];
    const std::size_t dots = s.terms[t].find('.');
    const int letters = int(s.terms[t].size()) - (dots == std::string::npos ? 0 : 1);
    if (x->ndim != ir::kUnknownNdim && (dots == std::string::npos ? x->ndim != letters : x->ndim < letters))
      return type_error(info,
                        "operand " + std::to_string(t) + " has " + std::to_string(x->ndim) +
                            " dims, its subscripts are \"" + s.terms[t] + "\"",
                        0);
    if (dots != std::string::npos && x->ndim == ir::kUnknownNdim) broadcast_ndim = ir::kUnknownNdim;
    if (dots != std::string::npos && broadcast_ndim != ir::kUnknownNdim)
      broadcast_ndim = std::max(broadcast_ndim, x->ndim - letters);
    if (!x->has_shape) {
      all_known = false;
      continue;
    }
    std::size_t dim = 0;
    for (std::size_t i = 0; i < s.terms[t].size(); ++i) {
      if (i == dots) {
        Dims middle(x->shape.begin() + std::ptrdiff_t(dim), x->shape.begin() + std::ptrdiff_t(dim) + x->ndim - letters);
        dim += middle.size();
        if (broadcast) {
          RLDB_TRY(broadcast, broadcast_dims(ctx, info, *broadcast, middle));
        }
        continue;
      }
      const char c = s.terms[t][i];
      const Expr* d = x->shape[dim++];
      const Expr** seen = lookup(c);
      if (!seen)
        known.emplace_back(c, d);
      else if (is_one(*seen))
        *seen = d;
      else if (!is_one(d) && different_dim(ctx, *seen, d))
        return type_error(
            info, std::string("subscript ") + c + " stands for " + ir::print_expr(*seen) + " and " + ir::print_expr(d),
            0);
    }
  }
  for (char c : s.result) {
    const bool named =
        std::any_of(s.terms.begin(), s.terms.end(), [&](const std::string& term) { return term.find(c) != term.npos; });
    if (!named && c != '.')
      return attr_error(info, op_attr::Subscripts, std::string("subscript ") + c + " of the result is in no operand");
  }
  const bool dots = s.result.find('.') != s.result.npos;
  const int ndim = dots && broadcast_ndim == ir::kUnknownNdim
                       ? ir::kUnknownNdim
                       : int(s.result.size()) - (dots ? 1 : 0) + (dots ? broadcast_ndim : 0);
  if (!all_known || !broadcast) return typed(make_ndim(ctx, ndim, dtype, like));
  Dims dims;
  for (char c : s.result) {
    if (c == '.')
      dims.insert(dims.end(), broadcast->begin(), broadcast->end());
    else
      dims.push_back(*lookup(c));
  }
  return typed(make_tensor(ctx, dims, dtype, like));
}

}  // namespace rldb::ops::infer
