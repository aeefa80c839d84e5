// Targets read from attributes, and queries on them.
#include "rldb/tir_passes/target.h"

#include "rldb/frontend/written_value.h"
#include "rldb/runtime/device.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kConstructor = "T.target";
constexpr std::string_view kHost = "host";
constexpr std::string_view kKind = "kind";
constexpr std::int64_t kCudaThreads = 1024;
constexpr std::int64_t kOtherThreads = 256;

// The dictionary from which a target was made, or null.
const Attr* dictionary(const Attr* target) {
  if (target->is(AttrKind::Dict)) return target;
  return !target->items.empty() && target->items[0]->is(AttrKind::Dict) ? target->items[0] : nullptr;
}

const Attr* rebuilt(Context& ctx, const Attr* target, const Attr* what, const Attr* host) {
  std::vector<NamedAttr> fields;
  for (const NamedAttr& f : target->fields)
    if (target->is(AttrKind::Opaque) && f.name != kHost) fields.push_back(f);
  if (host) fields.push_back(ctx.named(kHost, host));
  return ctx.attr_opaque(kConstructor, {&what, 1}, fields);
}

// The definition of a target: its kind or its dictionary, without a host.
const Attr* content(Context& ctx, const Attr* target) {
  if (const Attr* dict = dictionary(target)) return ctx.attr_dict(ctx.with_attr(dict->fields, kHost, nullptr));
  return target->items.empty() ? target : target->items[0];
}

}  // namespace

const Attr* make_target(Context& ctx, const Attr* what) { return ctx.attr_opaque(kConstructor, {&what, 1}, {}); }

const Attr* read_target(Context& ctx, const pipeline::WrittenValue& written) {
  const Attr* given = frontend::read_written_attr(ctx, written.written);
  if (!given) return nullptr;
  if (given->is(AttrKind::String) || given->is(AttrKind::Dict)) return make_target(ctx, given);
  if (!given->is(AttrKind::Opaque) || !given->string.ends_with("arget") || given->items.empty()) return nullptr;
  std::vector<NamedAttr> fields(given->fields.begin(), given->fields.end());
  if (given->items.size() > 1) fields.push_back(ctx.named(kHost, given->items[1]));  // TVM's second argument
  return ctx.attr_opaque(kConstructor, given->items.first(1), fields);
}

const Attr* host_of(Context& ctx, const Attr* target) {
  const Attr* host = target->is(AttrKind::Opaque) ? find_attr(target->fields, kHost) : nullptr;
  if (const Attr* dict = dictionary(target); !host && dict) host = find_attr(dict->fields, kHost);
  if (!host || host->is(AttrKind::None)) return nullptr;
  return host->is(AttrKind::Opaque) ? host : make_target(ctx, host);
}

const Attr* without_host(Context& ctx, const Attr* target) {
  return host_of(ctx, target) ? rebuilt(ctx, target, content(ctx, target), nullptr) : target;
}

// A host that is merely a kind or a dictionary is written as that.
const Attr* with_host(Context& ctx, const Attr* target, const Attr* host) {
  const bool plain = host->is(AttrKind::Opaque) && host->items.size() == 1 && host->fields.empty();
  return rebuilt(ctx, target, content(ctx, target), plain ? host->items[0] : host);
}

std::string_view target_kind(const Attr* target) {
  if (const Attr* dict = dictionary(target)) {
    const Attr* kind = find_attr(dict->fields, kKind);
    return kind ? kind->string : std::string_view();
  }
  const Attr* name = target->items.empty() ? target : target->items[0];
  return name->is(AttrKind::String) ? name->string.substr(0, name->string.find(' ')) : std::string_view();
}

std::optional<std::int64_t> target_number(const Attr* target, std::string_view name) {
  const Attr* dict = dictionary(target);
  const Attr* value = dict ? find_attr(dict->fields, name) : nullptr;
  return value && value->is(AttrKind::Int) ? std::optional(value->integer) : std::nullopt;
}

bool is_gpu(const Attr* target) {
  const runtime::DeviceKind* kind = runtime::find_device_kind(target_kind(target));
  return kind && kind->is_gpu();
}

std::int64_t threads_per_block(const Attr* target) {
  if (!target) return kCudaThreads;
  for (const std::string_view name : {"max_threads_per_block", "max_num_threads"})
    if (const auto given = target_number(target, name); given && *given > 0) return *given;
  return target_kind(target) == "cuda" ? kCudaThreads : kOtherThreads;
}

}  // namespace rldb::passes
