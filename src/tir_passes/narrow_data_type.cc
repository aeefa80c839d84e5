// NarrowDataType: int64 loop variables, block axes and index arithmetic become int32 (or int16, int8) where every
// intermediate value is known to fit.
//
// An expression is narrowed as a whole: it consists of literals and variables whose ranges are constant, and the bounds
// of each subexpression fit. Anything else stays int64; a variable that is part of it does too, and keeps its dtype
// everywhere. The shapes of declared buffers get narrower literals. Indices, comparisons, loop bounds and
// the values of axes use narrowed expressions; values that are stored or passed to calls keep their dtype.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/support/rewrite_counter.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool fits_in(const Bounds& b, std::int64_t most) { return b.min && b.max && *b.min >= -most - 1 && *b.max <= most; }

// Loop variables and axes that are part of an expression that does not fit: they keep their dtype, as in TVM, so that
// such an expression has no casts.
std::unordered_set<const Var*> parts_of_wide(Context& ctx, const Stmt* body, int bits) {
  std::unordered_set<const Var*> out;
  Analyzer analyzer(ctx);
  const std::int64_t most = (std::int64_t(1) << (bits - 1)) - 1;
  struct Use {
    const Expr* e;
    bool wide;
  };
  const auto expression = [&](const Expr* whole) {
    std::vector<Use> left{{whole, false}};
    while (!left.empty()) {
      support::poll();
      const Expr* e = left.back().e;
      bool wide = left.back().wide;
      left.pop_back();
      if (!e) continue;
      const bool is_int = e->dtype().is_int() && e->dtype().is_scalar();
      if (is_int && e->dtype().bits > bits) wide = wide || !fits_in(analyzer.bounds(e), most);
      const auto visit = [&](std::initializer_list<const Expr*> parts) {
        for (const Expr* part : parts) left.push_back({part, wide});
      };
      if (const auto* v = as<Var>(e)) {
        if (wide) out.insert(v);
      } else if (const auto* b = as<BinaryExpr>(e)) {
        visit({b->a, b->b});
      } else if (const auto* c = as<CastExpr>(e)) {
        visit({c->value});
      } else if (const auto* n = as<NotExpr>(e)) {
        visit({n->a});
      } else if (const auto* s = as<SelectExpr>(e)) {
        visit({s->cond, s->true_value, s->false_value});
      } else if (const auto* l = as<BufferLoad>(e)) {
        for (const Expr* i : l->indices) visit({i});
      } else if (const auto* call = as<Call>(e)) {
        for (const Expr* a : call->args)
          if (a->type && as<PrimType>(a->type)) visit({a});
      } else if (const auto* let = as<LetExpr>(e)) {
        visit({let->value, let->body});
      }
    }
  };
  walk(body, [&](const Node* n) {
    if (const auto* f = as<ForStmt>(n)) analyzer.bind_range(f->var, {f->min, f->extent});
    if (const auto* r = as<SBlockRealize>(n))
      for (const IterVar& axis : r->block->iter_vars) analyzer.bind_range(axis.var, axis.dom);
    const auto* e = as<Expr>(n);
    if (!e) return true;
    if (e->type && as<PrimType>(e->type)) expression(e);
    return false;
  });
  return out;
}

class Narrower : public Rewriter {
 public:
  Narrower(Context& ctx, const Stmt* body, int bits)
      : Rewriter(ctx),
        analyzer_(ctx),
        bits_(bits),
        to_(DType::Int(bits)),
        most_((std::int64_t(1) << (bits - 1)) - 1),
        wide_(parts_of_wide(ctx, body, bits)) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    const auto it = buffers_.find(b);
    return it == buffers_.end() ? b : it->second;
  }

  const Expr* visit_expr(const Expr* e) override {
    if (const auto* v = as<Var>(e)) {
      const auto it = narrow_.find(v);
      return it == narrow_.end() ? e : ctx_.cast(v->dtype(), it->second);
    }
    if (const auto* l = as<BufferLoad>(e))
      return ctx_.load(visit_buffer(l->buffer), indices(l->indices), rewrite(l->predicate));
    if (is_call_of(e, intrin::TvmThreadAllreduce)) return allreduce(as<Call>(e));
    const auto* b = as<BinaryExpr>(e);
    if (!b || !e->dtype().is_bool() || !is_wide(b->a)) return default_expr(e);
    const Expr *x = narrowed(b->a), *y = narrowed(b->b);
    return x && y ? ctx_.binary(b->op(), x, y) : default_expr(e);
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* f = as<ForStmt>(s)) return loop(f);
    if (const auto* r = as<SBlockRealize>(s)) return realize(r);
    if (const auto* st = as<BufferStore>(s)) {
      const Expr* value = rewrite(st->value);
      return ctx_.store(visit_buffer(st->buffer), value, indices(st->indices), rewrite(st->predicate));
    }
    if (const auto* d = as<DeclBuffer>(s)) buffers_[d->buffer] = narrowed_buffer(d->buffer);
    if (const auto* a = as<AllocBuffer>(s)) buffers_[a->buffer] = narrowed_buffer(a->buffer);
    return default_stmt(s);
  }

 private:
  // Behind its size, sources, condition and results it names threads: the variables themselves.
  const Expr* allreduce(const Call* call) {
    const Expr* made = default_expr(call);
    const auto* c = as<Call>(made);
    const auto size = c && !c->args.empty() ? const_int(c->args[0]) : std::nullopt;
    if (!size || c == call) return made;
    std::vector<const Expr*> args(c->args.begin(), c->args.end());
    for (std::size_t i = std::size_t(2 + 2 * *size); i < args.size(); ++i) {
      const auto it = isa<Var>(call->args[i]) ? narrow_.find(as<Var>(call->args[i])) : narrow_.end();
      if (it != narrow_.end()) args[i] = it->second;
    }
    return ctx_.call_typed(c->callee, args, c->type, c->attrs, c->ty_args);
  }

  // The literals of a declaration.
  const Buffer* narrowed_buffer(const Buffer* b) {
    std::vector<const Expr*> shape;
    for (const Expr* dim : b->shape) {
      const Expr* made = isa<IntImm>(dim) ? narrowed(dim) : nullptr;
      shape.push_back(made ? made : dim);
    }
    if (std::equal(shape.begin(), shape.end(), b->shape.begin(), b->shape.end())) return b;
    Buffer made = *b;
    made.shape = ctx_.list(shape);
    return ctx_.buffer(made);
  }

  bool is_wide(const Expr* e) const { return e->dtype().is_int() && e->dtype().is_scalar() && e->dtype().bits > bits_; }
  bool fits(const Bounds& b) const { return fits_in(b, most_); }

  // ---- variables ----

  // The variable to use instead; the same one when its range is not known to fit.
  const Var* define(const Var* v, const Range& range) {
    if (!is_wide(v) || wide_.count(v) > 0) return v;
    const Bounds min = analyzer_.bounds(range.min), extent = analyzer_.bounds(range.extent);
    if (!fits(min) || !fits(extent) || !fits({min.min, *min.max + *extent.max})) return v;
    if (!support::may_rewrite([&] { return fmt::format("makes `{}` narrower", v->name); })) return v;
    const Var* made = ctx_.var(v->name, ctx_.prim(to_));
    ctx_.set_origin(made, v);
    narrow_[v] = made;
    return made;
  }
  // A bound or value for the variable `v`, in its dtype.
  const Expr* for_variable(const Expr* e, const Var* v) {
    if (!is_wide(e)) return rewrite(e);
    const Expr* made = narrowed(e);
    if (v->dtype() == to_) return made ? made : ctx_.cast(to_, rewrite(e));
    return rewrite(e);
  }

  const Stmt* loop(const ForStmt* f) {
    analyzer_.bind_range(f->var, {f->min, f->extent});
    const Var* v = f->step ? f->var : define(f->var, {f->min, f->extent});
    const Expr* min = for_variable(f->min, v);
    const Expr* extent = for_variable(f->extent, v);
    const Stmt* body = rewrite(f->body);
    if (v == f->var && body == f->body && min == f->min && extent == f->extent) return f;
    return ctx_.for_stmt(v, min, extent, f->for_kind, body ? body : no_op(ctx_), f->annotations, f->thread_tag,
                         f->step);
  }

  const Stmt* realize(const SBlockRealize* r) {
    std::vector<IterVar> axes;
    std::vector<const Expr*> values;
    for (std::size_t i = 0; i < r->block->iter_vars.size(); ++i) {
      IterVar axis = r->block->iter_vars[i];
      analyzer_.bind_range(axis.var, axis.dom);
      // A value that is not narrow itself would need a cast, from which no loop can be recognised.
      const bool can = is_wide(axis.var) && narrowed(r->iter_values[i]);
      if (can) axis.var = define(axis.var, axis.dom);
      values.push_back(for_variable(r->iter_values[i], axis.var));
      axis.dom = {for_variable(axis.dom.min, axis.var), for_variable(axis.dom.extent, axis.var)};
      axes.push_back(axis);
    }
    const Expr* predicate = rewrite(r->predicate);
    SBlock fields = *r->block;
    fields.iter_vars = ctx_.list(axes);
    fields.reads = regions(r->block->reads);
    fields.writes = regions(r->block->writes);
    const SBlock* renamed = ctx_.sblock(fields);
    ctx_.set_origin(renamed, r->block);
    return ctx_.realize(values, predicate, as<SBlock>(default_stmt(renamed)));
  }

  Span<BufferRegion> regions(Span<BufferRegion> from) {
    std::vector<BufferRegion> out;
    for (const BufferRegion& r : from) {
      std::vector<Range> region;
      for (const Range& range : r.region) {
        const Expr *min = narrowed(range.min), *extent = narrowed(range.extent);
        region.push_back(min && extent ? Range{min, extent} : Range{rewrite(range.min), rewrite(range.extent)});
      }
      out.push_back({r.buffer, ctx_.list(region)});
    }
    return ctx_.list(out);
  }

  // ---- expressions ----

  std::vector<const Expr*> indices(Span<const Expr*> from) {
    std::vector<const Expr*> out;
    for (const Expr* e : from) {
      const Expr* made = is_wide(e) ? narrowed(e) : nullptr;
      out.push_back(made ? made : rewrite(e));
    }
    return out;
  }

  // The same value in fewer bits; null when it is not known to fit.
  const Expr* narrowed(const Expr* e) {
    if (!is_wide(e)) return nullptr;
    if (const auto* i = as<IntImm>(e)) return fits({i->value, i->value}) ? ctx_.int_imm(to_, i->value) : nullptr;
    if (const auto* v = as<Var>(e)) {
      const auto it = narrow_.find(v);
      return it == narrow_.end() ? nullptr : it->second;
    }
    if (const auto* c = as<CastExpr>(e)) return c->value->dtype() == to_ ? rewrite(c->value) : nullptr;
    const auto* b = as<BinaryExpr>(e);
    if (!b || !fits(analyzer_.bounds(e))) return nullptr;
    const Expr* x = narrowed(b->a);
    const Expr* y = x ? narrowed(b->b) : nullptr;
    return y ? ctx_.binary(b->op(), x, y) : nullptr;
  }

  Analyzer analyzer_;
  int bits_;
  DType to_;
  std::int64_t most_;
  std::unordered_set<const Var*> wide_;
  std::unordered_map<const Var*, const Var*> narrow_;
  std::unordered_map<const Buffer*, const Buffer*> buffers_;  // of declarations
};

}  // namespace

Result<const Module*> narrow_data_type(PassEnv& env, const Module* module, const NarrowDataTypeOptions& options) {
  const std::int64_t bits = options.target_bits;
  if (bits != 8 && bits != 16 && bits != 32)
    return support::Failure(source::message(diag::PassUnsupported, fmt::format("index arithmetic to {} bits", bits),
                                            "`target_bits` is 8, 16 or 32"));
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return with_body(env.ctx, f, Narrower(env.ctx, f->body, int(bits)).rewrite(f->body));
  });
}

}  // namespace rldb::passes
