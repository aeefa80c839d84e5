// Graph: placeholders, computes, reductions, extern stages, and loads between them.
#include "rldb/te/tensor.h"

#include "rldb/ir/scalar.h"

namespace rldb::te {

using ir::IterKind;
using ir::IterVar;
using ir::Range;

Operation* Graph::make_operation(OperationKind kind, std::string_view name) {
  Operation& op = operations_.emplace_back();
  op.kind = kind;
  op.name = ctx_.str(name);
  return &op;
}

Tensor Graph::make_output(Operation* op, std::span<const Expr* const> shape, DType dtype, std::string_view name) {
  TensorNode& t = tensors_.emplace_back();
  t.op = op;
  t.index = int(op->outputs.size());
  t.name = ctx_.str(name);
  t.shape = ctx_.list(std::span<const Expr* const>(shape));
  t.dtype = dtype;
  op->outputs.push_back(&t);
  return &t;
}

void Graph::make_axes(Operation* op, std::span<const Expr* const> shape) {
  for (std::size_t i = 0; i < shape.size(); ++i)
    op->axes.push_back(
        {ctx_.var("v_ax" + std::to_string(i), ctx_.int64()), {ctx_.i64(0), shape[i]}, IterKind::Spatial});
}

namespace {
std::vector<const ir::Var*> vars_of(const std::vector<IterVar>& axes) {
  std::vector<const ir::Var*> out;
  for (const IterVar& a : axes) out.push_back(a.var);
  return out;
}
std::string numbered(std::string_view name, std::size_t i) { return std::string(name) + "_v" + std::to_string(i); }
}  // namespace

Tensor Graph::placeholder(std::span<const Expr* const> shape, DType dtype, std::string_view name) {
  Operation* op = make_operation(OperationKind::Placeholder, name);
  return make_output(op, shape, dtype, name);
}

Tensor Graph::compute(std::span<const Expr* const> shape, const std::function<const Expr*(Indices)>& body,
                      std::string_view name, std::span<const ir::NamedAttr> attrs) {
  Operation* op = make_operation(OperationKind::Compute, name);
  make_axes(op, shape);
  op->bodies.push_back(body(vars_of(op->axes)));
  op->attrs.assign(attrs.begin(), attrs.end());
  return make_output(op, shape, op->bodies[0]->dtype(), name);
}

Tensor Graph::scatter(std::span<const Expr* const> shape, std::span<const Expr* const> domain,
                      const std::function<const Expr*(Indices)>& body,
                      const std::function<std::vector<const Expr*>(Indices)>& place, std::string_view name) {
  Operation* op = make_operation(OperationKind::Compute, name);
  make_axes(op, domain);
  op->bodies.push_back(body(vars_of(op->axes)));
  op->place = place(vars_of(op->axes));
  return make_output(op, shape, op->bodies[0]->dtype(), name);
}

std::vector<Tensor> Graph::compute_multi(std::span<const Expr* const> shape,
                                         const std::function<std::vector<const Expr*>(Indices)>& body,
                                         std::string_view name) {
  Operation* op = make_operation(OperationKind::Compute, name);
  make_axes(op, shape);
  op->bodies = body(vars_of(op->axes));
  for (std::size_t i = 0; i < op->bodies.size(); ++i) make_output(op, shape, op->bodies[i]->dtype(), numbered(name, i));
  return op->outputs;
}

IterVar Graph::reduce_axis(const Expr* extent, std::string_view name) {
  const DType t = extent->dtype() == DType::Int(32) ? DType::Int(32) : DType::Int(64);
  return {ctx_.var("v_" + std::string(name), ctx_.prim(t)), {ctx_.int_imm(t, 0), extent}, IterKind::Reduce};
}

Tensor Graph::reduce(std::span<const Expr* const> shape, const std::function<const Expr*(Indices)>& source,
                     std::span<const IterVar> reduce_axes, const ir::CommReducer* reducer, std::string_view name,
                     std::span<const ir::NamedAttr> attrs) {
  Operation* op = make_operation(OperationKind::Reduce, name);
  make_axes(op, shape);
  op->reduce_axes.assign(reduce_axes.begin(), reduce_axes.end());
  op->reducer = reducer;
  op->bodies.push_back(source(vars_of(op->axes)));
  op->attrs.assign(attrs.begin(), attrs.end());
  return make_output(op, shape, op->bodies[0]->dtype(), name);
}

std::vector<Tensor> Graph::reduce_multi(std::span<const Expr* const> shape,
                                        const std::function<std::vector<const Expr*>(Indices)>& sources,
                                        std::span<const IterVar> reduce_axes, const ir::CommReducer* reducer,
                                        std::span<const std::string_view> names) {
  Operation* op = make_operation(OperationKind::Reduce, names[0]);
  make_axes(op, shape);
  op->reduce_axes.assign(reduce_axes.begin(), reduce_axes.end());
  op->reducer = reducer;
  op->bodies = sources(vars_of(op->axes));
  for (std::size_t i = 0; i < op->bodies.size(); ++i) make_output(op, shape, op->bodies[i]->dtype(), names[i]);
  return op->outputs;
}

void Graph::mark_layout_free(Tensor t, Tensor input) {
  for (Operation& op : operations_)
    if (&op == t->op) op.layout_free = input;
}

void Graph::set_axis_separators(Tensor t, Span<const Expr*> separators) {
  for (TensorNode& node : tensors_)
    if (&node == t) node.axis_separators = separators;
}

std::vector<Tensor> Graph::extern_op(std::span<const OutputSpec> outputs, std::span<const Tensor> inputs,
                                     ExternBody body, std::string_view name, ExternMemory memory) {
  Operation* op = make_operation(OperationKind::Extern, name);
  op->memory = memory;
  op->inputs.assign(inputs.begin(), inputs.end());
  op->write = std::move(body);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    make_output(op, outputs[i].shape, outputs[i].dtype, outputs.size() == 1 ? std::string(name) : numbered(name, i));
  return op->outputs;
}

const Expr* Graph::load(Tensor t, std::span<const Expr* const> indices) {
  RLDB_CHECK(indices.size() == t->shape.size(), "load with another number of indices than dims");
  return ctx_.producer_load(t, t->dtype, indices);
}
const Expr* Graph::load(Tensor t, Indices indices) {
  std::vector<const Expr*> list(indices.begin(), indices.end());
  return load(t, std::span<const Expr* const>(list));
}
const Expr* Graph::load(Tensor t, std::initializer_list<const Expr*> indices) {
  return load(t, std::span<const Expr* const>(indices.begin(), indices.size()));
}

namespace {
template <class Combine>
const ir::CommReducer* make_reducer(ir::Context& ctx, DType t, Combine combine, const Expr* identity) {
  const ir::Var* x = ctx.var("x", ctx.prim(t));
  const ir::Var* y = ctx.var("y", ctx.prim(t));
  const ir::Var* lhs[] = {x};
  const ir::Var* rhs[] = {y};
  const Expr* results[] = {combine(x, y)};
  const Expr* identities[] = {identity};
  return ctx.comm_reducer(lhs, rhs, results, identities);
}
}  // namespace

const ir::CommReducer* Graph::sum_reducer(DType t) {
  return make_reducer(
      ctx_, t, [&](auto* a, auto* b) { return ctx_.binary(ir::BinaryKind::Add, a, b); }, ctx_.literal(t, 0));
}
const ir::CommReducer* Graph::prod_reducer(DType t) {
  return make_reducer(
      ctx_, t, [&](auto* a, auto* b) { return ctx_.binary(ir::BinaryKind::Mul, a, b); }, ctx_.literal(t, 1));
}
const ir::CommReducer* Graph::all_reducer() {
  return make_reducer(
      ctx_, DType::Bool(), [&](auto* a, auto* b) { return ctx_.binary(ir::BinaryKind::And, a, b); },
      ctx_.bool_imm(true));
}
const ir::CommReducer* Graph::min_reducer(DType t) {
  return make_reducer(
      ctx_, t, [&](auto* a, auto* b) { return ctx_.binary(ir::BinaryKind::Min, a, b); }, ir::max_value(ctx_, t));
}
const ir::CommReducer* Graph::max_reducer(DType t) {
  return make_reducer(
      ctx_, t, [&](auto* a, auto* b) { return ctx_.binary(ir::BinaryKind::Max, a, b); }, ir::min_value(ctx_, t));
}

}  // namespace rldb::te
