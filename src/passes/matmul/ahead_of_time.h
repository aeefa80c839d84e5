// AheadOfTime: which values of a function are known before its inputs. Users: passes that arrange products so that
// weights can be combined once.
#pragma once

#include <unordered_set>

#include "passes/common.h"
#include "rldb/ir/attr_name/relax.h"

namespace rldb::passes {

// Values known before the inputs: constants, parameters after the first `num_input`, and values computed from them.
class AheadOfTime {
 public:
  explicit AheadOfTime(const ir::Function* f) {
    const ir::Attr* inputs = ir::find_attr(f->attrs, attr_name::NumInput);
    if (!inputs) return;
    for (std::size_t i = std::size_t(inputs->integer); i < f->params.size(); ++i) known_.insert(f->params[i]);
  }
  void learn(const ir::Var* v, const ir::Expr* value) {
    if (has(value)) known_.insert(v);
  }
  bool has(const ir::Expr* e) const {
    if (ir::isa<ir::Constant>(e)) return true;
    if (const auto* v = ir::as<ir::Var>(e)) return known_.count(v) > 0;
    if (const auto* call = ir::as<ir::Call>(e)) {
      if (!ir::isa<ir::Op>(call->callee) || call->args.empty()) return false;
      for (const ir::Expr* a : call->args)
        if (!has(a)) return false;
      return true;
    }
    return false;
  }

 private:
  std::unordered_set<const ir::Var*> known_;
};

}  // namespace rldb::passes
