#include "rldb/ir/bound_attrs.h"

#include "rldb/ir/attr_name/relax.h"

namespace rldb::ir {

std::optional<std::string_view> invalid_bound(const Function* f) {
  for (const std::string_view name : {attr_name::TirVarUpperBound, attr_name::TirVarLowerBound}) {
    const Attr* bounds = find_attr(f->attrs, name);
    if (!bounds) continue;
    for (const NamedAttr& field : bounds->fields) {
      const bool is_int = field.value->is(AttrKind::Int);
      if (!is_int || (name == attr_name::TirVarUpperBound && field.value->integer <= 0)) return field.name;
    }
  }
  return std::nullopt;
}

}  // namespace rldb::ir
