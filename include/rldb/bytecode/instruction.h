// Instructions as words: TVM's encoding (tvm-style ExecWord = int64), and a decoded view of one of them.
//
// An argument word holds its kind in the top 8 bits and a sign-extended value in the low 56; dst, Ret and If operands
// are plain register numbers. Registers at or above kFirstSpecialRegister are not storage: void reads as null and
// swallows writes, vm is a handle to the machine.
// Used by the builder, verifier, disassembler, the machine's linker.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rldb/bytecode/index.h"

namespace rldb::bytecode {

using Word = std::int64_t;

enum class Opcode : std::uint8_t {
#define RLDB_OPCODE(id, number, text, shape, doc) id = number,
#include "rldb/bytecode/opcode.def"
};
enum class OperandShape : std::uint8_t { DstCalleeArgs, Register, Offset, RegisterOffset };

struct OpcodeInfo {
  Opcode opcode;
  std::string_view text;
  OperandShape shape;
  std::string_view doc;
};
const OpcodeInfo& info(Opcode op);
bool is_opcode(Word word);

inline constexpr RegName kFirstSpecialRegister = RegName(std::int64_t(1) << 54);
inline constexpr RegName kVoidRegister = kFirstSpecialRegister;
inline constexpr RegName kVmRegister = kFirstSpecialRegister + 1;
constexpr bool is_special(RegName r) { return r >= kFirstSpecialRegister; }

enum class ArgKind : std::uint8_t { Register = 0, Immediate = 1, Constant = 2, Function = 3 };

class Arg {
 public:
  static constexpr Word kMaxValue = (Word(1) << 55) - 1;  // and -kMaxValue: the range is symmetric
  static constexpr bool fits(Word value) { return value <= kMaxValue && value >= -kMaxValue; }

  // A word from a file; kind and value may be anything until the verifier has seen it.
  explicit constexpr Arg(Word word) : word_(word) {}
  static constexpr Arg reg(RegName r) { return make(ArgKind::Register, r.value()); }
  static constexpr Arg imm(Word value) { return make(ArgKind::Immediate, value); }
  static constexpr Arg constant(ConstantIndex i) { return make(ArgKind::Constant, i.value()); }
  static constexpr Arg function(FunctionIndex i) { return make(ArgKind::Function, i.value()); }
  static constexpr Arg vm() { return reg(kVmRegister); }

  constexpr Word word() const { return word_; }
  constexpr ArgKind kind() const { return ArgKind((std::uint64_t(word_) >> 56) & 0xff); }
  constexpr Word value() const { return Word(std::uint64_t(word_) << 8) >> 8; }
  // The value, interpreted according to the kind.
  constexpr RegName reg() const { return RegName(value()); }
  constexpr ConstantIndex constant() const { return ConstantIndex(value()); }
  constexpr FunctionIndex function() const { return FunctionIndex(value()); }
  friend constexpr bool operator==(const Arg&, const Arg&) = default;

 private:
  static constexpr Arg make(ArgKind kind, Word value) {
    return Arg(Word((std::uint64_t(kind) << 56) | (std::uint64_t(value) & ((std::uint64_t(1) << 56) - 1))));
  }
  Word word_;
};

// One instruction, pointing into instr_data. Fields not of its shape are zero.
struct Instruction {
  Opcode op = Opcode::Ret;
  RegName dst = 0;             // Call
  FunctionIndex callee = 0;    // Call: index into the function table
  std::span<const Word> args;  // Call: argument words
  RegName reg = 0;             // Ret: the result; If: the condition
  std::int64_t offset = 0;     // Goto, If (taken when the condition is zero)

  Arg arg(std::size_t i) const { return Arg(args[i]); }
};

}  // namespace rldb::bytecode
