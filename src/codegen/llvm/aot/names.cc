// The functions that the runtime in C has.
#include <algorithm>

#include "rldb/codegen/llvm/aot.h"

namespace rldb::codegen {

std::string_view runtime_symbol(std::string_view name) {
  static constexpr struct {
    std::string_view name, symbol;
  } kRows[] = {
#define RLDB_AOT_FUNCTION(id, name) {name, "rldb_aot_" #id},
#include "rldb/codegen/llvm/aot_function.def"
  };
  for (const auto& row : kRows)
    if (row.name == name) return row.symbol;
  return {};
}

bool kernels_may_call(std::string_view name) {
  static constexpr std::string_view kNames[] = {
#define RLDB_AOT_FUNCTION(id, name)
#define RLDB_AOT_KERNEL_FUNCTION(id, name) name,
#include "rldb/codegen/llvm/aot_function.def"
  };
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace rldb::codegen
