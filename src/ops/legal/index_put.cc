// Legalisation: values put at places that tensors of indices give.
#include "ops/legal/scatter.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op_attr/combine_attr.h"

namespace rldb::ops::legal {

using ir::Stmt;

namespace {

// The common broadcast of the shapes; nullopt: two dims differ for certain.
std::optional<Dims> broadcast_all(ir::Context& ctx, const std::vector<const TensorType*>& types) {
  Dims out;
  for (const TensorType* t : types) {
    Dims s = dims_of(t);
    if (s.size() > out.size()) out.insert(out.begin(), s.size() - out.size(), ctx.i64(1));
    for (std::size_t i = 0; i < s.size(); ++i) {
      const Expr*& to = out[out.size() - s.size() + i];
      if (is_one(s[i])) continue;
      if (!is_one(to) && different_dim(ctx, to, s[i])) return std::nullopt;
      if (is_one(to)) to = s[i];
    }
  }
  return out;
}

// Element `i` of a broadcast shape, read from a buffer that broadcasts to it.
const Expr* pick(ir::Context& ctx, const ir::Buffer* b, std::span<const Expr* const> i,
                 std::span<const Expr* const> shape) {
  ExprList at;
  for (std::size_t d = 0; d < b->shape.size(); ++d) {
    const std::size_t from = i.size() - b->shape.size() + d;
    const bool repeated = is_one(b->shape[d]) && !is_one(shape[from]);
    at.push_back(repeated ? static_cast<const Expr*>(ctx.i64(0)) : i[from]);
  }
  return ctx.load(b, at);
}

// The common shape of the index tensors, of whose dims each is 1 or equal to that of the others.
ExprList common_shape(ir::Context& ctx, Buffers indices) {
  ExprList shape;
  for (const ir::Buffer* b : indices) {
    const auto dims = b->shape;
    if (dims.size() > shape.size()) shape.insert(shape.begin(), dims.size() - shape.size(), ctx.i64(1));
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const Expr*& to = shape[shape.size() - dims.size() + d];
      if (is_one(to)) to = dims[d];
    }
  }
  return shape;
}

// The places of a scatter, and whether values are added.
struct Put {
  Buffers indices;
  const ir::Buffer *values, *out;
  ExprList shape;  // of the index tensors together
  bool accumulate;

  const Stmt* store(ir::Context& ctx, const ExprList& to, const Expr* value) const {
    return ctx.store(out, accumulate ? combine(ctx, "add", ctx.load(out, to), value) : value, to);
  }
};

// A value for every tuple of indices.
bool one_value_each(ir::Context& ctx, const Put& p) {
  if (p.values->shape.size() != p.shape.size()) return false;
  ir::Analyzer analyzer(ctx);
  for (std::size_t i = 0; i < p.shape.size(); ++i)
    if (!analyzer.prove_equal(p.values->shape[i], p.shape[i])) return false;
  return true;
}

// Positions counted row by row, as TVM writes it, in a parallel loop over the tuples of indices.
const Stmt* put_flat(ir::Context& ctx, const Put& p) {
  Writer w(ctx);
  const auto put = [&](const Expr* k) -> const Stmt* {
    ExprList at(p.shape.size());
    const Expr* rest = k;
    for (std::size_t d = p.shape.size(); d-- > 0;) {
      at[d] = ir::floor_mod(ctx, rest, p.shape[d]);
      rest = ir::floor_div(ctx, rest, p.shape[d]);
    }
    const Expr *place = nullptr, *scale = ctx.i64(1);
    for (std::size_t axis = p.indices.size(); axis-- > 0;) {
      const ir::Buffer* b = p.indices[axis];
      const Expr *offset = ctx.i64(0), *step = ctx.i64(1);
      for (std::size_t d = b->shape.size(); d-- > 0;) {
        const Expr* along = at[at.size() - b->shape.size() + d];
        if (!is_one(b->shape[d])) offset = ir::add(ctx, offset, ir::mul(ctx, along, step));
        step = ir::mul(ctx, step, b->shape[d]);
      }
      const Expr* index = wrap(ctx, ctx.load(b, unravel(ctx, offset, b->shape)), p.out->shape[axis]);
      const Expr* part = ir::mul(ctx, index, scale);
      place = place ? ir::add(ctx, place, part) : part;
      scale = ir::mul(ctx, scale, p.out->shape[axis]);
    }
    return p.store(ctx, unravel(ctx, place, p.out->shape), ctx.load(p.values, unravel(ctx, k, p.values->shape)));
  };
  return w.loop("k", ir::product(ctx, p.shape), put, ir::ForKind::Parallel);
}

// Values that broadcast.
const Stmt* put_nested(ir::Context& ctx, const Put& p) {
  return nest(ctx, p.shape, [&](const ExprList& i) -> const Stmt* {
    ExprList to;
    for (std::size_t k = 0; k < p.indices.size(); ++k)
      to.push_back(wrap(ctx, pick(ctx, p.indices[k], i, p.shape), p.out->shape[k]));
    return p.store(ctx, to, pick(ctx, p.values, i, p.shape));
  });
}

}  // namespace

Result<const Expr*> index_put(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(auto indices, tensors_arg(*find(c->callee), spec(c), 1));
  RLDB_TRY(const TensorType* values, known_arg(c, 2));
  RLDB_TRY_VOID(known_result(c));
  for (const TensorType* t : indices)
    if (!t->has_shape) return refuse(c, "the shape of an index tensor is not known");
  const auto lead = broadcast_all(l.context(), indices);
  if (!lead) return refuse(c, "the index tensors do not broadcast to one shape");
  const Dims& written = *lead;
  bool fits = values->shape.size() <= written.size();
  for (std::size_t i = 0; fits && i < values->shape.size(); ++i) {
    const Expr* dim = values->shape[i];
    fits = is_one(dim) || !different_dim(l.context(), dim, written[written.size() - values->shape.size() + i]);
  }
  if (!fits)
    return refuse(c, "the values have the shape " + shape_text(values->shape) + ", which does not broadcast to " +
                         shape_text(written));
  const bool accumulate = attr_bool(spec(c), op_attr::Accumulate);
  const std::size_t n = indices.size();
  return scatter(l, c, "index_put", c->args, [accumulate, n](ir::Context& ctx, Buffers in, const ir::Buffer* out) {
    // in: data, indices..., values
    const Put p{in.subspan(1, n), in[n + 1], out, common_shape(ctx, in.subspan(1, n)), accumulate};
    return one_value_each(ctx, p) ? put_flat(ctx, p) : put_nested(ctx, p);
  });
}

}  // namespace rldb::ops::legal
