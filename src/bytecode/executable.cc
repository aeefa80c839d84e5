#include "rldb/bytecode/executable.h"

#include "rldb/support/check.h"

namespace rldb::bytecode {

Instruction Executable::instruction(Pc pc) const {
  RLDB_CHECK(pc >= 0 && pc < end(), "pc out of range");
  const Word* w = instr_data.data() + instr_offset[std::size_t(pc)];
  Instruction i;
  i.op = Opcode(w[0]);
  switch (info(i.op).shape) {
    case OperandShape::DstCalleeArgs:
      i.dst = RegName(w[1]);
      i.callee = FunctionIndex(w[2]);
      i.args = {w + 4, std::size_t(w[3])};
      break;
    case OperandShape::Register:
      i.reg = RegName(w[1]);
      break;
    case OperandShape::Offset:
      i.offset = w[1];
      break;
    case OperandShape::RegisterOffset:
      i.reg = RegName(w[1]);
      i.offset = w[2];
      break;
  }
  return i;
}

FunctionIndex Executable::find_function(std::string_view name) const {
  for (std::size_t i = 0; i < functions.size(); ++i)
    if (functions[i].name == name) return FunctionIndex(i);
  return -1;
}

FunctionIndex Executable::function_of(Pc pc) const {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const FunctionEntry& f = functions[i];
    if (f.kind == FunctionKind::Bytecode && pc >= f.start && pc < f.end) return FunctionIndex(i);
  }
  return -1;
}

}  // namespace rldb::bytecode
