// All that a pass may use besides its module.
//
// A pass reads the old version and returns a new one that shares every function it did not change. It never sees the
// terminal, the machine or the session. Users: the passes over TensorIR and over Relax.
#pragma once

#include "rldb/ir/context.h"
#include "rldb/pipeline/option.h"

namespace rldb::passes {

using pipeline::NoOptions;

// Runs PrimFuncs for passes that need values (FoldConstant): a pass knows no engine, so its caller provides one.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  // Destination-passing: inputs, then the tensors that the outputs are written to.
  virtual runtime::Result<support::Unit> run(const ir::PrimFunc* f, std::string_view name,
                                             runtime::PackedArgs args) = 0;
};

struct PassEnv {
  ir::Context& ctx;
  source::Diagnostics& diagnostics;  // warnings and notes; an error makes the pass fail
  KernelRunner* kernels = nullptr;   // null: nothing is run
};

}  // namespace rldb::passes
