// FuseOps: each call of an operator becomes a call of a primitive function, whose parameters and result have types.
//
// One operator a function, as TVM's pass does at optimisation level 0; scalar constants are part of the function. What
// is in the machine already needs no kernel: a reshape of known dims is marked, references become copies of tensors.
#include <fmt/format.h>

#include "relay/passes/common.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"

namespace rldb::relay {

namespace {

bool is_tensors(const Type* t) {
  if (t && t->kind == TypeKind::Tensor) return true;
  const auto* tuple = as<TupleType>(t);
  return tuple && std::all_of(tuple->fields.begin(), tuple->fields.end(), is_tensors);
}

bool is_static(const Type* t) {
  const auto* tensor = as<TensorType>(t);
  return tensor &&
         std::all_of(tensor->shape.begin(), tensor->shape.end(), [](const Dim& d) { return d.kind == DimKind::Known; });
}

// The result is the operand under another shape.
bool only_reshapes(OpId id) {
  return id == op::Reshape || id == op::ContribReverseReshape || id == op::ReshapeLike || id == op::ExpandDims ||
         id == op::Squeeze || id == op::NnBatchFlatten;
}

// The result is the operand: what says where something is or what may be fused.
bool says_nothing(OpId id) { return id == op::OnDevice || id == op::AnnotationStopFusion; }

class Fuser : public AnfRewriter {
 public:
  Fuser(PassEnv& env, const Typing& typing) : AnfRewriter(env.ctx), out_(env.out), typing_(typing) {}

  // Of a function that is primitive already: types where there are none.
  const Function* typed(const Function* f) {
    std::vector<const Var*> params;
    for (const Var* p : f->params) params.push_back(ctx_.var(p->name, tensors(p, p)));
    return ctx_.function({}, params, tensors(f->body, f), body_with(ctx_, f, params), f->attrs);
  }

 private:
  const Expr* value(const Var* var, const Expr* v) override {
    if (const auto* f = as<Function>(v); f && is_primitive(f)) return typed(f);
    if (const auto* c = as<Call>(v)) return call(var, *c);
    if (const auto* r = as<RefCreate>(v)) return ctx_.ref_create(copy_of(r->value, r->value));
    if (const auto* r = as<RefRead>(v)) {
      const Var* alias = ctx_.var("x", typing_.of(var));
      bind(alias, r);
      return copy_call(alias, tensors(var, v));
    }
    return v;
  }

  // The type of a node, which has to be that of tensors.
  const Type* tensors(const Expr* e, const Expr* at) {
    const Type* t = typing_.of(e);
    if (const auto* c = as<Constant>(e)) t = constant_type(*c);
    if (is_tensors(t)) return t;
    out_.add(ctx_.span(at), source::message(diag::RelayPrimitiveType, what_, t ? print_type(t) : "unknown"));
    return ctx_.tuple_type({});
  }

  const Type* constant_type(const Constant& c) {
    std::vector<Dim> dims;
    for (const std::int64_t d : c.tensor->shape()) dims.push_back({DimKind::Known, false, d, nullptr});
    return ctx_.tensor(dims, c.tensor->dtype());
  }

  const Expr* call(const Var* var, const Call& c) {
    if (const auto* f = as<Function>(c.callee); f && is_primitive(f))
      return ctx_.call(typed(f), c.args, c.attrs, c.attrs_object);
    const auto* op = as<Op>(c.callee);
    if (!op) return &c;
    if (says_nothing(op->info->id) && c.args.size() == 1 && c.args[0]->kind == ExprKind::Var) {
      replace(var, c.args[0]);
      return nullptr;
    }
    what_ = op->info->name;
    return primitive(*op, c, var);
  }

  const Expr* primitive(const Op& op, const Call& c, const Var* var) {
    std::vector<const Var*> params;
    std::vector<const Expr*> outer, inner;
    std::unordered_map<const Expr*, const Var*> seen;
    for (const Expr* a : c.args) {
      const auto* constant = as<Constant>(a);
      if (constant && constant->tensor->ndim() == 0) {
        inner.push_back(a);
        continue;
      }
      const Var*& param = seen[a];
      if (!param) {
        param = ctx_.var(ctx_.str(fmt::format("p{}", params.size())), tensors(a, &c));
        params.push_back(param);
        outer.push_back(a);
      }
      inner.push_back(param);
    }
    const Type* result = tensors(var, &c);
    const Expr* body = ctx_.call(&op, inner, c.attrs, c.attrs_object);
    ctx_.set_span(body, ctx_.span(&c));
    std::vector<NamedAttr> attrs{flag(ctx_, attr_name::Primitive)};
    if (only_reshapes(op.info->id) && is_static(result)) attrs.push_back(flag(ctx_, attr_name::ReshapeOnly));
    const Function* f = ctx_.function({}, params, result, body, attrs);
    const Expr* made = ctx_.call(f, outer);
    ctx_.set_span(f, ctx_.span(&c));
    ctx_.set_span(made, ctx_.span(&c));
    return made;
  }

  // A reference is a tensor of its own, which is written in place.
  const Expr* copy_of(const Expr* x, const Expr* typed) {
    const Type* t = typing_.of(typed);
    if (const auto* c = as<Constant>(typed)) t = constant_type(*c);
    if (!is_static(t)) {
      out_.add(ctx_.span(x), source::message(diag::RelayReference, t ? print_type(t) : "unknown"));
      return x;
    }
    const Var* copy = ctx_.var("x", t);
    bind(copy, copy_call(x, t));
    return copy;
  }
  const Expr* copy_call(const Expr* x, const Type* t) {
    const Var* p = ctx_.var("p0", t);
    const Expr* body = ctx_.call(ctx_.op(&info(op::Copy)), std::vector<const Expr*>{p});
    const Function* f = ctx_.function({}, std::vector<const Var*>{p}, t, body,
                                      std::vector<NamedAttr>{flag(ctx_, attr_name::Primitive)});
    return ctx_.call(f, std::vector<const Expr*>{x});
  }

  source::Diagnostics& out_;
  const Typing& typing_;
  std::string_view what_ = "a primitive function";
};

}  // namespace

const Module* run_FuseOps(PassEnv& env, const Module* m) {
  Typing typing;
  if (!infer_types(env.ctx, m, typing, env.out)) return nullptr;
  const std::size_t before = env.out.error_count();
  const Module* made = map_functions(env, m, [&](const Definition& d) {
    Fuser fuser(env, typing);
    return is_primitive(d.function) ? fuser.typed(d.function) : fuser.function(d.function);
  });
  return env.out.error_count() == before ? made : nullptr;
}

}  // namespace rldb::relay
