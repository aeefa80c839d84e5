// Instructions of the Relay VM as words, and a decoded view of one of them.
//
// Words are the opcode and its fields in the order of layout C, the newest; files of older layouts are converted to it
// when they are read. Users: the builder, verifier, listing and files of this room, relay/vm, relay/codegen.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rldb/bytecode/index.h"
#include "rldb/runtime/dtype.h"

namespace rldb::relay_bytecode {

using bytecode::Pc;
using bytecode::RegName;
using Word = std::int64_t;

// The layouts that TVM has used for files: A 0.8, B 0.9 to 0.13, C 0.14 to 0.19.
enum class Layout : std::uint8_t { A, B, C };

enum class Opcode : std::uint8_t {
#define RLDB_RELAY_OPCODE(Id, number, text, old_fields, fields, Since, doc) Id = number,
#include "rldb/relay/vm/opcode.def"
};

// The kind of a field, by its letter in opcode.def.
enum class FieldKind : char {
  Read = 'r',
  Written = 'd',
  Function = 'f',
  Primitive = 'p',
  Constant = 'k',
  Device = 'v',
  Number = 'i',
  Jump = 'j',
  Outputs = 'o',
  TypeCode = 't',
  Bits = 'b',
  Lanes = 'l',
  Count = 'n',
  Registers = 'R',
  Dims = 'S',
};

struct OpcodeInfo {
  Opcode opcode;
  std::string_view text;
  std::string_view old_fields;
  std::string_view fields;
  Layout since;
  std::string_view doc;
  std::string_view fields_in(Layout layout) const { return layout == Layout::C ? fields : old_fields; }
};
const OpcodeInfo& info(Opcode op);
bool is_opcode(Word word);

// One instruction. Fields that it lacks are -1 or empty.
struct Instruction {
  Opcode op = Opcode::Fatal;
  RegName dst = -1;
  std::array<RegName, 3> regs = {-1, -1, -1};  // those read, except in the list, in file order
  std::array<Word, 2> numbers = {-1, -1};      // functions, primitives, constants, devices, numbers, jumps, outputs
  runtime::DType dtype;
  std::span<const Word> list;  // arguments, fields, captured values, dims

  RegName list_register(std::size_t i) const { return RegName(list[i]); }
  // An AllocStorage that gives a shape and no size: its register has no meaning.
  bool has_shape() const { return op == Opcode::AllocStorage && !list.empty(); }
};

// The number of words of the instruction at the front, including its opcode; 0: they are no valid instruction.
std::size_t instruction_length(std::span<const Word> words);
// For words that instruction_length has accepted.
Instruction decode(std::span<const Word> words);
// Calls `f(FieldKind, Word)` for each field, the elements of the list as Registers or Dims.
template <class F>
void for_each_field(std::span<const Word> words, F&& f) {
  std::size_t at = 1, count = 0;
  for (const char letter : info(Opcode(words[0])).fields) {
    const FieldKind kind = FieldKind(letter);
    if (kind == FieldKind::Registers || kind == FieldKind::Dims) {
      for (std::size_t i = 0; i < count; ++i) f(kind, words[at++]);
      continue;
    }
    if (kind == FieldKind::Count) count = std::size_t(words[at]);
    f(kind, words[at++]);
  }
}

// Between the fields of a layout (without the opcode) and words. An empty result: they do not fit.
std::vector<Word> words_of_fields(Opcode op, std::span<const Word> fields, Layout layout);
struct FieldsOfWords {
  bool ok = false;
  std::vector<Word> fields;
};
FieldsOfWords fields_of_words(std::span<const Word> words, Layout layout);

}  // namespace rldb::relay_bytecode
