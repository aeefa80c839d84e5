// The code that is made for a kernel. Users: `:source`.
#pragma once

#include <string_view>

#include "rldb/ui/prompt/command.h"

namespace rldb::ui {

// That of the kernel's engine; for the evaluator and the VM, which run TensorIR itself, LLVM IR.
Status show_source(Repl& repl, std::string_view kernel);

}  // namespace rldb::ui
