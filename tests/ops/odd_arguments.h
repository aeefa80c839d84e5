// Arguments that nobody would write, for every operator of the registry: used to test type inference, legalisation and
// the minimum build.
#pragma once

#include <random>

#include "rldb/ir/context.h"
#include "rldb/ir/scalar.h"
#include "rldb/ops/arguments.h"

namespace rldb::odd {

using ir::Attr;
using ir::DType;
using ir::Expr;

struct Pool {
  ir::Context ctx;
  std::mt19937 random{20260821};
  std::vector<const Expr*> exprs;
  std::vector<const Attr*> attrs;

  std::size_t below(std::size_t n) { return random() % n; }

  const Expr* value(const ir::Type* t) { return ctx.var("v" + std::to_string(exprs.size()), t); }

  Pool() {
    ops::install(ctx);
    const ir::Var* n = ctx.var("n", ctx.int64());
    const Expr* dims[] = {ctx.i64(0), ctx.i64(1), ctx.i64(2), ctx.i64(3), ctx.i64(4), n, ir::mul(ctx, n, ctx.i64(2))};
    const DType dtypes[] = {DType::Float(32), DType::Float(16), DType::Int(64), DType::Int(32),
                            DType::Int(8),    DType::Bool(),    DType::Void()};
    std::vector<const ir::TensorType*> tensors;
    for (int rank = 0; rank <= 5; ++rank)
      for (int k = 0; k < 6; ++k) {
        std::vector<const Expr*> shape;
        for (int i = 0; i < rank; ++i) shape.push_back(dims[below(std::size(dims))]);
        tensors.push_back(ctx.tensor(shape, dtypes[below(std::size(dtypes))]));
      }
    for (int rank = -1; rank <= 4; ++rank) tensors.push_back(ctx.tensor_ndim(rank, dtypes[below(3)]));
    const Expr* s = value(ctx.shape_type_ndim(2));
    tensors.push_back(ctx.tensor_of(s, 2, DType::Float(32)));
    for (const ir::TensorType* t : tensors) exprs.push_back(value(t));
    for (std::string_view placement : {"R", "S[0]", "S[1], R", "S[7]", "?"})
      exprs.push_back(value(ctx.dtensor(tensors[below(tensors.size())], ctx.attr("mesh[0]"), placement)));
    for (int k = 0; k < 6; ++k) {
      std::vector<const Expr*> items;
      for (std::size_t i = below(4); i > 0; --i) items.push_back(exprs[below(exprs.size())]);
      exprs.push_back(ctx.tuple(items));
      exprs.push_back(value(exprs.back()->type));
    }
    exprs.push_back(s);
    exprs.push_back(value(ctx.shape_type_ndim(ir::kUnknownNdim)));
    exprs.push_back(ctx.shape(std::vector<const Expr*>{ctx.i64(2), n}));
    exprs.push_back(ctx.shape(std::vector<const Expr*>{}));
    exprs.push_back(ctx.shape(std::vector<const Expr*>{ctx.i64(0), ctx.i64(-1)}));
    exprs.insert(exprs.end(), {ctx.i64(1), ctx.i64(-1), n, ctx.float_imm(DType::Float(32), 0.5), ctx.bool_imm(true)});
    exprs.insert(exprs.end(), {value(ctx.any()), ctx.string("text"), ctx.dtype(DType::Float(16))});
    attrs = {ctx.attr_none(),
             ctx.attr(0),
             ctx.attr(1),
             ctx.attr(-1),
             ctx.attr(3),
             ctx.attr(100),
             ctx.attr(INT64_MIN),
             ctx.attr(INT64_MAX),
             ctx.attr(std::int64_t{1} << 32),
             ctx.attr(0.5),
             ctx.attr(true),
             ctx.attr("NCHW"),
             ctx.attr("float32"),
             ctx.attr("xy"),
             ctx.attr(""),
             ctx.attr("ij,jk->ik"),
             ctx.attr("NHWC"),
             ctx.attr("...i->.i"),
             ctx.attr("NCHW4c"),
             ctx.attr(DType::Int(8)),
             ctx.attr(n)};
    for (std::vector<std::int64_t> list : {std::vector<std::int64_t>{},
                                           {0},
                                           {1, 1},
                                           {0, -1},
                                           {1, 2, 3},
                                           {2, 2, 2, 2},
                                           {-1, -1},
                                           {9, 9, 9},
                                           {INT64_MAX},
                                           {INT64_MIN, INT64_MIN},
                                           {INT64_MAX, INT64_MAX},
                                           {INT64_MIN, INT64_MAX, INT64_MIN},
                                           {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX},
                                           {std::int64_t{1} << 32},
                                           {0, 0, 0, 0, 0, 0}})
      attrs.push_back(ctx.attr_ints(list));
    attrs.push_back(ctx.attr_list(std::vector<const Attr*>{ctx.attr(n), ctx.attr("x")}));
  }

  ops::CallArg any_argument() {
    if (below(3) == 0) return {"", nullptr, attrs[below(attrs.size())]};
    return {"", exprs[below(exprs.size())], nullptr};
  }
  // Of the kind that the parameter requires, most of the time.
  ops::CallArg argument(const ops::OpInfo& info, const ops::ParamInfo& p) {
    if (below(8) == 0) return any_argument();
    if (p.is_attr) return {"", nullptr, attrs[below(attrs.size())]};
    const ops::ArgKind kind = info.args[std::size_t(p.index)].kind;
    for (int tries = 0; tries < 40; ++tries) {
      const Expr* e = exprs[below(exprs.size())];
      const ir::TypeKind t = e->type->kind;
      const bool fits = kind == ops::ArgKind::Tensor
                            ? t == ir::TypeKind::Tensor || (t == ir::TypeKind::DTensor && below(6) == 0)
                        : kind == ops::ArgKind::Tensors ? t == ir::TypeKind::Tuple
                        : kind == ops::ArgKind::Shape   ? t == ir::TypeKind::Shape
                        : kind == ops::ArgKind::Prim    ? t == ir::TypeKind::Prim
                                                        : true;
      if (fits) return {"", e, nullptr};
    }
    return any_argument();
  }

  // Arguments for every required parameter and for some of the others.
  std::vector<ops::CallArg> arguments(const ops::OpInfo& info) {
    std::vector<ops::CallArg> args;
    for (const ops::ParamInfo& p : info.params) {
      const bool optional =
          p.is_attr ? !info.attrs[std::size_t(p.index)].required : info.args[std::size_t(p.index)].optional;
      if (optional && below(2) == 0) continue;
      ops::CallArg a = argument(info, p);
      a.keyword = info.args.empty() || p.is_attr || below(2) == 0 ? p.name : std::string_view();
      args.push_back(a);
    }
    return args;
  }
};

}  // namespace rldb::odd
