// Which elements an element of a binding's value was computed from: `:why out[3, 4]`.
//
// The binding is evaluated again over its operands, and the kernels that were called are executed once more a
// statement at a time: a store to the element says what it read, by the index expressions of the kernel as they are
// executed (data-dependent ones too). Elements of a kernel's own buffers, and of what an earlier kernel of the binding
// made, are followed until all are elements of operands. Users: Debugger::why.
#pragma once

#include "debug/look/recompute.h"

namespace rldb::debug {

struct ElementPart {
  std::string name;  // of an operand
  runtime::Value tensor;
  std::vector<std::int64_t> positions;  // in row-major order, ascending
};

struct ElementOrigin {
  std::vector<std::string> kernels;  // in the order they were followed: the one that made the element first
  std::vector<ElementPart> parts;    // empty: no operand was read (a constant)
};

// `position` in row-major order. Errors: what `recompute` says; a value that no kernel made; too many statements.
runtime::Result<ElementOrigin> origin_of_element(session::Session& session, const CodeMap& map, int binding,
                                                 const Lookup& lookup, std::int64_t position);

// `[3, 0:8]`: the box that the positions fill; `[0:2, 0:8], 5 of 16 elements` when they do not.
std::string region_text(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& positions);

}  // namespace rldb::debug
