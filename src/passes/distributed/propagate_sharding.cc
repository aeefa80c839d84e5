// PropagateSharding: functions with R.dist.annotate_sharding become programs on distributed tensors: the annotated
// shardings spread to the tensors around them (sharding_graph.h), and where an operator gives its result another
// sharding than its readers want, R.dist.redistribute moves it.
//
// How the axes of operands and results belong together follows from the types that operators infer for distributed
// operands, so that an operator with a sharding rule needs none here.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "passes/distributed/call_on_parts.h"
#include "passes/distributed/kernel_axes.h"
#include "passes/distributed/mesh.h"
#include "passes/distributed/sharding_graph.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/distributed.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/placement.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;

namespace {

// The tensors of a value: itself, or the fields of a tuple; null where a field is no tensor.
std::vector<const TensorType*> tensors_of(const Type* t) {
  std::vector<const TensorType*> out;
  if (const auto* tuple = as<TupleType>(t)) {
    for (const Type* field : tuple->fields) out.push_back(as<TensorType>(field));
  } else if (const auto* tensor = as<TensorType>(t)) {
    out.push_back(tensor);
  }
  return out;
}

bool is_annotated(const Function* f) {
  bool found = false;
  walk(static_cast<const Expr*>(f->body), [&](const Node* n) {
    const auto* e = as<Call>(n);
    found = found || (e && as_call_of(e, op::DistAnnotateSharding));
    return !found;
  });
  return found;
}

support::Failure<source::Message> refusal(std::string what, std::string why) {
  return support::Failure(source::message(diag::PassUnsupported, std::move(what), std::move(why)));
}

// The tensor operands of a call, with their positions; those of call_tir are its arguments.
Span<const Expr*> operands_of(const Call* call) {
  if (!as_call_of(call, op::CallTir)) return call->args;
  const auto* args = as<Tuple>(call->args[1]);
  return args ? args->items : Span<const Expr*>{};
}

const PrimFunc* kernel_of(const Module* module, const Call* call) {
  const auto* name = as_call_of(call, op::CallTir) ? as<GlobalVar>(call->args[0]) : nullptr;
  return name ? as<PrimFunc>(module->find(name->name)) : nullptr;
}

// The dims of a kernel that are divided together, as operands and results of a call of it.
struct KernelGroup {
  std::vector<ParamDim> operands, results;
};
std::vector<KernelGroup> kernel_groups(Context& ctx, const Call* call, const PrimFunc* kernel) {
  const std::size_t inputs = operands_of(call).size();
  std::vector<KernelGroup> out;
  for (const auto& dims : dims_run_together(ctx, kernel)) {
    KernelGroup group;
    for (const ParamDim& d : dims)
      if (d.param < inputs)
        group.operands.push_back(d);
      else
        group.results.push_back({d.param - inputs, d.dim});
    out.push_back(std::move(group));
  }
  return out;
}

class GraphReader {
 public:
  GraphReader(Context& ctx, const Module* module, ShardingGraph& graph) : ctx_(ctx), module_(module), graph_(graph) {}

  Result<support::Unit> read(const Function* f) {
    for (const Var* p : f->params) RLDB_TRY_VOID(refuse_nested(p));
    for (const BindingBlock* block : f->body->blocks)
      for (const Binding* b : block->bindings) RLDB_TRY_VOID(read(b));
    return support::Unit{};
  }

 private:
  // The axes of the graph belong to a tensor, or to a field of a tuple.
  static Result<support::Unit> refuse_nested(const Var* v) {
    const auto* tuple = as<TupleType>(v->type);
    for (std::size_t i = 0; tuple && i < tuple->fields.size(); ++i)
      if (as<TupleType>(tuple->fields[i]))
        return refusal(fmt::format("`{}`", v->name), "shardings do not spread through a tuple in a tuple");
    return support::Unit{};
  }

  Result<support::Unit> read(const Binding* b) {
    RLDB_TRY_VOID(refuse_nested(b->var));
    if (b->is_match_cast()) return refusal(fmt::format("`{}`", b->var->name), "a match_cast has no sharding");
    if (isa<If>(b->value))
      return refusal(fmt::format("`{}`", b->var->name), "shardings do not spread through branches");
    if (const auto* v = as<Var>(b->value)) same(v, 0, b->var, 0, true);
    if (const auto* field = as<TupleGetItem>(b->value))
      if (const auto* tuple = as<Var>(field->tuple)) same(tuple, std::size_t(field->index), b->var, 0, false);
    if (const auto* call = as<Call>(b->value)) return read_call(call, b->var);
    return support::Unit{};
  }

  // All fields, or one field that becomes another.
  void same(const Var* from, std::size_t from_field, const Var* to, std::size_t to_field, bool all) {
    const auto tensors = tensors_of(to->type);
    for (std::size_t i = 0; i < tensors.size(); ++i)
      for (std::int64_t d = kMeshDim; tensors[i] && d < tensors[i]->ndim; ++d)
        graph_.join({from, all ? i : from_field, d}, {to, all ? i : to_field, d});
  }

  Result<support::Unit> read_call(const Call* call, const Var* var) {
    const auto results = tensors_of(var->type);
    for (const Expr* e : operands_of(call))
      if (const auto* operand = as<Var>(e); operand && as<TensorType>(e->type))
        for (std::size_t i = 0; i < results.size(); ++i)
          if (results[i]) graph_.join({operand, 0, kMeshDim}, {var, i, kMeshDim});
    if (as_call_of(call, op::DistAnnotateSharding)) return read_annotation(call, var);
    if (const PrimFunc* kernel = kernel_of(module_, call)) {
      read_kernel(call, kernel, var);
    } else if (isa<Op>(call->callee) && as<TensorType>(var->type)) {
      for (std::size_t i = 0; i < call->args.size(); ++i) probe(call, i, var);
      if (as_call_of(call, op::Matmul)) join_summed(call);
    }
    return support::Unit{};
  }

  Result<support::Unit> read_annotation(const Call* call, const Var* var) {
    const Attr* mesh = find_attr(call->attrs, op_attr::DeviceMesh);
    const Attr* placement = find_attr(call->attrs, op_attr::Placement);
    const auto axes =
        placement->is(AttrKind::String) ? placement_axes(placement->string) : std::optional<std::vector<int>>();
    const auto* t = as<TensorType>(var->type);
    const auto* from = as<Var>(call->args[0]);
    if (!axes || !t || !from || axes->size() > mesh_shape(mesh_of(module_, mesh)).size())
      return refusal(fmt::format("the annotation of `{}`", var->name), "its placement is none on its mesh");
    for (std::int64_t d = 0; d < t->ndim; ++d) graph_.join({from, 0, d}, {var, 0, d});
    for (std::size_t i = 0; i < axes->size(); ++i) {
      if ((*axes)[i] == kReplica) continue;
      if (std::count(axes->begin(), axes->end(), (*axes)[i]) > 1)
        return refusal(fmt::format("the annotation of `{}`", var->name),
                       fmt::format("it divides dim {} along two dimensions of the mesh", (*axes)[i]));
      if ((*axes)[i] >= t->ndim)
        return refusal(fmt::format("the annotation of `{}`", var->name),
                       fmt::format("it has no dim {} that could be divided", (*axes)[i]));
      graph_.annotate({var, 0, (*axes)[i]}, {mesh, std::int64_t(i)});
    }
    graph_.annotate({var, 0, kMeshDim}, {mesh, kReplica});
    return support::Unit{};
  }

  void read_kernel(const Call* call, const PrimFunc* kernel, const Var* var) {
    const Span<const Expr*> args = operands_of(call);
    for (const KernelGroup& group : kernel_groups(ctx_, call, kernel)) {
      std::vector<TensorAxis> operands;
      for (const ParamDim& d : group.operands)
        if (const auto* v = as<Var>(args[d.param])) operands.push_back({v, 0, std::int64_t(d.dim)});
      for (const ParamDim& r : group.results)
        for (const TensorAxis& o : operands) graph_.join(o, {var, r.param, std::int64_t(r.dim)});
      for (std::size_t i = 1; group.results.empty() && i < operands.size(); ++i)
        graph_.join_operands(operands[i], operands[0]);
    }
  }

  // Shards one axis of an operand at a time, to see which axis of the result is sharded then.
  void probe(const Call* call, std::size_t operand, const Var* var) {
    const auto* from = as<Var>(call->args[operand]);
    const auto* t = as<TensorType>(call->args[operand]->type);
    if (!from || !t || t->ndim == kUnknownNdim) return;
    for (std::int64_t d = 0; d < t->ndim; ++d) {
      if (t->has_shape && is_const(t->shape[std::size_t(d)], 1)) continue;  // nothing to divide
      if (const auto to = result_axis(ctx_, call, operand, d)) graph_.join({from, 0, d}, {var, 0, *to});
    }
  }

  // The axis that a product sums over is divided in both operands.
  void join_summed(const Call* call) {
    const auto *a = as<Var>(call->args[0]), *b = as<Var>(call->args[1]);
    const auto *x = as<TensorType>(call->args[0]->type), *y = as<TensorType>(call->args[1]->type);
    if (!a || !b || !x || !y || x->ndim < 1 || y->ndim < 1) return;
    graph_.join_operands({a, 0, x->ndim - 1}, {b, 0, std::max(y->ndim - 2, 0)});
  }

  Context& ctx_;
  const Module* module_;
  ShardingGraph& graph_;
};

// The shardings of tensors, as the graph has them.
class Shardings {
 public:
  Shardings(Context& ctx, const Module* module) : ctx_(ctx), module_(module) {}

  Result<support::Unit> find(const Function* f) {
    RLDB_TRY_VOID(GraphReader(ctx_, module_, graph_).read(f));
    RLDB_TRY_VOID(graph_.spread());
    for (const BindingBlock* block : f->body->blocks)
      for (const Binding* b : block->bindings) RLDB_TRY_VOID(check(b->var));
    for (const Var* p : f->params) RLDB_TRY_VOID(check(p));
    return graph_.spread();
  }

  // The type with the sharding that a tensor, or each field of a tuple, has.
  Result<const Type*> placed(const Var* v) {
    if (const auto* tuple = as<TupleType>(v->type)) {
      std::vector<const Type*> fields;
      for (std::size_t i = 0; i < tuple->fields.size(); ++i) {
        const auto* t = as<TensorType>(tuple->fields[i]);
        if (!t) {
          fields.push_back(tuple->fields[i]);
          continue;
        }
        RLDB_TRY(const DTensorType* field, placed(v, i, t));
        fields.push_back(field);
      }
      return static_cast<const Type*>(ctx_.tuple_type(fields));
    }
    const auto* t = as<TensorType>(v->type);
    if (!t) return v->type;
    RLDB_TRY(const DTensorType* type, placed(v, 0, t));
    return static_cast<const Type*>(type);
  }

 private:
  Result<const DTensorType*> placed(const Var* v, std::size_t field, const TensorType* t) {
    const AxisSharding* mesh = graph_.find({v, field, kMeshDim});
    if (!mesh) return refusal(fmt::format("`{}`", v->name), "no annotation reaches it, so that it is on no mesh");
    std::vector<int> axes(mesh_shape(mesh_of(module_, mesh->mesh)).size(), kReplica);
    for (std::int64_t d = 0; d < t->ndim; ++d)
      if (const AxisSharding* s = graph_.find({v, field, d}); s && std::size_t(s->along) < axes.size())
        axes[std::size_t(s->along)] = int(d);
    return ctx_.dtensor(t, mesh->mesh, placement_text(axes));
  }

  // All that reaches a tensor is of one mesh. A dim that has fewer elements than there are workers is not divided; two
  // dims are not divided along one dimension of the mesh.
  Result<support::Unit> check(const Var* v) {
    const auto tensors = tensors_of(v->type);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TensorType* t = tensors[i];
      const AxisSharding* mesh = graph_.find({v, i, kMeshDim});
      std::vector<std::int64_t> taken;
      for (std::int64_t d = 0; t && d < t->ndim; ++d) {
        const AxisSharding* s = graph_.find({v, i, d});
        if (!s) continue;
        if (mesh && !same_mesh(*mesh, *s))
          return refusal(fmt::format("`{}`", v->name),
                         fmt::format("it is on one mesh, and its dim {} would be divided along another", d));
        if (std::find(taken.begin(), taken.end(), s->along) != taken.end())
          return refusal(fmt::format("`{}`", v->name),
                         "two of its dims would be divided along one dimension of the mesh");
        taken.push_back(s->along);
        const auto workers = mesh_shape(mesh_of(module_, s->mesh));
        const auto size = t->has_shape ? const_int(t->shape[std::size_t(d)]) : std::nullopt;
        if (size && std::size_t(s->along) < workers.size() && *size < workers[std::size_t(s->along)])
          graph_.cut({v, i, d});
      }
    }
    return support::Unit{};
  }

  Context& ctx_;
  const Module* module_;
  ShardingGraph graph_;
};

class Distributor : public Rewriter {
 public:
  Distributor(Context& ctx, const Module* module, Shardings& shardings)
      : Rewriter(ctx), module_(module), shardings_(shardings) {}
  std::optional<source::Message> error;

  const Function* run(const Function* f) {
    std::vector<const Var*> params;
    for (const Var* p : f->params) params.push_back(define_var(p, wanted(p)));
    const auto* body = cast<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
    const Function* made = ctx_.function(params, body, body->body->type, f->is_pure, f->attrs);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    if (const auto* field = as<TupleGetItem>(b->value))
      if (const auto moved = moved_.find({as<Var>(field->tuple), field->index}); moved != moved_.end()) {
        remap(b->var, moved->second);
        return {};
      }
    const auto* call = as<Call>(b->value);
    if (!call || error) return default_binding(b);
    const bool distributed = !tensors_of(b->var->type).empty() && tensors_of(b->var->type)[0];
    const Type* type = distributed ? wanted(b->var) : b->var->type;
    if (as_call_of(call, op::DistAnnotateSharding)) {
      const Expr* operand = rewrite(call->args[0]);
      if (operand->type == type) {
        const auto* v = as<Var>(operand);
        if (v && v->is_dataflow() && !b->var->is_dataflow()) return {bound(b, operand)};  // seen outside of its block
        remap(b->var, operand);
        return {};
      }
      return {bound(b, moved_to(operand, type))};
    }
    const Expr* value = remade(call, type);
    if (!distributed || value->type == type) return {bound(b, value)};
    return redistributed(b, value, type);
  }

 private:
  const Type* wanted(const Var* v) {
    auto type = shardings_.placed(v);
    if (type.ok()) return *type;
    fail(std::move(type).error());
    return v->type;
  }
  void fail(source::Message why) {
    if (!error) error = std::move(why);
  }
  const Binding* bound(const Binding* b, const Expr* value) {
    return remake_binding(ctx_, b, define_var(b->var, value->type), value);
  }
  const Var* fresh(std::string_view name, const Type* type, const Node* origin) {
    const Var* v = in_dataflow() ? static_cast<const Var*>(ctx_.dataflow_var(name, type)) : ctx_.var(name, type);
    ctx_.set_origin(v, origin);
    return v;
  }

  const Expr* moved_to(const Expr* value, const Type* type) {
    const auto* to = as<DTensorType>(type);
    auto made = ctx_.call(
        op::DistRedistribute, {value},
        {ctx_.named(op_attr::DeviceMesh, to->device_mesh), ctx_.named(op_attr::Placement, ctx_.attr(to->placement))});
    if (made.ok()) return *made;
    fail(std::move(made).error());
    return value;
  }

  // The value, and then the value where its readers want it.
  std::vector<const Binding*> redistributed(const Binding* b, const Expr* value, const Type* type) {
    const auto* tuple = as<TupleType>(type);
    if (!tuple) {
      if (!as<DTensorType>(value->type)) return {bound(b, value)};
      const Var* first = fresh(b->var->name, value->type, b->var);
      const Binding* made = ctx_.binding(first, value);
      ctx_.set_origin(made, b);
      return {made, bound(b, moved_to(first, type))};
    }
    std::vector<const Binding*> out{bound(b, value)};
    const Var* var = out[0]->var;
    const auto* given = as<TupleType>(value->type);
    for (std::size_t i = 0; given && i < given->fields.size() && i < tuple->fields.size(); ++i) {
      if (given->fields[i] == tuple->fields[i] || !as<DTensorType>(given->fields[i])) continue;
      auto field = ctx_.tuple_get(var, std::int64_t(i));
      if (!field.ok()) continue;
      const Var* part = fresh(b->var->name, (*field)->type, b->var);
      out.push_back(ctx_.binding(part, *field));
      const Expr* made = moved_to(part, tuple->fields[i]);
      const Var* there = fresh(b->var->name, made->type, b->var);
      out.push_back(ctx_.binding(there, made));
      moved_[{b->var, std::int64_t(i)}] = there;
    }
    return out;
  }

  // A tensor constant is the same on all workers; its mesh is that of the result.
  const Expr* argument(const Expr* e, const Type* result) {
    const auto* c = as<Constant>(e);
    const auto* t = c ? as<TensorType>(c->type) : nullptr;
    const auto* tuple = as<TupleType>(result);
    const auto* like = as<DTensorType>(tuple && !tuple->fields.empty() ? tuple->fields[0] : result);
    if (!t || !like) return rewrite(e);
    const std::vector<int> axes(mesh_shape(mesh_of(module_, like->device_mesh)).size(), kReplica);
    return ctx_.constant_typed(*c->value, ctx_.dtensor(t, like->device_mesh, placement_text(axes)));
  }

  const Expr* remade(const Call* call, const Type* type) {
    std::vector<const Expr*> args;
    for (const Expr* e : call->args) args.push_back(argument(e, type));
    const auto keep = [&](const Expr* made) {
      ctx_.set_origin(made, call);
      return made;
    };
    if (const auto* packed = as<ExternFunc>(call->callee)) return keep(remade_packed(call, packed, args, type));
    if (const PrimFunc* kernel = kernel_of(module_, call)) {
      std::vector<const Expr*> operands;
      for (const Expr* e : operands_of(call)) operands.push_back(argument(e, type));
      args[1] = ctx_.tuple(operands);
      const Type* inferred = operands.empty() ? type : kernel_result(call, kernel, operands, type);
      return keep(ctx_.call_typed(call->callee, args, inferred, call->attrs, {{inferred}}));
    }
    auto made = ctx_.call(CallSpec{call->callee, args, call->attrs, call->ty_args});
    if (made.ok()) return keep(*made);
    fail(std::move(made).error());
    return call;
  }

  const Expr* remade_packed(const Call* call, const ExternFunc* packed, const std::vector<const Expr*>& args,
                            const Type* type) {
    const bool view = packed->symbol == runtime_function::KvCacheView;
    if (!view && packed->symbol != runtime_function::KvCacheAppend)
      return ctx_.call_typed(packed, args, call->type, call->attrs, call->ty_args);
    const Type* result = view ? type : call->type;
    std::vector<const Type*> ty_args(call->ty_args.begin(), call->ty_args.end());
    if (view) ty_args = {result};
    return ctx_.call_typed(ctx_.extern_func(distributed_name(packed->symbol)), args, result, call->attrs, ty_args);
  }

  // A result's dim is divided as the operands' dims that run with it.
  const Type* kernel_result(const Call* call, const PrimFunc* kernel, const std::vector<const Expr*>& operands,
                            const Type* wanted_type) {
    const auto results = tensors_of(call->ty_args.empty() ? call->type : call->ty_args[0]);
    const auto* tuple = as<TupleType>(wanted_type);
    const auto* like = as<DTensorType>(tuple && !tuple->fields.empty() ? tuple->fields[0] : wanted_type);
    if (!like) return wanted_type;
    const std::size_t along = mesh_shape(mesh_of(module_, like->device_mesh)).size();
    std::vector<std::vector<int>> axes(results.size(), std::vector<int>(along, kReplica));
    for (const KernelGroup& group : kernel_groups(ctx_, call, kernel))
      for (const ParamDim& o : group.operands) {
        const auto* t = as<DTensorType>(operands[o.param]->type);
        const auto from = t ? placement_axes(t->placement) : std::nullopt;
        for (std::size_t m = 0; from && m < from->size() && m < along; ++m)
          if ((*from)[m] == int(o.dim))
            for (const ParamDim& r : group.results)
              if (r.param < axes.size()) axes[r.param][m] = int(r.dim);
      }
    std::vector<const Type*> fields;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i]) return wanted_type;
      fields.push_back(ctx_.dtensor(results[i], like->device_mesh, placement_text(axes[i])));
    }
    return tuple ? static_cast<const Type*>(ctx_.tuple_type(fields)) : fields.empty() ? wanted_type : fields[0];
  }

  const Module* module_;
  Shardings& shardings_;
  std::map<std::pair<const Var*, std::int64_t>, const Var*> moved_;  // fields that were moved
};

}  // namespace

Result<const Module*> propagate_sharding(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    if (!is_annotated(f)) return f;
    Shardings shardings(env.ctx, module);
    RLDB_TRY_VOID(shardings.find(f));
    Distributor distributor(env.ctx, module, shardings);
    const Function* made = distributor.run(f);
    if (distributor.error) return support::Failure(*distributor.error);
    return made;
  });
}

}  // namespace rldb::passes
