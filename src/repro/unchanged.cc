// Whether a function and its callees are the same in two modules.
#include "repro/unchanged.h"

#include <set>
#include <vector>

#include "rldb/ir/equal.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

bool is_unchanged(const ir::Module* before, const ir::Module* after, std::string_view function) {
  std::set<std::string_view> seen{function};
  std::vector<std::string_view> open{function};
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    const ir::Expr *a = before->find(name), *b = after->find(name);
    if (!a || !b || (a != b && !ir::structural_equal(a, b))) return false;
    ir::walk(a, [&](const ir::Node* n) {
      const auto* callee = ir::as<ir::GlobalVar>(n);
      if (callee && seen.insert(callee->name).second) open.push_back(callee->name);
      return true;
    });
  }
  return true;
}

}  // namespace rldb::repro
