// An executable of the Relay VM as data: functions over one array of instructions, constants, names of primitives.
//
// Nothing is checked here: an executable to be run is passed to `verify` (relay_vm::Program::link and `load` do it).
// Made by the loader, by relay/codegen and by tests; immutable once shared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/bytecode/debug_info.h"
#include "rldb/relay/vm/instruction.h"
#include "rldb/runtime/error.h"
#include "rldb/runtime/value.h"

namespace rldb::relay_bytecode {

using bytecode::FunctionIndex;

struct FunctionEntry {
  std::string name;
  std::vector<std::string> params;
  std::vector<std::int64_t> param_devices;  // none, or one for each parameter
  std::int64_t register_file_size = 0;
  Pc start = 0;
  Pc end = 0;  // exclusive
};

struct Constant {
  runtime::Value tensor;  // null: bound later, under `late_name`
  std::string late_name;
  std::int64_t device = 0;
};

struct Device {
  std::int32_t type = 1;  // DLPack's: 1 CPU
  std::int32_t id = 0;
  std::string memory_scope;  // layout C
};

// For displaying values of data types: the constructor that a tag denotes.
struct ConstructorName {
  std::string type_name;
  std::string name;
};

struct Executable {
  std::string version = "0.14.0";
  std::vector<Device> devices = {Device{}};  // layout A: none
  std::int32_t host_device = 0;
  std::vector<FunctionEntry> functions;  // by index of the global
  std::vector<Constant> constants;
  std::vector<std::string> primitives;
  std::map<std::int64_t, std::map<std::string, std::string>> primitive_attributes;
  std::vector<std::size_t> offsets;  // of each instruction in `words`
  std::vector<Word> words;
  // Known to the compiler and not stored in files.
  std::map<std::int64_t, ConstructorName> constructors;  // by tag
  bytecode::DebugInfo debug;                             // places and names in the Relay text; may be empty

  Pc end() const { return Pc(offsets.size()); }
  std::span<const Word> words_of(Pc pc) const;
  // Only for executables that are verified, or made by a builder.
  Instruction instruction(Pc pc) const { return decode(words_of(pc)); }
  FunctionIndex find_function(std::string_view name) const;  // -1: none
  void add(std::span<const Word> instruction);
};

// The layout that a version of TVM wrote; nullopt for unknown versions, and for the Relax VM's `0.14`.
std::optional<Layout> layout_of(std::string_view version);

inline constexpr std::int64_t kMaxRegisters = std::int64_t(1) << 24;
// Limit on the registers of a function beyond its arguments and its words.
inline constexpr std::int64_t kSpareRegisters = 4096;

// Checks everything that a machine relies on and TVM does not check: opcodes, registers, jumps inside their function,
// indices of tables, arities of calls, dtypes, no way to run off the end of a function. The error names the place.
runtime::Result<support::Unit> verify(const Executable& exe);

// TVM's `code.ro` files. `load` trusts nothing and verifies. A file of the Relax VM begins with the same magic number
// and is told apart by its version.
bool is_executable_file(std::string_view first_bytes);
runtime::Result<Executable> load(std::string_view bytes);
// In the layout of `exe.version`. Fails on an instruction that the layout lacks.
runtime::Result<std::string> serialise(const Executable& exe);

// ---- texts, as TVM prints them ----
std::string instruction_text(const Executable& exe, Pc pc);  // `move $1 $0`
std::string as_text(const Executable& exe);                  // exe.bytecode
std::string stats(const Executable& exe);
std::string constants_text(const Executable& exe);
std::string primitives_text(const Executable& exe);
std::string devices_text(const Executable& exe);

}  // namespace rldb::relay_bytecode
