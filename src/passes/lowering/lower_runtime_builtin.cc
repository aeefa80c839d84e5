// LowerRuntimeBuiltin (old name VMBuiltinLower): operators that the machine implements itself become calls of
// vm.builtin.* functions, memory operators become R.vm.*.
//
// The result type of a closure's call is kept (TVM drops it), so that its uses stay well typed.
#include "passes/common.h"
#include "passes/lowering/inferred_type.h"
#include "rldb/bytecode/builtin/absent.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/bytecode/builtin/value.h"
#include "rldb/ir/derive_func.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/op/vm.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_rule.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

class BuiltinLowerer : public Rewriter {
 public:
  BuiltinLowerer(Context& ctx, std::string_view function) : Rewriter(ctx), function_(function) {}
  std::optional<source::Message> error;

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    declared_ = b->var->type;
    return default_binding(b);
  }

  const Expr* visit_call(const Call* call) override {
    const auto* made = as<Call>(Rewriter::visit_call(call));
    const auto* op = made ? as<Op>(made->callee) : nullptr;
    if (!op || !op::is_relax(op->name)) return made;
    const Call* lowered = lower(made, op->name);
    if (lowered != made) ctx_.set_origin(lowered, call);
    return lowered;
  }

 private:
  using Rule = const Call* (BuiltinLowerer::*)(const Call* c);

  const Call* lower(const Call* c, std::string_view op) {
    static constexpr op::RuleTable<Rule> kRules{
#define RLDB_OP_LOWER(Op, function) {op::Id::Op, &BuiltinLowerer::function},
#include "rldb/ir/op/rule.def"
    };
    if (const Rule rule = kRules.find(op)) return (this->*rule)(c);
    if (op::has(op, op::Trait::Kills) && op != op::VmKillObject) return renamed(c, op::VmKillObject);
    return c;
  }

  // ---- the functions named by the rows of rule.def ----

  const Call* alloc_tensor_left(const Call* c) { return fail(c, message(diag::AllocTensorLeft, function_)); }

  // The storage is bytes whatever the tensors in it contain.
  const Call* alloc_storage(const Call* c) {
    if (c->args.size() != 4) return c;
    return op_call(ctx_, op::VmAllocStorage, {c->args[0], c->args[1], ctx_.dtype(DType::UInt(8)), c->args[2]}, c->type);
  }

  const Call* alloc_tensor(const Call* c) { return renamed(c, op::VmAllocTensor); }

  const Call* ensure_zero_offset(const Call* c) {
    return derived(c, builtin::EnsureZeroOffset, "tvm.relax.type.infer_ensure_zero_offset_ty", c->args);
  }

  const Call* shape_of(const Call* c) { return packed(c, builtin::ShapeOf, c->args); }
  const Call* tensor_to_shape(const Call* c) { return packed(c, builtin::TensorToShape, c->args); }

  const Call* reshape(const Call* c) {
    if (c->args.size() != 2 || c->args[1]->type->kind != TypeKind::Shape) {
      return fail(c, message(diag::PassUnsupported, "R.reshape", "its new shape is not a value of shape type"));
    }
    return packed(c, builtin::Reshape, c->args);
  }

  const Call* call_tir_dyn(const Call* c) { return with_tuple(c, builtin::CallTirDyn, ctx_.void_type()); }
  const Call* make_closure(const Call* c) { return with_tuple(c, builtin::MakeClosure, ctx_.any()); }

  const Call* call_py_func(const Call* c) {
    if (c->args.size() != 2) return c;
    const Expr* const both[] = {c->args[0], c->args[1]};
    const Expr* const args[] = {ctx_.tuple(both)};
    return ctx_.call_typed(ctx_.extern_func(builtin::CallPyFunc), args, c->type, c->attrs, c->ty_args);
  }

  // Omitted arguments default to the input's own: shape, dtype, offset 0.
  const Call* view(const Call* c) {
    if (c->args.empty()) return c;
    const auto* data = as<TensorType>(c->args[0]->type);
    const auto* out = as<TensorType>(c->type);
    std::vector<const Expr*> args(c->args.begin(), c->args.end());
    args.resize(4, nullptr);
    if (absent(args[1])) {
      const TensorType* from = data && data->has_shape ? data : nullptr;
      if (!from) return fail(c, message(diag::PassUnsupported, "R.memory.view", "neither shape is known"));
      args[1] = ctx_.shape(from->shape);
    }
    if (absent(args[2])) {
      const DType dtype = data ? data->dtype : out ? out->dtype : DType::Void();
      if (dtype.is_void()) return fail(c, message(diag::PassUnsupported, "R.memory.view", "neither dtype is known"));
      args[2] = ctx_.dtype(dtype);
    }
    if (absent(args[3])) args[3] = ctx_.i64(0);
    return derived(c, builtin::MemoryView, derive_func::kInferView, args);
  }

  const Call* to_device(const Call* c) {
    if (c->args.size() != 1) return c;
    // The call's own type does not know the module's devices, of which its text counts those of a kind.
    const auto* declared = as<TensorType>(declared_);
    const Type* type = declared && declared->vdevice ? declared_ : c->type;
    const VDevice* device = as<TensorType>(type) ? as<TensorType>(type)->vdevice : nullptr;
    if (!device) return fail(c, message(diag::PassUnsupported, "R.to_vdevice", "its device is not known"));
    const Expr* const args[] = {c->args[0], ctx_.i64(device_type_of(device->target_kind)), ctx_.i64(device->device_id),
                                ctx_.string(device->memory_scope)};
    return packed_call(ctx_, builtin::ToDevice, args, type, {type});
  }

  const Call* invoke_closure(const Call* c) {
    if (c->args.size() != 2) return c;
    const std::vector<const Expr*> args = spread(c);
    return op_call(ctx_, op::CallBuiltinWithCtx, {ctx_.extern_func(builtin::InvokeClosure), ctx_.tuple(args)}, c->type,
                   {c->type});
  }

  // ---- builders ----

  const Call* fail(const Call* c, source::Message m) {
    if (!error) error = std::move(m).with_note(ctx_.span_of(c), print_expr(c));
    return c;
  }

  const Call* renamed(const Call* c, std::string_view op) {
    return with_inferred_type(ctx_, ctx_.call_typed(ctx_.op(op), c->args, c->type));
  }

  const Call* packed(const Call* c, std::string_view symbol, Span<const Expr*> args) {
    return packed_call(ctx_, symbol, args, c->type, {c->type});
  }

  // A packed function whose result type TVM derives with a registered function of that name.
  const Call* derived(const Call* c, std::string_view symbol, std::string_view derive, Span<const Expr*> args) {
    const FuncType* type = ctx_.opaque_func_type(nullptr, true, derive);
    return with_inferred_type(ctx_, ctx_.call_typed(ctx_.extern_func(symbol, type), args, c->type));
  }

  // An optional argument that was omitted: absent, an empty tuple, or a null value.
  static bool absent(const Expr* e) {
    if (!e || is_void(e->type)) return true;
    return (isa<Var>(e) || isa<Call>(e)) && e->type->kind == TypeKind::Any;
  }

  // (f, (a, b)) to packed(f, a, b)
  const Call* with_tuple(const Call* c, std::string_view symbol, const Type* type) {
    if (c->args.size() != 2) return c;
    return packed_call(ctx_, symbol, spread(c), type, {type});
  }

  std::vector<const Expr*> spread(const Call* c) {
    std::vector<const Expr*> args{c->args[0]};
    if (const auto* t = as<Tuple>(c->args[1])) {
      args.insert(args.end(), t->items.begin(), t->items.end());
    } else {
      fail(c, message(diag::PassUnsupported, print_expr(c), "its arguments are not an in-line tuple"));
    }
    return args;
  }

  std::string_view function_;
  const Type* declared_ = nullptr;  // of the binding that is visited
};

}  // namespace

Result<const Module*> lower_runtime_builtin(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view name, const Function* f) -> Result<const Function*> {
    BuiltinLowerer lowerer(env.ctx, name);
    const Function* made = lowerer.rewrite_function(f);
    if (lowerer.error) return Failure(std::move(*lowerer.error));
    return made;
  });
}

}  // namespace rldb::passes
