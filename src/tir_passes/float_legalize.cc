// BF16ComputeLegalize, FP8ComputeLegalize and the two StorageLegalize: adapt kernels over narrow floats to processors
// that do not support them.
//
// The first kind moves computation from a narrow format to a wide one: values are widened where they are read and
// rounded where they are stored; buffers internal to the kernel hold wide ones. The second keeps what remains, which
// is memory, as unsigned integers. It is for functions without buffer parameters: the dtype of those is visible
// outside.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/helpers.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/float_formats.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Buffers of narrow floats that are allocated inside, and whose pointer does not escape.
std::unordered_set<const Buffer*> inner_buffers(const PrimFunc* f, const NarrowFloats& narrow) {
  std::unordered_set<const Buffer*> out;
  std::unordered_set<const Var*> pointers;
  const auto add = [&](const Buffer* b) {
    if (narrow.is(b->dtype)) out.insert(b);
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

// A buffer with another element type, and its pointer.
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
  ComputeLegalizer(Context& ctx, const PrimFunc* f, const NarrowFloats& narrow)
      : Rewriter(ctx), narrow_(narrow), inner_(inner_buffers(f, narrow)) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    if (!inner_.contains(b)) return Rewriter::visit_buffer(b);
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    const Buffer* made = retyped(ctx_, b, narrow_.widened(b->dtype));
    remap_buffer(b, made);
    remap(b->data, made->data);
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    if (const auto* b = as<BinaryExpr>(e)) {
      const Expr *x = value(b->a), *y = value(b->b);
      return x == b->a && y == b->b ? e : ctx_.binary(b->op(), x, y);
    }
    if (const auto* i = as<FloatImm>(e); i && is_narrow(i))
      return ctx_.float_imm(narrow_.wide, nearest(i->dtype(), i->value));
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
    if (is_call_of(c, intrin::Reinterpret)) return default_expr(c);
    std::vector<const Expr*> args;
    bool changed = false;
    for (const Expr* a : c->args) {
      args.push_back(value(a));
      changed = changed || args.back() != a;
    }
    const DType t = c->dtype();
    if (!changed && !narrow_.is(t)) return c;
    return ctx_.call_typed(c->callee, args, narrow_.is(t) ? ctx_.prim(narrow_.widened(t)) : c->type, c->attrs);
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* st = as<BindStmt>(s); st && is_narrow(st->var)) {
      const Expr* v = value(st->value);
      return ctx_.bind(variable(st->var), v);
    }
    if (const auto* st = as<BufferStore>(s)) return store(st);
    return default_stmt(s);
  }

 private:
  bool is_narrow(const Expr* e) const { return narrow_.is(e->dtype()); }
  // The rewritten expression, wide where it was narrow.
  const Expr* value(const Expr* e) {
    const Expr* made = rewrite(e);
    return is_narrow(made) ? narrow_.widened(ctx_, made) : made;
  }

  const Expr* cast(const CastExpr* c) {
    const Expr* v = value(c->value);
    if (is_narrow(c)) return v->dtype() == narrow_.widened(c->dtype()) ? v : ctx_.cast(narrow_.widened(c->dtype()), v);
    if (v == c->value) return c;
    return v->dtype() == c->dtype() ? v : ctx_.cast(c->dtype(), v);
  }
  const Expr* shuffle(const Shuffle* s) {
    std::vector<const Expr*> vectors;
    for (const Expr* v : s->vectors) vectors.push_back(value(v));
    return ctx_.shuffle(vectors, s->indices);
  }
  const Var* variable(const Var* v) {
    if (!is_narrow(v)) return v;
    const Var* made = ctx_.var(v->name, ctx_.prim(narrow_.widened(v->dtype())));
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
    if (narrow_.is(to->dtype) && !is_narrow(v)) v = narrow_.rounded(ctx_, v, to->dtype);
    if (!narrow_.is(to->dtype) && is_narrow(v)) v = narrow_.widened(ctx_, v);
    if (to == st->buffer && v == st->value && std::equal(at.begin(), at.end(), st->indices.begin())) return st;
    return ctx_.store(to, v, at, rewrite(st->predicate));
  }

  const NarrowFloats& narrow_;
  std::unordered_set<const Buffer*> inner_;
};

class StorageLegalizer : public Rewriter {
 public:
  StorageLegalizer(Context& ctx, const NarrowFloats& narrow) : Rewriter(ctx), narrow_(narrow) {}
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
    if (!narrow_.is(b->dtype)) return Rewriter::visit_buffer(b);
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    Buffer fields = *b;
    fields.dtype = bits_of(b->dtype);
    fields.data = variable(b->data);
    const Buffer* made = ctx_.buffer(fields);
    ctx_.set_origin(made, b);
    remap_buffer(b, made);
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    const auto* c = as<Call>(e);
    if (c && is_call_of(c, intrin::Reinterpret) && c->type->kind == TypeKind::Prim) {
      const Expr* v = rewrite(c->args[0]);
      const DType t = narrow_.is(c->dtype()) ? bits_of(c->dtype()) : c->dtype();
      return v->dtype() == t ? v : ctx_.intrin(t, intrin::Reinterpret, {v});
    }
    if (narrow_.is(e->dtype()) && !isa<BufferLoad>(e) && refused.empty())
      refused = fmt::format("it computes in {}: run {} first", narrow_.family, narrow_.compute_pass);
    return refused.empty() ? default_expr(e) : e;
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    return refused.empty() ? default_stmt(s) : s;
  }

 private:
  // A pointer to narrow floats becomes one to integers.
  const Var* variable(const Var* v) {
    const auto* pointer = as<PointerType>(v->type);
    if (!pointer || !narrow_.is(pointer->element)) return v;
    if (const auto* known = as<Var>(lookup(v)); known && known != v) return known;
    const Var* made = ctx_.var(v->name, ctx_.pointer(bits_of(pointer->element), pointer->scope));
    ctx_.set_origin(made, v);
    remap(v, made);
    return made;
  }

  const NarrowFloats& narrow_;
};

// A format of the family that is computed with although its values cannot be taken apart.
std::string unknown_format(const PrimFunc* f, const NarrowFloats& narrow) {
  std::string out;
  walk(f->body, [&](const Node* n) {
    const Expr* e = isa<Expr>(n) ? static_cast<const Expr*>(n) : nullptr;
    if (e && e->type->kind == TypeKind::Prim && narrow.is(e->dtype()) && !narrow.is_known(e->dtype()) && out.empty())
      out = runtime::to_string(e->dtype().element());
    return out.empty();
  });
  return out;
}

Result<const PrimFunc*> cannot_lower(std::string_view name, std::string why) {
  return support::Failure(source::message(diag::PassUnsupported, "`" + std::string(name) + "`", std::move(why)));
}

Result<const Module*> compute_legalize(PassEnv& env, const Module* module, const NarrowFloats& narrow) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    if (const std::string format = unknown_format(f, narrow); !format.empty())
      return cannot_lower(
          name, fmt::format("values of `{}` are not taken apart, only float8_e4m3fn and float8_e5m2", format));
    return with_body(env.ctx, f, ComputeLegalizer(env.ctx, f, narrow).rewrite(f->body));
  });
}

Result<const Module*> storage_legalize(PassEnv& env, const Module* module, const NarrowFloats& narrow) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    for (const PrimParam& p : f->params)
      if (p.buffer)
        return cannot_lower(
            name, fmt::format("parameter `{}` is a buffer: the pass is for functions of pointers", p.buffer->name));
    StorageLegalizer legalizer(env.ctx, narrow);
    const PrimFunc* made = legalizer.run(f);
    if (!legalizer.refused.empty()) return cannot_lower(name, legalizer.refused);
    return made;
  });
}

}  // namespace

Result<const Module*> bf16_compute_legalize(PassEnv& env, const Module* module, const NoOptions&) {
  return compute_legalize(env, module, bfloat16());
}

Result<const Module*> bf16_storage_legalize(PassEnv& env, const Module* module, const NoOptions&) {
  return storage_legalize(env, module, bfloat16());
}

Result<const Module*> fp8_compute_legalize(PassEnv& env, const Module* module,
                                           const FP8ComputeLegalizeOptions& options) {
  const auto wide = runtime::parse_dtype(options.promote_dtype);
  if (wide != DType::Float(16) && wide != DType::Float(32))
    return support::Failure(
        source::message(diag::PassOptionValue, "promote_dtype", "float16 or float32", options.promote_dtype));
  return compute_legalize(env, module, float8(*wide));
}

Result<const Module*> fp8_storage_legalize(PassEnv& env, const Module* module, const NoOptions&) {
  return storage_legalize(env, module, float8(DType::Float(16)));
}

}  // namespace rldb::passes
