// The passes, in TVM's order.
#include "rldb/codegen/gpu/lowered.h"

#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/memory_scope.h"
#include "rldb/tir_passes/pass_functions.h"
#include "rldb/tir_passes/target.h"

namespace rldb::codegen {

namespace {

using Step = ir::Result<const ir::Module*> (*)(passes::PassEnv&, const ir::Module*);

template <auto pass, class Options = passes::NoOptions>
ir::Result<const ir::Module*> plain(passes::PassEnv& env, const ir::Module* module) {
  return pass(env, module, Options{});
}
template <const std::string_view& scope>
ir::Result<const ir::Module*> barriers(passes::PassEnv& env, const ir::Module* module) {
  passes::ThreadSyncOptions options;
  options.storage_scope = std::string(scope);
  return passes::thread_sync(env, module, options);
}

// Of functions with blocks.
constexpr Step kFromBlocks[] = {
    plain<passes::lower_cross_thread_reduction>,
    plain<passes::lower_init_block>,
    plain<passes::plan_and_update_buffer_allocation_location>,
    plain<passes::convert_blocks_to_opaque>,
    plain<passes::lift_thread_binding>,
    plain<passes::manifest_shared_memory_local_stage>,
    plain<passes::compact_buffer_allocation, passes::CompactBufferAllocationOptions>,
    plain<passes::unify_thread_binding>,
    plain<passes::lower_match_buffer>,
    plain<passes::lower_opaque_block>,
};
// Of functions with virtual threads: their copies of memory are parts of flat buffers.
constexpr Step kVirtualThreads[] = {
    plain<passes::flatten_buffer>,
    plain<passes::inject_virtual_thread>,
};
constexpr Step kAll[] = {
    plain<passes::stmt_simplify, passes::StmtSimplifyOptions>,
    plain<passes::remove_no_op>,
    barriers<passes::memory_scope::kShared>,
    barriers<passes::memory_scope::kSharedDynamic>,
    plain<passes::lower_thread_allreduce>,
};

bool has_virtual_threads(const ir::PrimFunc* f) {
  bool found = false;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* s = ir::as<ir::Stmt>(n);
    found = found || (s && ir::thread_tag(s).starts_with(ir::kVThread));
    return !found;
  });
  return found;
}

}  // namespace

ir::Result<const ir::PrimFunc*> lowered_for_gpu(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name) {
  source::Diagnostics ignored;  // warnings
  passes::PassEnv env{ctx, ignored};
  // A target without shuffles between the threads of a warp.
  const ir::Attr* target = passes::make_target(ctx, ctx.attr("opencl"));
  const ir::PrimFunc* made =
      ctx.prim_func(f->params, f->ret_type, f->body, ctx.with_attr(f->attrs, passes::kTargetAttr, target), f->s_tir);
  ctx.set_origin(made, f);
  ir::ModuleBuilder builder(ctx);
  builder.set(name, made);
  const ir::Module* module = builder.build();
  const auto apply = [&](std::span<const Step> steps) -> ir::Result<support::Unit> {
    for (const Step step : steps) {
      auto next = step(env, module);
      if (!next.ok()) return support::Failure(std::move(next).error());
      module = *next;
    }
    return support::Unit{};
  };
  if (f->s_tir) RLDB_TRY_VOID(apply(kFromBlocks));
  if (has_virtual_threads(ir::as<ir::PrimFunc>(module->find(name)))) RLDB_TRY_VOID(apply(kVirtualThreads));
  RLDB_TRY_VOID(apply(kAll));
  return ir::as<ir::PrimFunc>(module->find(name));
}

}  // namespace rldb::codegen
