// FlattenBuffer: multi-dimensional buffers become one-dimensional ones over the same memory; accesses compute the
// position of their element. Parameters keep their shape, and a flat buffer is declared over each that needs one.
#include <algorithm>
#include <unordered_set>

#include "passes/tensorir/prim_funcs.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Flattener : public Rewriter {
 public:
  using Rewriter::Rewriter;
  bool has_block = false;

  const Stmt* run(const PrimFunc* f) {
    find_open_strides(f);
    std::vector<const Stmt*> parts;
    for (const PrimParam& p : f->params) {
      if (!p.buffer || !is_folded(p.buffer)) continue;
      const Buffer* flat = visit_buffer(p.buffer);
      parts.push_back(ctx_.decl_buffer(flat, p.buffer->data));
      ctx_.set_origin(parts.back(), p.buffer);
    }
    const Stmt* body = rewrite(f->body);
    if (parts.empty()) return body;
    parts.push_back(body ? body : no_op(ctx_));
    return ctx_.seq_stmt(parts);
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    if (!b || !is_folded(b)) return b;
    if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
    Buffer flat = *b;
    const Expr* size =
        b->strides.empty() || b->shape.empty() ? product(ctx_, b->shape) : mul(ctx_, b->strides[0], b->shape[0]);
    if (b->shape.empty()) size = ctx_.i32(1);
    const Expr* const shape[] = {size};
    flat.shape = ctx_.list(std::span<const Expr* const>(shape));
    flat.strides = {};
    const Buffer* made = ctx_.buffer(flat);
    ctx_.set_origin(made, b);
    remap_buffer(b, made);
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    const auto* load = as<BufferLoad>(e);
    if (!load || !is_folded(load->buffer)) return default_expr(e);
    const Expr* const at[] = {place(load->buffer, load->indices)};
    return ctx_.load(visit_buffer(load->buffer), at, rewrite(load->predicate));
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    has_block = has_block || isa<SBlock>(s);
    const auto* store = as<BufferStore>(s);
    if (!store || !is_folded(store->buffer)) return default_stmt(s);
    const Expr* value = rewrite(store->value);
    const Expr* const at[] = {place(store->buffer, store->indices)};
    return ctx_.store(visit_buffer(store->buffer), value, at, rewrite(store->predicate));
  }

 private:
  // Strides that only their declaration names: they have no value, so no position can be computed from them.
  void find_open_strides(const PrimFunc* f) {
    std::vector<const Var*> given;
    for (const PrimParam& p : f->params) {
      given.push_back(p.var);
      if (!p.buffer) continue;
      for (const Span<const Expr*> parts : {p.buffer->shape, p.buffer->strides})
        for (const Expr* e : parts)
          if (const auto* v = as<Var>(e)) given.push_back(v);
    }
    walk(f->body, [&](const Node* n) {
      if (const auto* decl = as<DeclBuffer>(n))
        for (const Expr* e : decl->buffer->strides)
          if (const auto* v = as<Var>(e); v && std::find(given.begin(), given.end(), v) == given.end()) open_.insert(v);
      return true;
    });
  }
  bool is_folded(const Buffer* b) const {
    for (const Expr* e : b->strides)
      if (const auto* v = as<Var>(e); v && open_.contains(v)) return false;
    return (b->shape.size() != 1 || !b->strides.empty()) && b->axis_separators.empty();
  }

  const Expr* widened(const Expr* e, const Expr* like) {
    if (e->dtype().lanes == like->dtype().lanes) return e;
    return ctx_.broadcast(e, ctx_.i32(like->dtype().lanes));
  }
  const Expr* sum(const Expr* a, const Expr* b) {
    if (a->dtype().is_scalar() && b->dtype().is_scalar()) return add(ctx_, a, b);
    if (const auto* ramp = as<Ramp>(b); ramp && a->dtype().is_scalar())
      return ctx_.ramp(add(ctx_, a, ramp->base), ramp->stride, ramp->lanes);
    if (!a->dtype().is_scalar() && !b->dtype().is_scalar()) return add(ctx_, a, b);
    return a->dtype().is_scalar() ? add(ctx_, widened(a, b), b) : add(ctx_, a, widened(b, a));
  }

  // In row-major order, or by the strides.
  const Expr* place(const Buffer* b, Span<const Expr*> indices) {
    if (indices.empty()) return ctx_.i32(0);
    const Expr* at = nullptr;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Expr* index = rewrite(indices[i]);
      if (!b->strides.empty()) {
        const Expr* step = scaled(index, b->strides[i]);
        at = at ? sum(at, step) : step;
      } else {
        at = at ? sum(scaled(at, b->shape[i]), index) : index;
      }
    }
    return at;
  }
  const Expr* scaled(const Expr* e, const Expr* by) {
    by = rewrite(by);
    if (const auto* ramp = as<Ramp>(e))
      return ctx_.ramp(mul(ctx_, ramp->base, by), mul(ctx_, ramp->stride, by), ramp->lanes);
    return mul(ctx_, e, widened(by, e));
  }

  std::unordered_set<const Var*> open_;
};

}  // namespace

Result<const Module*> flatten_buffer(PassEnv& env, const Module* module, const PassOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    Flattener flattener(env.ctx);
    const Stmt* body = flattener.run(f);
    if (flattener.has_block)
      return support::Failure(source::message(diag::PassUnsupported, "`" + std::string(name) + "`",
                                              "it has blocks: run LowerOpaqueBlock first"));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
