// CallTIRRewrite: call_tir, call_tir_inplace and call_dps_packed become one R.builtin.alloc_tensor per output and a
// destination-passing call bound to `_`, outputs after inputs (in-place ones are inputs already).
//
// A dynamic output needs its shape as an expression: a call whose output shape is not known is diagnosed.
#include "passes/common.h"
#include "rldb/bytecode/builtin/memory.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/op/vm.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

enum class CallForm { None, Plain, Inplace };

CallForm form_of(const Call* call) {
  const auto* op = as<Op>(call->callee);
  if (!op || call->args.size() < 2 || !op::has(op, op::Trait::CallTir)) return CallForm::None;
  // The gradient's name was only for Gradient; such a call is like any other now.
  return op->name == op::CallTirInplace ? CallForm::Inplace : CallForm::Plain;
}

class CallRewriter : public Rewriter {
 public:
  CallRewriter(Context& ctx, const Module* module) : Rewriter(ctx), module_(module) {}
  std::optional<source::Message> error;

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out;
    for (const Binding* made : default_binding(b)) {
      const auto* call = as<Call>(made->value);
      const CallForm form = call ? form_of(call) : CallForm::None;
      if (call && is_open_hint(call))
        refuse(b, call, "RealizeVDevice has to be run first, which gives hints their effect");
      if (form == CallForm::None) {
        out.push_back(made);
      } else {
        lower(made, call, form, out);
      }
    }
    return out;
  }

 private:
  void lower(const Binding* b, const Call* call, CallForm form, std::vector<const Binding*>& out) {
    std::vector<const Expr*> inputs;
    flatten(call->args[1], inputs, out, b);
    std::vector<const Type*> fields;
    const auto* several = as<TupleType>(call->type);
    if (several) {
      fields.assign(several->fields.begin(), several->fields.end());
    } else {
      fields.push_back(call->type);
    }
    std::vector<const Expr*> outputs;
    std::vector<const Expr*> args = inputs;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (const Expr* reused = form == CallForm::Inplace ? inplace_input(call, i, inputs) : nullptr) {
        outputs.push_back(reused);
        continue;
      }
      outputs.push_back(output(fields[i], call, b, args, out));
      if (!outputs.back()) return;
    }
    const Call* lowered = nullptr;
    if (call->args.size() == 2) {
      lowered = ctx_.call_typed(call->args[0], args, result_type(call->args[0]));
    } else {
      // The old third operand: scalars as a shape, unpacked when it is called.
      args.push_back(call->args[2]);
      lowered = op_call(ctx_, op::VmCallTirDyn, {call->args[0], ctx_.tuple(args)}, ctx_.void_type());
    }
    out.push_back(bind_new(ctx_, "_", lowered, call));
    const Expr* value = several ? static_cast<const Expr*>(ctx_.tuple(outputs)) : outputs[0];
    if (several) ctx_.set_origin(value, call);
    out.push_back(remake_binding(ctx_, b, b->var, value));
  }

  // Allocates an output, or the leaves of a tuple in order, which become arguments. Null: diagnosed.
  const Expr* output(const Type* type, const Call* call, const Binding* b, std::vector<const Expr*>& args,
                     std::vector<const Binding*>& out) {
    const auto* tuple = as<TupleType>(type);
    if (!tuple) {
      const Binding* alloc = allocate(type, call, b);
      if (!alloc) return nullptr;
      out.push_back(alloc);
      args.push_back(alloc->var);
      return alloc->var;
    }
    std::vector<const Expr*> items;
    for (const Type* field : tuple->fields) {
      items.push_back(output(field, call, b, args, out));
      if (!items.back()) return nullptr;
    }
    const Expr* made = ctx_.tuple(items);
    ctx_.set_origin(made, call);
    return made;
  }

  // The fields of the argument tuple, with nested tuples flattened in place.
  void flatten(const Expr* e, std::vector<const Expr*>& into, std::vector<const Binding*>& out, const Binding* b) {
    if (const auto* t = as<Tuple>(e)) {
      for (const Expr* item : t->items) flatten(item, into, out, b);
      return;
    }
    const auto* type = as<TupleType>(e->type);
    if (!type) return into.push_back(e);
    for (std::size_t i = 0; i < type->fields.size(); ++i) {
      Result<const TupleGetItem*> field = ctx_.tuple_get(e, std::int64_t(i));
      RLDB_CHECK(field.ok(), "a tuple has its fields");
      const Binding* made = bind_new(ctx_, "lv", *field, b);
      out.push_back(made);
      flatten(made->var, into, out, b);
    }
  }

  const Type* result_type(const Expr* callee) {
    const auto* f = as<FuncType>(callee->type);
    return f && !isa<GlobalVar>(callee) ? f->ret : ctx_.void_type();
  }

  const Expr* inplace_input(const Call* call, std::size_t output, const std::vector<const Expr*>& inputs) {
    const Attr* indices = find_attr(call->attrs, op_attr::InplaceIndices);
    if (!indices) return nullptr;
    std::int64_t index = -1;
    if (indices->is(AttrKind::Int) && output == 0) index = indices->integer;
    if (indices->is(AttrKind::List) && output < indices->items.size()) index = indices->items[output]->integer;
    return index >= 0 && std::size_t(index) < inputs.size() ? inputs[std::size_t(index)] : nullptr;
  }

  const Binding* allocate(const Type* type, const Call* call, const Binding* b) {
    const auto* t = as<TensorType>(type);
    std::optional<Span<const Expr*>> dims;
    if (t && t->has_shape) dims = t->shape;
    if (t && t->shape_var) dims = shape_values(t->shape_var);
    if (!dims && t && t->shape_var && !t->dtype.is_void()) {
      // The shape is a value with unknown dims (RFC 0089, V1): the machine allocates by it.
      const Expr* alloc = ctx_.call_typed(ctx_.extern_func(builtin::AllocShaped),
                                          std::vector<const Expr*>{t->shape_var, ctx_.dtype(t->dtype)}, type, {},
                                          std::vector<const Type*>{type});
      return bind_new(ctx_, "alloc", alloc, call);
    }
    if (!dims || t->dtype.is_void()) {
      refuse(b, call, "an output needs a known shape and dtype, but is " + print_type(type));
      return nullptr;
    }
    const VDevice* device = t->vdevice;
    const Call* alloc = op_call(ctx_, op::BuiltinAllocTensor,
                                {ctx_.shape(*dims), ctx_.dtype(t->dtype), ctx_.i64(device_index(device)),
                                 ctx_.string(device ? device->memory_scope : "global")},
                                type, {type});
    return bind_new(ctx_, "alloc", alloc, call);
  }

  // Its result is still of no device, so that an output computed from it would be allocated on the first one.
  bool is_open_hint(const Call* call) const {
    const auto* op = as<Op>(call->callee);
    return op && op->name == op::HintOnDevice && !module_->vdevices.empty();
  }

  void refuse(const Binding* b, const Call* call, const std::string& why) {
    if (error) return;
    error = message(diag::PassUnsupported, print_expr(call), why);
    error->notes.push_back({ctx_.span_of(b), "the binding"});
  }

  std::int64_t device_index(const VDevice* device) const {
    if (!device) return 0;
    if (device->global_index >= 0) return device->global_index;
    for (std::size_t i = 0; i < module_->vdevices.size(); ++i)
      if (module_->vdevices[i] == device) return std::int64_t(i);
    return 0;
  }

  const Module* module_;
};

}  // namespace

Result<const Module*> call_tir_rewrite(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    // Calls that write to their arguments are not allowed in dataflow blocks.
    const Function* plain = without_dataflow(env.ctx, f);
    CallRewriter rewriter(env.ctx, module);
    const Function* made = rewriter.rewrite_function(plain);
    if (rewriter.error) return Failure(std::move(*rewriter.error));
    if (made == plain) return f;
    return made;
  });
}

}  // namespace rldb::passes
