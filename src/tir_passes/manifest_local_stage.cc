// ManifestSharedMemoryLocalStage: a block with the annotation `tirx.manifest_shared_memory_local_stage` that stores to
// shared memory gets its values from local memory, which another nest of loops fills first. So all loads are under way
// before the first store.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/inline_kernel.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

class LocalStage : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::string refused;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* b = as<SBlock>(s);
    if (b && find_attr(b->annotations, attr_name::ManifestSharedMemoryLocalStage)) return staged(b);
    if (b) return block(b);
    const bool around = isa<ForStmt>(s) || isa<SBlockRealize>(s);
    if (around) around_.push_back(s);
    const Stmt* made = default_stmt(s);
    if (around) around_.pop_back();
    return made;
  }

 private:
  struct Stage {
    const Buffer* shared;
    const Buffer* local;
    const Stmt* fill;
  };

  const Stmt* refuse(const Stmt* s, std::string why) {
    if (refused.empty()) refused = std::move(why);
    return s;
  }

  // The block, reading what the stage before it stored.
  const Stmt* staged(const SBlock* b) {
    const auto* store = as<BufferStore>(b->body);
    if (!store || !store->buffer->scope.starts_with("shared") || store->predicate)
      return refuse(b, fmt::format("block `{}` is not one store to shared memory", b->name));
    std::vector<const ForStmt*> loops;  // innermost first
    const auto* realize = as<SBlockRealize>(around_.back());
    const Stmt* inner = realize;
    for (std::size_t i = around_.size() - 1; i-- > 0;) {
      const auto* f = as<ForStmt>(around_[i]);
      if (!f) {
        const Span<const Buffer*> here = as<SBlockRealize>(around_[i])->block->alloc_buffers;
        if (std::find(here.begin(), here.end(), store->buffer) == here.end())
          return refuse(
              b, fmt::format("`{}` is not allocated by the block around block `{}`", store->buffer->name, b->name));
        break;
      }
      if (f->for_kind != ForKind::Serial && f->for_kind != ForKind::Vectorized)
        return refuse(
            b, fmt::format("loop `{}` around block `{}` is neither serial nor vectorised", f->var->name, b->name));
      if (f->body != inner)
        return refuse(b, fmt::format("loop `{}` has more in it than block `{}`", f->var->name, b->name));
      inner = f;
      loops.push_back(f);
    }
    return with_stage(b, store, realize, loops);
  }

  const Stmt* with_stage(const SBlock* b, const BufferStore* store, const SBlockRealize* realize,
                         const std::vector<const ForStmt*>& loops) {
    Buffer fields = *store->buffer;
    std::vector<const Expr*> shape, at;
    for (const ForStmt* f : std::views::reverse(loops)) {
      at.push_back(add(ctx_, f->min, f->var));
      shape.push_back(f->extent);
    }
    fields.scope = "local";
    fields.shape = ctx_.list(shape);
    fields.strides = {};
    fields.data = ctx_.var(store->buffer->name, ctx_.pointer(store->buffer->dtype, fields.scope));
    const Buffer* local = ctx_.buffer(fields);
    ctx_.set_origin(local, store->buffer);
    stages_.push_back({store->buffer, local, filled(b, store, realize, loops, local, at)});

    SBlock made = *b;
    made.annotations = ctx_.with_attr(b->annotations, attr_name::ManifestSharedMemoryLocalStage, nullptr);
    made.body = ctx_.store(store->buffer, ctx_.load(local, at), store->indices);
    ctx_.set_origin(made.body, store);
    return ctx_.sblock(made);
  }

  // The loops over the values, which are stored to local memory.
  const Stmt* filled(const SBlock* b, const BufferStore* store, const SBlockRealize* realize,
                     const std::vector<const ForStmt*>& loops, const Buffer* local,
                     const std::vector<const Expr*>& at) {
    SBlock stage{};
    std::vector<Range> point;
    for (const Expr* e : at) point.push_back({e, ctx_.int_imm(e->dtype(), 1)});
    const BufferRegion written[] = {{local, ctx_.list(point)}};
    stage.reads = b->reads;
    stage.writes = ctx_.list(std::span<const BufferRegion>(written));
    stage.body = ctx_.store(local, store->value, at);
    const Stmt* made = ctx_.realize({}, realize->predicate, ctx_.sblock(stage));
    for (const ForStmt* f : loops)
      made = ctx_.for_stmt(f->var, f->min, f->extent, f->for_kind, made, f->annotations, f->thread_tag, f->step);
    UniqueNames names("_");
    made = KernelInliner(ctx_, names).rewrite(made);
    ctx_.set_origin(made, store);
    return made;
  }

  // A block that allocates the shared memory of a stage gets the stage in front of the statement with its use.
  const Stmt* block(const SBlock* b) {
    std::vector<const Stmt*> parts;
    std::vector<const Buffer*> allocated(b->alloc_buffers.begin(), b->alloc_buffers.end());
    const auto* seq = as<SeqStmt>(b->body);
    const Stmt* only[] = {b->body};
    bool changed = false;
    for (const Stmt* s : seq ? seq->stmts : Span<const Stmt*>(only)) {
      const std::size_t known = stages_.size();
      const Stmt* made = rewrite(s);
      for (std::size_t i = known; i < stages_.size(); ++i) {
        if (std::find(b->alloc_buffers.begin(), b->alloc_buffers.end(), stages_[i].shared) == b->alloc_buffers.end())
          continue;
        parts.push_back(stages_[i].fill);
        allocated.push_back(stages_[i].local);
      }
      changed = changed || made != s;
      parts.push_back(made);
    }
    if (!changed) return b;
    SBlock made = *b;
    made.alloc_buffers = ctx_.list(allocated);
    made.body = ctx_.seq_stmt(parts);
    return ctx_.sblock(made);
  }

  std::vector<const Stmt*> around_;  // loops and blocks
  std::vector<Stage> stages_;
};

}  // namespace

Result<const Module*> manifest_shared_memory_local_stage(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    LocalStage stage(env.ctx);
    const Stmt* body = stage.rewrite(f->body);
    if (!stage.refused.empty())
      return support::Failure(
          source::message(diag::PassUnsupported, fmt::format("`{}`", name), std::move(stage.refused)));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
