// Looks for the errors of headers.
#include "frontend/cst/header.h"

namespace rldb::frontend::cst {

bool has_damaged_header(Node compound) {
  for (const Node part : compound.children()) {
    if (part.is(Kind::Block)) return false;
    if (part.is(Kind::Error) || part.is(Kind::Missing) || part.is(Kind::UnterminatedString)) return true;
  }
  return false;
}

bool holds_damaged_header(Node compound) {
  if (!compound.damaged()) return false;
  for (std::uint32_t i = compound.index(); i < compound.row().next; ++i) {
    const Node inner(compound.tree(), i);
    const bool has_block = bool(inner.child(Field::Body)) || bool(inner.child(Field::Consequence));
    if (inner.damaged() && has_block && has_damaged_header(inner)) return true;
  }
  return false;
}

}  // namespace rldb::frontend::cst
