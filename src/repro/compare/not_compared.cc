// Finds calls of collectives and of print, as operators and as packed functions.
#include "repro/compare/not_compared.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "rldb/bytecode/builtin/run.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/ir/op/call_builtin.h"
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

std::vector<std::string> notes_of_not_compared(std::span<const ir::Module* const> modules) {
  std::set<std::string> collectives;
  bool prints = false;
  std::set<const ir::Expr*> seen;
  for (const ir::Module* m : modules)
    for (const ir::ModuleEntry& e : m ? m->entries : ir::Span<ir::ModuleEntry>()) {
      const auto* f = ir::as<ir::Function>(e.function);
      if (!f || !seen.insert(f).second) continue;
      ir::walk(f, [&](const ir::Node* n) {
        const auto* op = ir::as<ir::Op>(n);
        const auto* packed = ir::as<ir::ExternFunc>(n);
        if (op && op->row && op::class_of(op->row->id) == op::Class::Collective)
          collectives.insert(fmt::format("`R.{}`", op::short_name(op->name)));
        if (packed && is_lowered(packed->symbol)) collectives.insert(fmt::format("`{}`", packed->symbol));
        prints = prints || (op && op->name == op::Print) || (packed && packed->symbol == builtin::RunPrint);
        return true;
      });
    }
  std::vector<std::string> notes;
  if (!collectives.empty())
    notes.push_back(
        fmt::format("one worker was run, for which collectives change nothing: how {} {} called was not "
                    "compared",
                    fmt::join(collectives, ", "), collectives.size() == 1 ? "is" : "are"));
  if (prints) notes.emplace_back("what the programs print was not compared");
  return notes;
}

}  // namespace rldb::repro
