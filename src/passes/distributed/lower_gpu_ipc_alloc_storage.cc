// LowerGPUIPCAllocStorage: memory of scope "ipc_memory", which several devices share, is requested from the runtime's
// own allocator. Allocations in other scopes stay.
#include "passes/common.h"
#include "passes/distributed/ipc_memory.h"
#include "rldb/bytecode/device_function.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

class IpcAllocs : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> made = default_binding(b);
    if (made.size() != 1 || made[0]->is_match_cast()) return made;
    if (const Call* call = as_call_of(made[0]->value, op::BuiltinAllocTensor); call && in_ipc_memory(call, 3))
      return tensor(made[0], call);
    if (const Call* call = as_call_of(made[0]->value, op::MemoryAllocStorage); call && in_ipc_memory(call, 2))
      return {remake_binding(ctx_, made[0], made[0]->var, storage(call->args[0], call->args[3], call))};
    return made;
  }

 private:
  static bool in_ipc_memory(const Call* call, std::size_t at) {
    const auto* scope = at < call->args.size() ? as<StringImm>(call->args[at]) : nullptr;
    return scope && scope->value == kIpcScope;
  }

  const Call* storage(const Expr* shape, const Expr* dtype, const Call* from) {
    const Call* made = packed_call(ctx_, device_function::IpcAllocStorage, {shape, dtype}, ctx_.any(), {ctx_.any()});
    ctx_.set_origin(made, from);
    return made;
  }

  std::vector<const Binding*> tensor(const Binding* b, const Call* call) {
    const Binding* space = bind_new(ctx_, "gv", storage(call->args[0], call->args[1], call), b);
    const auto* dtype = as<DTypeImm>(call->args[1]);
    const auto shape = shape_values(call->args[0]);
    const Type* type = dtype && shape ? ctx_.tensor(*shape, dtype->value) : call->type;
    const Call* made = op_call(ctx_, op::MemoryAllocTensor,
                               {space->var, ctx_.i64(0), call->args[0], call->args[1], ctx_.i64(0)}, type);
    ctx_.set_origin(made, call);
    return {space, ctx_.binding(define_var(b->var, type), made)};
  }
};

}  // namespace

Result<const Module*> lower_gpu_ipc_alloc_storage(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return IpcAllocs(env.ctx).rewrite_function(f);
  });
}

}  // namespace rldb::passes
