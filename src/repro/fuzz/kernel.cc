// Random tensor expressions, and kernels built from them.
#include "repro/fuzz/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/trigonometry.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/scalar.h"
#include "rldb/te/create_prim_func.h"

namespace rldb::repro {

using ir::as;
using ir::DType;
using ir::Expr;

namespace {

constexpr int kDepth = 3;

class KernelMaker {
 public:
  KernelMaker(ir::Context& ctx, Random& random) : ctx_(ctx), random_(random), graph_(ctx) {}

  // Null: the dims are not variables and numbers, or the shapes do not broadcast.
  const ir::PrimFunc* make(const std::vector<const ir::Var*>& inputs) {
    for (const ir::Var* v : inputs)
      if (!add_input(v)) return nullptr;
    const auto& widest = *std::max_element(
        in_.begin(), in_.end(), [](te::Tensor a, te::Tensor b) { return a->shape.size() < b->shape.size(); });
    shape_.assign(widest->shape.begin(), widest->shape.end());
    if (shape_.empty() || !std::all_of(in_.begin(), in_.end(), [&](te::Tensor t) { return fits(t); })) return nullptr;
    te::Tensor out = graph_.compute(
        shape_, [&](te::Indices i) { return expression(i, kDepth); }, "value");
    if (random_.one_in(3)) out = reduced(out);
    std::vector<te::Param> params;
    for (te::Tensor t : in_) params.push_back({t, nullptr});
    params.push_back({out, nullptr});
    for (const Expr* d : out->shape) out_.push_back(of_caller(d));
    return te::create_prim_func(ctx_, params);
  }

  const ir::Type* result() { return ctx_.tensor(out_, DType::Float(32)); }

 private:
  bool add_input(const ir::Var* v) {
    const auto* t = as<ir::TensorType>(v->type);
    if (!t || !t->has_shape || t->dtype != DType::Float(32)) return false;
    std::vector<const Expr*> dims;
    for (const Expr* d : t->shape) {
      if (!as<ir::IntImm>(d) && !as<ir::Var>(d)) return false;
      dims.push_back(own(d));
    }
    in_.push_back(graph_.placeholder(dims, t->dtype, fmt::format("in{}", in_.size())));
    return true;
  }

  // A kernel has variables of its own.
  const Expr* own(const Expr* dim) {
    const auto* v = as<ir::Var>(dim);
    if (!v) return dim;
    const Expr*& mine = own_[v];
    if (!mine) callers_[mine = ctx_.var(v->name, v->type)] = v;
    return mine;
  }
  const Expr* of_caller(const Expr* dim) const {
    const auto it = callers_.find(dim);
    return it == callers_.end() ? dim : it->second;
  }

  // Its dims are the last ones of the result, or 1.
  bool fits(te::Tensor t) const {
    for (std::size_t i = 0; i < t->shape.size(); ++i) {
      const Expr* mine = t->shape[i];
      const Expr* wanted = shape_[shape_.size() - t->shape.size() + i];
      const bool same = mine == wanted || (ir::const_int(mine) && ir::const_int(mine) == ir::const_int(wanted));
      if (!same && !ir::is_const(mine, 1)) return false;
    }
    return true;
  }

  const Expr* element(te::Indices at) {
    te::Tensor t = in_[random_.below(in_.size())];
    std::vector<const Expr*> indices;
    for (std::size_t i = 0; i < t->shape.size(); ++i) {
      const Expr* index = at[at.size() - t->shape.size() + i];
      if (ir::is_const(t->shape[i], 1))
        index = ctx_.i64(0);
      else if (random_.one_in(6))
        index = ir::sub(ctx_, ir::sub(ctx_, t->shape[i], ctx_.i64(1)), index);
      indices.push_back(index);
    }
    return graph_.load(t, indices);
  }

  const Expr* expression(te::Indices at, int depth) {
    if (depth == 0 || random_.one_in(5))
      return random_.one_in(4) ? ctx_.float_imm(DType::Float(32), 0.5 * double(1 + random_.below(4))) : element(at);
    const Expr* a = expression(at, depth - 1);
    switch (random_.below(7)) {
      case 0:
        return ir::add(ctx_, a, expression(at, depth - 1));
      case 1:
        return ir::sub(ctx_, a, expression(at, depth - 1));
      case 2:
        return ir::mul(ctx_, a, expression(at, depth - 1));
      case 3:
        return ir::max(ctx_, a, expression(at, depth - 1));
      case 4:
        return ir::min(ctx_, a, expression(at, depth - 1));
      case 5:
        return ctx_.intrin(DType::Float(32), ir::intrin::Tanh, {a});
      case 6:  // some of the elements have another value
        return ctx_.select(ir::compare(ctx_, ir::BinaryKind::LT, at.back(), ctx_.i64(2)), a, expression(at, depth - 1));
    }
    RLDB_UNREACHABLE("kind of an expression");
  }

  te::Tensor reduced(te::Tensor t) {
    const ir::IterVar k = graph_.reduce_axis(t->shape[t->shape.size() - 1]);
    const auto* reducer = random_.one_in(2) ? graph_.sum_reducer(t->dtype) : graph_.max_reducer(t->dtype);
    const std::vector<const Expr*> outer(t->shape.begin(), t->shape.end() - 1);
    const auto source = [&](te::Indices at) {
      std::vector<const Expr*> indices(at.begin(), at.end());
      indices.push_back(k.var);
      return graph_.load(t, indices);
    };
    return graph_.reduce(outer, source, {&k, 1}, reducer, "reduced");
  }

  ir::Context& ctx_;
  Random& random_;
  te::Graph graph_;
  std::vector<te::Tensor> in_;
  std::vector<const Expr*> shape_;  // of the result before a reduction, in the kernel's variables
  std::vector<const Expr*> out_;    // of the result, in the caller's variables
  std::unordered_map<const ir::Var*, const Expr*> own_;
  std::unordered_map<const Expr*, const Expr*> callers_;
};

}  // namespace

const ir::Call* random_kernel_call(ir::Context& ctx, Random& random, ir::ModuleBuilder& module,
                                   const std::vector<const ir::Var*>& inputs) {
  KernelMaker maker(ctx, random);
  const ir::PrimFunc* f = maker.make(inputs);
  if (!f) return nullptr;
  const std::string_view name = ctx.str(module.unique_name("kernel"));
  module.set(name, f);
  const ir::GlobalVar* g = ctx.global_var(name, f->type);
  const std::vector<const Expr*> args(inputs.begin(), inputs.end());
  auto call = ctx.call(op::CallTir, {g, ctx.tuple(args)}, {}, {maker.result()});
  return call.ok() ? *call : nullptr;
}

// for ...: a[...] = a[...] * 0.5 + 1, or the like, on a's own memory
const ir::Call* random_in_place_call(ir::Context& ctx, Random& random, ir::ModuleBuilder& module,
                                     const ir::Var* input) {
  const auto* t = as<ir::TensorType>(input->type);
  std::vector<const Expr*> dims;
  std::unordered_map<const Expr*, const Expr*> own;
  for (const Expr* d : t->shape) {
    const auto* v = as<ir::Var>(d);
    if (!v && !as<ir::IntImm>(d)) return nullptr;
    if (v && !own[v]) own[v] = ctx.var(v->name, v->type);
    dims.push_back(v ? own[v] : d);
  }
  const ir::Buffer* a = ctx.buffer("A", dims, t->dtype);
  std::vector<ir::IterVar> axes;
  std::vector<const Expr*> indices, loops;
  std::vector<ir::Range> region;
  std::vector<const ir::Var*> loop_vars;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const ir::Var* axis = ctx.var(fmt::format("v_ax{}", i), ctx.int64());
    axes.push_back({axis, {ctx.i64(0), dims[i]}, ir::IterKind::Spatial});
    indices.push_back(axis);
    region.push_back({axis, ctx.i64(1)});
    loop_vars.push_back(ctx.var(fmt::format("ax{}", i), ctx.int64()));
    loops.push_back(loop_vars.back());
  }
  const Expr* element = ctx.load(a, indices);
  const Expr* half = ir::mul(ctx, element, ctx.float_imm(t->dtype, 0.5));
  const Expr* value = random.one_in(2) ? ir::add(ctx, half, ctx.float_imm(t->dtype, 1))
                                       : ir::max(ctx, element, ctx.float_imm(t->dtype, -0.25));
  ir::SBlock block{};
  block.name = "in_place";
  block.iter_vars = ctx.list(axes);
  const ir::BufferRegion all{a, ctx.list(region)};
  block.reads = block.writes = ctx.list(std::span<const ir::BufferRegion>(&all, 1));
  block.body = ctx.store(a, value, indices);
  const ir::Stmt* body = ctx.realize(loops, ctx.bool_imm(true), ctx.sblock(block));
  for (std::size_t i = dims.size(); i-- > 0;)
    body = ctx.for_stmt(loop_vars[i], ctx.i64(0), dims[i], ir::ForKind::Serial, body);
  const ir::PrimParam param{ctx.var("a", ctx.pointer(t->dtype, "global")), a};
  const ir::PrimFunc* f = ctx.prim_func({&param, 1}, ctx.void_type(), body, {});
  const std::string_view name = ctx.str(module.unique_name("in_place"));
  module.set(name, f);
  const Expr* args[] = {input};
  const std::int64_t first[] = {0};
  auto call = ctx.call(op::CallTirInplace, {ctx.global_var(name, f->type), ctx.tuple(args)},
                       {ctx.named(op_attr::InplaceIndices, ctx.attr_ints(first))}, {input->type});
  return call.ok() ? *call : nullptr;
}

}  // namespace rldb::repro
