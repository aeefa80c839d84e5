// The table of builtins: rows of builtin.def. Read by codegen, the machine, the disassembler and the docs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// The names as constants: builtin::MatchShape is "vm.builtin.match_shape". Lowering emits calls to them, so passes and
// the evaluator read them too; a name is written in its row and nowhere else.
namespace rldb::builtin {
#define RLDB_BUILTIN(id, name, min_args, max_args, effect, arguments, doc) inline constexpr std::string_view id = name;
#define RLDB_ABSENT_BUILTIN(id, name, doc) inline constexpr std::string_view id = name;
#include "rldb/bytecode/builtin.def"

// The builtin behind an operator with the trait Packed: RunPrint for "print". Empty: none.
constexpr std::string_view run_function(std::string_view short_name) {
  constexpr std::string_view kPrefix = RunPrint.substr(0, RunPrint.rfind('.') + 1);
  constexpr std::string_view kNames[] = {
#define RLDB_BUILTIN(id, name, min_args, max_args, effect, arguments, doc) id,
#include "rldb/bytecode/builtin.def"
  };
  for (std::string_view name : kNames)
    if (name.starts_with(kPrefix) && name.substr(kPrefix.size()) == short_name) return name;
  return {};
}

}  // namespace rldb::builtin

namespace rldb::bytecode {

// Meaning of a (code, value) pair of match_shape, match_prim_value, make_shape and make_prim_value
// (TVM: MatchShapeCode, MakeShapeCode in its VM's builtins). Written by lowering, executed by the machine.
enum class MatchShapeCode : std::int64_t { AssertEqualToImm = 0, StoreToHeap = 1, NoOp = 2, AssertEqualToLoad = 3 };
enum class MakeShapeCode : std::int64_t { UseImm = 0, LoadShape = 1 };

enum class BuiltinId : std::uint8_t {
#define RLDB_BUILTIN(id, name, min_args, max_args, effect, arguments, doc) id,
#include "rldb/bytecode/builtin.def"
};
enum class BuiltinEffect : std::uint8_t { Pure, Fresh, Heap, Output, Control, Mutate };

struct BuiltinInfo {
  BuiltinId id;
  std::string_view name;
  int min_args;
  int max_args;  // -1: any
  BuiltinEffect effect;
  std::string_view arguments;
  std::string_view doc;
  bool takes_vm() const { return arguments.starts_with("vm"); }
};
std::span<const BuiltinInfo> builtins();
const BuiltinInfo& info(BuiltinId id);
std::optional<BuiltinId> find_builtin(std::string_view name);

}  // namespace rldb::bytecode
