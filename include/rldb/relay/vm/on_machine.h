// A Relay program on vm::Machine: all that stepping and inspecting (debug) needs, and no types of the Relay VM's own.
//
// `map_of` gives the code as an executable of the Relax VM's form, one instruction for each, at the same pcs and over
// the same registers, with debug info and with each instruction's text as in TVM's listing. It is inspected and
// never executed: the instruction set does that, on the machine's frames and registers. Users: session, tests.
#pragma once

#include "rldb/bytecode/executable.h"
#include "rldb/relay/vm/machine.h"
#include "rldb/vm/instruction_set.h"

namespace rldb::relay_vm {

// Instructions that compute are calls to these: `relay.get_field`.
std::string opcode_name(relay_bytecode::Opcode op);
// Errors: an executable that cannot be mapped (an `if` that jumps when its operands are equal; TVM writes none).
Result<bytecode::Executable> map_of(const relay_bytecode::Executable& exe);
std::shared_ptr<const vm::InstructionSet> instruction_set(std::shared_ptr<const Program> program);

}  // namespace rldb::relay_vm
