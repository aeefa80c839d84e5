// LowerWarpMemory: memory that the threads of a warp share is spread over them. A buffer of n * width * m elements, for
// `width` threads (the extent of threadIdx.x), becomes n * m elements in each thread:
//
//   W[y * (width * m) + m * t + x] = v       ->   local[y * m + x] = v, in thread t
//   W[y * (width * m) + m * z + x]           ->   a shuffle of local[y * m + x] from thread z, or without one if z is t
//
// m is the factor of threadIdx.x in the indices of the stores.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"
#include "tir_passes/thread_reduction.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kWarpScope = "warp";

// Bounds of loops and threads, everywhere below.
void bind_bounds(Context& ctx, Analyzer& analyzer, const Stmt* body) {
  walk(body, [&](const Node* n) {
    if (const auto* loop = as<ForStmt>(n)) analyzer.bind_range(loop->var, {loop->min, loop->extent});
    const auto* a = as<AttrStmt>(n);
    if (a && a->thread_var && launches_threads(a->key))
      analyzer.bind_range(a->thread_var, {ctx.int_imm(a->thread_var->dtype(), 0), a->value});
    return !isa<Expr>(n);
  });
}

// How one buffer is spread over the threads.
struct Spread {
  const Buffer* buffer = nullptr;
  const Buffer* local = nullptr;
  const Var* thread = nullptr;  // threadIdx.x
  std::int64_t width = 0;       // how many threads
  std::int64_t factor = 0;      // m
  std::int64_t groups = 0;      // n
};

class WarpMemory : public Rewriter {
 public:
  WarpMemory(Context& ctx, Analyzer& analyzer, std::int64_t warp) : Rewriter(ctx), analyzer_(analyzer), warp_(warp) {}
  std::string refused;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }

  const Stmt* visit_stmt(const Stmt* s) override {
    if (!refused.empty()) return s;
    if (const auto* seq = as<SeqStmt>(s)) return sequence(seq);
    if (const auto* b = as<SBlock>(s); b && !b->alloc_buffers.empty()) return block(b);
    const auto* store = as<BufferStore>(s);
    const Stmt* made = default_stmt(s);
    const Spread* spread = store ? spread_of(store->buffer) : nullptr;
    if (!spread) return made;
    store = as<BufferStore>(made);
    const auto [place, thread] = split(*spread, store->indices[0]);
    if (!analyzer_.prove_equal(thread, spread->thread))
      return refuse(s, fmt::format("a store to `{}` may be to an element of another thread", spread->buffer->name));
    return ctx_.store(spread->local, store->value, {{place}}, store->predicate);
  }

  const Expr* visit_expr(const Expr* e) override {
    const Expr* made = default_expr(e);
    const auto* load = as<BufferLoad>(e);
    const Spread* spread = load ? spread_of(load->buffer) : nullptr;
    if (!spread) return made;
    load = as<BufferLoad>(made);
    const auto [place, thread] = split(*spread, load->indices[0]);
    std::vector<const Var*> used;
    collect_vars(place, used);
    if (std::find(used.begin(), used.end(), spread->thread) != used.end())
      return refuse(e,
                    fmt::format("an index of `{}` names an element that depends on the thread", spread->buffer->name));
    const Expr* own = ctx_.load(spread->local, {{place}}, load->predicate);
    if (analyzer_.prove_equal(thread, spread->thread)) return own;
    const Expr* mask = ctx_.intrin(DType::UInt(32), intrin::TvmWarpActivemask, {});
    return ctx_.intrin(own->dtype(), intrin::TvmWarpShuffle,
                       {mask, own, thread, ctx_.i32(spread->width), ctx_.i32(warp_)});
  }

  // Uses of the pointer other than by loads and stores.
  const Expr* visit_var(const Var* v) override {
    for (const Spread& s : spreads_)
      if (v == s.buffer->data) refuse(v, fmt::format("the address of `{}` is taken", s.buffer->name));
    return Rewriter::visit_var(v);
  }

 private:
  template <class T>
  const T* refuse(const T* n, std::string why) {
    if (refused.empty()) refused = std::move(why);
    return n;
  }

  const Stmt* block(const SBlock* b) {
    for (const Buffer* buffer : b->alloc_buffers)
      if (buffer->scope == kWarpScope)
        refuse(b, fmt::format("`{}` is allocated by a block: run LowerOpaqueBlock first", buffer->name));
    return default_stmt(b);
  }

  // An allocation is visible to the end of its sequence.
  const Stmt* sequence(const SeqStmt* seq) {
    const std::size_t known = spreads_.size();
    std::vector<const Stmt*> out;
    bool changed = false;
    for (std::size_t i = 0; i < seq->stmts.size(); ++i) {
      const auto* alloc = as<AllocBuffer>(seq->stmts[i]);
      const Stmt* made = alloc && alloc->buffer->scope == kWarpScope
                             ? spread(alloc, Span<const Stmt*>(seq->stmts.data() + i + 1, seq->stmts.size() - i - 1))
                             : rewrite(seq->stmts[i]);
      changed = changed || made != seq->stmts[i];
      if (made) out.push_back(made);
      if (!refused.empty()) break;
    }
    spreads_.resize(known);
    return changed && refused.empty() ? ctx_.seq_stmt(out) : seq;
  }

  const Stmt* spread(const AllocBuffer* alloc, Span<const Stmt*> rest) {
    const Buffer* b = alloc->buffer;
    const std::string name(b->name);
    const auto size = b->shape.size() == 1 ? const_int(b->shape[0]) : std::nullopt;
    if (b->shape.size() != 1 || b->dtype.lanes != 1 || !b->strides.empty())
      return refuse(alloc, fmt::format("`{}` is not flat: run FlattenBuffer first", name));
    if (!size || *size <= 0) return refuse(alloc, fmt::format("the size of `{}` is not a constant", name));
    Spread s;
    s.buffer = b;
    for (const Stmt* each : rest) find_threads(each, s);
    if (!s.thread && refused.empty())
      refuse(alloc, fmt::format("`{}` is allocated where no threadIdx.x runs below", name));
    for (const Stmt* each : rest) find_factor(each, s);
    if (s.factor == 0 && refused.empty()) refuse(alloc, fmt::format("nothing is stored in `{}`", name));
    if (!refused.empty()) return alloc;
    const std::int64_t turn = s.width * s.factor;
    s.groups = (*size + turn - 1) / turn;
    const Expr* const shape[] = {ctx_.i32(s.groups * s.factor)};
    s.local = ctx_.buffer(b->name, shape, b->dtype, "local");
    ctx_.set_origin(s.local, b);
    spreads_.push_back(s);
    return ctx_.alloc_buffer(s.local, alloc->annotations);
  }

  void find_threads(const Stmt* s, Spread& out) {
    walk(s, [&](const Node* n) {
      const auto* stmt = as<Stmt>(n);
      if (!stmt || thread_tag(stmt) != kThreadIdxX) return stmt != nullptr;
      const auto* launch = as<AttrStmt>(stmt);
      const auto* loop = as<ForStmt>(stmt);
      const auto extent = const_int(launch ? launch->value : loop->extent);
      const Var* thread = launch ? launch->thread_var : loop->var;
      if (!extent || *extent < 1 || *extent > warp_ || warp_ % *extent != 0)
        refuse(s, fmt::format("the extent of threadIdx.x must divide the size of a warp, which is {}", warp_));
      else if (out.thread && out.thread != thread)
        refuse(s, fmt::format("{} is launched twice: run UnifyThreadBinding first", kThreadIdxX));
      else
        out.thread = thread, out.width = *extent;
      return refused.empty();
    });
  }

  void find_factor(const Stmt* s, Spread& out) {
    walk(s, [&](const Node* n) {
      const auto* store = as<BufferStore>(n);
      if (store && store->buffer->data == out.buffer->data && refused.empty()) factor_of(store, out);
      return refused.empty() && !isa<Expr>(n);
    });
  }

  void factor_of(const BufferStore* store, Spread& out) {
    const Expr* index = first_of(store->indices);
    if (!index) return void(refuse(store, fmt::format("a store to `{}` is not continuous", out.buffer->name)));
    // An index that grows by the same constant from each thread to the next.
    const Expr* next = add(ctx_, out.thread, ctx_.int_imm(out.thread->dtype(), 1));
    const Expr* step = analyzer_.simplify(sub(ctx_, substitute(ctx_, index, {{out.thread, next}}), index));
    const auto factor = const_int(step);
    if (!factor || *factor <= 0)
      refuse(store, fmt::format("the index of a store to `{}` has no positive constant factor of threadIdx.x",
                                out.buffer->name));
    else if (out.factor != 0 && out.factor != *factor)
      refuse(store, fmt::format("stores to `{}` have different factors of threadIdx.x", out.buffer->name));
    else
      out.factor = *factor;
  }

  static const Expr* first_of(Span<const Expr*> indices) {
    if (indices.size() != 1) return nullptr;
    if (indices[0]->dtype().lanes == 1) return indices[0];
    const auto* ramp = as<Ramp>(indices[0]);
    return ramp && is_const(ramp->stride, 1) ? ramp->base : nullptr;
  }

  // Where an element is in its thread, and in which thread.
  std::pair<const Expr*, const Expr*> split(const Spread& s, const Expr* index) {
    if (const auto* ramp = as<Ramp>(index)) {
      const auto lanes = const_int(ramp->lanes);
      if (!is_const(ramp->stride, 1) || !lanes || *lanes > s.factor) return apart(s, index);
      const auto [place, thread] = split(s, ramp->base);
      return {ctx_.ramp(place, ctx_.int_imm(place->dtype(), 1), ramp->lanes), thread};
    }
    if (index->dtype().lanes != 1) return apart(s, index);
    const auto imm = [&](std::int64_t value) { return ctx_.int_imm(index->dtype(), value); };
    const Expr* place = floor_mod(ctx_, index, imm(s.factor));
    const Expr* thread = index;
    if (s.groups > 1) {
      const Expr* turn = imm(s.width * s.factor);
      place = add(ctx_, mul(ctx_, floor_div(ctx_, index, turn), imm(s.factor)), place);
      thread = floor_mod(ctx_, index, turn);
    }
    return {analyzer_.simplify(place), analyzer_.simplify(floor_div(ctx_, thread, imm(s.factor)))};
  }

  std::pair<const Expr*, const Expr*> apart(const Spread& s, const Expr* index) {
    refuse(index, fmt::format("elements of `{}` that are accessed together are not in one thread", s.buffer->name));
    return {index, s.thread};
  }

  const Spread* spread_of(const Buffer* b) const {
    for (const Spread& s : spreads_)
      if (s.buffer == b) return &s;
    return nullptr;
  }

  Analyzer& analyzer_;
  std::int64_t warp_;
  std::vector<Spread> spreads_;
};

}  // namespace

Result<const Module*> lower_warp_memory(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const auto refuse = [&](std::string why) {
      return support::Failure(source::message(diag::PassUnsupported, fmt::format("`{}`", name), std::move(why)));
    };
    const Attr* target = find_attr(f->attrs, kTargetAttr);
    if (!target) return refuse("it has no attribute `target`: run BindTarget first");
    const std::int64_t warp = warp_of(target);
    if (warp <= 1) return f;
    Analyzer analyzer(env.ctx);
    bind_bounds(env.ctx, analyzer, f->body);
    WarpMemory memory(env.ctx, analyzer, warp);
    const Stmt* body = memory.rewrite(f->body);
    if (!memory.refused.empty()) return refuse(memory.refused);
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
