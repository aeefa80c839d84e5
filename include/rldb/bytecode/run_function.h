// The builtins behind operators with the trait Packed. Users: the evaluator, lowering.
#pragma once

#include "rldb/bytecode/builtin/run.h"

namespace rldb::builtin {

// The builtin behind an operator with the trait Packed: RunPrint for "print". Empty: none.
constexpr std::string_view run_function(std::string_view short_name) {
  constexpr std::string_view kPrefix = RunPrint.substr(0, RunPrint.rfind('.') + 1);
  constexpr std::string_view kNames[] = {
#define RLDB_BUILTIN(id, name, min_args, max_args, effect, arguments, doc) id,
#include "rldb/bytecode/builtin/run.def"
#undef RLDB_BUILTIN
  };
  for (std::string_view name : kNames)
    if (name.starts_with(kPrefix) && name.substr(kPrefix.size()) == short_name) return name;
  return {};
}

}  // namespace rldb::builtin
