// FoldVDeviceScopeChange: a kernel whose result lies in texture memory, and is only copied to global memory, stores to
// global memory itself.
#include <unordered_set>

#include "passes/common.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/memory_scope.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kTexture = "texture";

// How many calls read each variable; reading a field of a tuple counts for the tuple.
class Readers {
 public:
  explicit Readers(const Function* f) {
    walk(f->body, [&](const Node* n) {
      if (const auto* b = as<Binding>(n))
        if (const auto* field = as<TupleGetItem>(b->value))
          if (const auto* tuple = as<Var>(field->tuple)) part_of_.emplace(b->var, tuple);
      if (const auto* call = as<Call>(n)) note(call);
      return true;
    });
    for (const auto& [field, tuple] : part_of_)
      if (const auto found = count_.find(field); found != count_.end()) count_[tuple] += found->second;
  }
  int of(const Var* v) const {
    const auto found = count_.find(v);
    return found == count_.end() ? 0 : found->second;
  }

 private:
  void note(const Call* call) {
    const auto read = [&](const Expr* e) {
      if (const auto* v = as<Var>(e); v && as<TensorType>(v->type)) ++count_[v];
    };
    const auto* args = as_call_of(call, op::CallTir) ? as<Tuple>(call->args[1]) : nullptr;
    if (args) {
      for (const Expr* e : args->items) read(e);
    } else {
      for (const Expr* e : call->args) read(e);
    }
  }
  std::unordered_map<const Var*, int> count_;
  std::unordered_map<const Var*, const Var*> part_of_;
};

class Fold : public Rewriter {
 public:
  Fold(Context& ctx, const Function* f) : Rewriter(ctx), readers_(f) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> made = default_binding(b);
    if (made.size() != 1 || made[0]->is_match_cast()) return made;
    if (as_call_of(made[0]->value, op::CallTir)) kernels_[made[0]->var] = as<Call>(made[0]->value);
    const Call* copy = as_call_of(made[0]->value, op::ToVdevice);
    const auto* from = copy ? as<Var>(copy->args[0]) : nullptr;
    const auto kernel = from ? kernels_.find(from) : kernels_.end();
    if (kernel == kernels_.end() || readers_.of(from) > 1) return made;
    const auto* source = as<TensorType>(from->type);
    const auto* target = as<TensorType>(copy->type);
    if (!source || !target || !source->vdevice || !target->vdevice || !source->has_shape) return made;
    if (source->vdevice->memory_scope.find(kTexture) == std::string_view::npos ||
        target->vdevice->memory_scope != memory_scope::kGlobal)
      return made;
    const Type* type = ctx_.tensor(source->shape, source->dtype, target->vdevice);
    const Call* call = kernel->second;
    const Expr* stored = ctx_.call_typed(call->callee, call->args, type, call->attrs, {{type}});
    ctx_.set_origin(stored, copy);
    return {remake_binding(ctx_, made[0], define_var(made[0]->var, type), stored)};
  }

 private:
  Readers readers_;
  std::unordered_map<const Var*, const Call*> kernels_;
};

}  // namespace

Result<const Module*> fold_vdevice_scope_change(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return Fold(env.ctx, f).rewrite_function(f);
  });
}

}  // namespace rldb::passes
