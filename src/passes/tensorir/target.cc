// Targets read from attributes, and queries on them.
#include "passes/tensorir/target.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "passes/common.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using namespace ir;
using support::trim;

namespace {

constexpr std::string_view kConstructor = "T.target";
constexpr std::string_view kHost = "host";
constexpr std::string_view kKind = "kind";
constexpr std::array<std::string_view, 7> kGpuKinds = {"cuda", "metal", "nvptx", "opencl", "rocm", "vulkan", "webgpu"};
constexpr int kMaxNesting = 20;  // of a target's text

bool is_quoted(std::string_view text) { return text.size() >= 2 && (text.front() == '"' || text.front() == '\''); }

// A Python literal.
const Attr* parse_literal(Context& ctx, std::string_view text, int depth = 0) {
  support::poll();
  text = trim(text);
  if (text.empty() || depth > kMaxNesting) return nullptr;
  if (is_quoted(text)) return ctx.attr(unquote(text));
  if (text == "True" || text == "False") return ctx.attr(text == "True");
  if (text == "None") return ctx.attr_none();
  if (text.front() == '{') {
    const auto fields = split_dict(text);
    if (!fields) return nullptr;
    std::vector<NamedAttr> made;
    for (const KeyValue& f : *fields) {
      const Attr* value = parse_literal(ctx, f.value, depth + 1);
      if (!value) return nullptr;
      made.push_back(ctx.named(f.key, value));
    }
    return ctx.attr_dict(made);
  }
  if (text.front() == '[' && text.back() == ']') {
    std::vector<const Attr*> items;
    for (const std::string_view item : split_items(text.substr(1, text.size() - 2))) {
      items.push_back(parse_literal(ctx, item, depth + 1));
      if (!items.back()) return nullptr;
    }
    return ctx.attr_list(items);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? ctx.attr(number) : nullptr;
}

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

const Attr* parse_target(Context& ctx, std::string_view text) {
  text = trim(text);
  const std::size_t open = text.find('(');
  if (is_quoted(text) || text.starts_with('{')) {
    const Attr* what = parse_literal(ctx, text);
    return what ? make_target(ctx, what) : nullptr;
  }
  if (open == std::string_view::npos || text.back() != ')') return nullptr;
  const std::string_view name = text.substr(0, open);
  if (!name.ends_with("arget")) return nullptr;
  const Attr* what = nullptr;
  std::vector<NamedAttr> fields;
  for (std::string_view item : split_items(text.substr(open + 1, text.size() - open - 2))) {
    const std::size_t eq = is_quoted(item) || item.starts_with('{') ? std::string_view::npos : item.find('=');
    const Attr* value = parse_literal(ctx, eq == std::string_view::npos ? item : item.substr(eq + 1));
    if (!value) return nullptr;
    if (eq == std::string_view::npos) {
      if (what) {
        fields.push_back(ctx.named(kHost, value));  // the second argument of TVM's constructor
      } else {
        what = value;
      }
    } else {
      fields.push_back(ctx.named(trim(item.substr(0, eq)), value));
    }
  }
  return what ? ctx.attr_opaque(kConstructor, {&what, 1}, fields) : nullptr;
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
  return std::find(kGpuKinds.begin(), kGpuKinds.end(), target_kind(target)) != kGpuKinds.end();
}

}  // namespace rldb::passes
