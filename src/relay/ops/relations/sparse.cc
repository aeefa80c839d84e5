// Sparse matrices: by rows, in blocks too, and by coordinates.
#include <fmt/format.h>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/field.h"

namespace rldb::relay::relations {

// Operands: a dense matrix; values (or blocks of them), columns, and row starts of a sparse one.
Outcome SparseDense(const Operands& o) {
  if (auto early = o.need_tensors(4)) return *early;
  const auto &dense = o.tensor(0)->shape, &values = o.tensor(1)->shape, &begins = o.tensor(3)->shape;
  if (dense.size() != 2 || begins.size() != 1 || (values.size() != 1 && values.size() != 3))
    return Outcome::error("a matrix, values of rank 1 or blocks of rank 3, columns, and the begins of rows");
  Dim rows = begins[0];
  if (is_known(rows)) rows.value -= 1;
  if (values.size() == 3) {
    const bool both = is_known(rows) && is_known(values[1]);
    rows = both ? known(rows.value * values[1].value) : Dim{};
  }
  const Dims dims = o.flag(relay::field::SparseLhs) ? Dims{rows, dense[0]} : Dims{dense[0], rows};
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

// Operands: coordinates, their shape, the new shape.
Outcome SparseReshape(const Operands& o) {
  if (auto early = o.need_tensors(3)) return *early;
  const auto &at = o.tensor(0)->shape, &from = o.tensor(1)->shape, &to = o.tensor(2)->shape;
  if (at.size() != 2 || from.size() != 1 || to.size() != 1)
    return Outcome::error("coordinates of rank 2, and two shapes of rank 1");
  if (is_known(at[1]) && is_known(from[0]) && at[1].value != from[0].value)
    return Outcome::error(fmt::format("a place has {} coordinates, and the shape {} dims", at[1].value, from[0].value));
  const std::vector<const Type*> fields{o.ctx.tensor(Dims{at[0], to[0]}, o.tensor(0)->dtype), o.types[2]};
  return Outcome::of(o.ctx.tuple_type(fields));
}

}  // namespace rldb::relay::relations
