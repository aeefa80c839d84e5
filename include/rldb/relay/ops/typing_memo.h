// Types of a module, and what the next inference may take over for nodes that its module shares with this one.
//
// Such a node is *settled*: everything about its type was known when it was reached, from operands whose types were
// known, and there was no error; so it has the same type again unless an operand has another one. All modules are in
// one Context, whose types and constructors stay the same. Users: texts that are being edited.
#pragma once

#include <cstdint>
#include <vector>

#include "rldb/relay/ops/infer.h"

namespace rldb::relay {

struct TypingMemo {
  Typing typing;
  std::vector<std::uint32_t> settled;  // by id: the number of the inference that found the node settled
  std::uint32_t run = 1;               // of the last one
};

bool infer_types(Context& ctx, const Module* m, TypingMemo& memo, source::Diagnostics& out);

}  // namespace rldb::relay
