// Code of one function before registers are assigned: instructions over virtual registers, jumps to positions.
//
// Virtual registers are written once, except merge registers of conditionals and registers that are killed. Parameters
// are 0..n-1. Made by FunctionCompiler, turned into an executable's function by `assign_registers` and `emit`.
#pragma once

#include <string>
#include <vector>

#include "rldb/bytecode/builder.h"

namespace rldb::codegen {

using bytecode::Arg;
using bytecode::FunctionIndex;
using bytecode::Pc;
using bytecode::RegName;

struct VirtualInstruction {
  bytecode::Opcode op = bytecode::Opcode::Ret;
  std::string callee;  // Call
  bytecode::FunctionKind callee_kind = bytecode::FunctionKind::Packed;
  std::vector<Arg> args;                  // Call; register arguments are virtual
  RegName dst = bytecode::kVoidRegister;  // Call
  RegName reg = bytecode::kVoidRegister;  // Ret, If
  std::size_t target = 0;                 // Goto, If: position
  bytecode::InstructionDebug debug;
};

// A name for a virtual register from the position `begin` to at most `end`.
struct VirtualVariable {
  std::string name;
  std::uint32_t node = 0;
  RegName reg = 0;
  std::size_t begin = 0;
  std::size_t end = 0;  // end of its scope
  bool is_parameter = false;
  std::string type;
};

struct VirtualCode {
  std::string name;
  std::vector<std::string> params;
  std::vector<VirtualInstruction> instructions;
  std::vector<VirtualVariable> variables;
  RegName register_count = 0;
  RegName heap = -1;  // virtual register of the shape heap
  bytecode::FunctionDebug debug;
};

// Virtual -> real. A register is reused after the last use of its value, never by the very instruction that uses
// it (a debugger that stops after a call still finds the arguments). Parameters and the shape heap keep theirs.
struct Assignment {
  std::vector<RegName> real;  // by virtual register; -1: never written or read
  RegName register_count = 0;
};
Assignment assign_registers(const VirtualCode& code);

// Appends the function to the executable, with variable ranges that end where a register is overwritten.
void emit(const VirtualCode& code, bytecode::ExecutableBuilder& out);

}  // namespace rldb::codegen
