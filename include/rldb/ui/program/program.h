// The whole program as a function: the prompt and the batch commands.
//
// A program of your own registers passes, operators and code generators (rldb/passes/register.h, rldb/ops/register.h,
// rldb/passes/codegen.h) and calls it: its `opt`, prompt, `bisect` and completion then include them.
// Link rldb::program. Users: src/ui/program/main.cc, programs that build on rldb (docs/building-on-rldb.md).
#pragma once

namespace rldb::ui {

// The body of rldb's `main`; returns the exit code. Call it once, from `main`. It may end the process itself.
int main_program(int argc, char** argv);

}  // namespace rldb::ui
