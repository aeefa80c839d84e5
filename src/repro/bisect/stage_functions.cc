#include "repro/bisect/stage_functions.h"

#include <algorithm>

#include "rldb/ir/equal.h"
#include "rldb/ir/stmt.h"
#include "rldb/ir/walk.h"
#include "rldb/support/entry_function.h"

namespace rldb::repro {

std::vector<std::string> functions_of(const ir::Module* module) {
  std::vector<std::string> names, hidden;
  for (const ir::ModuleEntry& e : module->entries)
    if (const auto* f = ir::as<ir::Function>(e.function)) (f->is_private() ? hidden : names).emplace_back(e.name);
  if (names.empty()) names = std::move(hidden);
  std::stable_partition(names.begin(), names.end(), [](const std::string& n) { return n == support::kEntryFunction; });
  return names;
}

bool find_public(const ir::Module* module, const std::string& name) {
  const std::vector<std::string> names = functions_of(module);
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_open_dims(const ir::Module* module) {
  const auto is_open = [](const ir::Var* p) {
    const auto* t = ir::as<ir::TensorType>(p->type);
    return p->type->has_vars || (t && !t->has_shape) || ir::as<ir::ShapeType>(p->type);
  };
  return std::any_of(module->entries.begin(), module->entries.end(), [&](const ir::ModuleEntry& e) {
    const auto* f = ir::as<ir::Function>(e.function);
    return f && std::any_of(f->params.begin(), f->params.end(), is_open);
  });
}

bool has_loops_by_data(const ir::Module* module) {
  bool found = false;
  const auto reads = [&](const ir::Expr* e) {
    ir::walk(e, [&](const ir::Node* n) {
      found = found || ir::as<ir::BufferLoad>(n);
      return !found;
    });
  };
  for (const ir::ModuleEntry& e : module->entries)
    if (const auto* kernel = ir::as<ir::PrimFunc>(e.function))
      ir::walk(kernel->body, [&](const ir::Node* n) {
        found = found || ir::as<ir::WhileStmt>(n);
        if (const auto* loop = ir::as<ir::ForStmt>(n)) reads(loop->min), reads(loop->extent);
        return !found;
      });
  return found;
}

bool calls_function(const ir::Expr* function, std::string_view name) {
  bool found = false;
  const auto* f = function ? ir::as<ir::Function>(function) : nullptr;
  if (f)
    ir::walk(f->body, [&](const ir::Node* n) {
      const auto* g = ir::as<ir::GlobalVar>(n);
      found = found || (g && g->name == name);
      return !found;
    });
  return found;
}

bool are_all_the_same(const std::vector<Stage>& stages) {
  const bool known = std::all_of(stages.begin(), stages.end(), [](const Stage& s) { return s.kernels && !s.unfilled; });
  const auto changes = [](const Stage& a, const Stage& b) { return !ir::structural_equal(a.kernels, b.kernels); };
  return known && stages.size() > 1 && std::adjacent_find(stages.begin(), stages.end(), changes) == stages.end();
}

bool asks_for_a_run(const TraceBisection& b, const Followed& what, bool inputs_fit) {
  if (!what.function.empty() && !find_public(b.stages[0].kernels, what.function)) return true;
  return (!what.expected.empty() && !b.first_compared) || (!what.inputs.empty() && !inputs_fit);
}

}  // namespace rldb::repro
