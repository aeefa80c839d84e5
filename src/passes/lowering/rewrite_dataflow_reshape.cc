// RewriteDataflowReshape: in dataflow blocks, a call_tir of a PrimFunc that only copies elements in row-major order to
// another shape becomes R.reshape, which costs nothing at run time. Outputs of a block are left alone: they may be kept
// by code that does not expect shared memory.
//
// "Only copies in order" is proved from the loop nest: one store, every axis of the destination its own block axis (or
// loop), and the flat index of the load equal to that of the store. Without a proof the kernel stays.
#include <fmt/format.h>

#include <algorithm>

#include "passes/common.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

// The copying nest of a PrimFunc: its only store and the axes around it.
struct CopyNest {
  const BufferStore* store = nullptr;
  const BufferLoad* load = nullptr;
  std::vector<std::pair<const Var*, Range>> axes;
  bool plain = true;  // it does nothing besides copying
};

CopyNest find_nest(const PrimFunc* f) {
  CopyNest nest;
  walk(f->body, [&](const Node* n) {
    if (const auto* s = as<BufferStore>(n)) {
      nest.plain = nest.plain && !nest.store && !s->predicate;
      nest.store = s;
      nest.load = as<BufferLoad>(s->value);
      return false;
    }
    if (const auto* loop = as<ForStmt>(n)) {
      nest.plain = nest.plain && (!loop->step || is_const(loop->step, 1));
      nest.axes.push_back({loop->var, {loop->min, loop->extent}});
      return true;
    }
    if (const auto* realize = as<SBlockRealize>(n)) {
      nest.plain = nest.plain && is_const(realize->predicate, 1);
      return true;
    }
    if (const auto* block = as<SBlock>(n)) {
      for (const IterVar& v : block->iter_vars) {
        nest.plain = nest.plain && v.kind == IterKind::Spatial;
        nest.axes.push_back({v.var, v.dom});
      }
      nest.plain = nest.plain && !block->init && block->alloc_buffers.empty() && block->match_buffers.empty();
      return true;
    }
    if (as<Stmt>(n) && !isa<SeqStmt>(n)) nest.plain = false;
    return isa<Stmt>(n);
  });
  nest.plain = nest.plain && nest.store && nest.load && !nest.load->predicate;
  return nest;
}

const Expr* flat_index(Context& ctx, Span<const Expr*> indices, Span<const Expr*> shape) {
  const Expr* flat = ctx.i64(0);
  for (std::size_t i = 0; i < indices.size(); ++i)
    flat = add(ctx, mul(ctx, flat, cast_to(ctx, DType::Int(64), shape[i])), cast_to(ctx, DType::Int(64), indices[i]));
  return flat;
}

// Whether these are the indices of element `flat` of the shape, however they are written. Where the shape has as many
// elements as the tensor written, `flat` is the index of one of them, so the sizes need not be known.
bool unravels(Context& ctx, Analyzer& analyzer, Span<const Expr*> indices, Span<const Expr*> shape, const Expr* flat) {
  const Expr *rest = flat, *behind = ctx.i64(1);  // flat / behind
  for (std::size_t i = shape.size(); i-- > 0;) {
    const Expr* dim = cast_to(ctx, DType::Int(64), shape[i]);
    const Expr* index = cast_to(ctx, DType::Int(64), indices[i]);
    const Expr* from_here = mul(ctx, behind, dim);
    const auto is = [&](const Expr* e) { return analyzer.prove_equal(index, e); };
    if (!(i == 0 && is(rest)) && !is(floor_mod(ctx, rest, dim)) &&
        !is(floor_div(ctx, floor_mod(ctx, flat, from_here), behind)))
      return false;
    rest = analyzer.simplify(floor_div(ctx, rest, dim));
    behind = analyzer.simplify(from_here);
  }
  return true;
}

// Index of the parameter that the function reshapes into its last one, or -1.
int reshaped_param(Context& ctx, const PrimFunc* f) {
  if (f->params.size() < 2 || !f->params.back().buffer) return -1;
  const CopyNest nest = find_nest(f);
  if (!nest.plain || nest.store->buffer != f->params.back().buffer) return -1;
  const auto from = std::find_if(f->params.begin(), f->params.end() - 1,
                                 [&](const PrimParam& p) { return p.buffer && p.buffer == nest.load->buffer; });
  if (from == f->params.end() - 1) return -1;

  Analyzer analyzer(ctx);
  const Buffer* to = nest.store->buffer;
  if (nest.store->indices.size() != to->shape.size() || !to->strides.empty() || !nest.load->buffer->strides.empty())
    return -1;
  for (const auto& [var, range] : nest.axes) analyzer.bind_range(var, range);
  std::vector<const Expr*> seen;
  for (std::size_t i = 0; i < to->shape.size(); ++i) {
    const Expr* index = nest.store->indices[i];
    if (is_const(index, 0) && is_const(to->shape[i], 1)) continue;
    const auto axis = std::find_if(nest.axes.begin(), nest.axes.end(), [&](const auto& a) { return a.first == index; });
    if (axis == nest.axes.end() || std::find(seen.begin(), seen.end(), index) != seen.end()) return -1;
    if (!is_const(axis->second.min, 0) || !analyzer.prove_equal(axis->second.extent, to->shape[i])) return -1;
    seen.push_back(index);
  }
  const Expr* read = flat_index(ctx, nest.load->indices, nest.load->buffer->shape);
  const Expr* written = flat_index(ctx, nest.store->indices, to->shape);
  const Span<const Expr*> shape = nest.load->buffer->shape;
  const bool in_order = analyzer.prove_equal(read, written) ||
                        (analyzer.prove_equal(product(ctx, shape), product(ctx, to->shape)) &&
                         unravels(ctx, analyzer, nest.load->indices, shape, analyzer.simplify(written)));
  return in_order ? int(from - f->params.begin()) : -1;
}

class ReshapeRewriter : public Rewriter {
 public:
  ReshapeRewriter(Context& ctx, const Module* module, std::unordered_map<const PrimFunc*, int>& known)
      : Rewriter(ctx), module_(module), known_(known) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const Call* call = as_call_of(b->value, op::CallTir);
    if (in_dataflow() && b->var->is_dataflow() && !b->is_match_cast() && call) {
      const Call* made = reshape(call);
      if (made && may_rewrite([&] { return fmt::format("`{}` becomes a view", b->var->name); }))
        return {remake_binding(ctx_, b, b->var, made)};
    }
    return default_binding(b);
  }

 private:
  const Call* reshape(const Call* call) {
    const auto* g = as<GlobalVar>(call->args[0]);
    const auto* args = call->args.size() == 2 ? as<Tuple>(call->args[1]) : nullptr;
    const auto* f = g ? as<PrimFunc>(module_->find(g->name)) : nullptr;
    const auto* out = as<TensorType>(call->type);
    if (!f || !args || !out || !out->has_shape) return nullptr;
    auto [found, fresh] = known_.try_emplace(f, -1);
    if (fresh) found->second = reshaped_param(ctx_, f);
    const int index = found->second;
    if (index < 0 || std::size_t(index) >= args->items.size()) return nullptr;
    const Expr* input = args->items[std::size_t(index)];
    const auto* in = as<TensorType>(input->type);
    if (!in || !in->has_shape || in->dtype != out->dtype || in->dtype.is_void()) return nullptr;
    Analyzer analyzer(ctx_);
    if (!analyzer.prove_equal(product(ctx_, in->shape), product(ctx_, out->shape))) return nullptr;
    const Call* made = op_call(ctx_, op::Reshape, {input, ctx_.shape(out->shape)}, call->type);
    ctx_.set_origin(made, call);
    return made;
  }

  const Module* module_;
  std::unordered_map<const PrimFunc*, int>& known_;
};

}  // namespace

Result<const Module*> rewrite_dataflow_reshape(PassEnv& env, const Module* module, const NoOptions&) {
  std::unordered_map<const PrimFunc*, int> known;
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return ReshapeRewriter(env.ctx, module, known).rewrite_function(f);
  });
}

}  // namespace rldb::passes
