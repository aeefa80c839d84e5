// LegalizeRedistribute: R.dist.redistribute as what each worker of a one-dimensional mesh does. From replicas to parts
// it takes its own part; between equal placements there is nothing to do. Anything else needs communication, which has
// no operator, and is refused as in TVM.
#include <charconv>

#include "passes/common.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass.h"

namespace rldb::passes {

using namespace ir;

namespace {

// The axis of "S[1]".
std::optional<std::int64_t> sharded_axis(std::string_view placement) {
  if (!placement.starts_with("S[") || !placement.ends_with("]")) return std::nullopt;
  std::int64_t axis = 0;
  const char* end = placement.data() + placement.size() - 1;
  const auto [stop, error] = std::from_chars(placement.data() + 2, end, axis);
  return error == std::errc() && stop == end ? std::optional(axis) : std::nullopt;
}

// "mesh[0]": of the module's meshes.
const Attr* mesh_of(const Module* module, const Attr* mesh) {
  if (!mesh || !mesh->is(AttrKind::String)) return mesh;
  const std::string_view text = mesh->string;
  const std::size_t open = text.find('[');
  std::size_t at = 0;
  if (open != std::string_view::npos) std::from_chars(text.data() + open + 1, text.data() + text.size(), at);
  for (const GlobalInfo& info : module->global_infos)
    if (info.key == text.substr(0, open) && at < info.items.size()) return info.items[at];
  return nullptr;
}

// How many workers a mesh of one dimension has.
std::optional<std::int64_t> workers(const Attr* mesh) {
  const Attr* shape = mesh && mesh->is(AttrKind::Opaque) && !mesh->items.empty() ? mesh->items[0] : nullptr;
  if (!shape || shape->items.size() != 1) return std::nullopt;
  const Attr* n = shape->items[0];
  if (n->is(AttrKind::Expr)) return const_int(as<Expr>(n->node));
  return n->is(AttrKind::Int) ? std::optional(n->integer) : std::nullopt;
}

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
    const auto n = workers(mesh_of(module_, to->device_mesh));
    if (from->placement != "R" || !axis || !n) {
      if (!error)
        error = source::message(diag::PassUnsupported,
                                "R.dist.redistribute from \"" + std::string(from->placement) + "\" to \"" +
                                    std::string(to->placement) + "\"",
                                "only \"R\" to \"S[i]\" on a mesh of one dimension needs no communication");
      return made;
    }
    auto part = ctx_.call(op::DistRedistributeReplicaToShard, {call->args[0]},
                          {ctx_.named("num_workers", ctx_.attr(*n)), ctx_.named("axis", ctx_.attr(*axis))});
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

Result<const Module*> legalize_redistribute(PassEnv& env, const Module* module, const PassOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    Redistributes redistributes(env.ctx, module);
    const Function* made = redistributes.rewrite_function(f);
    if (redistributes.error) return support::Failure(*redistributes.error);
    return made;
  });
}

}  // namespace rldb::passes
