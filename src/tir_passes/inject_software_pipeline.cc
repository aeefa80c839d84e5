// InjectSoftwarePipeline: loops with the annotations `software_pipeline_stage` and `software_pipeline_order` are
// pipelined (software_pipeline.h). Their bodies are sequences; a nested block without a condition counts by its
// statements.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/software_pipeline.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool is_plain(const Stmt* s) {
  const auto* r = as<SBlockRealize>(s);
  return r && is_const(r->predicate, 1);
}

// The integers of an annotation; empty if it is not a list of them.
std::vector<std::int64_t> integers(const Attr* a) {
  std::vector<std::int64_t> out;
  for (const Attr* item : a->items) {
    const auto* e = item->is(AttrKind::Expr) ? as<Expr>(item->node) : nullptr;
    const auto value = e ? const_int(e) : item->is(AttrKind::Int) ? std::optional(item->integer) : std::nullopt;
    if (!value) return {};
    out.push_back(*value);
  }
  return out;
}

class Inject : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::string refused;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* b = as<SBlock>(s)) note_doubled(b);
    const Stmt* made = default_stmt(s);
    const auto* f = as<ForStmt>(made);
    return f ? loop(f) : made;
  }

 private:
  void note_doubled(const SBlock* b) {
    const Attr* which = find_attr(b->annotations, attr_name::DoubleBufferScope);
    if (!which) return;
    const auto* e = which->is(AttrKind::Expr) ? as<Expr>(which->node) : nullptr;
    const std::int64_t index = e ? const_int(e).value_or(-1) : which->integer;
    if (index < 0 || std::size_t(index) >= b->writes.size()) {
      refused =
          fmt::format("block `{}` doubles its written buffer {}, and writes {}", b->name, index, b->writes.size());
    } else {
      doubled_.insert(b->writes[std::size_t(index)].buffer);
    }
  }

  const Stmt* refuse(const Stmt* s, std::string why) {
    if (refused.empty()) refused = std::move(why);
    return s;
  }

  const Stmt* loop(const ForStmt* f) {
    const Attr* stage = find_attr(f->annotations, attr_name::SoftwarePipelineStage);
    const Attr* order = find_attr(f->annotations, attr_name::SoftwarePipelineOrder);
    if (!stage && !order) return f;
    if (!stage || !order)
      return refuse(f, fmt::format("loop `{}` has `{}` without `{}`", f->var->name,
                                   stage ? attr_name::SoftwarePipelineStage : attr_name::SoftwarePipelineOrder,
                                   stage ? attr_name::SoftwarePipelineOrder : attr_name::SoftwarePipelineStage));
    std::vector<const Buffer*> allocated;
    const Stmt* body = f->body;
    if (const auto* r = as<SBlockRealize>(body)) {
      if (!r->block->iter_vars.empty())
        return refuse(f, fmt::format("block `{}` has axes: run ConvertBlocksToOpaque first", r->block->name));
      if (!is_plain(body)) return refuse(f, fmt::format("the block in loop `{}` has a condition", f->var->name));
      allocated.assign(r->block->alloc_buffers.begin(), r->block->alloc_buffers.end());
      body = r->block->body;
    }
    const auto* seq = as<SeqStmt>(body);
    if (!seq) return refuse(f, fmt::format("the body of loop `{}` is one statement: it has no stages", f->var->name));
    std::vector<PipelinePart> parts = split(seq, allocated);
    const std::vector<std::int64_t> stages = integers(stage), orders = integers(order);
    if (stages.size() != parts.size() || orders.size() != parts.size())
      return refuse(f, fmt::format("loop `{}` has {} statements, {} stages and {} places", f->var->name, parts.size(),
                                   stages.size(), orders.size()));
    const Attr* async = find_attr(f->annotations, attr_name::SoftwarePipelineAsyncStages);
    const std::vector<std::int64_t> async_stages = async ? integers(async) : std::vector<std::int64_t>();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].stage = stages[i];
      parts[i].order = orders[i];
      parts[i].async = std::find(async_stages.begin(), async_stages.end(), stages[i]) != async_stages.end();
    }
    if (std::string why = invalid(f, parts); !why.empty()) return refuse(f, std::move(why));
    SoftwarePipeline pipeline(ctx_, f, std::move(parts), std::move(allocated), doubled_);
    const Stmt* made = pipeline.build();
    if (!pipeline.refused.empty()) return refuse(f, std::move(pipeline.refused));
    return made;
  }

  std::vector<PipelinePart> split(const SeqStmt* seq, std::vector<const Buffer*>& allocated) {
    std::vector<PipelinePart> parts;
    for (const Stmt* s : seq->stmts) {
      const auto* r = as<SBlockRealize>(s);
      const auto* inner = r && is_plain(s) ? as<SeqStmt>(r->block->body) : nullptr;
      if (!inner) {
        parts.push_back({block_of(ctx_, s), 0, 0, false});
        continue;
      }
      allocated.insert(allocated.end(), r->block->alloc_buffers.begin(), r->block->alloc_buffers.end());
      for (const Stmt* nested : inner->stmts) parts.push_back({block_of(ctx_, nested), 0, 0, false});
    }
    return parts;
  }

  // Why the order would not give the loop's values; empty if it does.
  static std::string invalid(const ForStmt* f, const std::vector<PipelinePart>& parts) {
    std::unordered_set<std::int64_t> places;
    for (const PipelinePart& p : parts) {
      if (p.order < 0 || std::size_t(p.order) >= parts.size() || p.stage < 0)
        return fmt::format("loop `{}` has the stage {} and the place {}", f->var->name, p.stage, p.order);
      if (!places.insert(p.order).second)
        return fmt::format("two statements of loop `{}` have the same place {}", f->var->name, p.order);
    }
    std::unordered_map<const Var*, std::vector<const PipelinePart*>> writers;
    for (const PipelinePart& p : parts) {
      for (const BufferRegion& read : p.block->reads)
        for (const PipelinePart* writer : writers[read.buffer->data]) {
          if (writer->stage > p.stage)
            return fmt::format("a statement of stage {} in loop `{}` reads `{}`, which stage {} writes", p.stage,
                               f->var->name, read.buffer->name, writer->stage);
          if (writer->stage == p.stage && writer->order >= p.order)
            return fmt::format("a statement of stage {} in loop `{}` would read `{}` before it is written", p.stage,
                               f->var->name, read.buffer->name);
        }
      for (const BufferRegion& write : p.block->writes) writers[write.buffer->data].push_back(&p);
    }
    return {};
  }

  std::unordered_set<const Buffer*> doubled_;
};

}  // namespace

Result<const Module*> inject_software_pipeline(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    Inject inject(env.ctx);
    const Stmt* body = inject.rewrite(f->body);
    if (!inject.refused.empty())
      return support::Failure(
          source::message(diag::PassUnsupported, fmt::format("`{}`", name), std::move(inject.refused)));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
