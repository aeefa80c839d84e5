// The table of builtins: rows of builtin.def. The name of a builtin is a constant in the header of its family:
// builtin::MatchShape in builtin/heap.h. Lowering emits calls of builtins, so passes and the evaluator read the names
// too; a name is written in its row and nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rldb::bytecode {

// Meaning of a (code, value) pair of match_shape, match_prim_value, make_shape and make_prim_value
// (TVM: MatchShapeCode, MakeShapeCode in its VM's builtins). Written by lowering, executed by the machine.
enum class MatchShapeCode : std::int64_t { AssertEqualToImm = 0, StoreToHeap = 1, NoOp = 2, AssertEqualToLoad = 3 };
enum class MakeShapeCode : std::int64_t { UseImm = 0, LoadShape = 1 };

enum class BuiltinId : std::uint8_t;  // builtin_id.h, for tables with a place for each builtin
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
