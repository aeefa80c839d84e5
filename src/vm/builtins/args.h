// Definitions shared by the files of builtins.
#pragma once

#include <fmt/format.h>

#include "rldb/bytecode/builtin_args.h"
#include "rldb/bytecode/builtin_id.h"
#include "vm/link.h"

namespace rldb::vm {

using runtime::DType;
using runtime::Error;
using runtime::ErrorKind;
using runtime::ValueKind;

using Args = bytecode::BuiltinArgs;

}  // namespace rldb::vm

// First lines of a builtin: `a` are its checked arguments.
#define RLDB_ARGS(Id)                    \
  Args a(bytecode::BuiltinId::Id, args); \
  if (!a.count_fits()) return a.wrong_count()
