// PlanDevices: decides on which device each value is (device_plan.h), and makes the copies between devices explicit.
//
// `on_device(x, virtual_device=d)` computes x on d. Where its result is used on another device, it becomes
// `device_copy(x, src_virtual_device=d, dst_virtual_device=e)`, otherwise x. Parameters that are not on the host say
// so; constants, and operators without operands, that are not on the host are in `on_device(x, virtual_device=d,
// constrain_result=True)`, which copies nothing. Conditions of branches are copied to the host. A module that does not
// mention devices stays as it is.
#include <fmt/format.h>

#include "relay/passes/common.h"
#include "relay/passes/devices/device_calls.h"
#include "rldb/relay/ir/attributes.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/relay/passes/device_plan.h"

namespace rldb::relay {

namespace {

bool is_computed(const Expr* e) {
  const OpInfo* op = operator_of(e);
  return op && (op->role == OpRole::Plain || op->role == OpRole::Reshape || op->role == OpRole::Values);
}

// Scalars become part of the kernel that computes with them.
bool is_inlined(const Expr* user, const Expr* x) {
  const auto* c = as<Constant>(x);
  return c && c->tensor->ndim() == 0 && is_computed(user);
}

class Planner : public GraphRewriter {
 public:
  Planner(PassEnv& env, const DevicePlan& plan, DeviceCalls& calls) : GraphRewriter(env), plan_(plan), calls_(calls) {}

  const Function* run(const Function* f) {
    for (const Expr* e : reachable(f)) {
      const auto* inner = as<Function>(e);
      if (inner && !is_primitive(inner))
        for (const Var* p : inner->params) place_parameter(p);
    }
    const auto* made = GraphRewriter::function(f);
    return placed(f, made);
  }

 private:
  void place_parameter(const Var* p) {
    const std::size_t device = plan_.device_of(p);
    if (device == 0 || p->virtual_device) return;
    const Var* made = ctx_.var(p->name, p->annotation, calls_.attr(device));
    ctx_.set_span(made, ctx_.span(p));
    if (env_.names)
      if (const auto known = env_.names->find(p); known != env_.names->end()) {
        const std::string name = known->second;
        env_.names->insert_or_assign(made, name);
      }
    map(p, made);
  }

  // The function with its parameters' devices, and its result if that is a constant.
  const Function* placed(const Function* before, const Function* f) {
    std::vector<const Var*> params;
    for (const Var* p : before->params) params.push_back(static_cast<const Var*>(at(p)));
    const Expr* body = fixed(f->body, f, plan_.result_of(before));
    if (body == f->body && std::equal(params.begin(), params.end(), f->params.begin())) return f;
    const Function* made = ctx_.function(f->type_params, params, f->result, body, f->attrs);
    ctx_.set_span(made, ctx_.span(before));
    return made;
  }

  // A constant on a device.
  const Expr* fixed(const Expr* x, const Expr* user, std::size_t device) {
    if (device == 0 || x->kind != ExprKind::Constant || is_inlined(user, x)) return x;
    return calls_.on_device(x, device);
  }

  // Where `e` needs its i-th operand, in the order of for_each_operand.
  std::size_t needed(const Expr* e, std::size_t i) const {
    if (const auto* l = as<Let>(e)) return plan_.device_of(i == 0 ? static_cast<const Expr*>(l->var) : e);
    if (e->kind == ExprKind::If || e->kind == ExprKind::Match) return i == 0 ? 0 : plan_.device_of(e);
    if (const auto* w = as<RefWrite>(e)) return plan_.device_of(w->reference);
    if (e->kind == ExprKind::Tuple) return plan_.parameter_of(e, i);
    const auto* c = as<Call>(e);
    if (!c || c->callee->kind == ExprKind::Op || c->callee->kind == ExprKind::Constructor) return plan_.device_of(e);
    const auto* f = as<Function>(c->callee);
    return f && is_primitive(f) ? plan_.device_of(e) : plan_.parameter_of(c->callee, i);
  }

  const Expr* rewrite(const Expr* e, const Expr* made) override {
    if (const auto* f = as<Function>(e)) return is_primitive(f) ? made : placed(f, static_cast<const Function*>(made));
    const OpInfo* op = operator_of(e);
    if (op && op->id == op::OnDevice && cast<Call>(e).args.size() == 1)
      return on_device(cast<Call>(e), cast<Call>(made));
    if (op && op->id == op::DeviceCopy && cast<Call>(e).args.size() == 1)
      return copied(cast<Call>(made).args[0], source_of(cast<Call>(e)), plan_.device_of(e), made);
    made = with_fixed_constants(e, made);
    if (const auto* i = as<If>(e)) return with_condition(*i, cast<If>(made));
    return is_alone(e) ? calls_.on_device(made, plan_.device_of(e)) : made;
  }

  const Expr* with_fixed_constants(const Expr* e, const Expr* made) {
    ExprMap mapped;
    std::size_t i = 0;
    for_each_operand(made, [&](const Expr* x) {
      const std::size_t device = e->kind == ExprKind::Function ? 0 : needed(e, i++);
      if (const Expr* to = fixed(x, e, device); to != x) mapped[x] = to;
    });
    return over_mapped(ctx_, made, mapped);
  }

  // Nothing that it reads tells where it is computed.
  bool is_alone(const Expr* e) const {
    if (!is_computed(e) || plan_.device_of(e) == 0) return false;
    for (const Expr* a : cast<Call>(e).args)
      if (!is_inlined(e, a)) return false;
    return true;
  }

  std::size_t source_of(const Call& c) const {
    const Attributes attrs(c, *operator_of(&c));
    const OpInfo& op = *operator_of(&c);
    const bool copy = op.id == op::DeviceCopy;
    for (const std::string_view name :
         {copy ? field::SrcVirtualDevice : field::VirtualDevice, copy ? field::SrcDevType : field::DeviceType})
      if (const auto device = plan_.named(attrs.attr(name)); device && c.args[0]->kind == ExprKind::Constant)
        return *device;
    return plan_.device_of(c.args[0]);
  }

  const Expr* on_device(const Call& before, const Call& made) {
    return copied(made.args[0], source_of(before), plan_.device_of(&before), made.args[0]);
  }

  const Expr* copied(const Expr* x, std::size_t from, std::size_t to, const Expr* place) {
    const bool constant = x->kind == ExprKind::Constant;
    if (from == to) return constant && to != 0 ? calls_.on_device(x, to) : x;
    if (constant && from != 0) x = calls_.on_device(x, from);
    const Expr* made = calls_.copy(x, from, to);
    ctx_.set_span(made, ctx_.span(place));
    return made;
  }

  const Expr* with_condition(const If& before, const If& made) {
    const std::size_t device = plan_.device_of(before.condition);
    if (device == 0) return &made;
    return ctx_.if_expr(copied(made.condition, device, 0, made.condition), made.consequence, made.alternative);
  }

  const DevicePlan& plan_;
  DeviceCalls& calls_;
};

}  // namespace

const Module* run_PlanDevices(PassEnv& env, const Module* m, const NoOptions&) {
  const auto plan = DevicePlan::of(env.ctx, m, env.out);
  if (!plan) return nullptr;
  DeviceCalls calls(env.ctx, *plan);
  return map_functions(env, m, [&](const Definition& d) {
    return is_primitive(d.function) ? d.function : Planner(env, *plan, calls).run(d.function);
  });
}

}  // namespace rldb::relay
