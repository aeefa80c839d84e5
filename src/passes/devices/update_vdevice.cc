// UpdateVDevice: one of the module's devices becomes another, in every type that names it.
//
// The device is written as in a module, `llvm:1:global`, or as TVM prints it, `ir.VDevice(target={"kind": "llvm", ...},
// vdevice_id=1, memory_scope="global")`.
#include <algorithm>
#include <charconv>
#include <climits>

#include "passes/common.h"
#include "passes/devices/device_info.h"
#include "rldb/frontend/written_value.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_pass_option.h"

namespace rldb::passes {

using namespace ir;
using pipeline::WrittenValue;
using source::message;
using support::Failure;

namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

class DeviceReader {
 public:
  explicit DeviceReader(Context& ctx) : ctx_(ctx) {}

  std::optional<VDevice> read(const WrittenValue& written) {
    if (written.is(WrittenValue::Kind::Text)) return short_form(written.text);
    return written.is(WrittenValue::Kind::Call) ? call(written) : std::nullopt;
  }

 private:
  std::optional<VDevice> short_form(std::string_view text) {
    VDevice d{};
    const std::size_t first = text.find(':');
    d.target_kind = ctx_.str(text.substr(0, first));
    if (d.target_kind.empty()) return std::nullopt;
    if (first == std::string_view::npos) return d;
    const std::size_t second = text.find(':', first + 1);
    const auto id = number(text.substr(first + 1, second == std::string_view::npos ? second : second - first - 1));
    if (!id) return std::nullopt;
    d.device_id = *id;
    if (second != std::string_view::npos) d.memory_scope = ctx_.str(text.substr(second + 1));
    return d;
  }

  std::optional<VDevice> call(const WrittenValue& written) {
    const std::string constructor = last_part(written.text);
    if (constructor != "VDevice" && constructor != "vdevice") return std::nullopt;
    VDevice d{};
    for (std::size_t i = 0; i < written.items.size(); ++i) {
      constexpr std::string_view kNames[] = {"target", "vdevice_id", "memory_scope"};
      const auto named = std::find(std::begin(kNames), std::end(kNames), written.keys[i]);
      const std::size_t which = written.keys[i].empty() ? i : std::size_t(named - std::begin(kNames));
      if (which >= std::size(kNames) || !set(d, which, written.items[i])) return std::nullopt;
    }
    return d.target_kind.empty() ? std::nullopt : std::optional(d);
  }

  bool set(VDevice& d, std::size_t which, const WrittenValue& value) {
    if (which == 0) return set_target(d, value);
    if (which == 2) return d.memory_scope = ctx_.str(value.name()), true;
    const bool good = value.is(WrittenValue::Kind::Int) && value.integer >= 0 && value.integer <= INT_MAX;
    if (good) d.device_id = int(value.integer);
    return good;
  }

  // A kind, or a dictionary that contains one.
  bool set_target(VDevice& d, const WrittenValue& value) {
    if (!value.is(WrittenValue::Kind::Dict)) return d.target_kind = ctx_.str(value.name()), true;
    const Attr* target = frontend::read_written_attr(ctx_, value.written);
    if (!target || !target->is(AttrKind::Dict)) return false;
    const Attr* kind = find_attr(target->fields, "kind");
    if (!kind || !kind->is(AttrKind::String)) return false;
    d.target_kind = kind->string;
    if (target->fields.size() > 1) d.target = target;
    return true;
  }

  Context& ctx_;
};

// Types that mention another device.
class DeviceChanger : public Rewriter {
 public:
  DeviceChanger(Context& ctx, const VDevice* from, const VDevice* to) : Rewriter(ctx), from_(from), to_(to) {}

  const Function* run(const Function* f) {
    for (const Var* p : f->params) change(p);
    const Function* made = rewrite_function(f);
    const Type* result = changed(made->ret_type);
    if (made == f && result == f->ret_type) return f;
    std::vector<const Var*> params;
    for (const Var* p : f->params) params.push_back(as<Var>(lookup(p)));
    const Function* out = ctx_.function(params, made->body, result, made->is_pure, made->attrs);
    ctx_.set_origin(out, f);
    return out;
  }

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const Expr* value = rewrite(b->value);
    const Type* type = changed(b->var->type);
    const Type* cast = b->is_match_cast() ? changed(b->cast_type) : nullptr;
    if (value == b->value && type == b->var->type && cast == b->cast_type) return {b};
    const Var* v = define_var(b->var, type);
    const Binding* made = cast ? ctx_.match_cast(v, value, cast) : ctx_.binding(v, value);
    ctx_.set_origin(made, b);
    return {made};
  }

  const Expr* visit_call(const Call* call) override {
    const auto* c = cast<Call>(default_expr(call));
    std::vector<const Type*> types;
    for (const Type* t : c->ty_args) types.push_back(changed(t));
    const Type* type = changed(c->type);
    if (type == c->type && std::equal(types.begin(), types.end(), c->ty_args.begin())) return c;
    const Call* made = ctx_.call_typed(c->callee, c->args, type, c->attrs, types);
    ctx_.set_origin(made, call);
    return made;
  }

 private:
  void change(const Var* v) {
    const Type* type = changed(v->type);
    if (type != v->type) remap(v, v->is_dataflow() ? ctx_.dataflow_var(v->name, type) : ctx_.var(v->name, type));
  }

  const Type* changed(const Type* t) {
    if (const auto* tensor = as<TensorType>(t)) {
      if (tensor->vdevice != from_) return t;
      if (tensor->has_shape) return ctx_.tensor(tensor->shape, tensor->dtype, to_);
      if (tensor->shape_var) return ctx_.tensor_of(tensor->shape_var, tensor->ndim, tensor->dtype, to_);
      return ctx_.tensor_ndim(tensor->ndim, tensor->dtype, to_);
    }
    const auto* tuple = as<TupleType>(t);
    if (!tuple) return t;
    std::vector<const Type*> fields;
    for (const Type* f : tuple->fields) fields.push_back(changed(f));
    return std::equal(fields.begin(), fields.end(), tuple->fields.begin()) ? t : ctx_.tuple_type(fields);
  }

  const VDevice* from_;
  const VDevice* to_;
};

}  // namespace

const Attr* device_info(Context& ctx, const VDevice* d) {
  const Attr* const items[] = {d->target ? d->target : ctx.attr(d->target_kind), ctx.attr(d->device_id),
                               ctx.attr(d->memory_scope)};
  return ctx.attr_opaque("I.vdevice", items, {});
}

Result<const Module*> update_vdevice(PassEnv& env, const Module* module, const UpdateVDeviceOptions& options) {
  const std::int64_t index = options.index;
  const auto wanted = DeviceReader(env.ctx).read(options.new_vdevice);
  if (!wanted)
    return Failure(
        message(diag::PassOptionValue, "new_vdevice", "a device such as `llvm:1:global`", options.new_vdevice.written));
  if (index < 0 || std::size_t(index) >= module->vdevices.size())
    return Failure(message(diag::PassOptionValue, "index",
                           "the number of one of the module's " + std::to_string(module->vdevices.size()) + " devices",
                           index));
  VDevice placed = *wanted;
  placed.global_index = int(index);
  const VDevice* from = module->vdevices[std::size_t(index)];
  const VDevice* to = env.ctx.vdevice(placed);
  RLDB_TRY(const Module* moved,
           map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
             return DeviceChanger(env.ctx, from, to).run(f);
           }));
  std::vector<const VDevice*> devices(module->vdevices.begin(), module->vdevices.end());
  devices[std::size_t(index)] = to;
  std::vector<GlobalInfo> infos(module->global_infos.begin(), module->global_infos.end());
  for (GlobalInfo& info : infos) {
    if (info.key != kDeviceList || std::size_t(index) >= info.items.size()) continue;
    std::vector<const Attr*> items(info.items.begin(), info.items.end());
    items[std::size_t(index)] = device_info(env.ctx, to);
    info.items = env.ctx.list(items);
  }
  ModuleBuilder builder(env.ctx, *moved);
  builder.set_global_infos(env.ctx.list(infos), env.ctx.list(devices));
  return builder.build();
}

}  // namespace rldb::passes
