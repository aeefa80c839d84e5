#include "passes/matmul/matrix_dims.h"

#include "rldb/ir/op_attr/axis_attr.h"

namespace rldb::passes {

using namespace ir;

bool swaps_matrix_dims(const Call* permute, std::size_t rank) {
  const Attr* axes = find_attr(permute->attrs, op_attr::Axes);
  if (!axes || axes->is(AttrKind::None)) return rank == 2;
  if (axes->items.size() != rank) return false;
  for (std::size_t i = 0; i < rank; ++i) {
    const Attr* axis = axes->items[i];
    const auto* literal = axis->is(AttrKind::Expr) ? as<IntImm>(axis->node) : nullptr;
    std::int64_t at = literal ? literal->value : axis->integer;
    if (at < 0) at += std::int64_t(rank);
    const std::size_t wanted = i + 2 < rank ? i : i + 2 == rank ? rank - 1 : rank - 2;
    if (at != std::int64_t(wanted)) return false;
  }
  return true;
}

}  // namespace rldb::passes
