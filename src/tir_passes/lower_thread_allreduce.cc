// LowerThreadAllreduce: T.tvm_thread_allreduce becomes what devices can do. Threads of one warp exchange values by
// shuffles, where the target has them and the reducing threads are neighbours; otherwise values go through shared
// memory, half of the threads adding the other half's in each step. The buffer that gets the result is replaced by the
// one in which the result lies.
#include <fmt/format.h>

#include <algorithm>

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

// The memory of a result, and the result.
struct Replaced {
  const Buffer* buffer;
  const Expr* value;  // the result
};
using Results = std::unordered_map<const Var*, Replaced>;  // by the pointer of the buffer that got the result

struct Thread {
  const Var* var;
  int dim;  // of threadIdx: 0 to 2
  std::int64_t extent;
};

// Replaces the reductions, and remembers where their results are.
class Allreductions : public Rewriter {
 public:
  Allreductions(Context& ctx, const Attr* target) : Rewriter(ctx), target_(target), warp_(warp_of(target)) {}
  std::string refused;
  Results results;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* a = as<AttrStmt>(s);
    if (a && a->key == kReduceScope) return reduce_scope(a);
    const std::size_t known = launches_.size();
    if (a && a->thread_var && a->key == kThreadExtent) launches_.push_back(a);
    const auto* e = as<Evaluate>(s);
    const Stmt* made =
        e && is_call_of(e->value, intrin::TvmThreadAllreduce) ? reduction(as<Call>(e->value), s) : default_stmt(s);
    launches_.resize(known);
    return made;
  }

 private:
  const Stmt* reduce_scope(const AttrStmt* a) {
    const auto* outer = std::exchange(
        combiner_, a->node->is(AttrKind::Expr) || a->node->node ? as<CommReducer>(a->node->node) : nullptr);
    const Stmt* made = default_stmt(a);
    combiner_ = outer;
    return made;
  }

  const Stmt* refuse(const Stmt* s, std::string why) {
    if (refused.empty()) refused = std::move(why);
    return s;
  }

  const Stmt* reduction(const Call* call, const Stmt* s) {
    const std::size_t size = combiner_ ? combiner_->results.size() : 0;
    const auto given = const_int(call->args[0]);
    if (!combiner_ || !given || std::size_t(*given) != size || call->args.size() < 2 + 2 * size)
      return refuse(s, "a T.tvm_thread_allreduce is not under a T.attr with its reducer");
    ThreadReduction r(ctx_, combiner_, warp_);
    std::vector<const Buffer*> targets;
    const Expr* cond = call->args[size + 1];
    for (std::size_t i = 0; i < size; ++i) {
      const Expr* value = call->args[1 + i];
      r.values.push_back(is_const(cond, 1) ? value : ctx_.select(cond, value, combiner_->identities[i]));
      const Expr* result = call->args[2 + size + i];
      if (const auto* c = as<CastExpr>(result)) result = c->value;
      const auto* load = as<BufferLoad>(result);
      if (!load) return refuse(s, "the result of a T.tvm_thread_allreduce is not an element of a buffer");
      targets.push_back(load->buffer);
    }
    std::vector<Thread> reduced, others;
    if (!split_threads(call, 2 + 2 * size, reduced, others)) return s;
    r.extent = flatten(reduced, r.index);
    r.groups = flatten(others, r.group);
    r.neighbours = neighbours(reduced, others);
    r.by_shuffles = has_shuffles(r);
    r.masked = target_kind(target_) != "metal";
    if (r.extent == 1) return stores(targets, r.values, s);
    const Stmt* made = r.make();
    for (std::size_t i = 0; i < size; ++i)
      results[targets[i]->data] = {r.result_buffers[i], ctx_.load(r.result_buffers[i], {{r.result_index}})};
    ctx_.set_origin(made, s);
    return made;
  }

  const Stmt* stores(const std::vector<const Buffer*>& targets, const std::vector<const Expr*>& values, const Stmt* s) {
    std::vector<const Stmt*> out;
    const Expr* const zero[] = {ctx_.i32(0)};
    for (std::size_t i = 0; i < targets.size(); ++i) {
      out.push_back(ctx_.store(targets[i], values[i], zero));
      ctx_.set_origin(out.back(), s);
    }
    return ctx_.seq_stmt(out);
  }

  // Threads of a block with more than one in their dimension, by whether they reduce.
  bool split_threads(const Call* call, std::size_t first, std::vector<Thread>& reduced, std::vector<Thread>& others) {
    const Span<const Expr*> vars(call->args.data() + first, call->args.size() - first);
    std::size_t found = 0, wanted = 0;
    for (const Expr* v : vars) wanted += !is_const(v, 0);
    for (const AttrStmt* launch : launches_) {
      const std::string_view tag = thread_tag(launch);
      if (!is_thread_idx(tag)) continue;
      const auto extent = const_int(launch->value);
      if (!extent) {
        refuse(launch, fmt::format("the number of threads of `{}` is not a constant", launch->thread_var->name));
        return false;
      }
      const bool reduces = std::find(vars.begin(), vars.end(), launch->thread_var) != vars.end();
      found += reduces;
      if (*extent == 1) continue;
      (reduces ? reduced : others).push_back({launch->thread_var, tag.back() - 'x', *extent});
    }
    if (found != wanted) refuse(call_stmt(), "a T.tvm_thread_allreduce names a thread that is not launched around it");
    const auto by_dim = [](const Thread& a, const Thread& b) { return a.dim < b.dim; };
    std::sort(reduced.begin(), reduced.end(), by_dim);
    std::sort(others.begin(), others.end(), by_dim);
    return found == wanted;
  }
  static const Stmt* call_stmt() { return nullptr; }

  // One index over several dimensions, and its extent.
  std::int64_t flatten(const std::vector<Thread>& threads, const Expr*& index) {
    std::int64_t total = 1;
    index = nullptr;
    for (const Thread& t : threads) {
      index = index ? add(ctx_, index, mul(ctx_, t.var, ctx_.int_imm(t.var->dtype(), total))) : t.var;
      total *= t.extent;
    }
    if (!index) index = ctx_.i32(0);
    return total;
  }

  // How many threads from the first dimension on reduce, without a gap.
  static std::int64_t neighbours(const std::vector<Thread>& reduced, const std::vector<Thread>& others) {
    std::int64_t count = 1;
    for (const Thread& t : reduced) {
      const auto before = [&](const Thread& o) { return o.dim < t.dim; };
      if (std::any_of(others.begin(), others.end(), before)) break;
      count *= t.extent;
    }
    return count;
  }

  bool has_shuffles(const ThreadReduction& r) const {
    const std::string_view kind = target_kind(target_);
    if ((kind != "cuda" && kind != "rocm" && kind != "metal") || launches_.empty()) return false;
    for (const Expr* v : r.values) {
      const DType t = v->dtype();
      if (kind == "rocm" && t.bits * t.lanes != 32) return false;
      if (t.is_float() && t.bits == 16) {
        if (t.lanes > 2) return false;
      } else if (t.lanes > 1 || t.bits < 32 || t.bits > 64) {
        return false;
      }
    }
    if (r.neighbours != r.extent) return false;
    if (kind == "rocm") return r.extent == warp_;
    if (r.extent == 1) return false;
    const std::int64_t most = max_threads_of(target_);
    const bool parts_of_warps = warp_ % r.extent == 0;
    const bool many_warps = most != -1 && most <= warp_ * warp_ && r.extent % warp_ == 0;
    return parts_of_warps || many_warps || (r.groups == 1 && r.extent <= warp_);
  }

  const Attr* target_;
  std::int64_t warp_;
  std::vector<const AttrStmt*> launches_;
  const CommReducer* combiner_ = nullptr;
};

// Puts the results in the place of the buffers that got them.
class Redirect : public Rewriter {
 public:
  Redirect(Context& ctx, const Results& results) : Rewriter(ctx), results_(results) {}

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto* load = as<BufferLoad>(e);
    const auto found = load ? results_.find(load->buffer->data) : results_.end();
    return found == results_.end() ? default_expr(e) : found->second.value;
  }
  const Expr* visit_var(const Var* v) override {
    const auto found = results_.find(v);
    return found == results_.end() ? Rewriter::visit_var(v) : found->second.buffer->data;
  }
  const Buffer* visit_buffer(const Buffer* b) override {
    const auto found = results_.find(b->data);
    if (found == results_.end()) return Rewriter::visit_buffer(b);
    const auto known = buffers_.find(b);
    if (known != buffers_.end()) return known->second;
    Buffer fields = *b;
    fields.data = found->second.buffer->data;
    fields.scope = found->second.buffer->scope;
    const Buffer* made = ctx_.buffer(fields);
    ctx_.set_origin(made, b);
    remap_buffer(b, made);
    return made;
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* a = as<AllocBuffer>(s);
    const auto found = a ? results_.find(a->buffer->data) : results_.end();
    if (found == results_.end()) return default_stmt(s);
    const Buffer* b = found->second.buffer;
    Span<NamedAttr> annotations = a->annotations;
    if (b->scope == "shared") annotations = ctx_.with_attr(annotations, "tirx.volatile", ctx_.attr(true));
    return ctx_.alloc_buffer(b, annotations);
  }

 private:
  const Results& results_;
};

}  // namespace

Result<const Module*> lower_thread_allreduce(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const auto refuse = [&](std::string why) {
      return support::Failure(source::message(diag::PassUnsupported, fmt::format("`{}`", name), std::move(why)));
    };
    const Attr* target = find_attr(f->attrs, kTargetAttr);
    if (!target) return refuse("it has no attribute `target`: run BindTarget first");
    Allreductions reductions(env.ctx, target);
    const Stmt* body = reductions.rewrite(f->body);
    if (!reductions.refused.empty()) return refuse(reductions.refused);
    return with_body(env.ctx, f, Redirect(env.ctx, reductions.results).rewrite(body));
  });
}

}  // namespace rldb::passes
