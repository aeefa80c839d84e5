// Legalisation: reductions, products.
#include "ops/infer/subscripts.h"
#include "ops/legal/util.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"

namespace rldb::ops::legal {

using ir::BinaryKind;

namespace {
std::vector<int> reduce_axes(const ir::Call* c, int ndim) {
  auto axes = attr_ints(spec(c), op_attr::Axis);
  return axes ? axes_of(*axes, ndim) : topi::all_axes(ndim);
}
Tensor mean_of(Topi& t, Tensor x, const std::vector<int>& axes, bool keepdims) {
  return t.divide(t.sum(x, axes, keepdims), ir::cast_to(t.ctx, x->dtype, t.count(x, axes)));
}
Tensor variance_of(Topi& t, Tensor x, const std::vector<int>& axes, bool keepdims) {
  Tensor diff = t.subtract(x, mean_of(t, x, axes, true));
  return mean_of(t, t.multiply(diff, diff), axes, keepdims);
}
}  // namespace

namespace {

using Reduction = Tensor (*)(Topi& t, Tensor x, const std::vector<int>& axes, bool keepdims);

// `identity`: the result over no elements, if the operator has one. No iteration would run then, not even the first
// one, which initialises.
Result<const Expr*> reduction(Legalizer& l, const ir::Call* c, Reduction body, std::optional<int> identity = {}) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::vector<int> axes = reduce_axes(c, x->ndim);
  bool keep = attr_bool(spec(c), op_attr::Keepdims);
  const bool empty =
      std::any_of(axes.begin(), axes.end(), [&](int a) { return ir::is_const(x->shape[std::size_t(a)], 0); });
  if (empty && identity) {
    RLDB_TRY(const TensorType* out, known_result(c));
    return l.call_te("full", {}, c->type, [&](Te& te) -> Tensors {
      Topi t(te);
      return {t.full(mapped(te, out->shape), t.lit(out->dtype, *identity))};
    });
  }
  return l.call_te(op_name(c), c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {body(t, te.in[0], axes, keep)};
  });
}

// One of the elements is the result: there must be at least one.
Result<support::Unit> has_elements(const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  for (int a : reduce_axes(c, x->ndim))
    if (ir::is_const(x->shape[std::size_t(a)], 0))
      return refuse(c, "it is not defined for an empty axis: dimension " + std::to_string(a) + " is 0");
  return support::Unit{};
}

}  // namespace

Result<const Expr*> sum(Legalizer& l, const ir::Call* c) {
  return reduction(
      l, c, [](Topi& t, Tensor x, const std::vector<int>& axes, bool keep) { return t.sum(x, axes, keep); }, 0);
}
Result<const Expr*> prod(Legalizer& l, const ir::Call* c) {
  return reduction(
      l, c,
      [](Topi& t, Tensor x, const std::vector<int>& axes, bool keep) {
        return t.reduce(x, axes, keep, x->dtype.is_bool() ? t.g.all_reducer() : t.g.prod_reducer(x->dtype));
      },
      1);
}
Result<const Expr*> max(Legalizer& l, const ir::Call* c) {
  RLDB_TRY_VOID(has_elements(c));
  return reduction(l, c, [](Topi& t, Tensor x, const std::vector<int>& axes, bool keep) {
    return t.reduce(x, axes, keep, t.g.max_reducer(x->dtype));
  });
}
Result<const Expr*> min(Legalizer& l, const ir::Call* c) {
  RLDB_TRY_VOID(has_elements(c));
  return reduction(l, c, [](Topi& t, Tensor x, const std::vector<int>& axes, bool keep) {
    return t.reduce(x, axes, keep, t.g.min_reducer(x->dtype));
  });
}
Result<const Expr*> mean(Legalizer& l, const ir::Call* c) { return reduction(l, c, mean_of); }
Result<const Expr*> variance(Legalizer& l, const ir::Call* c) { return reduction(l, c, variance_of); }
Result<const Expr*> std_dev(Legalizer& l, const ir::Call* c) {
  return reduction(l, c, [](Topi& t, Tensor x, const std::vector<int>& axes, bool keep) {
    return t.unary(ir::intrin::Sqrt, variance_of(t, x, axes, keep));
  });
}

static Result<const Expr*> argreduce(Legalizer& l, const ir::Call* c, bool want_max) {
  RLDB_TRY_VOID(has_elements(c));
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::vector<int> axes = reduce_axes(c, x->ndim);
  bool keep = attr_bool(spec(c), op_attr::Keepdims);
  return l.call_te(op_name(c), c->args, c->type,
                   [&](Te& te) -> Tensors { return {Topi(te).argreduce(te.in[0], axes, keep, want_max)}; });
}

Result<const Expr*> argmax(Legalizer& l, const ir::Call* c) { return argreduce(l, c, true); }
Result<const Expr*> argmin(Legalizer& l, const ir::Call* c) { return argreduce(l, c, false); }

Result<const Expr*> collapse_sum(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  return l.call_te("collapse_sum", c->args.first(1), c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor x = te.in[0];
    ExprList shape = mapped(te, out->shape);
    std::size_t extra = x->shape.size() - shape.size();
    std::vector<ir::IterVar> axes;
    std::vector<const Expr*> reduced(x->shape.size(), nullptr);
    for (std::size_t i = 0; i < x->shape.size(); ++i) {
      bool gone = i < extra || (is_one(shape[i - extra]) && !is_one(x->shape[i]));
      if (!gone) continue;
      axes.push_back(te.graph.reduce_axis(x->shape[i], "k" + std::to_string(i)));
      reduced[i] = axes.back().var;
    }
    if (axes.empty()) return {x};
    return {te.graph.reduce(
        shape,
        [&](Indices i) {
          ExprList idx;
          for (std::size_t k = 0; k < reduced.size(); ++k) idx.push_back(reduced[k] ? reduced[k] : i[k - extra]);
          return te.graph.load(x, std::span<const Expr* const>(idx));
        },
        axes, te.graph.sum_reducer(x->dtype), std::string(x->name) + "_red")};
  });
}

Result<const Expr*> matmul(Legalizer& l, const ir::Call* c) {
  DType out = attr_dtype(spec(c), op_attr::OutDtype);
  const TensorType* a = tensor_type(c->args[0]);
  if (out.is_void()) out = a->dtype;
  RLDB_TRY_VOID(known_result(c));
  return l.call_te("matmul", c->args, c->type,
                   [&](Te& te) -> Tensors { return {Topi(te).matmul(te.in[0], te.in[1], out)}; });
}

Result<const Expr*> outer(Legalizer& l, const ir::Call* c) {
  return l.call_te("outer", c->args, c->type, [&](Te& te) -> Tensors {
    ExprList shape{te.in[0]->shape[0], te.in[1]->shape[0]};
    return {te.graph.compute(
        shape,
        [&](Indices i) -> const Expr* {
          return te.ctx.binary(BinaryKind::Mul, te.graph.load(te.in[0], {i[0]}), te.graph.load(te.in[1], {i[1]}));
        },
        "outer")};
  });
}

namespace {

// The dims of an ellipsis get names that are not letters, counted from the last one.
std::string ellipsis_names(std::size_t count) {
  std::string names;
  for (std::size_t i = count; i-- > 0;) names += char('0' + i);
  return names;
}

// Replaces the ellipsis in terms by a name for each of its dims; returns the subscripts of the result.
Result<std::string> name_every_dim(const ir::Call* c, std::vector<std::string>& terms) {
  constexpr std::size_t kMaxDims = 10;  // of an ellipsis
  const OpInfo& info = *find(c->callee);
  RLDB_TRY(infer::Subscripts subscripts, infer::read_subscripts(info, attr_string(spec(c), op_attr::Subscripts)));
  RLDB_TRY(const auto operands, tensors_arg(info, spec(c), 0));
  std::size_t most = 0;
  for (std::size_t i = 0; i < subscripts.terms.size(); ++i) {
    std::string& term = subscripts.terms[i];
    const auto at = term.find('.');
    if (at == std::string::npos) continue;
    if (operands[i]->ndim == ir::kUnknownNdim) return refuse(c, "the rank of an operand is not known");
    const std::size_t count = std::size_t(operands[i]->ndim) - (term.size() - 1);
    if (count > kMaxDims) return refuse(c, "an ellipsis stands for more than 10 dims");
    term.replace(at, 1, ellipsis_names(count));
    most = std::max(most, count);
  }
  terms = std::move(subscripts.terms);
  if (const auto at = subscripts.result.find('.'); at != std::string::npos)
    subscripts.result.replace(at, 1, ellipsis_names(most));
  return subscripts.result;
}

// The extent of the dims that a letter names: some of them may be 1.
const Expr* extent_of_letter(Te& te, const std::vector<std::string>& terms, char letter) {
  const Expr* extent = nullptr;
  for (std::size_t t = 0; t < terms.size(); ++t)
    for (std::size_t i = 0; i < terms[t].size(); ++i)
      if (terms[t][i] == letter && (!extent || is_one(extent))) extent = te.in[t]->shape[i];
  return extent;
}

}  // namespace

Result<const Expr*> einsum(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  std::vector<std::string> terms;
  RLDB_TRY(const std::string result, name_every_dim(c, terms));
  return l.call_te("einsum", c->args, c->type, [&](Te& te) -> Tensors {
    te::Graph& g = te.graph;
    std::vector<std::pair<char, const Expr*>> value;  // of each letter
    std::vector<ir::IterVar> axes;
    std::string summed;
    for (std::size_t t = 0; t < terms.size(); ++t)
      for (std::size_t i = 0; i < terms[t].size(); ++i) {
        char ch = terms[t][i];
        if (result.find(ch) != result.npos || summed.find(ch) != summed.npos) continue;
        summed += ch;
        axes.push_back(g.reduce_axis(extent_of_letter(te, terms, ch), std::string(1, ch)));
        value.emplace_back(ch, axes.back().var);
      }
    ExprList shape = mapped(te, out->shape);
    auto product = [&](Indices i) {
      auto index_of = [&](char ch) -> const Expr* {
        for (std::size_t k = 0; k < result.size(); ++k)
          if (result[k] == ch) return i[k];
        for (auto& [letter, e] : value)
          if (letter == ch) return e;
        return nullptr;
      };
      const Expr* out_e = nullptr;
      for (std::size_t t = 0; t < terms.size(); ++t) {
        ExprList idx;
        for (std::size_t k = 0; k < terms[t].size(); ++k)
          idx.push_back(is_one(te.in[t]->shape[k]) ? static_cast<const Expr*>(te.ctx.i64(0)) : index_of(terms[t][k]));
        const Expr* load = g.load(te.in[t], std::span<const Expr* const>(idx));
        out_e = out_e ? te.ctx.binary(BinaryKind::Mul, out_e, load) : load;
      }
      return out_e;
    };
    if (axes.empty()) return {g.compute(shape, product, "T_einsum")};
    return {g.reduce(shape, product, axes, g.sum_reducer(out->dtype), "T_einsum")};
  });
}

}  // namespace rldb::ops::legal
