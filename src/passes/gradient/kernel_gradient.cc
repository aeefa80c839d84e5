// Gradients of kernels. TVM looks the name up among functions registered from Python; here it names a PrimFunc of the
// module that takes the gradients of the results and then the arguments, and returns one gradient per argument. Without
// one, the gradient of an elementwise kernel is derived from its expression.
#include "passes/gradient/kernel_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/trigonometry.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

Failure<source::Message> refused(const Call* call, std::string why) {
  return Failure(
      message(diag::PassUnsupported,
              fmt::format("the gradient `{}` of `{}`", gradient_name(call), as<GlobalVar>(call->args[0])->name),
              std::move(why)));
}

// out[v...] = value, where value reads its arguments at [v...] only.
struct Elementwise {
  const BufferStore* store = nullptr;
  std::string problem;
};

Elementwise elementwise(const PrimFunc* f) {
  const Stmt* s = f->body;
  if (const auto* root = as<SBlockRealize>(s); root && root->block->iter_vars.empty()) {
    if (!root->block->alloc_buffers.empty()) return {nullptr, "its kernel has buffers of its own"};
    s = root->block->body;
  }
  std::vector<const Expr*> loops;
  while (const auto* loop = as<ForStmt>(s)) {
    loops.push_back(loop->var);
    s = loop->body;
  }
  const auto* realize = as<SBlockRealize>(s);
  if (!realize || !is_const(realize->predicate, 1) || realize->block->init)
    return {nullptr, "its kernel is not one block that computes element by element"};
  const SBlock* block = realize->block;
  const auto* store = as<BufferStore>(block->body);
  if (!store || store->predicate || store->buffer != f->params.back().buffer)
    return {nullptr, "its kernel does not store its result, and nothing else, once an element"};
  const auto at_axes = [&](Span<const Expr*> indices) {
    return std::equal(indices.begin(), indices.end(), block->iter_vars.begin(), block->iter_vars.end(),
                      [](const Expr* i, const IterVar& a) { return i == a.var && a.kind == IterKind::Spatial; });
  };
  bool good = at_axes(store->indices) &&
              std::equal(realize->iter_values.begin(), realize->iter_values.end(), loops.begin(), loops.end());
  walk(store->value, [&](const Node* n) {
    if (const auto* load = as<BufferLoad>(n)) good = good && at_axes(load->indices) && load->buffer != store->buffer;
    return good;
  });
  return good ? Elementwise{store, {}}
              : Elementwise{nullptr, "its kernel reads other elements than the one it computes"};
}

// The derivative of an expression with respect to an element of one buffer. Null where it does not depend on it.
class Derivative {
 public:
  Derivative(Context& ctx, const Buffer* by) : ctx_(ctx), by_(by) {}
  const Expr* of(const Expr* e) {
    support::poll();
    if (!reads(e)) return nullptr;
    if (isa<BufferLoad>(e)) return ctx_.literal(e->dtype(), 1);
    if (const auto* b = as<BinaryExpr>(e)) return binary(b);
    if (const auto* c = as<CastExpr>(e); c && e->dtype().is_float() && c->value->dtype().is_float())
      return cast_to(ctx_, e->dtype(), of(c->value));
    if (const auto* s = as<SelectExpr>(e); s && !reads(s->cond))
      return ctx_.select(s->cond, or_zero(s->true_value), or_zero(s->false_value));
    if (const auto* c = as<Call>(e)) return call(c);
    return fail(e);
  }
  const std::string& problem() const { return problem_; }

 private:
  bool reads(const Expr* e) const {
    bool found = false;
    walk(e, [&](const Node* n) {
      const auto* load = as<BufferLoad>(n);
      found = found || (load && load->buffer == by_);
      return !found;
    });
    return found;
  }
  const Expr* fail(const Expr* e) {
    if (problem_.empty()) problem_ = fmt::format("there is no rule for {}", to_string(e->kind));
    return ctx_.literal(e->dtype(), 0);
  }
  const Expr* or_zero(const Expr* e) {
    const Expr* d = of(e);
    return d ? d : ctx_.literal(e->dtype(), 0);
  }
  const Expr* number(const Expr* like, double v) { return ctx_.literal(like->dtype(), v); }
  // a * b, where either may be the constant one, or null.
  const Expr* times(const Expr* a, const Expr* b) {
    if (!a || !b) return nullptr;
    if (is_one(a)) return b;
    return is_one(b) ? a : mul(ctx_, a, b);
  }
  static bool is_one(const Expr* e) {
    const auto* f = as<FloatImm>(e);
    return f && f->value == 1;
  }
  const Expr* plus(const Expr* a, const Expr* b) { return a && b ? add(ctx_, a, b) : a ? a : b; }

  const Expr* binary(const BinaryExpr* e) {
    const Expr *a = e->a, *b = e->b;
    if (!e->dtype().is_float()) return fail(e);
    switch (e->op()) {
      case BinaryKind::Add:
        return plus(of(a), of(b));
      case BinaryKind::Sub: {
        const Expr *da = of(a), *db = of(b);
        if (!db) return da;
        return da ? sub(ctx_, da, db) : mul(ctx_, db, number(e, -1));
      }
      case BinaryKind::Mul:
        return plus(times(b, of(a)), times(a, of(b)));
      case BinaryKind::Div: {
        const Expr *da = of(a), *db = of(b);
        const Expr* left = da ? div(ctx_, da, b) : nullptr;
        if (!db) return left;
        const Expr* right = div(ctx_, times(e, db), b);
        return left ? sub(ctx_, left, right) : mul(ctx_, right, number(e, -1));
      }
      case BinaryKind::Max:
      case BinaryKind::Min: {
        const BinaryKind first = e->op() == BinaryKind::Max ? BinaryKind::GE : BinaryKind::LE;
        return ctx_.select(compare(ctx_, first, a, b), or_zero(a), or_zero(b));
      }
      case BinaryKind::Mod:
      case BinaryKind::FloorDiv:
      case BinaryKind::FloorMod:
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
        break;
    }
    return fail(e);
  }

  const Expr* call(const Call* c) {
    if (is_call_of(c, intrin::IfThenElse) && !reads(c->args[0]))
      return ctx_.intrin(c->dtype(), intrin::IfThenElse, {c->args[0], or_zero(c->args[1]), or_zero(c->args[2])});
    if (c->args.size() != 1 || !c->dtype().is_float()) return fail(c);
    const Expr* x = c->args[0];
    const Expr* one = number(c, 1);
    const Expr* outer = nullptr;
    if (is_call_of(c, intrin::Exp)) outer = c;
    if (is_call_of(c, intrin::Log)) outer = div(ctx_, one, x);
    if (is_call_of(c, intrin::Sqrt)) outer = div(ctx_, number(c, 0.5), c);
    if (is_call_of(c, intrin::Rsqrt)) outer = mul(ctx_, div(ctx_, c, x), number(c, -0.5));
    if (is_call_of(c, intrin::Tanh)) outer = sub(ctx_, one, mul(ctx_, c, c));
    if (is_call_of(c, intrin::Sigmoid)) outer = mul(ctx_, c, sub(ctx_, one, c));
    if (is_call_of(c, intrin::Sin)) outer = ctx_.intrin(c->dtype(), intrin::Cos, {x});
    if (is_call_of(c, intrin::Cos)) outer = mul(ctx_, ctx_.intrin(c->dtype(), intrin::Sin, {x}), number(c, -1));
    return outer ? times(outer, of(x)) : fail(c);
  }

  Context& ctx_;
  const Buffer* by_;
  std::string problem_;
};

// Turns loads of the kernel's arguments into loads of tensors.
class Loader : public Rewriter {
 public:
  Loader(Context& ctx, te::Graph& graph) : Rewriter(ctx), graph_(graph) {}
  void put(const Buffer* b, te::Tensor t) {
    tensors_[b] = t;
    for (std::size_t i = 0; i < b->shape.size(); ++i)
      if (const auto* v = as<Var>(b->shape[i])) remap(v, t->shape[i]);
  }
  void put(const Var* v, const Expr* e) { remap(v, cast_to(ctx_, v->dtype(), e)); }

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto* load = as<BufferLoad>(e);
    if (!load) return default_expr(e);
    std::vector<const Expr*> at;
    for (const Expr* i : load->indices) at.push_back(rewrite(i));
    return graph_.load(tensors_.at(load->buffer), std::span<const Expr* const>(at));
  }

 private:
  te::Graph& graph_;
  std::unordered_map<const Buffer*, te::Tensor> tensors_;
};

const Tuple* arguments(const Call* call) { return as<Tuple>(call->args[1]); }

bool is_float_tensor(const Expr* e) {
  const auto* t = as<TensorType>(e->type);
  return t && t->dtype.is_float();
}

// The PrimFunc with that name.
Result<KernelPartials> call_named(Context& ctx, const Call* call, const PrimFunc* f,
                                  std::span<const Var* const> grads) {
  KernelPartials out;
  std::vector<const Expr*> args(grads.begin(), grads.end());
  std::vector<const Type*> types;
  for (const Expr* a : arguments(call)->items) {
    args.push_back(a);
    const auto* v = as<Var>(a);
    if (!v || a->type->kind != TypeKind::Tensor) continue;
    out.operands.push_back(v);
    types.push_back(a->type);
  }
  if (types.empty()) return out;
  if (f->params.size() != args.size() + types.size())
    return refused(call, fmt::format("the function has {} parameters, and {} are needed: the gradients of the results, "
                                     "the arguments, and a result for each tensor among them",
                                     f->params.size(), args.size() + types.size()));
  const Type* type = types.size() == 1 ? types[0] : ctx.tuple_type(types);
  RLDB_TRY(out.call,
           ctx.call(op::CallTir, {ctx.global_var(gradient_name(call), f->type), ctx.tuple(args)}, {}, {type}));
  return out;
}

Result<KernelPartials> derive(Context& ctx, ops::Legalizer& legalizer, const Call* call, const PrimFunc* f,
                              std::span<const Var* const> grads) {
  const Elementwise kernel = elementwise(f);
  if (!kernel.store) return refused(call, kernel.problem);
  const Tuple* given = arguments(call);
  KernelPartials out;
  out.derived = true;
  std::vector<const Expr*> partials, tensors(grads.begin(), grads.end());
  std::vector<const Type*> types;
  for (std::size_t i = 0; i < given->items.size(); ++i) {
    const Expr* a = given->items[i];
    if (a->type->kind != TypeKind::Tensor) continue;
    tensors.push_back(a);
    const auto* v = as<Var>(a);
    if (!v || !is_float_tensor(a)) continue;
    Derivative derivative(ctx, f->params[i].buffer);
    const Expr* d = derivative.of(kernel.store->value);
    if (!derivative.problem().empty()) return refused(call, derivative.problem());
    partials.push_back(d);
    out.operands.push_back(v);
    types.push_back(a->type);
  }
  if (types.empty()) return out;
  const Type* type = types.size() == 1 ? types[0] : ctx.tuple_type(types);
  const std::string name(gradient_name(call));
  const auto body = [&](ops::Legalizer::Te& te) {
    std::vector<te::Tensor> made;
    for (std::size_t k = 0; k < partials.size(); ++k) {
      const auto element = [&](te::Indices at) -> const Expr* {
        Loader loader(ctx, te.graph);
        std::size_t next = 1;
        for (std::size_t i = 0; i < given->items.size(); ++i) {
          const PrimParam& p = f->params[i];
          if (p.buffer)
            loader.put(p.buffer, te.in[next++]);
          else
            loader.put(p.var, te.map(given->items[i]));
        }
        for (std::size_t i = 0; i < at.size(); ++i) loader.put(as<Var>(kernel.store->indices[i]), at[i]);
        const Expr* grad = te.graph.load(te.in[0], at);
        const DType dtype = as<TensorType>(out.operands[k]->type)->dtype;
        if (!partials[k]) return ctx.literal(dtype, 0);
        const Expr* d = loader.rewrite(partials[k]);
        const auto* factor = as<FloatImm>(d);
        const Expr* both = factor ? mul(ctx, grad, d) : mul(ctx, d, grad);
        return cast_to(ctx, dtype, factor && factor->value == 1 ? grad : both);
      };
      made.push_back(te.graph.compute(te.in[0]->shape, element, name));
    }
    return made;
  };
  RLDB_TRY(const Expr* value, legalizer.call_te(name, tensors, type, body));
  out.call = cast<Call>(value);
  return out;
}

}  // namespace

std::string_view gradient_name(const Call* call) {
  const Attr* name = find_attr(call->attrs, op_attr::TeGradName);
  return name ? name->string : std::string_view();
}

const Call* plain_call_tir(Context& ctx, const Call* call) {
  return ctx.call_typed(ctx.op(op::CallTir), call->args, call->type, {}, call->ty_args);
}

Result<KernelPartials> kernel_gradient(Context& ctx, const Module& module, ops::Legalizer& legalizer, const Call* call,
                                       std::span<const Var* const> grads) {
  const auto* name = as<GlobalVar>(call->args[0]);
  const auto* kernel = name ? as<PrimFunc>(module.find(name->name)) : nullptr;
  if (!kernel || !arguments(call)) return refused(call, "it is not a call of a PrimFunc of the module");
  if (const auto* f = as<PrimFunc>(module.find(gradient_name(call)))) {
    const Attr* kwargs = find_attr(call->attrs, op_attr::TeGradKwargs);
    if (kwargs && kwargs->is(AttrKind::Dict) && !kwargs->fields.empty())
      return refused(call, fmt::format("a PrimFunc takes no {}", op_attr::TeGradKwargs));
    return call_named(ctx, call, f, grads);
  }
  if (grads.size() != 1) return refused(call, "its kernel has several results, and the module has no such function");
  return derive(ctx, legalizer, call, kernel, grads);
}

}  // namespace rldb::passes
