// A driver for passes over Relax functions that add kernels to the module: one loop for all such passes.
#pragma once

#include <functional>

#include "passes/lowering/legal_memo.h"
#include "rldb/ops/legalize.h"
#include "rldb/passes/helpers.h"

namespace rldb::passes {

// Makes kernels and remembers those made so far; one per module.
struct KernelMaker {
  ops::Legalizer legalizer;
  LegalMemo memo;
};
using KernelFn = std::function<const ir::Function*(const ir::Function* f, KernelMaker& kernels)>;
// Maps the Relax functions; the module is shared when none changed, and then no kernel is kept.
const ir::Module* map_with_kernels(PassEnv& env, const ir::Module* module, const KernelFn& map);

}  // namespace rldb::passes
