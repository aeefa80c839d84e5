#include "repro/bisect/meant.h"

#include "rldb/passes/pass.h"
#include "rldb/passes/pass_id.h"

namespace rldb::repro {

namespace {

struct ChangingPass {
  passes::PassId pass;
  Meant meant;
};
constexpr ChangingPass kChangingPasses[] = {
    {passes::PassId::ToMixedPrecision, Meant::Coarse},       // fewer bits
    {passes::PassId::FastMathTransform, Meant::Coarse},      // approximations
    {passes::PassId::DecomposeOpsForInference, Meant::Any},  // batch statistics become learned ones
    {passes::PassId::FoldBatchnormToConv2D, Meant::Any},
};

}  // namespace

Meant meant_by(std::string_view name) {
  const passes::PassInfo* pass = passes::find_pass(name);
  for (const ChangingPass& p : kChangingPasses)
    if (pass && p.pass == pass->id) return p.meant;
  return Meant::Exact;
}

}  // namespace rldb::repro
