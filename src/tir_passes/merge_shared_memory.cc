// MergeSharedMemoryAllocations: the allocations of dynamic shared memory of each kernel become parts of one, because
// kernels are launched with the size of one; with `merge_static_smem` those of static shared memory too. Each buffer
// becomes a view of the common one (shared_memory_plan.h), and its indices begin at its place there.
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/shared_memory_plan.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kVolatile = "tirx.volatile";

class Merge : public Rewriter {
 public:
  Merge(Context& ctx, std::string_view scope, std::string_view name) : Rewriter(ctx), scope_(scope), name_(name) {}
  std::string_view refused;

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* a = as<AttrStmt>(s);
    if (a && a->key == kThreadExtent && !in_kernel_) return kernel(a);
    if (const auto* alloc = as<AllocBuffer>(s); alloc && plan_.offsets.contains(alloc)) {
      const Buffer* view = visit_buffer(alloc->buffer);
      return ctx_.decl_buffer(view, view->data);
    }
    if (const auto* alloc = as<AllocBuffer>(s); alloc && merged_ && alloc->buffer->scope == scope_) return no_op(ctx_);
    if (const auto* d = as<DeclBuffer>(s); d && part_of(d->buffer)) {
      const Buffer* view = visit_buffer(d->buffer);  // its accesses are moved, so its pointer is not
      return ctx_.decl_buffer(view, view->data);
    }
    const Stmt* made = default_stmt(s);
    const auto* store = as<BufferStore>(made);
    const auto* before = as<BufferStore>(s);
    const AllocBuffer* part = store ? part_of(before->buffer) : nullptr;
    if (!part) return made;
    return ctx_.store(store->buffer, store->value, moved(store->indices, part, before->buffer), store->predicate);
  }
  const Expr* visit_expr(const Expr* e) override {
    const Expr* made = default_expr(e);
    const auto* before = as<BufferLoad>(e);
    const AllocBuffer* part = before ? part_of(before->buffer) : nullptr;
    if (!part) return made;
    const auto* load = as<BufferLoad>(made);
    return ctx_.load(load->buffer, moved(load->indices, part, before->buffer), load->predicate);
  }
  const Expr* visit_call(const Call* c) override {
    const auto* data = is_call_of(c, intrin::TvmAccessPtr) && c->args.size() == 5 ? as<Var>(c->args[1]) : nullptr;
    const auto part = data ? plan_.by_data.find(data) : plan_.by_data.end();
    if (!merged_ || part == plan_.by_data.end()) return default_expr(c);
    const auto* made = as<Call>(default_expr(c));
    const Expr* offset = start(part->second, made->args[0]->dtype());
    const Expr* const args[] = {made->args[0], merged_->data, add(ctx_, offset, made->args[2]), made->args[3],
                                made->args[4]};
    return ctx_.call_typed(made->callee, args, made->type, made->attrs, made->ty_args);
  }
  const Buffer* visit_buffer(const Buffer* b) override {
    if (!part_of(b)) return Rewriter::visit_buffer(b);
    const auto known = buffers_.find(b);
    if (known != buffers_.end()) return known->second;
    Buffer fields = *b;
    fields.data = merged_->data;
    const Buffer* view = ctx_.buffer(fields);
    ctx_.set_origin(view, b);
    remap_buffer(b, view);
    return view;
  }
  // A pointer to a part is the common pointer, moved.
  const Expr* visit_var(const Var* v) override {
    const auto part = merged_ ? plan_.by_data.find(v) : plan_.by_data.end();
    if (part == plan_.by_data.end()) return Rewriter::visit_var(v);
    const Expr* offset = plan_.offsets.at(part->second);
    if (is_const(offset, 0)) return merged_->data;
    return ctx_.intrin(DType::Handle(), intrin::HandleAddByteOffset, {merged_->data, offset});
  }

 private:
  const Stmt* kernel(const AttrStmt* a) {
    in_kernel_ = true;
    plan_ = plan_shared_memory(ctx_, a, scope_);
    if (!plan_.refused.empty()) refused = plan_.refused;
    if (plan_.size && refused.empty()) {
      const Expr* const shape[] = {plan_.size};
      merged_ = ctx_.buffer(name_, shape, DType::UInt(8), scope_);
      ctx_.set_origin(merged_, plan_.allocations.front()->buffer);
    } else {
      plan_ = {};
    }
    const Stmt* made = default_stmt(a);
    if (const auto* launch = as<AttrStmt>(made); launch && merged_) made = with_allocation(launch);
    in_kernel_ = false;
    merged_ = nullptr;
    plan_ = {};
    return made;
  }

  const Stmt* with_allocation(const AttrStmt* launch) {
    std::vector<NamedAttr> annotations;
    for (const AllocBuffer* a : plan_.allocations)
      if (find_attr(a->annotations, kVolatile)) annotations = {ctx_.named(kVolatile, ctx_.attr(true))};
    const Stmt* alloc = ctx_.alloc_buffer(merged_, annotations);
    ctx_.set_origin(alloc, plan_.allocations.front());
    const Stmt* const body[] = {alloc, launch->body};
    return ctx_.attr_stmt(launch->node, launch->key, launch->value, ctx_.seq_stmt(body), launch->thread_var);
  }

  const AllocBuffer* part_of(const Buffer* b) const {
    const auto found = merged_ ? plan_.by_data.find(b->data) : plan_.by_data.end();
    return found == plan_.by_data.end() || !plan_.offsets.contains(found->second) ? nullptr : found->second;
  }
  // Where a part begins, in elements.
  const Expr* start(const AllocBuffer* part, DType element) {
    const int bytes = std::max((element.bits * element.lanes + 7) / 8, 1);
    return floor_div(ctx_, plan_.offsets.at(part), ctx_.i32(bytes));
  }
  std::vector<const Expr*> moved(Span<const Expr*> indices, const AllocBuffer* part, const Buffer* b) {
    const Expr* by = start(part, b->dtype);
    const Expr* index = indices[0];
    const auto* lanes = index->dtype().lanes > 1 ? as<Ramp>(index) : nullptr;
    if (lanes) return {ctx_.ramp(add(ctx_, lanes->base, by), lanes->stride, lanes->lanes)};
    if (index->dtype().lanes > 1)
      return {ctx_.binary(BinaryKind::Add, index,
                          ctx_.broadcast(cast_to(ctx_, index->dtype().element(), by), ctx_.i32(index->dtype().lanes)))};
    return {add(ctx_, index, by)};
  }

  std::string_view scope_, name_;
  bool in_kernel_ = false;
  const Buffer* merged_ = nullptr;
  SharedMemoryPlan plan_;
};

}  // namespace

Result<const Module*> merge_shared_memory_allocations(PassEnv& env, const Module* module,
                                                      const MergeSharedMemoryAllocationsOptions& options) {
  const bool static_too = options.merge_static_smem;
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    Merge dynamic_memory(env.ctx, "shared.dyn", "buf_dyn_shmem");
    Merge static_memory(env.ctx, "shared", "buf_shmem");
    const Stmt* body = dynamic_memory.rewrite(f->body);
    if (static_too) body = static_memory.rewrite(body);
    const std::string_view refused = dynamic_memory.refused.empty() ? static_memory.refused : dynamic_memory.refused;
    if (!refused.empty())
      return support::Failure(source::message(
          diag::PassUnsupported, "`" + std::string(name) + "`",
          "its shared buffer `" + std::string(refused) + "` does not have one dimension: run FlattenBuffer first"));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
