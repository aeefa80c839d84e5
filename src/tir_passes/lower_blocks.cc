// Lowers blocks to plain loops in steps: LowerInitBlock, ConvertBlocksToOpaque and LowerOpaqueBlock. LowerTIRxOpaque
// is what the last one does where there are no blocks.
#include <algorithm>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kPragma = "pragma_", kPragmaUnroll = "pragma_unroll";

// T.init() becomes a statement of the body, under the condition that each reduction is at its beginning.
class InitLowerer : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const Stmt* made = default_stmt(s);
    const auto* block = as<SBlock>(made);
    if (!block || !block->init) return made;
    const Expr* first = nullptr;
    for (const IterVar& v : block->iter_vars)
      if (v.kind == IterKind::Reduce) {
        const Expr* here = compare(ctx_, BinaryKind::EQ, v.var, v.dom.min);
        first = first ? logical_and(ctx_, first, here) : here;
      }
    const Stmt* const parts[] = {first ? ctx_.if_stmt(first, block->init) : block->init, block->body};
    SBlock lowered = *block;
    lowered.init = nullptr;
    lowered.body = ctx_.seq_stmt(parts);
    return ctx_.sblock(lowered);
  }
};

// Replaces axes by the values bound to them.
class AxisRemover : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::string_view has_init;  // a block that cannot lose its axes: its init depends on them

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* r = as<SBlockRealize>(s);
    if (!r) return default_stmt(s);
    if (r->block->init) has_init = r->block->name;
    for (std::size_t i = 0; i < r->block->iter_vars.size(); ++i) {
      const Var* axis = r->block->iter_vars[i].var;
      remap(axis, cast_to(ctx_, axis->dtype(), rewrite(r->iter_values[i])));
    }
    SBlock opaque = *r->block;
    opaque.iter_vars = {};
    const Expr* predicate = rewrite(r->predicate);
    return ctx_.realize({}, predicate, as<SBlock>(rewrite(static_cast<const Stmt*>(ctx_.sblock(opaque)))));
  }
};

// Replaces a block by its body, with its buffers allocated before it, and lowers loops.
class BlockRemover : public Rewriter {
 public:
  BlockRemover(Context& ctx, bool keeps_blocks) : Rewriter(ctx), keeps_blocks_(keeps_blocks) {}
  std::string refused;

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* r = as<SBlockRealize>(s); r && !keeps_blocks_) return block(r);
    if (const auto* f = as<ForStmt>(s)) return loop(f);
    return default_stmt(s);
  }

 private:
  const Stmt* block(const SBlockRealize* r) {
    const SBlock* b = r->block;
    if (!b->iter_vars.empty() || b->init || !b->match_buffers.empty()) {
      refused = "block `" + std::string(b->name) + "` has " +
                (b->init                ? "an init: run LowerInitBlock first"
                 : b->iter_vars.empty() ? "a T.match_buffer"
                                        : "axes: run ConvertBlocksToOpaque first");
      return r;
    }
    std::vector<const Stmt*> parts;
    for (const Buffer* buffer : b->alloc_buffers) parts.push_back(allocation(visit_buffer(buffer)));
    parts.push_back(under_pragmas(b->annotations, rewrite(b->body)));
    const Stmt* body = ctx_.seq_stmt(parts);
    const Expr* predicate = rewrite(r->predicate);
    return is_const(predicate, 1) ? body : ctx_.if_stmt(predicate, body);
  }

  const Stmt* allocation(const Buffer* b) {
    const NamedAttr annotations[] = {ctx_.named(attr_name::BufferAllocatedAddr, ctx_.attr_list({})),
                                     ctx_.named(attr_name::BufferDataAlignment, ctx_.attr(b->data_alignment))};
    return ctx_.alloc_buffer(b, annotations);
  }

  const Stmt* loop(const ForStmt* f) {
    if (f->for_kind == ForKind::ThreadBinding) {
      const Attr* const parts[] = {ctx_.attr(f->thread_tag)};
      const bool is_virtual = is_vthread(f->thread_tag);
      if (!is_const(f->min, 0)) refused = "the loop over `" + std::string(f->var->name) + "` does not begin at 0";
      const Stmt* body = rewrite(f->body);
      return ctx_.attr_stmt(ctx_.attr_opaque("T.iter_var", parts, {}), is_virtual ? kVirtualThread : kThreadExtent,
                            rewrite(f->extent), body ? body : no_op(ctx_), f->var);
    }
    if (is_const(f->extent, 1) && f->annotations.empty() && !f->step) {
      remap(f->var, cast_to(ctx_, f->var->dtype(), rewrite(f->min)));
      return rewrite(f->body);
    }
    const auto is_pragma = [&](const NamedAttr& a) { return moves(a); };
    if (std::none_of(f->annotations.begin(), f->annotations.end(), is_pragma)) return default_stmt(f);
    std::vector<NamedAttr> rest;
    std::copy_if(f->annotations.begin(), f->annotations.end(), std::back_inserter(rest),
                 [&](const NamedAttr& a) { return !is_pragma(a); });
    const Stmt* plain = ctx_.for_stmt(f->var, f->min, f->extent, f->for_kind, f->body, rest, f->thread_tag, f->step);
    return under_pragmas(f->annotations, default_stmt(plain));
  }

  const Stmt* under_pragmas(Span<NamedAttr> annotations, const Stmt* body) {
    if (!body) body = no_op(ctx_);
    for (const NamedAttr& a : annotations) {
      if (!moves(a)) continue;
      const Expr* value = ctx_.i32(a.value->integer);
      if (a.value->is(AttrKind::String)) value = ctx_.string(a.value->string);
      if (a.value->is(AttrKind::Expr)) value = as<Expr>(a.value->node);
      body = ctx_.attr_stmt(ctx_.attr(0), a.name, value, body);
    }
    return body;
  }

  // Out of the annotations of its loop or block.
  bool moves(const NamedAttr& a) const {
    return a.name.starts_with(kPragma) && !(keeps_blocks_ && a.name == kPragmaUnroll);
  }

  bool keeps_blocks_;
};

support::Failure<source::Message> refused(std::string_view function, std::string why) {
  return support::Failure(
      source::message(diag::PassUnsupported, "the blocks of `" + std::string(function) + "`", std::move(why)));
}

}  // namespace

Result<const Module*> lower_init_block(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return with_body(env.ctx, f, InitLowerer(env.ctx).rewrite(f->body));
  });
}

Result<const Module*> convert_blocks_to_opaque(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    AxisRemover remover(env.ctx);
    const Stmt* body = remover.rewrite(f->body);
    if (!remover.has_init.empty())
      return refused(name, "block `" + std::string(remover.has_init) + "` has an init: run LowerInitBlock first");
    return with_body(env.ctx, f, body);
  });
}

Result<const Module*> lower_opaque_block(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    BlockRemover remover(env.ctx, false);
    const Stmt* body = remover.rewrite(f->body);
    if (!remover.refused.empty()) return refused(name, remover.refused);
    return with_body(env.ctx, f, body);
  });
}

Result<const Module*> lower_tirx_opaque(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    BlockRemover remover(env.ctx, true);
    const Stmt* body = remover.rewrite(f->body);
    if (!remover.refused.empty())
      return support::Failure(
          source::message(diag::PassUnsupported, "the loops of `" + std::string(name) + "`", remover.refused));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
