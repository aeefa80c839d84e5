// Legalisation: collectives are packed functions of the runtime.
#include "ops/legal/util.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/call_attr.h"

namespace rldb::ops::legal {

namespace {

Result<const Expr*> runtime_call(Legalizer& l, const ir::Call* c, std::string_view function,
                                 std::initializer_list<const Expr*> args) {
  ir::Context& ctx = l.context();
  RLDB_TRY_VOID(known_result(c));
  RLDB_TRY(const ir::Call* call,
           ctx.call(op::CallDpsPacked, {ctx.extern_func(function), ctx.tuple(std::vector<const Expr*>(args))}, {},
                    {c->type}));
  return static_cast<const Expr*>(call);
}

// A bool among the arguments of a packed function is a 64-bit integer, as in TVM.
const Expr* in_group(Legalizer& l, const ir::Call* c) { return l.context().i64(attr_bool(spec(c), op_attr::InGroup)); }

}  // namespace

Result<const Expr*> allreduce(Legalizer& l, const ir::Call* c) {
  // The kinds of reduction by TVM's numbers.
  constexpr std::string_view kKinds[] = {"sum", "prod", "min", "max", "avg"};
  const std::string_view wanted = attr_string(spec(c), op_attr::OpType);
  const auto* at = std::find(std::begin(kKinds), std::end(kKinds), wanted);
  if (at == std::end(kKinds)) return refuse(c, "there is no reduction \"" + std::string(wanted) + "\" over workers");
  const Expr* kind[] = {l.context().i64(at - std::begin(kKinds))};
  return runtime_call(l, c, runtime_function::DiscoAllreduce, {c->args[0], l.context().shape(kind), in_group(l, c)});
}

Result<const Expr*> allgather(Legalizer& l, const ir::Call* c) {
  return runtime_call(l, c, runtime_function::DiscoAllgather, {c->args[0], in_group(l, c)});
}

Result<const Expr*> broadcast_from_worker0(Legalizer& l, const ir::Call* c) {
  return runtime_call(l, c, runtime_function::DiscoBroadcast, {c->args[0], l.context().i64(0)});
}

// The parts become the first axis, and each worker gets one.
Result<const Expr*> scatter_from_worker0(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  ir::Context& ctx = l.context();
  const auto axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  const Expr* workers = ctx.i64(attr_int(spec(c), op_attr::NumWorkers));
  Dims dims;
  std::vector<int> order{int(axis)};
  for (std::size_t i = 0; i < x->shape.size(); ++i) {
    if (i == axis) dims.push_back(workers);
    dims.push_back(i == axis ? simplify(ctx, ir::floor_div(ctx, x->shape[i], workers)) : x->shape[i]);
  }
  for (int i = 0; i < int(dims.size()); ++i)
    if (i != int(axis)) order.push_back(i);
  RLDB_TRY(const Expr* parts,
           l.call_te("reshape", c->args.first(1), ctx.tensor(dims, x->dtype),
                     [&](Te& te) -> Tensors { return {Topi(te).reshape(te.in[0], mapped(te, dims))}; }));
  parts = l.blocks().emit(parts, "gv");
  if (axis != 0) {
    Dims moved;
    for (int i : order) moved.push_back(dims[std::size_t(i)]);
    const Expr* args[] = {parts};
    RLDB_TRY(parts, l.call_te("transpose", args, ctx.tensor(moved, x->dtype),
                              [&](Te& te) -> Tensors { return {Topi(te).transpose(te.in[0], order)}; }));
    parts = l.blocks().emit(parts, "gv");
  }
  return runtime_call(l, c, runtime_function::DiscoScatter, {parts, ctx.i64(0)});
}

// Each worker cuts its part out of the common value.
Result<const Expr*> replica_to_shard(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* out, known_result(c));
  ir::Context& ctx = l.context();
  const auto axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  const Type* id_type = ctx.shape_type_ndim();
  const Expr* callee[] = {ctx.extern_func(runtime_function::DiscoWorkerId)};
  const Type* types[] = {id_type};
  const Expr* id = l.blocks().emit(ctx.call_typed(ctx.op(op::CallPurePacked), callee, id_type, {}, types), "gv");
  const ir::Var* worker = ctx.var(l.blocks().unique_name("worker_id"), ctx.int64());
  const Expr* dims[] = {worker};
  l.blocks().emit_match_cast(id, ctx.shape_type(dims), "gv");
  return l.call_te("strided_slice", c->args.first(1), c->type, [&](Te& te) -> Tensors {
    const Expr* first = ir::mul(te.ctx, te.map(worker), te.map(out->shape[axis]));
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) {
          ExprList at = topi::vars(i);
          at[axis] = ir::add(te.ctx, first, at[axis]);
          return te.graph.load(te.in[0], std::span<const Expr* const>(at));
        },
        "redistribute_replica_to_shard")};
  });
}

}  // namespace rldb::ops::legal
