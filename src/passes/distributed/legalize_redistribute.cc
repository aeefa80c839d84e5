// LegalizeRedistribute: lowers R.dist.redistribute to the work of each worker in a one-dimensional mesh. From replicas
// to shards, a worker takes its own shard; between equal placements there is nothing to do. Anything else needs
// communication, which has no operator, and is refused as in TVM.
#include "passes/distributed/mesh.h"
#include "rldb/ir/op/distributed.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Redistributes : public Rewriter {
 public:
  Redistributes(Context& ctx, const Module* module) : Rewriter(ctx), module_(module) {}
  std::optional<source::Message> error;

 protected:
  const Expr* visit_call(const Call* c) override {
    const Expr* made = default_expr(c);
    const Call* call = as_call_of(made, op::DistRedistribute);
    if (!call) return made;
    const auto *from = as<DTensorType>(call->args[0]->type), *to = as<DTensorType>(call->type);
    if (!from || !to) return made;
    if (from->placement == to->placement) return call->args[0];
    const auto axis = sharded_axis(to->placement);
    const auto n = mesh_workers(mesh_of(module_, to->device_mesh));
    if (from->placement != "R" || !axis || !n) {
      if (!error)
        error = source::message(diag::PassUnsupported,
                                "R.dist.redistribute from \"" + std::string(from->placement) + "\" to \"" +
                                    std::string(to->placement) + "\"",
                                "only \"R\" to \"S[i]\" on a mesh of one dimension needs no communication");
      return made;
    }
    auto part =
        ctx_.call(op::DistRedistributeReplicaToShard, {call->args[0]},
                  {ctx_.named(op_attr::NumWorkers, ctx_.attr(*n)), ctx_.named(op_attr::Axis, ctx_.attr(*axis))});
    if (!part.ok()) {
      error = std::move(part).error();
      return made;
    }
    return ctx_.call_typed((*part)->callee, (*part)->args, call->type, (*part)->attrs);
  }

 private:
  const Module* module_;
};

}  // namespace

Result<const Module*> legalize_redistribute(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    Redistributes redistributes(env.ctx, module);
    const Function* made = redistributes.rewrite_function(f);
    if (redistributes.error) return support::Failure(*redistributes.error);
    return made;
  });
}

}  // namespace rldb::passes
