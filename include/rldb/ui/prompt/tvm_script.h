// A finding as a Python script for somebody who has TVM and no rldb: the module, the passes by TVM's names, the inputs
// and the expected values from an .npz beside it, and assertions that fail as long as the fault is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rldb/repro/tensor_difference.h"
#include "rldb/session/session.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

struct TvmScript {
  enum class Checks { Values, Finite, Passes };  // Passes: that they accept the module
  std::string seen;                              // the verdict, for the reader
  Checks checks = Checks::Values;
  const ir::Module* module = nullptr;
  const ir::Module* other = nullptr;  // the module after the passes, if another program made it
  std::string passes;
  std::string function;                   // a Relax function, or a kernel that is called with its outputs
  std::vector<session::Argument> inputs;  // all of its arguments
  // Leaves of the result, then the arguments written to; of a kernel, all of them afterwards.
  std::vector<runtime::Value> expected;
  repro::Tolerances tolerances;
  std::uint64_t seed = 0;
};

// False: diagnosed.
bool write_tvm_script(const std::string& path, const TvmScript& script, ir::Context& ctx, Console& console);

}  // namespace rldb::ui
