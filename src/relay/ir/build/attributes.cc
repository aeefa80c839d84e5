#include "rldb/relay/ir/attributes.h"

#include <charconv>

namespace rldb::relay {

namespace {

// The integers of a default: `1`, `[1, 1]`.
std::vector<std::int64_t> ints_in(std::string_view text) {
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < text.size();) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text.data() + i, text.data() + text.size(), value);
    if (parsed.ec == std::errc()) {
      found.push_back(value);
      i = std::size_t(parsed.ptr - text.data());
    } else {
      ++i;
    }
  }
  return found;
}

std::string_view fallback_of(const OpInfo& op, std::string_view name) {
  for (const AttrField& field : info(op.attributes).fields)
    if (field.name == name) return field.fallback.value_or("None");
  return "None";
}

}  // namespace

const AttrValue* Attributes::attr(std::string_view name) const {
  for (const NamedAttr& a : call.attrs)
    if (a.name == name) return a.value;
  return nullptr;
}

std::optional<std::int64_t> Attributes::integer(std::string_view name) const {
  if (const AttrValue* v = attr(name))
    return v->kind == AttrKind::Int || v->kind == AttrKind::Bool ? std::optional(v->integer) : std::nullopt;
  const auto values = ints_in(fallback_of(op, name));
  return values.empty() ? std::nullopt : std::optional(values.front());
}

bool Attributes::flag(std::string_view name) const {
  if (const AttrValue* v = attr(name)) return v->integer != 0;
  return fallback_of(op, name) == "True";
}

std::string_view Attributes::string(std::string_view name) const {
  if (const AttrValue* v = attr(name)) return v->text;
  const std::string_view quoted = fallback_of(op, name);
  return quoted.size() >= 2 && quoted.front() == '"' ? quoted.substr(1, quoted.size() - 2) : std::string_view();
}

std::optional<std::vector<std::int64_t>> Attributes::ints(std::string_view name) const {
  const AttrValue* v = attr(name);
  if (!v) {
    const std::string_view text = fallback_of(op, name);
    return text == "None" ? std::nullopt : std::optional(ints_in(text));
  }
  if (v->kind == AttrKind::Int) return std::vector{v->integer};
  if (v->kind != AttrKind::List) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const AttrValue* item : v->items) {
    if (item->kind != AttrKind::Int && item->kind != AttrKind::Bool) return std::nullopt;
    values.push_back(item->integer);
  }
  return values;
}

std::optional<DType> Attributes::dtype(std::string_view name) const {
  const std::string_view text = string(name);
  return text.empty() ? std::nullopt : runtime::parse_dtype(text);
}

double Attributes::real(std::string_view name) const {
  if (const AttrValue* v = attr(name)) return v->kind == AttrKind::Float ? v->real : double(v->integer);
  const std::string_view text = fallback_of(op, name);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace rldb::relay
