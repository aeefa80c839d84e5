#include "passes/fusion/function_table.h"

#include "rldb/ir/equal.h"

namespace rldb::passes {

using namespace ir;

FunctionTable::FunctionTable(Context& ctx, const Module* module, ModuleBuilder& builder)
    : ctx_(ctx), builder_(builder) {
  for (const ModuleEntry& e : module->entries)
    if (isa<Function>(e.function)) known_.emplace(structural_hash(e.function), Known{e.function, e});
}

const GlobalVar* FunctionTable::add(const Expr* function, std::string_view hint) {
  const std::uint64_t hash = structural_hash(function);
  const auto [begin, end] = known_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (structural_equal(it->second.function, function))
      return ctx_.global_var(it->second.entry.name, it->second.entry.function->type);
  ModuleEntry entry{free_name(hint), function};
  if (finish_) entry = finish_(cast<Function>(function), entry.name);
  builder_.set(entry.name, entry.function);
  known_.emplace(hash, Known{function, entry});
  return ctx_.global_var(entry.name, entry.function->type);
}

std::string_view FunctionTable::free_name(std::string_view hint) {
  std::string_view name = builder_.unique_name(hint);
  for (int i = 1; finish_ && !given_.insert(std::string(name)).second; ++i)
    name = builder_.unique_name(std::string(hint) + std::to_string(i));
  return ctx_.str(name);
}

}  // namespace rldb::passes
