#include "relay/passes/devices/device_calls.h"

#include <string>

#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"

namespace rldb::relay {

// An object of the metadata, as TVM writes it; the one in the text if it has one.
const AttrValue* DeviceCalls::attr(std::size_t device) {
  const PlannedDevice& d = plan_.devices()[device];
  if (d.attr && d.attr->kind == AttrKind::Object) return d.attr;
  const AttrValue*& made = attrs_[device];
  if (made) return made;
  MetaObject* scope = ctx_.object("runtime.String");
  scope->text = ctx_.str(d.memory_scope);
  MetaObject* object = ctx_.object("VirtualDevice");
  object->fields = ctx_.fields({{"device_type_int", ctx_.str(std::to_string(d.device.type)), nullptr},
                                {"memory_scope", "", scope},
                                {"target", "0", nullptr},
                                {"virtual_device_id", ctx_.str(std::to_string(d.device.id)), nullptr}});
  AttrValue value;
  value.kind = AttrKind::Object;
  value.object = object;
  return made = ctx_.attr(value);
}

const Expr* DeviceCalls::on_device(const Expr* x, std::size_t device) {
  AttrValue yes;
  yes.kind = AttrKind::Bool;
  yes.integer = 1;
  const Expr* made =
      ctx_.call(ctx_.op(&info(op::OnDevice)), std::vector<const Expr*>{x},
                std::vector<NamedAttr>{{field::VirtualDevice, attr(device)}, {field::ConstrainResult, ctx_.attr(yes)}});
  ctx_.set_span(made, ctx_.span(x));
  return made;
}

const Expr* DeviceCalls::copy(const Expr* x, std::size_t from, std::size_t to) {
  const Expr* made =
      ctx_.call(ctx_.op(&info(op::DeviceCopy)), std::vector<const Expr*>{x},
                std::vector<NamedAttr>{{field::SrcVirtualDevice, attr(from)}, {field::DstVirtualDevice, attr(to)}});
  ctx_.set_span(made, ctx_.span(x));
  return made;
}

}  // namespace rldb::relay
