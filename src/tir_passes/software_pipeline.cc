// A loop whose statements run in stages: iteration i of stage s runs together with iteration i + 1 of stage s - 1. A
// prologue fills the pipeline, an epilogue empties it. A buffer that is written in one stage and read in a later one
// gets a version for each iteration that is under way.
#include "tir_passes/software_pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/regions.h"
#include "rldb/ir/scalar.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/async_attrs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kCommitScope = "async_commit_queue_scope";

const BufferRegion* find_region(Span<BufferRegion> regions, const Buffer* b) {
  const auto found = std::find_if(regions.begin(), regions.end(), [&](const BufferRegion& r) { return r.buffer == b; });
  return found == regions.end() ? nullptr : &*found;
}

bool may_overlap(Context& ctx, const BufferRegion& a, const BufferRegion& b) {
  Analyzer analyzer(ctx);
  const auto before = [&](const Range& x, const Range& y) {
    return analyzer.prove(compare(ctx, BinaryKind::LE, add(ctx, x.min, x.extent), y.min));
  };
  for (std::size_t i = 0; i < std::min(a.region.size(), b.region.size()); ++i)
    if (before(a.region[i], b.region[i]) || before(b.region[i], a.region[i])) return false;
  return true;
}

// Puts the version of an iteration in front of the indices of buffers that have several.
class Versions : public Rewriter {
 public:
  Versions(Context& ctx, const ForStmt* loop, const std::unordered_map<const Buffer*, const Buffer*>& versioned,
           bool all_versions)
      : Rewriter(ctx), loop_(loop), versioned_(versioned), all_versions_(all_versions) {
    for (const auto& [old, made] : versioned) by_data_[old->data] = old;
  }
  std::string refused;

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto* load = as<BufferLoad>(e);
    const Buffer* made = load ? find(load->buffer) : nullptr;
    if (!made) return default_expr(e);
    return ctx_.load(made, indices(made, load->indices), rewrite(load->predicate));
  }
  const Expr* visit_call(const Call* c) override {
    const auto* made = as<Call>(default_expr(c));
    if (!is_call_of(made, intrin::TvmAccessPtr) || made->args.size() != 5) {
      for (const Expr* arg : made->args)
        if (const auto* v = as<Var>(arg); v && by_data_.contains(v))
          refused = fmt::format("`{}` has several versions, and a call uses its address", by_data_.at(v)->name);
      return made;
    }
    const auto* data = as<Var>(made->args[1]);
    const auto old = data ? by_data_.find(data) : by_data_.end();
    if (old == by_data_.end()) return made;
    const Buffer* buffer = versioned_.at(old->second);
    const Expr* size = buffer->strides.empty() ? product(ctx_, old->second->shape) : buffer->strides[0];
    const Expr* which = floor_mod(ctx_, loop_->var, buffer->shape[0]);
    const Expr* const args[] = {made->args[0], made->args[1], add(ctx_, made->args[2], mul(ctx_, which, size)),
                                made->args[3], made->args[4]};
    return ctx_.call_typed(made->callee, args, made->type, made->attrs, made->ty_args);
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* store = as<BufferStore>(s)) {
      const Buffer* made = find(store->buffer);
      if (!made) return default_stmt(s);
      return ctx_.store(made, rewrite(store->value), indices(made, store->indices), rewrite(store->predicate));
    }
    const auto* b = as<SBlock>(s);
    return b ? block(b) : default_stmt(s);
  }

 private:
  const Buffer* find(const Buffer* b) const {
    const auto found = versioned_.find(b);
    return found == versioned_.end() ? nullptr : found->second;
  }
  const Expr* version(const Buffer* made) { return floor_mod(ctx_, sub(ctx_, loop_->var, loop_->min), made->shape[0]); }
  std::vector<const Expr*> indices(const Buffer* made, Span<const Expr*> from) {
    std::vector<const Expr*> out{version(made)};
    for (const Expr* e : from) out.push_back(rewrite(e));
    return out;
  }
  const Stmt* block(const SBlock* b) {
    // The default does not know that regions get a dimension.
    SBlock plain = *b;
    plain.reads = {};
    plain.writes = {};
    const auto* made = as<SBlock>(default_stmt(ctx_.sblock(plain)));
    SBlock fields = *made;
    fields.reads = regions(b->reads);
    fields.writes = regions(b->writes);
    return ctx_.sblock(fields);
  }
  Span<BufferRegion> regions(Span<BufferRegion> from) {
    std::vector<BufferRegion> out;
    for (const BufferRegion& r : from) {
      const Buffer* made = find(r.buffer);
      std::vector<Range> ranges;
      if (made)
        ranges.push_back(all_versions_ ? Range{ctx_.int_imm(made->shape[0]->dtype(), 0), made->shape[0]}
                                       : Range{version(made), ctx_.i32(1)});
      for (const Range& range : r.region) ranges.push_back({rewrite(range.min), rewrite(range.extent)});
      out.push_back({made ? made : r.buffer, ctx_.list(ranges)});
    }
    return ctx_.list(out);
  }

  const ForStmt* loop_;
  const std::unordered_map<const Buffer*, const Buffer*>& versioned_;
  bool all_versions_;
  std::unordered_map<const Var*, const Buffer*> by_data_;
};

Span<NamedAttr> other_annotations(Context& ctx, const ForStmt* loop) {
  Span<NamedAttr> rest = loop->annotations;
  for (const std::string_view name :
       {attr_name::SoftwarePipelineStage, attr_name::SoftwarePipelineOrder, attr_name::SoftwarePipelineAsyncStages})
    rest = ctx.with_attr(rest, name, nullptr);
  return rest;
}

}  // namespace

const SBlock* block_of(Context& ctx, const Stmt* s) {
  if (const auto* r = as<SBlockRealize>(s); r && is_const(r->predicate, 1)) return r->block;
  const Regions regions = infer_regions(ctx, {{}, nullptr, s, {}, {}});
  SBlock fields{};
  fields.reads = ctx.list(regions.reads);
  fields.writes = ctx.list(regions.writes);
  fields.body = s;
  const SBlock* block = ctx.sblock(fields);
  ctx.set_origin(block, s);
  return block;
}

SoftwarePipeline::SoftwarePipeline(Context& ctx, const ForStmt* loop, std::vector<PipelinePart> parts,
                                   std::vector<const Buffer*> allocated,
                                   const std::unordered_set<const Buffer*>& doubled)
    : ctx_(ctx), loop_(loop), parts_(std::move(parts)), allocated_(std::move(allocated)), doubled_(doubled) {
  for (const PipelinePart& p : parts_) last_stage_ = std::max(last_stage_, p.stage);
}

const Stmt* SoftwarePipeline::build() {
  for (const Buffer* b : allocated_)
    if (const std::int64_t count = versions_of(b); count > 1) versioned_[b] = with_versions(b, count);
  Versions versions(ctx_, loop_, versioned_, last_stage_ != 1);
  for (PipelinePart& p : parts_) p.block = as<SBlock>(versions.rewrite(static_cast<const Stmt*>(p.block)));
  refused = versions.refused;
  std::sort(parts_.begin(), parts_.end(),
            [](const PipelinePart& a, const PipelinePart& b) { return a.order < b.order; });

  const Expr* last = ctx_.int_imm(loop_->var->dtype(), last_stage_);
  const Expr* filled = add(ctx_, loop_->min, last);
  const Expr* end = add(ctx_, loop_->min, loop_->extent);
  const Stmt* prologue = emit(loop_->min, filled, true);
  const Stmt* body = emit(filled, end, false);
  const Expr* emptying = end;
  const Expr* at_least = nullptr;
  // A loop shorter than the pipeline: the epilogue does not repeat the prologue.
  if (last_stage_ > 1 && !Analyzer(ctx_).prove(compare(ctx_, BinaryKind::GE, loop_->extent, last))) {
    if (const_int(end)) {
      emptying = max(ctx_, end, filled);
    } else {
      at_least = filled;
    }
  }
  const Stmt* epilogue = emit(emptying, add(ctx_, end, last), true, at_least);
  const Stmt* const all[] = {prologue, body, epilogue};
  std::vector<const Buffer*> allocated;
  for (const Buffer* b : allocated_) allocated.push_back(versioned_.contains(b) ? versioned_.at(b) : b);
  const Regions regions = infer_regions(ctx_, {{}, nullptr, ctx_.seq_stmt(all), allocated, {}});
  SBlock fields{};
  fields.reads = ctx_.list(regions.reads);
  fields.writes = ctx_.list(regions.writes);
  fields.alloc_buffers = ctx_.list(allocated);
  fields.body = ctx_.seq_stmt(all);
  return realized(ctx_.bool_imm(true), ctx_.sblock(fields));
}

std::int64_t SoftwarePipeline::versions_of(const Buffer* b) const {
  std::int64_t written = -1, read = -1;
  for (const PipelinePart& p : parts_) {
    if (find_region(p.block->writes, b)) written = written < 0 ? p.stage : std::min(written, p.stage);
    if (find_region(p.block->reads, b)) read = std::max(read, p.stage);
  }
  if (written < 0) return 1;
  std::int64_t count = read - written + 1;
  if (count == 2 && !needs_two(b)) count = 1;
  return count == 1 && doubled_.contains(b) ? 2 : count;
}

// Whether the next iteration's write runs before the read.
bool SoftwarePipeline::needs_two(const Buffer* b) const {
  for (const PipelinePart& writer : parts_) {
    const BufferRegion* written = find_region(writer.block->writes, b);
    if (!written) continue;
    for (const PipelinePart& reader : parts_) {
      const BufferRegion* read = find_region(reader.block->reads, b);
      if (read && writer.order < reader.order && writer.stage < reader.stage && may_overlap(ctx_, *written, *read))
        return true;
    }
  }
  return false;
}

const Buffer* SoftwarePipeline::with_versions(const Buffer* b, std::int64_t count) {
  Buffer fields = *b;
  std::vector<const Expr*> shape{ctx_.i32(std::int32_t(count))};
  shape.insert(shape.end(), b->shape.begin(), b->shape.end());
  fields.shape = ctx_.list(shape);
  if (!b->strides.empty()) {
    std::vector<const Expr*> strides{mul(ctx_, b->strides[0], b->shape[0])};
    strides.insert(strides.end(), b->strides.begin(), b->strides.end());
    fields.strides = ctx_.list(strides);
  }
  const Buffer* made = ctx_.buffer(fields);
  ctx_.set_origin(made, b);
  return made;
}

const Stmt* SoftwarePipeline::emit(const Expr* start, const Expr* end, bool unrolled, const Expr* at_least) {
  Analyzer known(ctx_);
  Part part{};
  part.extent = sub(ctx_, end, start);
  if (known.prove(compare(ctx_, BinaryKind::LE, part.extent, ctx_.int_imm(part.extent->dtype(), 0)))) return nothing();
  part.from_first = std::make_unique<Analyzer>(ctx_);
  if (known.prove_equal(part.extent, ctx_.int_imm(part.extent->dtype(), 1))) {
    part.var = start;
  } else {
    part.var = part.loop_var = ctx_.var(loop_->var->name, loop_->var->type);
    ctx_.set_origin(part.loop_var, loop_->var);
    known.bind_range(part.loop_var, {start, part.extent});
    part.from_first->bind_range(part.loop_var, {loop_->min, part.extent});
  }
  for (const PipelinePart& p : parts_) place(part, p, start, at_least, known);
  find_waits(part);
  add_waits(part);
  const std::vector<const Stmt*> stmts = statements(part);
  if (stmts.empty()) return nothing();
  const Stmt* made = ctx_.seq_stmt(stmts);
  if (part.loop_var) {
    const Expr* extent = known.simplify(part.extent);
    made = ctx_.for_stmt(part.loop_var, loop_->min, cast_to(ctx_, loop_->var->dtype(), extent),
                         unrolled ? ForKind::Unrolled : loop_->for_kind, made, other_annotations(ctx_, loop_),
                         unrolled ? std::string_view() : loop_->thread_tag);
    ctx_.set_origin(made, loop_);
  }
  advance(part);
  return realized(ctx_.bool_imm(true), block_of(ctx_, made));
}

// Adds the statement to one of the loops, unless it never runs there.
void SoftwarePipeline::place(Part& part, const PipelinePart& p, const Expr* start, const Expr* at_least,
                             Analyzer& known) {
  const Expr* iteration = sub(ctx_, part.var, ctx_.int_imm(loop_->var->dtype(), p.stage));
  const Expr* end = add(ctx_, loop_->min, loop_->extent);
  const Expr* runs = logical_and(ctx_, known.simplify(compare(ctx_, BinaryKind::LE, loop_->min, iteration)),
                                 compare(ctx_, BinaryKind::LT, iteration, end));
  if (at_least) runs = known.simplify(logical_and(ctx_, runs, compare(ctx_, BinaryKind::GE, part.var, at_least)));
  if (known.prove(logical_not(ctx_, runs)) || is_const(runs, 0)) return;
  if (part.loop_var) {
    const Expr* delta = sub(ctx_, start, loop_->min);
    iteration = add(ctx_, iteration, delta);
    runs = substitute(ctx_, runs, {{part.loop_var, add(ctx_, part.loop_var, delta)}});
  }
  UniqueNames names("_");  // blocks keep their names
  KernelInliner copy(ctx_, names);
  copy.put_scalar(loop_->var, iteration);
  const auto* whole = as<SBlockRealize>(copy.rewrite(realized(ctx_.bool_imm(true), p.block)));
  const SBlock* block = whole->block;
  if (p.async) {
    note_async(part, p.stage, block, iteration, runs);
    block = with_body(block, ctx_.attr_stmt(ctx_.attr(0), kAsyncScope, ctx_.i32(1), block->body));
  }
  part.blocks.push_back({p.stage, runs, block, iteration, p.async});
  for (const BufferRegion& read : block->reads)
    for (const auto& [stage, state] : async_)
      if (stage <= p.stage && state.written.contains(read.buffer)) part.async[stage].consumed = true;
}

void SoftwarePipeline::note_async(Part& part, std::int64_t stage, const SBlock* block, const Expr* iteration,
                                  const Expr* predicate) {
  AsyncPart& state = part.async[stage];
  if (state.groups.empty() || state.consumed) state.groups.emplace_back();
  state.groups.back().push_back(part.blocks.size());
  for (const BufferRegion& write : block->writes) {
    async_[stage].written.insert(write.buffer);
    part.group_of[write.buffer] = state.groups.size() - 1;
  }
  state.newest = iteration;
  if (!state.predicate || part.from_first->prove(state.predicate)) {
    state.predicate = predicate;
  } else {
    state.predicate = part.from_first->simplify(logical_and(ctx_, state.predicate, predicate));
  }
}

// Where asynchronous writes are read, they have to be complete up to the iteration that is read.
void SoftwarePipeline::find_waits(Part& part) {
  for (std::size_t i = 0; i < part.blocks.size(); ++i) {
    const Placed& p = part.blocks[i];
    if (p.async)
      for (const BufferRegion& write : p.block->writes) part.async[p.stage].seen.insert(write.buffer);
    std::int64_t producer = -1;
    for (const BufferRegion& read : p.block->reads)
      for (const auto& [stage, state] : async_) {
        if (stage > p.stage || !state.written.contains(read.buffer)) continue;
        if (producer >= 0 && producer != stage) refused = "a statement reads what several asynchronous stages wrote";
        producer = stage;
      }
    if (producer < 0) continue;
    AsyncPart& state = part.async[producer];
    const Expr* count = in_flight(part, state, producer, i);
    if (!state.in_flight) {
      state.wait_before = std::ptrdiff_t(i);
      state.in_flight = count;
    } else if (Analyzer(ctx_).prove(compare(ctx_, BinaryKind::LT, count, state.in_flight))) {
      state.in_flight = count;
    }
  }
}

// How many groups of writes may still be under way; 0 if that is not known.
const Expr* SoftwarePipeline::in_flight(Part& part, AsyncPart& state, std::int64_t stage, std::size_t reader) {
  const Placed& p = part.blocks[reader];
  std::vector<const Expr*> newest;
  if (state.groups.empty()) {
    newest.push_back(async_[stage].known ? async_[stage].newest : nullptr);
  } else {
    std::unordered_set<std::size_t> counted;
    for (const BufferRegion& read : p.block->reads) {
      const auto group = part.group_of.find(read.buffer);
      if (!async_[stage].written.contains(read.buffer) || group == part.group_of.end()) continue;
      if (!counted.insert(group->second).second) continue;
      const bool written_now = state.seen.contains(read.buffer);
      newest.push_back(written_now ? state.newest : sub(ctx_, state.newest, ctx_.int_imm(state.newest->dtype(), 1)));
    }
  }
  const Expr* sum = ctx_.i32(0);
  for (const Expr* e : newest) {
    if (!e || !part.from_first->prove(compare(ctx_, BinaryKind::GE, e, ctx_.int_imm(e->dtype(), 0))))
      return ctx_.i32(0);
    sum = add(ctx_, sum, Analyzer(ctx_).simplify(sub(ctx_, e, p.iteration)));
  }
  return sum;
}

void SoftwarePipeline::add_waits(Part& part) {
  for (const auto& [stage, state] : part.async) {
    if (!state.in_flight) continue;
    const Expr* count = state.in_flight;
    if (state.predicate && !part.from_first->prove(state.predicate))
      count = ctx_.intrin(DType::Int(32), intrin::IfThenElse,
                          {state.predicate, cast_to(ctx_, DType::Int(32), count), ctx_.i32(0)});
    Placed& at = part.blocks[std::size_t(state.wait_before)];
    const Stmt* inner = ctx_.attr_stmt(ctx_.attr(0), kWaitCount, count, at.block->body);
    at.block = with_body(at.block, ctx_.attr_stmt(ctx_.attr(0), kWaitQueue, ctx_.i32(std::int32_t(stage)), inner));
  }
}

std::vector<const Stmt*> SoftwarePipeline::statements(Part& part) {
  std::vector<std::int64_t> committed(part.blocks.size(), -1);
  for (const auto& [stage, state] : part.async)
    for (const auto& group : state.groups)
      for (std::size_t j = 0; j < group.size(); ++j) committed[group[0] + j] = stage;
  std::vector<const Stmt*> out;
  for (std::size_t i = 0; i < part.blocks.size();) {
    if (committed[i] < 0) {
      out.push_back(realized(part.blocks[i].predicate, part.blocks[i].block));
      ++i;
      continue;
    }
    const std::int64_t stage = committed[i];
    const Expr* predicate = part.blocks[i].predicate;
    std::vector<const Stmt*> bodies;
    for (; i < part.blocks.size() && committed[i] == stage; ++i) bodies.push_back(part.blocks[i].block->body);
    const Stmt* commit =
        ctx_.attr_stmt(ctx_.attr(0), kCommitScope, ctx_.i32(std::int32_t(stage)), ctx_.seq_stmt(bodies));
    out.push_back(realized(predicate, block_of(ctx_, commit)));
  }
  return out;
}

void SoftwarePipeline::advance(Part& part) {
  for (auto& [stage, state] : part.async) {
    AsyncStage& all = async_[stage];
    all.known = all.known && state.predicate && part.from_first->prove(state.predicate);
    if (all.known) all.newest = add(ctx_, all.newest ? all.newest : ctx_.i32(-1), part.extent);
  }
}

const Stmt* SoftwarePipeline::realized(const Expr* predicate, const SBlock* block) {
  return ctx_.realize({}, predicate, block);
}

const SBlock* SoftwarePipeline::with_body(const SBlock* b, const Stmt* body) {
  SBlock fields = *b;
  fields.body = body;
  const SBlock* made = ctx_.sblock(fields);
  ctx_.set_origin(made, b);
  return made;
}

const Stmt* SoftwarePipeline::nothing() { return realized(ctx_.bool_imm(true), block_of(ctx_, no_op(ctx_))); }

}  // namespace rldb::passes
