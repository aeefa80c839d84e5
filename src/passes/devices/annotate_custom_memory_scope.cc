// AnnotateCustomMemoryScope(target): tensors that a GPU reads through its texture unit go to texture memory. A kernel
// wants the tensors that it reads in a texture if it is elementwise (or a convolution, pooling or normalisation in a
// layout of four channels), and they have five dims of which the last is 4. A result goes where most of its readers
// want it; for the others it is copied.
#include <fmt/format.h>

#include <array>
#include <map>

#include "passes/common.h"
#include "passes/devices/device_info.h"
#include "rldb/fusion/op_pattern.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/conv.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/memory_scope.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kDynamicTexture = "global.texture-nchw";
constexpr std::string_view kChannelLayout = "NCHW4c";
constexpr std::string_view kWeightLayout = "OIHW4o";
constexpr std::array kPools = {op::NnMaxPool2d, op::NnAvgPool2d, op::NnAdaptiveAvgPool2d};

// The scope of a tensor of that shape in texture memory.
std::string_view texture_scope(const Attr* target, Span<const Expr*> shape) {
  if (shape.size() != 5 || !is_const(shape[4], 4)) return memory_scope::kGlobal;
  std::array<std::int64_t, 4> d{};
  for (std::size_t i = 0; i < d.size(); ++i) {
    const auto n = const_int(shape[i]);
    if (!n) return kDynamicTexture;
    d[i] = *n;
  }
  const std::int64_t side = target_number(target, "texture_spatial_limit").value_or(16384);
  const std::int64_t depth = target_number(target, "texture_depth_limit").value_or(2048);
  if (d[0] < side && d[1] * d[2] * d[3] < side) return "global.texture-weight";
  if (d[0] < depth && d[1] < side && d[2] * d[3] < side) return "global.texture-nhwc";
  return d[0] * d[1] < depth && d[2] < side && d[3] < side ? "global.texture" : memory_scope::kGlobal;
}

std::string_view text_attr(const Call* call, std::string_view name) {
  const Attr* a = find_attr(call->attrs, name);
  return a && a->is(AttrKind::String) ? a->string : std::string_view();
}

bool reads_textures(const Module* module, const Call* call) {
  if (as_call_of(call, op::CallTir)) {
    const auto* callee = as<GlobalVar>(call->args[0]);
    const auto* f = callee ? as<PrimFunc>(module->find(callee->name)) : nullptr;
    const Attr* pattern = f ? find_attr(f->attrs, attr_name::OpPattern) : nullptr;
    return pattern && pattern->integer < fusion::kReduce;
  }
  if (as_call_of(call, op::NnConv2d))
    return text_attr(call, op_attr::DataLayout) == kChannelLayout &&
           text_attr(call, op_attr::KernelLayout) == kWeightLayout;
  for (const std::string_view pool : kPools)
    if (as_call_of(call, pool)) return text_attr(call, op_attr::Layout) == kChannelLayout;
  return as_call_of(call, op::NnLayerNorm) != nullptr;
}

// The tensors that a call reads; null if it is no operator.
const Span<const Expr*>* operands_of(const Call* call) {
  if (!isa<Op>(call->callee)) return nullptr;
  const auto* args = as_call_of(call, op::CallTir) ? as<Tuple>(call->args[1]) : nullptr;
  return args ? &args->items : &call->args;
}

class Demand {
 public:
  Demand(const Module* module, const Function* f, const Attr* target) {
    walk(f->body, [&](const Node* n) {
      const auto* b = as<Binding>(n);
      if (!b) return true;
      if (const auto* field = as<TupleGetItem>(b->value))
        if (const auto* tuple = as<Var>(field->tuple)) fields_.emplace_back(b->var, tuple);
      const auto* call = as<Call>(b->value);
      const auto* operands = call ? operands_of(call) : nullptr;
      for (std::size_t i = 0; operands && i < operands->size(); ++i) {
        const auto* v = as<Var>((*operands)[i]);
        const auto* t = v ? as<TensorType>(v->type) : nullptr;
        if (t)
          ++wanted_[v][t->has_shape && reads_textures(module, call) ? texture_scope(target, t->shape)
                                                                    : memory_scope::kGlobal];
      }
      return true;
    });
    for (const auto& [field, tuple] : fields_)
      for (const auto& [scope, count] : wanted_[field]) wanted_[tuple][scope] += count;
  }
  // The scope that most readers want.
  std::string_view scope_for(const Var* v) const {
    const auto found = wanted_.find(v);
    std::string_view best = memory_scope::kGlobal;
    int most = 0;
    if (found == wanted_.end()) return best;
    for (const auto& [scope, count] : found->second)
      if (count > most) most = count, best = scope;
    return best;
  }

 private:
  std::unordered_map<const Var*, std::map<std::string_view, int>> wanted_;
  std::vector<std::pair<const Var*, const Var*>> fields_;
};

// The module's devices: one per scope, numbered as they are met.
class Devices {
 public:
  Devices(Context& ctx, const Attr* target) : ctx_(ctx), target_(target) {}
  const VDevice* in(std::string_view scope) {
    for (const VDevice* d : all)
      if (d->memory_scope == scope) return d;
    VDevice d{};
    d.target_kind = ctx_.str(target_kind(target_));
    const Attr* what = target_->is(AttrKind::Opaque) && !target_->items.empty() ? target_->items[0] : target_;
    d.target = what->is(AttrKind::Dict) ? what : nullptr;
    d.memory_scope = ctx_.str(scope);
    d.global_index = int(all.size());
    all.push_back(ctx_.vdevice(d));
    return all.back();
  }
  std::vector<const VDevice*> all;

 private:
  Context& ctx_;
  const Attr* target_;
};

class Annotate : public Rewriter {
 public:
  Annotate(Context& ctx, const Module* module, const Attr* target, Devices& devices, const Function* f)
      : Rewriter(ctx), module_(module), target_(target), devices_(devices), demand_(module, f, target) {}
  std::string_view without_shape;

  const Function* run(const Function* f) {
    std::vector<const Var*> params;
    for (const Var* p : f->params) {
      const auto* t = as<TensorType>(p->type);
      params.push_back(t && t->has_shape && !t->vdevice ? define_var(p, on(t, demand_.scope_for(p))) : p);
    }
    const auto* body = as<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
    const Function* made =
        ctx_.function(params, body, erase_unbound(ctx_, body->body->type, params), f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const auto* call = b->is_match_cast() ? nullptr : as<Call>(b->value);
    const auto* operands = call ? operands_of(call) : nullptr;
    if (!operands) return default_binding(b);
    std::vector<const Binding*> out;
    std::vector<const Expr*> args;
    const bool textures = reads_textures(module_, call);
    for (const Expr* e : *operands) args.push_back(placed(rewrite(e), textures, out));
    std::vector<const Expr*> all = args;
    const bool tir = as_call_of(call, op::CallTir) != nullptr;
    if (tir) {
      all.assign(call->args.begin(), call->args.end());
      all[1] = ctx_.tuple(args);
    }
    const Expr* made = tir ? kernel_call(call, all, b->var) : operator_call(call, all);
    ctx_.set_origin(made, call);
    out.push_back(remake_binding(ctx_, b, define_var(b->var, made->type), made));
    return out;
  }

 private:
  const Type* on(const TensorType* t, std::string_view scope) {
    return ctx_.tensor(t->shape, t->dtype, devices_.in(scope));
  }
  const Type* result(const Type* t, const Var* v) {
    if (const auto* tuple = as<TupleType>(t)) {
      std::vector<const Type*> fields;
      for (const Type* field : tuple->fields) fields.push_back(result(field, v));
      return ctx_.tuple_type(fields);
    }
    const auto* tensor = as<TensorType>(t);
    if (tensor && !tensor->has_shape) without_shape = v->name;
    return tensor && tensor->has_shape ? on(tensor, demand_.scope_for(v)) : t;
  }

  const Expr* kernel_call(const Call* call, const std::vector<const Expr*>& args, const Var* var) {
    const Type* type = result(call->ty_args.empty() ? var->type : call->ty_args[0], var);
    return ctx_.call_typed(call->callee, args, type, call->attrs, {{type}});
  }
  // The result of an operator is where its operands are.
  const Expr* operator_call(const Call* call, const std::vector<const Expr*>& args) {
    auto made = ctx_.call(CallSpec{call->callee, args, call->attrs, call->ty_args});
    return made.ok() ? *made : call;
  }

  // The operand where the call wants it: a copy, if it is elsewhere.
  const Expr* placed(const Expr* e, bool textures, std::vector<const Binding*>& out) {
    const auto* t = as<TensorType>(e->type);
    if (!t || !t->has_shape) return e;
    const VDevice* to = devices_.in(textures ? texture_scope(target_, t->shape) : memory_scope::kGlobal);
    if (const auto* c = as<Constant>(e); c && !t->vdevice)
      return ctx_.constant_typed(*c->value, on(t, to->memory_scope));
    if (!t->vdevice || t->vdevice == to || !isa<Var>(e)) return e;
    const std::string name = fmt::format("{}:{}:{}", to->target_kind, to->global_index, to->memory_scope);
    auto copy = ctx_.call(op::ToVdevice, {e}, {ctx_.named(op_attr::DstVdevice, ctx_.attr(std::string_view(name)))});
    if (!copy.ok()) return e;
    const Type* type = ctx_.tensor(t->shape, t->dtype, to);
    const Var* v = in_dataflow() ? ctx_.dataflow_var(as<Var>(e)->name, type) : ctx_.var(as<Var>(e)->name, type);
    ctx_.set_origin(v, e);
    ctx_.set_origin(*copy, e);
    out.push_back(ctx_.binding(v, *copy));
    return v;
  }

  const Module* module_;
  const Attr* target_;
  Devices& devices_;
  Demand demand_;
};

}  // namespace

Result<const Module*> annotate_custom_memory_scope(PassEnv& env, const Module* module,
                                                   const AnnotateCustomMemoryScopeOptions& options) {
  Context& ctx = env.ctx;
  const Attr* target = read_target(ctx, options.target);
  if (!target)
    return support::Failure(source::message(diag::PassOptionValue, "target", "a target such as T.target(\"opencl\")",
                                            given_text(options.target)));
  Devices devices(ctx, target);
  ModuleBuilder builder(ctx, *module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f || is_set(f->attrs, attr_name::Primitive)) continue;
    Annotate annotate(ctx, module, target, devices, f);
    const Function* made = annotate.run(f);
    if (!annotate.without_shape.empty())
      return support::Failure(source::message(diag::PassUnsupported,
                                              fmt::format("`{}` in `{}`", annotate.without_shape, e.name),
                                              "its shape is not known"));
    builder.set(e.name, made);
  }
  std::vector<GlobalInfo> infos;
  for (const GlobalInfo& info : module->global_infos)
    if (info.key != kDeviceList) infos.push_back(info);
  std::vector<const Attr*> items;
  for (const VDevice* d : devices.all) items.push_back(device_info(ctx, d));
  infos.push_back({kDeviceList, ctx.list(items)});
  builder.set_global_infos(ctx.list(infos), ctx.list(devices.all));
  return builder.build();
}

}  // namespace rldb::passes
