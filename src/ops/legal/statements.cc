#include "ops/legal/statements.h"

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/host.h"

namespace rldb::ops::legal {

using ir::Stmt;

ExprList unravel(ir::Context& ctx, const Expr* flat, std::span<const Expr* const> shape) {
  ExprList out(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    out[i] = i == 0 ? flat : ir::floor_mod(ctx, flat, shape[i]);
    flat = ir::floor_div(ctx, flat, shape[i]);
  }
  return out;
}

const Stmt* nest(ir::Context& ctx, std::span<const Expr* const> shape,
                 const std::function<const Stmt*(const ExprList&)>& body) {
  std::vector<const ir::Var*> loops;
  ExprList idx;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    loops.push_back(ctx.var("i" + std::to_string(i), ctx.int64()));
    idx.push_back(loops.back());
  }
  const Stmt* s = body(idx);
  for (std::size_t i = loops.size(); i-- > 0;) s = ctx.for_stmt(loops[i], ctx.i64(0), shape[i], ir::ForKind::Serial, s);
  return s;
}

const Stmt* Writer::loop(std::string_view name, const Expr* extent, const Body& body, ir::ForKind kind) {
  extent = ir::cast_to(ctx, DType::Int(64), extent);
  const ir::Var* i = ctx.var(name, ctx.int64());
  return ctx.for_stmt(i, ctx.i64(0), extent, kind, body(i));
}

const ir::Buffer* Writer::cell(std::string_view name, DType t) {
  const Expr* one[] = {ctx.i64(1)};
  return ctx.buffer(name, one, t, "local");
}

namespace {
const Expr* intrinsic(ir::Context& ctx, DType t, ir::Intrinsic id, std::span<const Expr* const> args) {
  return ctx.call_typed(ctx.op(ir::info(id).op), args, ctx.prim(t));
}
}  // namespace

const Stmt* Writer::call_packed(std::string_view name, std::span<const Expr* const> args) {
  ExprList all{ctx.string(name)};
  all.insert(all.end(), args.begin(), args.end());
  return ctx.evaluate(intrinsic(ctx, DType::Int(32), ir::intrin::TvmCallPacked, all));
}

const Expr* Writer::whole(const ir::Buffer* b, std::span<const Expr* const> shape) {
  const DType handle = DType::Handle();
  const Expr* dims = intrinsic(ctx, handle, ir::intrin::TvmStackMakeShape, shape);
  const Expr* parts[] = {b->data,
                         dims,
                         ctx.i32(0),  // no strides
                         ctx.i32(std::int32_t(b->shape.size())),
                         ctx.literal(b->dtype, 0),  // gives the dtype
                         ctx.i64(0)};
  return intrinsic(ctx, handle, ir::intrin::TvmStackMakeArray, parts);
}

}  // namespace rldb::ops::legal
