// ForceNarrowIndexToInt32: int64 loops, sizes and index arithmetic become int32, whether or not the values fit: for
// devices that are slow with 64 bits. Elements of buffers keep their dtype, so a function with int64 buffers is
// refused, and so is a literal that does not fit.
#include <limits>
#include <unordered_set>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool is_wide(DType t) { return t.is_int() && t.bits == 64; }
DType narrowed(DType t) { return DType::Int(32, t.lanes); }

// The first buffer with int64 elements; null: none is read or written.
const Buffer* wide_buffer(const PrimFunc* f) {
  const Buffer* found = nullptr;
  walk(f->body, [&](const Node* n) {
    const auto* load = as<BufferLoad>(n);
    const auto* store = as<BufferStore>(n);
    const Buffer* b = load ? load->buffer : store ? store->buffer : nullptr;
    if (!found && b && is_wide(b->dtype)) found = b;
    return !found;
  });
  return found;
}

class IndexNarrower : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::string refused;  // why; empty: success

  // `keep_scalars`: the function is called with int64 values; it narrows them itself.
  const PrimFunc* run(const PrimFunc* f, bool keep_scalars) {
    if (is_wide(dtype_of(f->ret_type))) refused = "it returns an int64";
    if (const Buffer* b = wide_buffer(f)) refuse(b);
    if (!refused.empty()) return f;
    std::vector<PrimParam> params;
    for (const PrimParam& p : f->params) {
      const bool keep = keep_scalars && !p.buffer && is_wide(p.var->dtype());
      if (keep) wide_.insert(p.var);
      params.push_back({keep ? p.var : narrow(p.var), nullptr});
    }
    for (std::size_t i = 0; i < params.size(); ++i) params[i].buffer = visit_buffer(f->params[i].buffer);
    const PrimFunc* made = ctx_.prim_func(params, f->ret_type, rewrite(f->body), f->attrs, f->s_tir);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Expr* visit_var(const Var* v) override {
    return wide_.count(v) ? cast_to(ctx_, narrowed(v->dtype()), v) : narrow(v);
  }

  const Expr* visit_expr(const Expr* e) override {
    if (!is_wide(e->dtype()) || isa<Var>(e)) return default_expr(e);
    if (const auto* i = as<IntImm>(e)) return literal(i);
    if (const auto* c = as<CastExpr>(e)) return cast_to(ctx_, narrowed(e->dtype()), rewrite(c->value));
    if (const auto* let = as<LetExpr>(e)) {
      const Expr* value = rewrite(let->value);
      return ctx_.let(narrow(let->var), value, rewrite(let->body));
    }
    return default_expr(e);
  }

  const Expr* visit_call(const Call* c) override {
    const IntrinsicInfo* called = called_intrinsic(c);
    const bool wide_argument = !c->args.empty() && is_wide(c->args[0]->dtype());
    const Expr* made = default_expr(c);
    const auto* call = as<Call>(made);
    if (!called || !call) return made;
    if (called->id == intrin::Clz && wide_argument)  // of 64 bits, in terms of that of 32
      return ctx_.binary(BinaryKind::Add, ctx_.binary(BinaryKind::Sub, call, ctx_.int_imm(call->dtype(), 32)),
                         ctx_.int_imm(call->dtype(), 64));
    if (!is_wide(c->dtype())) return made;
    const bool follows = called->dtype == IntrinsicDType::First || called->dtype == IntrinsicDType::Match;
    if (called->purity == IntrinsicPurity::Pure && follows)
      return ctx_.call_typed(call->callee, call->args, ctx_.prim(narrowed(c->dtype())), call->attrs, call->ty_args);
    return cast_to(ctx_, narrowed(c->dtype()), call);
  }

  const Buffer* visit_buffer(const Buffer* b) override {
    if (!b) return nullptr;
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    if (is_wide(b->dtype)) refuse(b);
    Buffer made = *b;
    const auto list = [&](Span<const Expr*> from) {
      std::vector<const Expr*> to;
      for (const Expr* e : from) to.push_back(rewrite(e));
      return ctx_.list(to);
    };
    made.shape = list(b->shape);
    made.strides = list(b->strides);
    made.elem_offset = rewrite(b->elem_offset);
    const Buffer* result = ctx_.buffer(made);
    ctx_.set_origin(result, b);
    remap_buffer(b, result);
    return result;
  }

  const Stmt* visit_stmt(const Stmt* s) override { return default_stmt(renamed(s)); }

 private:
  std::unordered_set<const Var*> wide_;  // parameters that keep their dtype

  static DType dtype_of(const Type* t) {
    const auto* p = as<PrimType>(t);
    return p ? p->dtype : DType::Void();
  }

  void refuse(const Buffer* b) { refused = "buffer `" + std::string(b->name) + "` has elements of int64"; }

  const Var* narrow(const Var* v) {
    if (!is_wide(v->dtype())) return v;
    if (const Expr* known = lookup(v); known != v) return as<Var>(known);
    const Var* made = ctx_.var(v->name, ctx_.prim(narrowed(v->dtype())));
    ctx_.set_origin(made, v);
    remap(v, made);
    return made;
  }

  const Expr* literal(const IntImm* i) {
    if (i->value > std::numeric_limits<std::int32_t>::max() || i->value < std::numeric_limits<std::int32_t>::min())
      refused = "the literal " + std::to_string(i->value) + " does not fit";
    return ctx_.int_imm(narrowed(i->dtype()), i->value);
  }

  // The statement with narrow variables where it defines any, otherwise unchanged.
  const Stmt* renamed(const Stmt* s) {
    if (const auto* f = as<ForStmt>(s))
      return ctx_.for_stmt(narrow(f->var), f->min, f->extent, f->for_kind, f->body, f->annotations, f->thread_tag,
                           f->step);
    if (const auto* b = as<BindStmt>(s); b && is_wide(b->var->dtype()))
      return ctx_.bind(narrow(b->var), rewrite(b->value));
    if (const auto* a = as<AttrStmt>(s); a && a->thread_var)
      return ctx_.attr_stmt(a->node, a->key, a->value, a->body, narrow(a->thread_var));
    if (const auto* block = as<SBlock>(s)) {
      SBlock made = *block;
      std::vector<IterVar> axes;
      for (const IterVar& v : block->iter_vars) axes.push_back({narrow(v.var), v.dom, v.kind});
      made.iter_vars = axes;
      return ctx_.sblock(made);
    }
    return s;
  }
};

// PrimFuncs that Relax functions call as functions.
std::unordered_set<std::string_view> called_functions(const Module* module) {
  std::unordered_set<std::string_view> out;
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function))
      walk(f->body, [&](const Node* n) {
        const auto* call = as<Call>(n);
        if (const auto* g = call ? as<GlobalVar>(call->callee) : nullptr) out.insert(g->name);
        return true;
      });
  return out;
}

}  // namespace

Result<const Module*> force_narrow_index_to_int32(PassEnv& env, const Module* module, const NoOptions&) {
  const std::unordered_set<std::string_view> called = called_functions(module);
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    IndexNarrower narrower(env.ctx);
    const PrimFunc* made = narrower.run(f, called.count(name) != 0);
    if (!narrower.refused.empty())
      return support::Failure(
          source::message(diag::PassUnsupported, "`" + std::string(name) + "` to int32", narrower.refused));
    return structural_equal(made, f) ? f : made;
  });
}

}  // namespace rldb::passes
