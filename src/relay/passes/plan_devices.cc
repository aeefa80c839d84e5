// PlanDevices: determines the device of every value, and makes copies of the annotations `on_device` where it changes.
//
// The operands and the result of an operator are on one device, and so are a value and its names. `on_device` says
// where its operand is; its own result may be elsewhere, unless `constrain_result` is set. What nothing determines is
// on the host. Parameters and constants come from the host: those that are needed elsewhere are copied.
#include <fmt/format.h>

#include <charconv>

#include "relay/passes/common.h"
#include "relay/passes/devices.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"

namespace rldb::relay {

namespace {

using runtime::Device;

std::optional<Device> virtual_device(const AttrValue* v) {
  if (!v || !v->object || v->object->type_key != "VirtualDevice") return std::nullopt;
  Device device{0, 0};
  for (const MetaField& f : v->object->fields) {
    const auto read = [&](std::int32_t& to) { std::from_chars(f.text.data(), f.text.data() + f.text.size(), to); };
    if (f.name == "device_type_int") read(device.type);
    if (f.name == "virtual_device_id") read(device.id);
  }
  if (device.type <= 0) return std::nullopt;
  device.id = std::max(device.id, 0);
  return device;
}

std::optional<Device> device_in(const Call& c, std::string_view object, std::string_view type) {
  const Attributes attrs(c, *as<Op>(c.callee)->info);
  if (auto device = virtual_device(attrs.attr(object))) return device;
  const auto number = attrs.integer(type);
  if (!number || *number <= 0) return std::nullopt;
  return Device{std::int32_t(*number), 0};
}

bool is_op(const Expr* e, OpId id) {
  const OpInfo* op = operator_of(e);
  return op && op->id == id;
}

class Domains {
 public:
  explicit Domains(const Function* f) {
    for (const Expr* e : reachable(f)) {
      support::poll();
      visit(e);
    }
  }
  Device at(const Expr* e) {
    const auto known = device_.find(root(e));
    return known == device_.end() ? Device{} : known->second;
  }
  const Expr* conflict = nullptr;  // a value that would be on two devices
  std::string both;

 private:
  void visit(const Expr* e) {
    if (const auto* l = as<Let>(e)) {
      join(l->var, l->value);
      join(e, l->body);
    } else if (const auto* t = as<Tuple>(e)) {
      for (const Expr* x : t->fields) join(e, x);
    } else if (const auto* p = as<Projection>(e)) {
      join(e, p->tuple);
    } else if (const auto* i = as<If>(e)) {
      join(e, i->consequence);
      join(e, i->alternative);
    } else if (const auto* m = as<Match>(e)) {
      for (const Arm& arm : m->arms) join(e, arm.body);
    } else if (const auto* made = as<RefCreate>(e)) {
      join(e, made->value);
    } else if (const auto* read = as<RefRead>(e)) {
      join(e, read->reference);
    } else if (const auto* write = as<RefWrite>(e)) {
      join(write->reference, write->value);
    } else if (const auto* c = as<Call>(e)) {
      call(*c);
    }
  }

  void call(const Call& c) {
    if (is_op(&c, op::OnDevice) && c.args.size() == 1) {
      const auto device = device_of_annotation(c);
      put(c.args[0], device);
      if (!device || Attributes(c, info(op::OnDevice)).flag("constrain_result")) put(&c, device);
      if (!device) join(&c, c.args[0]);
      return;
    }
    if (is_op(&c, op::DeviceCopy) && c.args.size() == 1) {
      put(c.args[0], source_of_copy(c));
      put(&c, destination_of_copy(c));
      return;
    }
    if (const auto* f = as<Function>(c.callee)) {
      for (std::size_t i = 0; i < std::min(c.args.size(), f->params.size()); ++i) join(f->params[i], c.args[i]);
      join(&c, f->body);
      return;
    }
    if (operator_of(&c))
      for (const Expr* x : c.args) join(&c, x);
  }

  const Expr* root(const Expr* e) {
    for (auto it = parent_.find(e); it != parent_.end(); it = parent_.find(e)) e = it->second;
    return e;
  }
  void put(const Expr* e, std::optional<Device> device) {
    if (!device) return;
    const auto [it, added] = device_.emplace(root(e), *device);
    if (added || it->second == *device) return;
    conflict = e;
    both = fmt::format("{} and {}", to_string(it->second), to_string(*device));
  }
  // A constant is wherever it is used.
  void join(const Expr* a, const Expr* b) {
    if (b->kind == ExprKind::Constant || root(a) == root(b)) return;
    const Expr* from = root(b);
    const Expr* to = root(a);
    parent_[from] = to;
    const auto known = device_.find(from);
    if (known == device_.end()) return;
    const Device device = known->second;
    device_.erase(known);
    put(to, device);
  }
  std::unordered_map<const Expr*, const Expr*> parent_;
  std::unordered_map<const Expr*, Device> device_;
};

class CopyMaker : public GraphRewriter {
 public:
  CopyMaker(PassEnv& env, const Function* f, Domains& domains)
      : GraphRewriter(env), params_(f->params.begin(), f->params.end()), domains_(domains) {}

 private:
  const Expr* rewrite(const Expr* e, const Expr* made) override {
    if (const auto* c = as<Call>(made); c && is_op(made, op::OnDevice) && c->args.size() == 1) {
      const Device from = domains_.at(cast<Call>(e).args[0]), to = domains_.at(e);
      return from == to ? c->args[0] : copy(c->args[0], from, to, e);
    }
    if (!operator_of(made) || is_op(made, op::DeviceCopy)) return made;
    const Device here = domains_.at(e);
    if (here.is_host()) return made;
    ExprMap moved;
    for_each_operand(made, [&](const Expr* x) {
      const bool from_host = x->kind == ExprKind::Constant || params_.contains(x);
      if (!from_host) return;
      const Expr*& placed = placed_[{x, here.type}];
      if (!placed) placed = copy(x, Device{}, here, x);
      moved[x] = placed;
    });
    return over_mapped(ctx_, made, moved);
  }

  const Expr* copy(const Expr* x, Device from, Device to, const Expr* at) {
    const auto number = [&](std::string_view name, std::int32_t n) {
      AttrValue v;
      v.kind = AttrKind::Int;
      v.integer = n;
      return NamedAttr{ctx_.str(name), ctx_.attr(v)};
    };
    const Expr* made =
        ctx_.call(ctx_.op(&info(op::DeviceCopy)), std::vector<const Expr*>{x},
                  std::vector<NamedAttr>{number("src_dev_type", from.type), number("dst_dev_type", to.type)});
    ctx_.set_span(made, ctx_.span(at));
    return made;
  }

  struct PlaceHash {
    std::size_t operator()(const std::pair<const Expr*, std::int32_t>& p) const {
      return std::hash<const Expr*>()(p.first) ^ std::size_t(p.second);
    }
  };
  std::unordered_set<const Expr*> params_;
  Domains& domains_;
  std::unordered_map<std::pair<const Expr*, std::int32_t>, const Expr*, PlaceHash> placed_;
};

}  // namespace

std::optional<Device> device_of_annotation(const Call& c) { return device_in(c, "virtual_device", "device_type"); }
std::optional<Device> source_of_copy(const Call& c) { return device_in(c, "src_virtual_device", "src_dev_type"); }
std::optional<Device> destination_of_copy(const Call& c) { return device_in(c, "dst_virtual_device", "dst_dev_type"); }

Device copied_from(const Call& c) { return source_of_copy(c).value_or(Device{}); }
Device copied_to(const Call& c) { return destination_of_copy(c).value_or(Device{}); }

const Module* run_PlanDevices(PassEnv& env, const Module* m, const NoOptions&) {
  const std::size_t before = env.out.error_count();
  const Module* made = map_functions(env, m, [&](const Definition& d) {
    const auto nodes = reachable(d.function);
    const bool any = std::any_of(nodes.begin(), nodes.end(),
                                 [](const Expr* e) { return is_op(e, op::OnDevice) || is_op(e, op::DeviceCopy); });
    if (!any) return d.function;
    Domains domains(d.function);
    if (domains.conflict) {
      env.out.add(env.ctx.span(domains.conflict),
                  source::message(diag::RelayNotCompiled, "a value that would be on " + domains.both));
      return d.function;
    }
    return CopyMaker(env, d.function, domains).function(d.function);
  });
  return env.out.error_count() == before ? made : nullptr;
}

}  // namespace rldb::relay
