// Operators whose dims fit for some values of the symbols only, (m, k) @ (j, n), or n elements as (n // 2, 2). TVM's
// kernels for them compute with one of two dims that should be equal, and do not look at the other: a result of some
// kind comes out. Here the dims of such a call are checked when its kernel is called. Room-private.
//
// The rule is the operator's own type inference, with the dims of the arguments for the symbols. An operator gets a
// check if it refuses dims that are all different, so that nothing is checked in most programs. A module that has
// kernels in place of operators has no checks.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/module.h"
#include "rldb/runtime/kernel.h"

namespace rldb::session {

class DimChecks {
 public:
  // `legal` is what LegalizeOps made of `before`. Null: nothing is to be checked.
  static std::shared_ptr<DimChecks> of(ir::Context& ctx, const ir::Module* before, const ir::Module* legal);
  // The arguments of a kernel's call: inputs, then outputs. `args` may have more.
  runtime::Result<support::Unit> check(std::string_view kernel, runtime::PackedArgs args);
  // The same kernels, with the checks before they run.
  static runtime::KernelTable checked(const std::shared_ptr<DimChecks>& checks, runtime::KernelTable kernels);

 private:
  struct Place {
    const ir::Var* symbol;
    std::size_t argument, dim;
  };
  struct Rule {
    const ir::Call* call = nullptr;  // of the operator
    std::vector<const ir::Var*> symbols;
    std::vector<Place> places;                  // one for each symbol
    std::size_t result = 0;                     // the argument that gets the result; 0: not known
    std::set<std::vector<std::int64_t>> known;  // dims that fit
  };
  friend class RuleFinder;
  explicit DimChecks(ir::Context& ctx) : ctx_(ctx) {}

  ir::Context& ctx_;
  std::map<std::string, Rule, std::less<>> rules_;  // by kernel
};

}  // namespace rldb::session
