// How a stop inside a kernel is shown.
#pragma once

#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

// Shows the statement, the variables, and what it reads and writes.
void show_kernel_stop(Repl& repl);
// Lines of the kernel's text around the statement.
void list_kernel(Repl& repl);
void show_kernel_locals(Repl& repl);
// `matmul i=2 k=7`: for the prompt; empty outside a kernel.
std::string kernel_place(const debug::Debugger& debugger);
// `matmul i=2 k=7 at mm.py:14, block C`: for the backtrace.
std::string describe_kernel_frame(const debug::Debugger& debugger);

}  // namespace rldb::ui
