#include "rldb/ir/bound_attrs.h"

#include <fmt/format.h>

#include "rldb/ir/attr_name/relax.h"

namespace rldb::ir {

std::optional<std::string> invalid_bound(const Function* f) {
  for (const std::string_view name : {attr_name::TirVarUpperBound, attr_name::TirVarLowerBound}) {
    const Attr* bounds = find_attr(f->attrs, name);
    if (!bounds) continue;
    const bool upper = name == attr_name::TirVarUpperBound;
    for (const NamedAttr& field : bounds->fields) {
      if (field.value->is(AttrKind::Int) && (!upper || field.value->integer > 0)) continue;
      return fmt::format("the {} bound of `{}` in `{}` is not {}", upper ? "upper" : "lower", field.name, name,
                         upper ? "a positive integer" : "an integer");
    }
  }
  return std::nullopt;
}

}  // namespace rldb::ir
