#include "rldb/bytecode/instruction.h"

#include "rldb/support/check.h"

namespace rldb::bytecode {

const OpcodeInfo& info(Opcode op) {
  switch (op) {
#define RLDB_OPCODE(id, number, text, shape, doc)                                \
  case Opcode::id: {                                                             \
    static constexpr OpcodeInfo row{Opcode::id, text, OperandShape::shape, doc}; \
    return row;                                                                  \
  }
#include "rldb/bytecode/opcode.def"
  }
  RLDB_UNREACHABLE("not an opcode");
}

bool is_opcode(Word word) {
#define RLDB_OPCODE(id, number, text, shape, doc) \
  if (word == number) return true;
#include "rldb/bytecode/opcode.def"
  return false;
}

}  // namespace rldb::bytecode
