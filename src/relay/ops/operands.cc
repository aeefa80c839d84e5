// What a relation sees of a call: operand types and attributes with their defaults, as integers, axes, dims.
#include <fmt/format.h>

#include <charconv>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/printer.h"

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

const AttrValue* Operands::attr(std::string_view name) const {
  for (const NamedAttr& a : call.attrs)
    if (a.name == name) return a.value;
  return nullptr;
}

std::optional<std::int64_t> Operands::integer(std::string_view name) const {
  if (const AttrValue* v = attr(name))
    return v->kind == AttrKind::Int || v->kind == AttrKind::Bool ? std::optional(v->integer) : std::nullopt;
  const auto values = ints_in(fallback_of(op, name));
  return values.empty() ? std::nullopt : std::optional(values.front());
}

bool Operands::flag(std::string_view name) const {
  if (const AttrValue* v = attr(name)) return v->integer != 0;
  return fallback_of(op, name) == "True";
}

std::string_view Operands::string(std::string_view name) const {
  if (const AttrValue* v = attr(name)) return v->text;
  const std::string_view quoted = fallback_of(op, name);
  return quoted.size() >= 2 && quoted.front() == '"' ? quoted.substr(1, quoted.size() - 2) : std::string_view();
}

std::optional<std::vector<std::int64_t>> Operands::ints(std::string_view name) const {
  const AttrValue* v = attr(name);
  if (!v) {
    const std::string_view text = fallback_of(op, name);
    return text == "None" ? std::nullopt : std::optional(ints_in(text));
  }
  if (v->kind == AttrKind::Int) return std::vector{v->integer};
  if (v->kind != AttrKind::List) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const AttrValue* item : v->items) {
    if (item->kind != AttrKind::Int) return std::nullopt;
    values.push_back(item->integer);
  }
  return values;
}

std::optional<DType> Operands::dtype(std::string_view name) const {
  const std::string_view text = string(name);
  return text.empty() ? std::nullopt : runtime::parse_dtype(text);
}

std::optional<std::vector<const TensorType*>> Operands::tensors(std::size_t i) const {
  const auto* tuple = i < types.size() ? as<TupleType>(types[i]) : nullptr;
  if (!tuple) return std::nullopt;
  std::vector<const TensorType*> found;
  for (const Type* field : tuple->fields) {
    const auto* t = as<TensorType>(solver.head(field));
    if (!t) return std::nullopt;
    found.push_back(t);
  }
  return found;
}

std::optional<Outcome> Operands::need_tensors(std::size_t count) const {
  for (std::size_t i = 0; i < count && i < types.size(); ++i) {
    if (types[i]->kind == TypeKind::Hole) return Outcome::wait();
    if (types[i]->kind != TypeKind::Tensor)
      return Outcome::error(
          fmt::format("operand {} is `{}`, a tensor is wanted", i + 1, print_type(solver.resolved(types[i]))));
  }
  return std::nullopt;
}

std::optional<Dim> broadcast(const Dim& a, const Dim& b) {
  if (is_one(a)) return b;
  if (is_one(b)) return a;
  if (a.kind == DimKind::Any) return b;
  if (b.kind == DimKind::Any) return a;
  if (is_known(a) && is_known(b)) return a.value == b.value ? std::optional(a) : std::nullopt;
  return is_known(a) ? a : b;  // a symbol may be anything
}

std::optional<Dims> broadcast(Span<Dim> a, Span<Dim> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Dims made(a.begin(), a.end());
  const std::size_t offset = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    const auto dim = broadcast(a[offset + i], b[i]);
    if (!dim) return std::nullopt;
    made[offset + i] = *dim;
  }
  return made;
}

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto n = std::int64_t(rank);
  if (axis < -n || axis >= n) return std::nullopt;
  return std::size_t(axis < 0 ? axis + n : axis);
}

std::string out_of_range(std::int64_t axis, std::size_t rank) {
  return fmt::format("there is no axis {} in a tensor of rank {}", axis, rank);
}

std::string shape_text(Span<Dim> dims) {
  std::string text;
  for (const Dim& d : dims) {
    if (!text.empty()) text += ", ";
    text += is_known(d) ? std::to_string(d.value) : "?";
  }
  return "(" + text + ")";
}

}  // namespace rldb::relay
