// UpdateVDevice: one of the module's devices becomes another, in every type that names it.
//
// The device is written as in a module, `llvm:1:global`, or as TVM prints it, `ir.VDevice(target={"kind": "llvm", ...},
// vdevice_id=1, memory_scope="global")`.
#include <charconv>

#include "passes/common.h"
#include "passes/transform/device_info.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass_option.h"

namespace rldb::passes {

using namespace ir;
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

  std::optional<VDevice> read(std::string_view text) {
    const std::size_t open = text.find('(');
    return open == std::string_view::npos ? short_form(unquote(text)) : call(text, open);
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

  std::optional<VDevice> call(std::string_view text, std::size_t open) {
    if (!text.substr(0, open).ends_with("VDevice") && !text.substr(0, open).ends_with("vdevice")) return std::nullopt;
    if (text.back() != ')') return std::nullopt;
    VDevice d{};
    std::size_t position = 0;
    for (const std::string_view item : split_items(text.substr(open + 1, text.size() - open - 2))) {
      constexpr std::string_view kNames[] = {"target=", "vdevice_id=", "memory_scope="};
      std::size_t which = position++;
      std::string_view value = item;
      for (std::size_t i = 0; i < std::size(kNames); ++i)
        if (item.starts_with(kNames[i])) which = i, value = item.substr(kNames[i].size());
      if (which >= std::size(kNames) || !set(d, which, value)) return std::nullopt;
    }
    return d.target_kind.empty() ? std::nullopt : std::optional(d);
  }

  bool set(VDevice& d, std::size_t which, std::string_view value) {
    if (which == 0) return set_target(d, value);
    if (which == 2) return d.memory_scope = ctx_.str(unquote(value)), true;
    const auto id = number(value);
    if (id) d.device_id = *id;
    return id.has_value();
  }

  // A kind, or a dictionary that contains one.
  bool set_target(VDevice& d, std::string_view value) {
    if (!value.starts_with('{')) return d.target_kind = ctx_.str(unquote(value)), true;
    const Attr* target = attr(value);
    if (!target || !target->is(AttrKind::Dict)) return false;
    const Attr* kind = find_attr(target->fields, "kind");
    if (!kind || !kind->is(AttrKind::String)) return false;
    d.target_kind = kind->string;
    if (target->fields.size() > 1) d.target = target;
    return true;
  }

  const Attr* attr(std::string_view text) {
    if (text.starts_with('{')) {
      const auto dict = split_dict(text);
      if (!dict) return nullptr;
      std::vector<NamedAttr> fields;
      for (const KeyValue& item : *dict) {
        const Attr* value = attr(item.value);
        if (!value) return nullptr;
        fields.push_back(ctx_.named(item.key, value));
      }
      return ctx_.attr_dict(fields);
    }
    if (text.starts_with('[') && text.ends_with(']')) {
      std::vector<const Attr*> items;
      for (const std::string_view item : split_items(text.substr(1, text.size() - 2))) {
        items.push_back(attr(item));
        if (!items.back()) return nullptr;
      }
      return ctx_.attr_list(items);
    }
    if (text == "True" || text == "False") return ctx_.attr(text == "True");
    if (const auto n = number(text)) return ctx_.attr(*n);
    return unquote(text) == text ? nullptr : ctx_.attr(unquote(text));
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

Result<const Module*> update_vdevice(PassEnv& env, const Module* module, const PassOptions& options) {
  const PassOption* text = find_option(options, 0, "new_vdevice");
  const std::int64_t index = int_option(options, 1, "index", 0);
  const auto wanted = text ? DeviceReader(env.ctx).read(text->value) : std::nullopt;
  if (!wanted)
    return Failure(
        message(diag::PassOptionValue, "new_vdevice", "a device such as `llvm:1:global`", text ? text->value : ""));
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
