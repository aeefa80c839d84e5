// One walk over each function says which values are on one device; order does not matter, as domains are merged.
#include "rldb/relay/passes/device_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "relay/passes/common.h"
#include "relay/passes/devices/domains.h"
#include "rldb/relay/ir/attributes.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"

namespace rldb::relay {

namespace {

constexpr int kHost = 0;

const MetaField* field_of(const MetaObject* o, std::string_view name) {
  for (const MetaField& f : o->fields)
    if (f.name == name) return &f;
  return nullptr;
}

std::int64_t number_of(const MetaField* f, std::int64_t otherwise) {
  if (!f || f->text.empty() || f->text.size() > 9) return otherwise;
  std::int64_t n = 0;
  for (const char c : f->text.substr(f->text[0] == '-' ? 1 : 0)) {
    if (c < '0' || c > '9') return otherwise;
    n = n * 10 + (c - '0');
  }
  return f->text[0] == '-' ? -n : n;
}

// A device as an attribute says it: an object, or in the text of 0.8 the number of its type.
std::optional<PlannedDevice> device_in(const AttrValue* attr) {
  if (!attr) return std::nullopt;
  if (attr->kind == AttrKind::Int && attr->integer > 0 && attr->integer < 100)
    return PlannedDevice{{std::int32_t(attr->integer), 0}, {}, attr};
  if (attr->kind != AttrKind::Object || !attr->object) return std::nullopt;
  const std::int64_t type = number_of(field_of(attr->object, "device_type_int"), 0);
  if (type <= 0) return std::nullopt;  // it constrains nothing
  const std::int64_t id = std::max<std::int64_t>(0, number_of(field_of(attr->object, "virtual_device_id"), 0));
  const MetaField* scope = field_of(attr->object, "memory_scope");
  return PlannedDevice{
      {std::int32_t(type), std::int32_t(id)}, std::string(scope && scope->object ? scope->object->text : ""), attr};
}

}  // namespace

class DeviceAnalyzer {
 public:
  DeviceAnalyzer(Context& ctx, const Module* m, source::Diagnostics& out, DevicePlan& plan)
      : ctx_(ctx), module_(m), out_(out), plan_(plan) {
    plan_.devices_.push_back({});
  }

  // Whether the module mentions a device at all: most do not.
  bool mentions_devices() {
    for (const Definition& d : module_->functions)
      for (const Expr* e : reachable(d.function)) {
        const auto* v = as<Var>(e);
        const auto* f = as<Function>(e);
        if ((v && v->virtual_device) || (f && attr_of(f->attrs, field::VirtualDevice))) return true;
        if (f && std::any_of(f->params.begin(), f->params.end(), [](const Var* p) { return p->virtual_device; }))
          return true;
        const OpInfo* op = operator_of(e);
        if (!op) continue;
        if (op->id == op::OnDevice || op->id == op::DeviceCopy) return true;
        if (op->id == op::MemoryAllocStorage && attr_of(cast<Call>(e).attrs, field::VirtualDevice)) return true;
      }
    return false;
  }

  void run() {
    for (const Definition& d : module_->functions) domains_.merge(of(d.name), of(d.function));
    for (const Definition& d : module_->functions)
      for (const Expr* e : reachable(d.function)) {
        support::poll();
        visit(e);
      }
    for (const auto& [e, id] : ids_) plan_.of_[e] = solved(id);
    for (const auto& [e, id] : ids_) {
      const std::size_t count = known_parts(e);
      if (count == 0) continue;
      std::vector<std::size_t>& parts = plan_.parts_[e];
      for (const Domains::Id part : domains_.parts(id, count)) parts.push_back(solved(part));
    }
  }

 private:
  using Id = Domains::Id;

  static const AttrValue* attr_of(Span<NamedAttr> attrs, std::string_view name) {
    for (const NamedAttr& a : attrs)
      if (a.name == name) return a.value;
    return nullptr;
  }

  // The parts of a function or tuple of which something is asked later.
  std::size_t known_parts(const Expr* e) const {
    if (const auto* f = as<Function>(e)) return f->params.size() + 1;
    if (const auto* t = as<Tuple>(e)) return t->fields.size();
    return e->kind == ExprKind::GlobalVar || called_.contains(e) ? 1 : 0;
  }

  std::size_t solved(Id id) const { return std::size_t(std::max(kHost, domains_.device_of(id))); }

  int number_of_device(const PlannedDevice& d) {
    std::vector<PlannedDevice>& known = plan_.devices_;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (!(known[i].device == d.device) || known[i].memory_scope != d.memory_scope) continue;
      if (!known[i].attr) known[i].attr = d.attr;
      return int(i);
    }
    known.push_back(d);
    return int(known.size()) - 1;
  }

  // Of an attribute of a call, or of the one that stood for it in 0.8; kOpen: none.
  int device_attr(const Call& c, std::string_view name, std::string_view old_name) {
    for (const std::string_view n : {name, old_name})
      if (const auto d = device_in(attr_of(c.attrs, n))) return number_of_device(*d);
    return Domains::kOpen;
  }

  Id of(const Expr* e) {
    if (e->kind == ExprKind::Constant || e->kind == ExprKind::Op || e->kind == ExprKind::Constructor)
      return Domains::kNone;
    const auto [known, added] = ids_.try_emplace(e, Domains::kNone);
    if (!added) return known->second;
    const Id id = known->second = domains_.make();
    if (const auto* v = as<Var>(e))
      if (const auto d = device_in(v->virtual_device)) domains_.place(id, number_of_device(*d));
    return id;
  }

  void merge(const Expr* a, const Expr* b, const Expr* at) { merge(of(a), of(b), at); }
  void merge(Id a, Id b, const Expr* at) {
    const int before = domains_.device_of(a), other = domains_.device_of(b);
    if (!domains_.merge(a, b)) conflict(at, before, other);
  }
  void place(const Expr* e, int device, const Expr* at) {
    if (device == Domains::kOpen) return;
    const int before = domains_.device_of(of(e));
    if (!domains_.place(of(e), device)) conflict(at, before, device);
  }

  void conflict(const Expr* at, int a, int b) {
    const auto text = [&](int device) {
      return device == Domains::kOpen ? "another device" : to_string(plan_.devices_[std::size_t(device)].device);
    };
    const OpInfo* op = operator_of(at);
    const std::string what = op ? fmt::format("`{}`", op->name) : fmt::format("this {}", to_string(at->kind));
    out_.add(ctx_.span(at), source::message(diag::RelayDevices, what, text(a), text(b)));
  }

  void visit(const Expr* e) {
    switch (e->kind) {
      case ExprKind::Var:
      case ExprKind::GlobalVar:
      case ExprKind::Constant:
      case ExprKind::Op:
      case ExprKind::Constructor:
        return;
      case ExprKind::Call:
        return call(cast<Call>(e));
      case ExprKind::Function:
        return function(cast<Function>(e));
      case ExprKind::Let:
        merge(cast<Let>(e).var, cast<Let>(e).value, e);
        return merge(e, cast<Let>(e).body, e);
      case ExprKind::If:
        merge(e, cast<If>(e).consequence, e);
        return merge(e, cast<If>(e).alternative, e);
      case ExprKind::Tuple:
        return tuple(cast<Tuple>(e));
      case ExprKind::Projection: {
        const auto& p = cast<Projection>(e);
        const auto field = std::size_t(p.index);
        return merge(of(e), domains_.parts(of(p.tuple), field + 1)[field], e);
      }
      case ExprKind::Match:
        for (const Arm& arm : cast<Match>(e).arms) {
          std::unordered_set<const Expr*> bound;
          collect_pattern_variables(arm.pattern, bound);
          uniform(cast<Match>(e).value, e);
          for (const Expr* v : bound) merge(v, cast<Match>(e).value, e);
          merge(e, arm.body, e);
        }
        return;
      case ExprKind::RefCreate:
        return merge(e, cast<RefCreate>(e).value, e);
      case ExprKind::RefRead:
        return merge(e, cast<RefRead>(e).reference, e);
      case ExprKind::RefWrite:
        return merge(cast<RefWrite>(e).reference, cast<RefWrite>(e).value, e);
    }
  }

  void tuple(const Tuple& t) {
    const std::vector<Id> fields = domains_.parts(of(&t), t.fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) merge(fields[i], of(t.fields[i]), &t);
  }

  void uniform(const Expr* e, const Expr* at) {
    if (!domains_.make_uniform(of(e))) conflict(at, Domains::kOpen, Domains::kOpen);
  }

  // A function that becomes one kernel computes on one device. A parameter has one device, also if it is a tuple.
  void function(const Function& f) {
    const bool primitive = is_primitive(&f);
    const Id kernel = primitive ? domains_.make() : Domains::kNone;
    std::vector<Id> parts;
    for (const Var* p : f.params) {
      if (!primitive && as<TupleType>(p->annotation)) uniform(p, &f);
      parts.push_back(primitive ? kernel : of(p));
    }
    if (primitive) domains_.make_uniform(kernel);
    const Id body = primitive ? kernel : of(f.body);
    parts.push_back(body == Domains::kNone ? domains_.make() : body);
    if (const auto d = device_in(attr_of(f.attrs, field::VirtualDevice)))
      if (!domains_.place(parts.back(), number_of_device(*d)))
        conflict(&f, domains_.device_of(parts.back()), number_of_device(*d));
    domains_.set_parts(of(&f), std::move(parts));
  }

  void same(const Call& c) {
    uniform(&c, &c);
    for (const Expr* a : c.args) merge(&c, a, &c);
  }

  void call(const Call& c) {
    if (const auto* o = as<Op>(c.callee)) return operation(c, *o->info);
    const auto* f = as<Function>(c.callee);
    if (c.callee->kind == ExprKind::Constructor || (f && is_primitive(f))) return same(c);
    called_.insert(c.callee);
    const std::vector<Id> parts = domains_.parts(of(c.callee), c.args.size() + 1);
    for (std::size_t i = 0; i < c.args.size(); ++i) merge(of(c.args[i]), parts[i], &c);
    merge(of(&c), parts[c.args.size()], &c);
  }

  void operation(const Call& c, const OpInfo& op) {
    if (op.id == op::OnDevice) return on_device(c, op);
    if (op.id == op::DeviceCopy) {
      if (c.args.size() != 1) return;
      place(c.args[0], device_attr(c, field::SrcVirtualDevice, field::SrcDevType), &c);
      return place(&c, device_attr(c, field::DstVirtualDevice, field::DstDevType), &c);
    }
    if (op.role != OpRole::Instruction && op.role != OpRole::Effect) return same(c);
    instruction(c, op);
  }

  void on_device(const Call& c, const OpInfo& op) {
    if (c.args.size() != 1) return;
    const Attributes attrs(c, op);
    const int device = device_attr(c, field::VirtualDevice, field::DeviceType);
    const bool fixed = attrs.flag(field::ConstrainResult) || attrs.flag(field::IsFixed);
    if (device == Domains::kOpen) return merge(&c, c.args[0], &c);
    if (attrs.flag(field::ConstrainBody)) place(c.args[0], device, &c);
    if (fixed) place(&c, device, &c);
  }

  // After ManifestAlloc.
  void instruction(const Call& c, const OpInfo& op) {
    const auto host = [&](std::size_t i) {
      if (i < c.args.size()) place(c.args[i], kHost, &c);
    };
    if (op.id == op::MemoryAllocStorage) {
      for (std::size_t i = 0; i < c.args.size(); ++i) host(i);
      place(&c, std::max(kHost, device_attr(c, field::VirtualDevice, field::DeviceType)), &c);
    } else if (op.id == op::MemoryAllocTensor || op.id == op::VmReshapeTensor) {
      if (!c.args.empty()) merge(&c, c.args[0], &c);
      for (std::size_t i = 1; i < c.args.size(); ++i) host(i);
    } else if (op.id == op::VmShapeOf) {
      place(&c, kHost, &c);
    } else if (op.id == op::VmInvokeTvmOp || op.id == op::VmShapeFunc) {
      if (c.args.size() != 3) return;
      uniform(&c, &c);
      merge(&c, c.args[1], &c);
      merge(&c, c.args[2], &c);
      if (op.id == op::VmShapeFunc) place(c.args[1], kHost, &c);
    }
  }

  Context& ctx_;
  const Module* module_;
  source::Diagnostics& out_;
  DevicePlan& plan_;
  Domains domains_;
  NodeMap<Id> ids_;
  std::unordered_set<const Expr*> called_;
};

std::optional<DevicePlan> DevicePlan::of(Context& ctx, const Module* m, source::Diagnostics& out) {
  DevicePlan plan;
  DeviceAnalyzer analyzer(ctx, m, out, plan);
  if (!analyzer.mentions_devices()) return plan;
  const std::size_t before = out.error_count();
  analyzer.run();
  if (out.error_count() > before) return std::nullopt;
  return plan;
}

std::size_t DevicePlan::device_of(const Expr* e) const {
  const auto found = of_.find(e);
  return found == of_.end() ? 0 : found->second;
}

std::size_t DevicePlan::parameter_of(const Expr* callee, std::size_t i) const {
  const auto found = parts_.find(callee);
  return found == parts_.end() || i >= found->second.size() ? 0 : found->second[i];
}

std::size_t DevicePlan::result_of(const Function* f) const {
  const auto found = parts_.find(f);
  return found == parts_.end() || found->second.size() <= f->params.size() ? 0 : found->second[f->params.size()];
}

std::optional<std::size_t> DevicePlan::named(const AttrValue* attr) const {
  const auto d = device_in(attr);
  if (!d) return std::nullopt;
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].device == d->device && devices_[i].memory_scope == d->memory_scope) return i;
  return std::nullopt;
}

}  // namespace rldb::relay
