// LowerDistIR: distributed tensors become the plain tensors of one worker: worker 0 sends each parameter to all, whole
// or in parts, and shapes become those of a part. PrimFuncs are in their local view already
// (LowerGlobalViewToLocalView). Operators that combine elements of several parts get an all-reduce, which TVM leaves
// out, or are refused (call_on_parts.h).
#include <fmt/format.h>

#include <map>

#include "passes/distributed/call_on_parts.h"
#include "passes/distributed/mesh.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/distributed.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kReplicas = "R";

bool is_distributed(const Type* t) {
  if (const auto* tuple = as<TupleType>(t))
    for (const Type* field : tuple->fields)
      if (as<DTensorType>(field)) return true;
  return as<DTensorType>(t) != nullptr;
}

bool is_distributed(const Function* f) {
  for (const Var* p : f->params)
    if (is_distributed(p->type)) return true;
  return is_distributed(f->ret_type);
}

class LocalPart : public Rewriter {
 public:
  LocalPart(Context& ctx, const Module* module) : Rewriter(ctx), module_(module) {}
  std::optional<source::Message> error;

  const Function* run(const Function* f) {
    std::vector<const Var*> params;
    for (const Var* p : f->params) {
      const Var* made = is_distributed(p->type) ? ctx_.var(p->name, local(p->type, false)) : p;
      if (made != p) ctx_.set_origin(made, p);
      params.push_back(made);
      remap(p, made);
    }
    old_params_ = f->params;
    new_params_ = params;
    const auto* body = as<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
    const Function* made = ctx_.function(params, body, body->body->type, f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const BindingBlock* visit_block(const BindingBlock* b) override {
    std::vector<const Binding*> out;
    block_is_dataflow_ = b->is_dataflow();
    for (std::size_t i = 0; i < old_params_.size(); ++i) send(i, b->is_dataflow(), out);
    for (const Binding* inner : b->bindings)
      for (const Binding* made : visit_binding(inner)) out.push_back(made);
    const BindingBlock* made = ctx_.block(out, b->is_dataflow());
    ctx_.set_origin(made, b);
    return made;
  }
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const auto* field = as<TupleGetItem>(b->value);
    if (field && !b->is_match_cast()) {
      const auto sent = fields_.find({as<Var>(field->tuple), field->index});
      if (sent != fields_.end()) {
        remap(b->var, sent->second);
        return {};
      }
    }
    const auto* call = as<Call>(b->value);
    if (!call || b->is_match_cast()) return default_binding(b);
    if (const auto kind = combined(call, b->var); !kind.empty()) return all_reduced(b, rewrite(call), kind);
    const Expr* made = rewrite(special(call, b->var));
    const Var* var = define_var(b->var, made->type);
    return {remake_binding(ctx_, b, var, made)};
  }
  const Expr* visit_expr(const Expr* e) override {
    const auto* c = as<Constant>(e);
    const auto* dist = c ? as<DTensorType>(c->type) : nullptr;
    if (!dist) return default_expr(e);
    if (dist->placement != kReplicas) refuse("a constant", "it is not the same on all workers");
    return ctx_.constant(*c->value);
  }

 private:
  void refuse(std::string what, std::string why) {
    if (!error) error = source::message(diag::PassUnsupported, std::move(what), std::move(why));
  }

  // The op_type of the all-reduce that an operator's results on parts need; empty: none.
  std::string combined(const Call* call, const Var* var) {
    if (isa<GlobalVar>(call->callee) && is_distributed(var->type))
      refuse(fmt::format("a call of function `{}`", as<GlobalVar>(call->callee)->name),
             "a function sends its parameters from worker 0, also those that are parts already");
    if (as_call_of(call, op::DistRedistribute))
      refuse(fmt::format("`{}`", var->name), "it is redistributed: run LegalizeRedistribute first");
    const auto* t = as<DTensorType>(var->type);
    if (!t) return {};
    auto kind = combined_by(ctx_, call, t->placement);
    if (kind.ok()) return *kind;
    if (!error) error = std::move(kind).error();
    return {};
  }

  std::vector<const Binding*> all_reduced(const Binding* b, const Expr* part, const std::string& kind) {
    const Var* v = block_is_dataflow_ ? static_cast<const Var*>(ctx_.dataflow_var(b->var->name, part->type))
                                      : ctx_.var(b->var->name, part->type);
    ctx_.set_origin(v, b->var);
    const Binding* first = ctx_.binding(v, part);
    ctx_.set_origin(first, b);
    auto whole =
        ctx_.call(op::CclAllreduce, {v},
                  {ctx_.named(op_attr::OpType, ctx_.attr(kind)), ctx_.named(op_attr::InGroup, ctx_.attr(false))});
    if (!whole.ok()) {
      if (!error) error = std::move(whole).error();
      return {first};
    }
    ctx_.set_origin(*whole, b->value);
    return {first, remake_binding(ctx_, b, define_var(b->var, (*whole)->type), *whole)};
  }

  // A shape's part for one worker.
  std::vector<const Expr*> part_of(Span<const Expr*> shape, const DTensorType* t) {
    std::vector<const Expr*> out(shape.begin(), shape.end());
    const auto n = mesh_workers(mesh_of(module_, t->device_mesh));
    const auto axis = sharded_axis(t->placement);
    if (!n || (!axis && t->placement != kReplicas)) {
      refuse(fmt::format("a tensor with the placement \"{}\"", t->placement),
             "only meshes of one dimension are lowered");
    } else if (axis && std::size_t(*axis) < out.size()) {
      const auto extent = const_int(out[std::size_t(*axis)]);
      if (extent && *extent % *n != 0)
        refuse(fmt::format("a tensor with the placement \"{}\"", t->placement),
               fmt::format("its {} elements there do not come out even in {} parts", *extent, *n));
      out[std::size_t(*axis)] =
          floor_div(ctx_, out[std::size_t(*axis)], ctx_.int_imm(out[std::size_t(*axis)]->dtype(), *n));
    }
    return out;
  }

  const Type* local(const Type* t, bool part) {
    if (const auto* tuple = as<TupleType>(t)) {
      std::vector<const Type*> fields;
      for (const Type* field : tuple->fields) fields.push_back(local(field, part));
      return ctx_.tuple_type(fields);
    }
    const auto* dist = as<DTensorType>(t);
    if (!dist) return t;
    if (!part) return dist->tensor;
    if (!dist->tensor->has_shape) {
      refuse("a distributed tensor", "its shape is not known");
      return dist->tensor;
    }
    return ctx_.tensor(part_of(dist->tensor->shape, dist), dist->tensor->dtype, dist->tensor->vdevice);
  }

  // Worker 0 sends a parameter, or the fields of a tuple.
  void send(std::size_t index, bool dataflow, std::vector<const Binding*>& out) {
    const Var* old = old_params_[index];
    const Var* param = new_params_[index];
    if (const auto* dist = as<DTensorType>(old->type)) {
      remap(old, sent(param, dist, dataflow, old, out));
    } else if (const auto* tuple = as<TupleType>(old->type)) {
      for (std::size_t i = 0; i < tuple->fields.size(); ++i) {
        const auto* field = as<DTensorType>(tuple->fields[i]);
        if (!field) continue;
        auto got = ctx_.tuple_get(param, std::int64_t(i));
        if (!got.ok()) continue;
        const Var* part = dataflow ? ctx_.dataflow_var(old->name, (*got)->type) : ctx_.var(old->name, (*got)->type);
        ctx_.set_origin(part, old);
        out.push_back(ctx_.binding(part, *got));
        fields_[{old, std::int64_t(i)}] = sent(part, field, dataflow, old, out);
      }
    }
  }
  const Var* sent(const Expr* value, const DTensorType* t, bool dataflow, const Var* origin,
                  std::vector<const Binding*>& out) {
    const auto axis = sharded_axis(t->placement);
    const auto n = mesh_workers(mesh_of(module_, t->device_mesh));
    if (!n || (!axis && t->placement != kReplicas))
      refuse(fmt::format("parameter `{}` with the placement \"{}\"", origin->name, t->placement),
             "only meshes of one dimension are lowered");
    auto call = axis ? ctx_.call(op::CclScatterFromWorker0, {value},
                                 {ctx_.named(op_attr::NumWorkers, ctx_.attr(n.value_or(1))),
                                  ctx_.named(op_attr::Axis, ctx_.attr(*axis))})
                     : ctx_.call(op::CclBroadcastFromWorker0, {value});
    if (!call.ok()) {
      if (!error) error = std::move(call).error();
      return origin;
    }
    const Var* v = dataflow ? ctx_.dataflow_var(origin->name, (*call)->type) : ctx_.var(origin->name, (*call)->type);
    ctx_.set_origin(v, origin);
    ctx_.set_origin(*call, origin);
    out.push_back(ctx_.binding(v, *call));
    return v;
  }

  const Expr* special(const Call* call, const Var* var) {
    const auto* out = as<DTensorType>(var->type);
    if (as_call_of(call, op::DistCallTirLocalView))
      return ctx_.call_typed(ctx_.op(op::CallTir), call->args, local(var->type, true), call->attrs,
                             {{local(var->type, true)}});
    if (as_call_of(call, op::CallTir) && is_distributed(var->type))
      refuse(fmt::format("`{}`", var->name),
             "its kernel computes the whole tensor: run LowerGlobalViewToLocalView first");
    const auto* shape = call->args.size() > 1 ? as<ShapeExpr>(call->args[1]) : nullptr;
    if (as_call_of(call, op::Reshape) && out && shape)
      return remade(call, {call->args[0], ctx_.shape(part_of(shape->values, out))});
    const auto* packed = as<ExternFunc>(call->callee);
    if (packed && packed->symbol == distributed_name(runtime_function::KvCacheAppend))
      return ctx_.call_typed(ctx_.extern_func(runtime_function::KvCacheAppend), call->args, call->type, call->attrs,
                             call->ty_args);
    if (!packed || packed->symbol != distributed_name(runtime_function::KvCacheView) || !out || !shape) return call;
    const std::vector<const Expr*> dims = part_of(shape->values, out);
    const Type* type = ctx_.tensor(dims, out->tensor->dtype);
    std::vector<const Expr*> args(call->args.begin(), call->args.end());
    args[1] = ctx_.shape(dims);
    return ctx_.call_typed(ctx_.extern_func(runtime_function::KvCacheView), args, type, call->attrs, {{type}});
  }

  const Expr* remade(const Call* call, std::vector<const Expr*> args) {
    const Expr* made = ctx_.call_typed(call->callee, args, call->type, call->attrs, call->ty_args);
    ctx_.set_origin(made, call);
    return made;
  }

  const Module* module_;
  Span<const Var*> old_params_;
  std::vector<const Var*> new_params_;
  std::map<std::pair<const Var*, std::int64_t>, const Var*> fields_;
  bool block_is_dataflow_ = false;
};

}  // namespace

Result<const Module*> lower_distir(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    if (!is_distributed(f)) return f;
    LocalPart part(env.ctx, module);
    const Function* made = part.run(f);
    if (part.error) return support::Failure(*part.error);
    return made;
  });
}

}  // namespace rldb::passes
