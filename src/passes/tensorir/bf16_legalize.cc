// BF16ComputeLegalize and BF16StorageLegalize: kernels over bfloat16 for processors that have none.
//
// The first computes in float32 what was computed in bfloat16: values are widened where they are read and rounded where
// they are stored; buffers that only the kernel sees hold float32. The second keeps what is left of bfloat16, which is
// memory, as uint16. It is for functions whose parameters are no buffers: their dtype is seen from outside.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "passes/tensorir/prim_funcs.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr int kShift = 16;  // bits of float32 that bfloat16 does not have

bool is_bf16(const Expr* e) { return e->dtype().is_bfloat16(); }
DType uint(int bits, DType like) { return DType::UInt(bits, like.lanes); }
DType wide(DType t) { return DType::Float(32, t.lanes); }

const Expr* splat(Context& ctx, DType t, std::int64_t value) {
  const Expr* one = ctx.int_imm(t.element(), value);
  return t.is_scalar() ? one : ctx.broadcast(one, ctx.i32(t.lanes));
}
const Expr* call(Context& ctx, DType t, Intrinsic id, std::initializer_list<const Expr*> args) {
  return ctx.intrin(t, id, args);
}

// The bits are the upper half of a float32's.
const Expr* widened(Context& ctx, const Expr* e) {
  const DType t = e->dtype(), u32 = uint(32, t);
  const Expr* bits = ctx.cast(u32, call(ctx, uint(16, t), Intrinsic::Reinterpret, {e}));
  return call(ctx, wide(t), Intrinsic::Reinterpret,
              {call(ctx, u32, Intrinsic::ShiftLeft, {bits, splat(ctx, u32, kShift)})});
}

// To the nearest, ties to even.
const Expr* rounded(Context& ctx, const Expr* e) {
  const DType t = e->dtype(), u32 = uint(32, t), u16 = uint(16, t);
  const Expr* bits = call(ctx, u32, Intrinsic::Reinterpret, {e});
  const Expr* upper = call(ctx, u32, Intrinsic::ShiftRight, {bits, splat(ctx, u32, kShift)});
  const Expr* odd = call(ctx, u32, Intrinsic::BitwiseAnd, {upper, splat(ctx, u32, 1)});
  const Expr* bias = ctx.binary(BinaryKind::Add, odd, splat(ctx, u32, (1 << (kShift - 1)) - 1));
  const Expr* sum = ctx.binary(BinaryKind::Add, bits, bias);
  const Expr* half = ctx.cast(u16, call(ctx, u32, Intrinsic::ShiftRight, {sum, splat(ctx, u32, kShift)}));
  return call(ctx, DType::BFloat16(t.lanes), Intrinsic::Reinterpret, {half});
}

// What a literal of bfloat16 holds.
double nearest_bf16(double value) {
  const float f = float(value);
  if (f != f) return value;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  bits += ((bits >> kShift) & 1) + ((1u << (kShift - 1)) - 1);
  return double(std::bit_cast<float>(bits >> kShift << kShift));
}

// Buffers of bfloat16 that are allocated inside, and whose pointer nobody takes.
std::unordered_set<const Buffer*> inner_buffers(const PrimFunc* f) {
  std::unordered_set<const Buffer*> out;
  std::unordered_set<const Var*> pointers;
  const auto add = [&](const Buffer* b) {
    if (b->dtype.is_bfloat16()) out.insert(b);
  };
  walk(f->body, [&](const Node* n) {
    if (const auto* a = as<AllocBuffer>(n)) add(a->buffer);
    if (const auto* d = as<DeclBuffer>(n); d && !d->data) add(d->buffer);
    if (const auto* b = as<SBlock>(n))
      for (const Buffer* buffer : b->alloc_buffers) add(buffer);
    if (const auto* v = as<Var>(n)) pointers.insert(v);
    return true;
  });
  std::erase_if(out, [&](const Buffer* b) { return pointers.contains(b->data); });
  return out;
}

// A buffer of another element type, and its pointer.
const Buffer* retyped(Context& ctx, const Buffer* b, DType t) {
  Buffer fields = *b;
  fields.dtype = t;
  fields.data = ctx.var(b->data->name, ctx.pointer(t.element(), b->scope));
  ctx.set_origin(fields.data, b->data);
  const Buffer* made = ctx.buffer(fields);
  ctx.set_origin(made, b);
  return made;
}

class ComputeLegalizer : public Rewriter {
 public:
  ComputeLegalizer(Context& ctx, const PrimFunc* f) : Rewriter(ctx), inner_(inner_buffers(f)) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    if (!inner_.contains(b)) return Rewriter::visit_buffer(b);
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    const Buffer* made = retyped(ctx_, b, wide(b->dtype));
    remap_buffer(b, made);
    remap(b->data, made->data);
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    if (const auto* b = as<BinaryExpr>(e)) {
      const Expr *x = value(b->a), *y = value(b->b);
      return x == b->a && y == b->b ? e : ctx_.binary(b->op(), x, y);
    }
    if (const auto* i = as<FloatImm>(e); i && is_bf16(i))
      return ctx_.float_imm(DType::Float(32), nearest_bf16(i->value));
    if (const auto* c = as<CastExpr>(e)) return cast(c);
    if (const auto* s = as<SelectExpr>(e)) {
      const Expr *c = rewrite(s->cond), *x = value(s->true_value), *y = value(s->false_value);
      return c == s->cond && x == s->true_value && y == s->false_value ? e : ctx_.select(c, x, y);
    }
    if (const auto* b = as<Broadcast>(e)) {
      const Expr* v = value(b->value);
      return v == b->value ? e : ctx_.broadcast(v, b->lanes);
    }
    if (const auto* s = as<Shuffle>(e)) return shuffle(s);
    if (const auto* l = as<LetExpr>(e)) {
      const Expr* v = value(l->value);
      const Var* var = variable(l->var);
      const Expr* body = value(l->body);
      return v == l->value && body == l->body ? e : ctx_.let(var, v, body);
    }
    if (const auto* r = as<CommReducer>(e)) return reducer(r);
    return default_expr(e);
  }

  const Expr* visit_call(const Call* c) override {
    if (is_call_of(c, Intrinsic::Reinterpret)) return default_expr(c);
    std::vector<const Expr*> args;
    bool changed = false;
    for (const Expr* a : c->args) {
      args.push_back(value(a));
      changed = changed || args.back() != a;
    }
    const DType t = c->dtype();
    if (!changed && !t.is_bfloat16()) return c;
    return ctx_.call_typed(c->callee, args, t.is_bfloat16() ? ctx_.prim(wide(t)) : c->type, c->attrs);
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* st = as<BindStmt>(s); st && is_bf16(st->var)) {
      const Expr* v = value(st->value);
      return ctx_.bind(variable(st->var), v);
    }
    if (const auto* st = as<BufferStore>(s)) return store(st);
    return default_stmt(s);
  }

 private:
  // Rewritten, and float32 where it was bfloat16.
  const Expr* value(const Expr* e) {
    const Expr* made = rewrite(e);
    return is_bf16(made) ? widened(ctx_, made) : made;
  }

  const Expr* cast(const CastExpr* c) {
    const Expr* v = value(c->value);
    if (is_bf16(c)) return v->dtype() == wide(c->dtype()) ? v : ctx_.cast(wide(c->dtype()), v);
    if (v == c->value) return c;
    return v->dtype() == c->dtype() ? v : ctx_.cast(c->dtype(), v);
  }
  const Expr* shuffle(const Shuffle* s) {
    std::vector<const Expr*> vectors;
    for (const Expr* v : s->vectors) vectors.push_back(value(v));
    return ctx_.shuffle(vectors, s->indices);
  }
  const Var* variable(const Var* v) {
    if (!is_bf16(v)) return v;
    const Var* made = ctx_.var(v->name, ctx_.prim(wide(v->dtype())));
    ctx_.set_origin(made, v);
    remap(v, made);
    return made;
  }
  const Expr* reducer(const CommReducer* r) {
    std::vector<const Var*> lhs, rhs;
    std::vector<const Expr*> results, identities;
    for (const Var* v : r->lhs) lhs.push_back(variable(v));
    for (const Var* v : r->rhs) rhs.push_back(variable(v));
    for (const Expr* e : r->results) results.push_back(value(e));
    for (const Expr* e : r->identities) identities.push_back(value(e));
    return ctx_.comm_reducer(lhs, rhs, results, identities);
  }

  const Stmt* store(const BufferStore* st) {
    const Buffer* to = visit_buffer(st->buffer);
    std::vector<const Expr*> at;
    for (const Expr* i : st->indices) at.push_back(rewrite(i));
    const Expr* v = rewrite(st->value);
    if (to->dtype.is_bfloat16() && !is_bf16(v)) v = rounded(ctx_, v);
    if (!to->dtype.is_bfloat16() && is_bf16(v)) v = widened(ctx_, v);
    if (to == st->buffer && v == st->value && std::equal(at.begin(), at.end(), st->indices.begin())) return st;
    return ctx_.store(to, v, at, rewrite(st->predicate));
  }

  std::unordered_set<const Buffer*> inner_;
};

class StorageLegalizer : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::string refused;

  const PrimFunc* run(const PrimFunc* f) {
    std::vector<PrimParam> params;
    for (const PrimParam& p : f->params) params.push_back({variable(p.var), nullptr});
    const Stmt* body = rewrite(f->body);
    if (body == f->body && std::equal(params.begin(), params.end(), f->params.begin(),
                                      [](const PrimParam& a, const PrimParam& b) { return a.var == b.var; }))
      return f;
    const PrimFunc* made = ctx_.prim_func(params, f->ret_type, body ? body : no_op(ctx_), f->attrs, f->s_tir);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    if (!b->dtype.is_bfloat16()) return Rewriter::visit_buffer(b);
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    Buffer fields = *b;
    fields.dtype = uint(16, b->dtype);
    fields.data = variable(b->data);
    const Buffer* made = ctx_.buffer(fields);
    ctx_.set_origin(made, b);
    remap_buffer(b, made);
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    const auto* c = as<Call>(e);
    if (c && is_call_of(c, Intrinsic::Reinterpret)) {
      const Expr* v = rewrite(c->args[0]);
      const DType t = c->dtype().is_bfloat16() ? uint(16, c->dtype()) : c->dtype();
      return v->dtype() == t ? v : call(ctx_, t, Intrinsic::Reinterpret, {v});
    }
    if (is_bf16(e) && !isa<BufferLoad>(e) && refused.empty())
      refused = "it computes in bfloat16: run BF16ComputeLegalize first";
    return refused.empty() ? default_expr(e) : e;
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    return refused.empty() ? default_stmt(s) : s;
  }

 private:
  // The pointer to bfloat16 as one to uint16.
  const Var* variable(const Var* v) {
    const auto* pointer = as<PointerType>(v->type);
    if (!pointer || !pointer->element.is_bfloat16()) return v;
    if (const auto* known = as<Var>(lookup(v)); known && known != v) return known;
    const Var* made = ctx_.var(v->name, ctx_.pointer(uint(16, pointer->element), pointer->scope));
    ctx_.set_origin(made, v);
    remap(v, made);
    return made;
  }
};

}  // namespace

Result<const Module*> bf16_compute_legalize(PassEnv& env, const Module* module, const PassOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return with_body(env.ctx, f, ComputeLegalizer(env.ctx, f).rewrite(f->body));
  });
}

Result<const Module*> bf16_storage_legalize(PassEnv& env, const Module* module, const PassOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const auto refuse = [&](std::string why) {
      return support::Failure(source::message(diag::PassUnsupported, "`" + std::string(name) + "`", std::move(why)));
    };
    for (const PrimParam& p : f->params)
      if (p.buffer)
        return refuse(fmt::format("parameter `{}` is a buffer: the pass is for functions of pointers", p.buffer->name));
    StorageLegalizer legalizer(env.ctx);
    const PrimFunc* made = legalizer.run(f);
    if (!legalizer.refused.empty()) return refuse(legalizer.refused);
    return made;
  });
}

}  // namespace rldb::passes
