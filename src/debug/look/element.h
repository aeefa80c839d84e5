// The elements from which an element of a binding's value was computed: `:why out[3, 4]`.
//
// The binding is evaluated again over its operands, and the kernels called are executed again statement by statement: a
// store to the element shows what it read, by the index expressions of the kernel as they are executed (data-dependent
// ones too). Elements of a kernel's own buffers, and of outputs of earlier kernels of the binding, are followed until
// all are elements of operands. Users: Debugger::why.
#pragma once

#include "debug/look/recompute.h"

namespace rldb::debug {

struct ElementPart {
  std::string name;  // of an operand
  runtime::Value tensor;
  std::vector<std::int64_t> positions;  // in row-major order, ascending
};

struct ElementOrigin {
  std::vector<std::string> kernels;  // in the order followed: starting with the one that computed the element
  std::vector<ElementPart> parts;    // empty: no operand was read (a constant)
};

// `position` in row-major order. Errors: those of `recompute`; a value that no kernel computed; too many statements.
runtime::Result<ElementOrigin> origin_of_element(session::Session& session, const CodeMap& map, int binding,
                                                 const Lookup& lookup, std::int64_t position);

// `[3, 0:8]`, `[0:8:2]`, `[[1, 4, 5]]`, `[0, 0:3], [1, 0:2]`; `[0:9, 0:9], 31 of 81 elements` where that would be long.
std::string region_text(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& positions);

}  // namespace rldb::debug
