// The gradient of R.call_tir_with_grad: a call of the PrimFunc that it names, or of one derived from its kernel.
#pragma once

#include "passes/common.h"
#include "rldb/ops/legalize.h"

namespace rldb::passes {

struct KernelPartials {
  const ir::Call* call = nullptr;        // returns a tensor, or a tuple of them; null: no argument has a gradient
  std::vector<const ir::Var*> operands;  // the argument to which each of them belongs
  bool derived = false;                  // the kernel was made here
};
// `grads`: the incoming gradients of the results, one variable each. `module`: where names are looked up; derived
// functions are not in it.
ir::Result<KernelPartials> kernel_gradient(ir::Context& ctx, const ir::Module& module, ops::Legalizer& legalizer,
                                           const ir::Call* call, std::span<const ir::Var* const> grads);
std::string_view gradient_name(const ir::Call* call);
// The call with its gradient dropped.
const ir::Call* plain_call_tir(ir::Context& ctx, const ir::Call* call);

}  // namespace rldb::passes
