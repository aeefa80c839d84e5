// Two modules of PrimFuncs: their kernels by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "repro/bisect/kernels_alone.h"
#include "repro/bisect/unpack.h"
#include "repro/borrow.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/compare.h"

namespace rldb::repro {

namespace {

// Kernels of one module that the other lacks, or that take other parameters there.
std::vector<std::string> without_counterpart(const ir::Module* a, const ir::Module* b) {
  std::vector<std::string> out;
  const auto parameters = [](const ir::Expr* f) { return ir::print_type(f->type); };
  for (const ir::ModuleEntry& e : a->entries) {
    const ir::Expr* other = ir::as<ir::PrimFunc>(e.function) ? b->find(e.name) : e.function;
    if (!other)
      out.push_back(fmt::format("`{}` (only in one of them)", e.name));
    else if (parameters(other) != parameters(e.function))
      out.push_back(fmt::format("`{}` (its parameters differ)", e.name));
  }
  for (const ir::ModuleEntry& e : b->entries)
    if (ir::as<ir::PrimFunc>(e.function) && !a->find(e.name))
      out.push_back(fmt::format("`{}` (only in one of them)", e.name));
  return out;
}

}  // namespace

bool has_only_kernels(const ir::Module* module) {
  bool any = false;
  for (const ir::ModuleEntry& e : module->entries) {
    if (ir::as<ir::Function>(e.function)) return false;
    any = any || ir::as<ir::PrimFunc>(e.function);
  }
  return any;
}

Comparison compare_kernels(session::Session& session, const ir::Module* a, const ir::Module* b,
                           const Tolerances& tolerances) {
  const Borrow borrow(session);
  session.options().poisoned_memory = true;
  std::vector<Stage> stages(2);
  stages[0].kernels = with_unpacked(session.context(), a);
  stages[1].kernels = with_unpacked(session.context(), b);
  Comparison c;
  std::vector<std::string> open = without_counterpart(stages[0].kernels, stages[1].kernels);
  for (const ir::ModuleEntry& e : stages[0].kernels->entries) {
    const ir::Expr* other = stages[1].kernels->find(e.name);
    if (other && ir::as<ir::PrimFunc>(e.function) && ir::structural_equal(e.function, other))
      c.kernels.emplace_back(e.name);
  }
  constexpr double kSeconds = 30;
  KernelChecker checker(session, tolerances, stages);
  if (const auto found = checker.check(kSeconds)) {
    c.verdict = Comparison::Verdict::Differs;
    c.result = found->difference;
    c.why = found->why;
    c.first = FirstDifference{};
    c.first->function = found->kernel;
    c.first->name = found->buffer;
    c.first->difference = found->difference;
    c.kernels.clear();
    return c;
  }
  c.kernels.insert(c.kernels.end(), checker.compared().begin(), checker.compared().end());
  for (const KernelNotRun& k : checker.not_run()) open.push_back(fmt::format("`{}` ({})", k.kernel, k.why));
  if (open.empty()) {
    c.verdict = Comparison::Verdict::Equal;
    return c;
  }
  c.why = fmt::format("these kernels were not compared: {}", fmt::join(open, ", "));
  return c;
}

}  // namespace rldb::repro
