// ExecutableBuilder: words and debug info appended function by function, constants deduplicated by contents.
#include "rldb/bytecode/builder.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "rldb/support/check.h"

namespace rldb::bytecode {
namespace {

using runtime::Value;
using runtime::ValueKind;

std::size_t mix(std::size_t a, std::size_t b) { return a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2)); }

std::size_t hash_tensor(const runtime::Tensor& t) {
  std::size_t h = std::hash<std::string>{}(to_string(t.dtype()));
  for (std::int64_t d : t.shape()) h = mix(h, std::size_t(d));
  return mix(h, std::hash<std::string_view>{}({reinterpret_cast<const char*>(t.peek()), t.byte_size()}));
}

std::uint64_t bits_of(double v) {
  std::uint64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}

std::size_t hash_value(const Value& v) {
  std::size_t h = std::size_t(v.kind());
  switch (v.kind()) {
    case ValueKind::Null:
      return h;
    case ValueKind::Int:
    case ValueKind::Bool:
      return mix(h, std::size_t(v.as_int()));
    case ValueKind::Float:
      return mix(h, bits_of(v.as_float()));
    case ValueKind::DType:
      return mix(h, std::hash<std::string>{}(to_string(v.as_dtype())));
    case ValueKind::String:
      return mix(h, std::hash<std::string>{}(v.as_string()));
    case ValueKind::Shape:
      for (std::int64_t d : v.as_shape()) h = mix(h, std::size_t(d));
      return h;
    case ValueKind::Tensor:
      return mix(h, hash_tensor(v.as_tensor()));
    case ValueKind::Tuple:
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      return mix(h, std::hash<const void*>{}(v.object()));
  }
  RLDB_UNREACHABLE("value kind");
}

bool same_tensor(const runtime::Tensor& a, const runtime::Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.peek(), b.peek(), a.byte_size()) == 0;
}

bool same_value(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::Null:
      return true;
    case ValueKind::Int:
    case ValueKind::Bool:
      return a.as_int() == b.as_int();
    case ValueKind::Float:
      return bits_of(a.as_float()) == bits_of(b.as_float());
    case ValueKind::DType:
      return a.as_dtype() == b.as_dtype();
    case ValueKind::String:
      return a.as_string() == b.as_string();
    case ValueKind::Shape:
      return a.as_shape() == b.as_shape();
    case ValueKind::Tensor:
      return a.object() == b.object() || same_tensor(a.as_tensor(), b.as_tensor());
    case ValueKind::Tuple:
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      return a.object() == b.object();
  }
  RLDB_UNREACHABLE("value kind");
}

}  // namespace

FunctionIndex ExecutableBuilder::function(std::string_view name, FunctionKind kind) {
  if (auto it = names_.find(name); it != names_.end()) return it->second;
  FunctionIndex index(exe_.functions.size());
  FunctionEntry entry;
  entry.kind = kind;
  entry.name = name;
  exe_.functions.push_back(std::move(entry));
  exe_.debug.functions.emplace_back();
  names_.emplace(name, index);
  return index;
}

void ExecutableBuilder::begin_function(std::string_view name, std::vector<std::string> params, FunctionDebug debug) {
  RLDB_CHECK(open_ < 0, "begin_function inside a function");
  open_ = function(name, FunctionKind::Bytecode);
  FunctionEntry& f = exe_.functions[std::size_t(open_)];
  RLDB_CHECK(f.num_args == kUndefinedArgs, "function defined twice");
  f.kind = FunctionKind::Bytecode;
  f.start = next_pc();
  f.num_args = std::int64_t(params.size());
  f.param_names = std::move(params);
  exe_.debug.functions[std::size_t(open_)] = std::move(debug);
  highest_ = RegName(f.num_args - 1);
  current_ = {};
}

void ExecutableBuilder::end_function(std::int64_t registers) {
  RLDB_CHECK(open_ >= 0, "end_function outside a function");
  FunctionEntry& f = exe_.functions[std::size_t(open_)];
  f.end = next_pc();
  f.register_file_size = registers < 0 ? highest_.value() + 1 : registers;
  open_ = -1;
}

void ExecutableBuilder::touch(RegName reg) {
  if (!is_special(reg)) highest_ = std::max(highest_, reg);
}

Pc ExecutableBuilder::emit(std::initializer_list<Word> head, const std::vector<Arg>* args) {
  RLDB_CHECK(open_ >= 0, "instruction outside a function");
  Pc pc = next_pc();
  exe_.instr_offset.push_back(Word(exe_.instr_data.size()));
  exe_.instr_data.insert(exe_.instr_data.end(), head);
  if (args)
    for (Arg a : *args) exe_.instr_data.push_back(a.word());
  exe_.debug.instructions.push_back(current_);
  return pc;
}

Pc ExecutableBuilder::call(std::string_view callee, const std::vector<Arg>& args, RegName dst, FunctionKind kind) {
  FunctionIndex f = function(callee, kind);
  touch(dst);
  for (Arg a : args)
    if (a.kind() == ArgKind::Register) touch(a.reg());
  return emit({Word(Opcode::Call), dst.value(), f.value(), Word(args.size())}, &args);
}

Pc ExecutableBuilder::ret(RegName reg) {
  touch(reg);
  return emit({Word(Opcode::Ret), reg.value()});
}

Pc ExecutableBuilder::jump(std::int64_t offset) { return emit({Word(Opcode::Goto), offset}); }

Pc ExecutableBuilder::branch(RegName condition, std::int64_t offset) {
  touch(condition);
  return emit({Word(Opcode::If), condition.value(), offset});
}

void ExecutableBuilder::patch_to_here(Pc pc) {
  Word* words = exe_.instr_data.data() + exe_.instr_offset[std::size_t(pc)];
  switch (info(Opcode(words[0])).shape) {
    case OperandShape::Offset:
      words[1] = next_pc() - pc;
      return;
    case OperandShape::RegisterOffset:
      words[2] = next_pc() - pc;
      return;
    case OperandShape::DstCalleeArgs:
    case OperandShape::Register:
      break;
  }
  RLDB_UNREACHABLE("patch_to_here: not a jump");
}

Arg ExecutableBuilder::integer(std::int64_t value) {
  return Arg::fits(value) ? Arg::imm(value) : constant(Value::of_int(value));
}

Arg ExecutableBuilder::constant(Value value, std::string_view memory_scope) {
  std::size_t hash = hash_value(value);
  auto scope_of = [&](ConstantIndex i) -> std::string_view {
    auto it = exe_.memory_scopes.find(i);
    return it == exe_.memory_scopes.end() ? std::string_view() : std::string_view(it->second);
  };
  auto [begin, end] = constant_index_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (same_value(exe_.constants[std::size_t(it->second)], value) && scope_of(it->second) == memory_scope)
      return Arg::constant(it->second);
  ConstantIndex index(exe_.constants.size());
  exe_.constants.push_back(std::move(value));
  if (!memory_scope.empty()) exe_.memory_scopes.emplace(index, memory_scope);
  constant_index_.emplace(hash, index);
  return Arg::constant(index);
}

Executable ExecutableBuilder::finish() {
  RLDB_CHECK(open_ < 0, "finish inside a function");
  Executable done = std::move(exe_);
  *this = ExecutableBuilder();
  return done;
}

}  // namespace rldb::bytecode
