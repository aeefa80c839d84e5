#include "rldb/ir/launched.h"

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/host.h"

namespace rldb::ir {

std::string_view packed_callee(const Node* n) {
  const auto* call = as<Call>(n);
  if (!call || call->args.empty()) return {};
  const bool packed = is_call_of(call, intrin::TvmCallPacked) || is_call_of(call, intrin::TvmCallPackedLowered) ||
                      is_call_of(call, intrin::TvmCallCpacked) || is_call_of(call, intrin::TvmCallCpackedLowered);
  const auto* name = packed ? as<StringImm>(call->args[0]) : nullptr;
  return name ? name->value : std::string_view();
}

bool is_launched(const PrimFunc* f) { return find_attr(f->attrs, attr_name::KernelLaunchParams) != nullptr; }

LaunchedKernels launched_kernels(const Module* module) {
  LaunchedKernels out;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<PrimFunc>(e.function);
    if (!f || !is_launched(f)) continue;
    const Attr* symbol = find_attr(f->attrs, attr_name::GlobalSymbol);
    out.emplace(symbol && symbol->is(AttrKind::String) ? symbol->string : e.name, e.name);
  }
  return out;
}

}  // namespace rldb::ir
