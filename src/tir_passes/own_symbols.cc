#include "rldb/tir_passes/own_symbols.h"

#include <algorithm>

#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

class SymbolRenewer : public Rewriter {
 public:
  using Rewriter::Rewriter;
  const PrimFunc* run(const PrimFunc* f) {
    std::vector<const Var*> symbols;
    for (const PrimParam& p : f->params) {
      if (!p.buffer) continue;
      for (const Expr* e : p.buffer->shape) collect_vars(e, symbols);
      for (const Expr* e : p.buffer->strides) collect_vars(e, symbols);
      if (p.buffer->elem_offset) collect_vars(p.buffer->elem_offset, symbols);
    }
    for (const Var* v : symbols) {
      const auto is_v = [v](const PrimParam& p) { return p.var == v; };
      if (std::any_of(f->params.begin(), f->params.end(), is_v) || lookup(v) != v) continue;
      remap(v, ctx_.var(v->name, v->type));
    }
    walk(f->body, [this](const Node* n) {
      if (const auto* b = as<SBlock>(n))
        for (const Buffer* a : b->alloc_buffers) remap(a->data, ctx_.var(a->data->name, a->data->type));
      return !isa<Expr>(n);
    });
    return rewrite_prim_func(f);
  }
};

}  // namespace

const PrimFunc* with_own_symbols(Context& ctx, const PrimFunc* f) { return SymbolRenewer(ctx).run(f); }

}  // namespace rldb::passes
