// Finds calls of collectives, as operators and as packed functions.
#include "repro/compare/collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "rldb/bytecode/runtime_function.h"
#include "rldb/ir/op_class.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

namespace {

constexpr std::string_view kLowered[] = {runtime_function::DiscoAllreduce, runtime_function::CustomAllreduce,
                                         runtime_function::DiscoAllgather, runtime_function::DiscoBroadcast,
                                         runtime_function::DiscoScatter,   runtime_function::DiscoGather,
                                         runtime_function::DiscoSend,      runtime_function::DiscoSendNext,
                                         runtime_function::DiscoReceive,   runtime_function::DiscoReceivePrev};

bool is_lowered(std::string_view name) {
  return std::find(std::begin(kLowered), std::end(kLowered), name) != std::end(kLowered);
}

}  // namespace

std::string note_of_collectives(std::span<const ir::Module* const> modules) {
  std::set<std::string> found;
  std::set<const ir::Expr*> seen;
  for (const ir::Module* m : modules)
    for (const ir::ModuleEntry& e : m ? m->entries : ir::Span<ir::ModuleEntry>()) {
      const auto* f = ir::as<ir::Function>(e.function);
      if (!f || !seen.insert(f).second) continue;
      ir::walk(f, [&](const ir::Node* n) {
        if (const auto* op = ir::as<ir::Op>(n); op && op->row && op::class_of(op->row->id) == op::Class::Collective)
          found.insert(fmt::format("`R.{}`", op::short_name(op->name)));
        if (const auto* packed = ir::as<ir::ExternFunc>(n); packed && is_lowered(packed->symbol))
          found.insert(fmt::format("`{}`", packed->symbol));
        return true;
      });
    }
  if (found.empty()) return {};
  return fmt::format("one worker was run, for which collectives change nothing: how {} {} called was not compared",
                     fmt::join(found, ", "), found.size() == 1 ? "is" : "are");
}

}  // namespace rldb::repro
