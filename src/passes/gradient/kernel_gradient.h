// The gradient of R.call_tir_with_grad: a call of the PrimFunc that it names, or of one that is made of its kernel.
#pragma once

#include "passes/common.h"
#include "rldb/ops/legalize.h"

namespace rldb::passes {

struct KernelPartials {
  const ir::Call* call = nullptr;        // gives a tensor, or a tuple of them
  std::vector<const ir::Var*> operands;  // the argument that each of them is for
  bool derived = false;                  // the kernel was made here
};
// `grads`: what reaches the results, a variable each.
ir::Result<KernelPartials> kernel_gradient(ir::Context& ctx, const ir::ModuleBuilder& module, ops::Legalizer& legalizer,
                                           const ir::Call* call, std::span<const ir::Var* const> grads);
std::string_view gradient_name(const ir::Call* call);
// The call without its gradient.
const ir::Call* plain_call_tir(ir::Context& ctx, const ir::Call* call);

}  // namespace rldb::passes
