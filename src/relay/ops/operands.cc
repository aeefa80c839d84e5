// A relation's view of a call: operand types and attributes with their defaults, as integers, axes, dims.
#include <fmt/format.h>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/printer.h"

namespace rldb::relay {

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
          fmt::format("operand {} is `{}`, but a tensor is expected", i + 1, print_type(solver.resolved(types[i]))));
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
