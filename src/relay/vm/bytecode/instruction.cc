// Decoding by the letters of opcode.def, and conversion between the fields of a layout and words.
#include "rldb/relay/vm/instruction.h"

#include <fmt/format.h>

#include "rldb/support/check.h"

namespace rldb::relay_bytecode {

namespace {

constexpr OpcodeInfo kOpcodes[] = {
#define RLDB_RELAY_OPCODE(Id, number, text, old_fields, fields, Since, doc) \
  {Opcode::Id, text, old_fields, fields, Layout::Since, doc},
#include "rldb/relay/vm/opcode.def"
};

bool is_list(char letter) { return FieldKind(letter) == FieldKind::Registers || FieldKind(letter) == FieldKind::Dims; }

// The number of words at the front that the fields `letters` take, or -1.
std::int64_t fields_length(std::string_view letters, std::span<const Word> fields) {
  std::uint64_t at = 0, count = 0;
  for (const char letter : letters) {
    if (is_list(letter)) {
      if (count > fields.size() - at) return -1;
      at += count;
      continue;
    }
    if (at >= fields.size()) return -1;
    if (FieldKind(letter) == FieldKind::Count) {
      if (fields[at] < 0) return -1;
      count = std::uint64_t(fields[at]);
    }
    ++at;
  }
  return std::int64_t(at);
}

runtime::DType dtype_of(Word code, Word bits, Word lanes) {
  // bool used to be an unsigned integer of one bit.
  if (runtime::TypeCode(code) == runtime::TypeCode::UInt && bits == 1) return runtime::DType::Bool(int(lanes));
  return {runtime::TypeCode(code), std::uint8_t(bits), std::int16_t(lanes)};
}

}  // namespace

const OpcodeInfo& info(Opcode op) {
  RLDB_CHECK(is_opcode(Word(op)), "not an opcode");
  return kOpcodes[std::size_t(op)];
}

bool is_opcode(Word word) { return word >= 0 && std::size_t(word) < std::size(kOpcodes); }

std::size_t instruction_length(std::span<const Word> words) {
  if (words.empty() || !is_opcode(words[0])) return 0;
  const std::int64_t length = fields_length(info(Opcode(words[0])).fields, words.subspan(1));
  return length < 0 ? 0 : std::size_t(length) + 1;
}

Instruction decode(std::span<const Word> words) {
  Instruction i;
  i.op = Opcode(words[0]);
  std::size_t at = 1, count = 0, reads = 0, numbers = 0;
  for (const char letter : info(i.op).fields) {
    if (is_list(letter)) {
      i.list = words.subspan(at, count);
      at += count;
      continue;
    }
    const Word word = words[at];
    switch (FieldKind(letter)) {
      case FieldKind::Read:
        i.regs[reads++] = RegName(word);
        break;
      case FieldKind::Written:
        i.dst = RegName(word);
        break;
      case FieldKind::Function:
      case FieldKind::Primitive:
      case FieldKind::Constant:
      case FieldKind::Device:
      case FieldKind::Number:
      case FieldKind::Jump:
      case FieldKind::Outputs:
        i.numbers[numbers++] = word;
        break;
      case FieldKind::TypeCode:
        i.dtype = dtype_of(word, words[at + 1], words[at + 2]);
        break;
      case FieldKind::Count:
        count = std::size_t(word);
        break;
      case FieldKind::Bits:
      case FieldKind::Lanes:
      case FieldKind::Registers:
      case FieldKind::Dims:
        break;
    }
    ++at;
  }
  return i;
}

std::vector<Word> words_of_fields(Opcode op, std::span<const Word> fields, Layout layout) {
  const OpcodeInfo& row = info(op);
  const std::string_view letters = row.fields_in(layout);
  if (layout < row.since || fields_length(letters, fields) != std::int64_t(fields.size())) return {};
  std::vector<Word> words{Word(op)};
  words.insert(words.end(), fields.begin(), fields.end());
  // Fields that only newer layouts have: the device of a constant, the (empty) shape of a storage block.
  if (letters != row.fields) words.insert(words.end() - 1, 0);
  return words;
}

FieldsOfWords fields_of_words(std::span<const Word> words, Layout layout) {
  const OpcodeInfo& row = info(Opcode(words[0]));
  FieldsOfWords out{true, {words.begin() + 1, words.end()}};
  if (layout < row.since) return {};
  if (row.fields_in(layout) == row.fields) return out;
  if (decode(words).has_shape()) return {};
  out.fields.erase(out.fields.end() - 2);
  return out;
}

}  // namespace rldb::relay_bytecode
