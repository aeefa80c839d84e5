// RealizeVDevice: determines the device of every tensor, and turns hints into copies where they are needed.
//
// The operands and the result of an operator are on one device, and so are a value and its aliases. Known devices are
// those of annotations, of the results of `to_vdevice`, and of `hint_on_device`; a hint that already holds is removed.
#include <algorithm>

#include "passes/common.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

const VDevice* device_of(const Type* t) {
  const auto* tensor = as<TensorType>(t);
  return tensor ? tensor->vdevice : nullptr;
}

// R.device(device_type=2, index=0) and a scope, as a device of the module.
const VDevice* hinted(const Module* module, const Call* hint) {
  const Attr* device = find_attr(hint->attrs, op_attr::DstVdevice);
  const Attr* scope = find_attr(hint->attrs, op_attr::MemoryScope);
  if (!device || !device->is(AttrKind::Opaque)) return nullptr;
  const auto number = [&](std::string_view name, std::size_t position) -> std::int64_t {
    const Attr* a = find_attr(device->fields, name);
    if (!a && position < device->items.size()) a = device->items[position];
    return a ? a->integer : 0;
  };
  for (const VDevice* d : module->vdevices)
    if (device_type_of(d->target_kind) == number("device_type", 0) && d->device_id == number("index", 1) &&
        (!scope || scope->string == d->memory_scope))
      return d;
  return nullptr;
}

// "cuda:0:global": the index is among the module's devices of that kind.
std::string text_of(const Module* module, const VDevice* wanted) {
  int index = 0;
  for (const VDevice* d : module->vdevices) {
    if (d == wanted) break;
    if (d->target_kind == wanted->target_kind) ++index;
  }
  return std::string(wanted->target_kind) + ":" + std::to_string(index) + ":" + std::string(wanted->memory_scope);
}

// Values that are on the same device.
class Places {
 public:
  explicit Places(const Module* module) : module_(module) {}

  Result<support::Unit> find(const Function* f) {
    for (const Var* p : f->params) RLDB_TRY_VOID(put(p, device_of(p->type)));
    RLDB_TRY_VOID(visit(f->body));
    if (const auto* result = as<Var>(f->body->body)) RLDB_TRY_VOID(put(result, device_of(f->ret_type)));
    // A hint determines the device of its operand when nothing else does.
    for (const auto& [operand, device] : hints_)
      if (!at(operand)) RLDB_TRY_VOID(put(operand, device));
    return support::Unit{};
  }
  const VDevice* at(const Var* v) {
    const auto found = device_.find(root(v));
    return found == device_.end() ? nullptr : found->second;
  }

 private:
  const Var* root(const Var* v) {
    for (auto it = parent_.find(v); it != parent_.end(); it = parent_.find(v)) {
      if (const auto next = parent_.find(it->second); next != parent_.end()) it->second = next->second;
      v = it->second;
    }
    return v;
  }

  Result<support::Unit> put(const Var* v, const VDevice* device) {
    if (!device) return support::Unit{};
    const VDevice*& known = device_.try_emplace(root(v), device).first->second;
    if (known != device)
      return Failure(message(diag::PassUnsupported, "`" + std::string(v->name) + "`",
                             "it would be on " + text_of(module_, known) + " and on " + text_of(module_, device)));
    return support::Unit{};
  }

  Result<support::Unit> join(const Var* a, const Expr* e) {
    const auto* b = as<Var>(e);
    if (!b || !as<TensorType>(b->type) || !as<TensorType>(a->type) || root(a) == root(b)) return support::Unit{};
    const VDevice* device = at(b);
    parent_[root(b)] = root(a);
    return put(a, device);
  }

  Result<support::Unit> visit(const SeqExpr* s) {
    for (const BindingBlock* block : s->blocks)
      for (const Binding* b : block->bindings) {
        support::poll();
        RLDB_TRY_VOID(visit(b));
      }
    return support::Unit{};
  }

  Result<support::Unit> visit(const Binding* b) {
    RLDB_TRY_VOID(put(b->var, device_of(b->var->type)));
    if (const auto* branch = as<If>(b->value)) {
      for (const SeqExpr* s : {branch->then_branch, branch->else_branch}) {
        RLDB_TRY_VOID(visit(s));
        RLDB_TRY_VOID(join(b->var, s->body));
      }
      return support::Unit{};
    }
    const auto* call = as<Call>(b->value);
    if (!call) return join(b->var, b->value);
    if (!isa<Op>(call->callee) || as_call_of(call, op::ToVdevice)) return support::Unit{};
    if (as_call_of(call, op::HintOnDevice)) {
      const VDevice* device = hinted(module_, call);
      const auto* operand = as<Var>(call->args[0]);
      if (operand && device) hints_.emplace_back(operand, device);
      return put(b->var, device);
    }
    for (const Expr* a : call->args) {
      const auto* tuple = as<Tuple>(a);
      if (!tuple) RLDB_TRY_VOID(join(b->var, a));
      for (std::size_t i = 0; tuple && i < tuple->items.size(); ++i) RLDB_TRY_VOID(join(b->var, tuple->items[i]));
    }
    return support::Unit{};
  }

  const Module* module_;
  std::unordered_map<const Var*, const Var*> parent_;
  std::unordered_map<const Var*, const VDevice*> device_;
  std::vector<std::pair<const Var*, const VDevice*>> hints_;
};

class Realizer : public Rewriter {
 public:
  Realizer(Context& ctx, const Module* module, Places& places) : Rewriter(ctx), module_(module), places_(places) {}

  const Function* run(const Function* f) {
    std::vector<const Var*> params;
    for (const Var* p : f->params) params.push_back(define_var(p, on(p->type, places_.at(p))));
    const auto* body = cast<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
    if (body == f->body && std::equal(params.begin(), params.end(), f->params.begin())) return f;
    const auto* result = as<Var>(f->body->body);
    const Type* type = result ? on(f->ret_type, places_.at(result)) : f->ret_type;
    const Function* made = ctx_.function(params, body, rewrite_type(type), f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const VDevice* device = places_.at(b->var);
    const Call* hint = b->is_match_cast() ? nullptr : as_call_of(b->value, op::HintOnDevice);
    if (!device) return default_binding(b);
    const Expr* value = hint ? realized(hint, device) : rewrite(b->value);
    const auto* call = as<Call>(value);
    // The device of a copy is given by its attribute.
    if (call && as<TensorType>(call->type) && !as_call_of(call, op::ToVdevice)) value = typed(call, device);
    if (b->is_match_cast()) {
      const Type* to = on(rewrite_type(b->cast_type), device);
      return {ctx_.match_cast(define_var(b->var, to), value, to)};
    }
    const Var* var = define_var(b->var, on(rewrite_type(b->var->type), device));
    return {remake_binding(ctx_, b, var, value)};
  }

 private:
  const Type* on(const Type* t, const VDevice* device) {
    const auto* s = as<TensorType>(t);
    if (!s || !device || s->vdevice == device) return t;
    if (s->has_shape) return ctx_.tensor(s->shape, s->dtype, device);
    if (s->shape_var) return ctx_.tensor_of(s->shape_var, s->ndim, s->dtype, device);
    return ctx_.tensor_ndim(s->ndim, s->dtype, device);
  }

  const Expr* typed(const Call* call, const VDevice* device) {
    if (device_of(call->type) == device) return call;
    std::vector<const Type*> types;
    for (const Type* t : call->ty_args) types.push_back(on(t, device));
    const Call* made = ctx_.call_typed(call->callee, call->args, on(call->type, device), call->attrs, types);
    ctx_.set_origin(made, call);
    return made;
  }

  // An alias of a value already there, or a copy.
  const Expr* realized(const Call* hint, const VDevice* device) {
    const Expr* from = rewrite(hint->args[0]);
    const auto* operand = as<Var>(hint->args[0]);
    if (operand && places_.at(operand) == device) return from;
    const NamedAttr to = ctx_.named(op_attr::DstVdevice, ctx_.attr(std::string_view(text_of(module_, device))));
    const Call* made = *ctx_.call(op::ToVdevice, {from}, {to});
    ctx_.set_origin(made, hint);
    return made;
  }

  const Module* module_;
  Places& places_;
};

}  // namespace

Result<const Module*> realize_vdevice(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    Places places(module);
    RLDB_TRY_VOID(places.find(f));
    return Realizer(env.ctx, module, places).run(f);
  });
}

}  // namespace rldb::passes
