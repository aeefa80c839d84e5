#include "passes/fusion/function_table.h"

#include "rldb/ir/equal.h"
#include "rldb/tir_passes/own_symbols.h"

namespace rldb::passes {

using namespace ir;

namespace {

std::size_t size_of(const Function* f) {
  std::size_t bindings = 0;
  for (const BindingBlock* block : f->body->blocks) bindings += block->bindings.size();
  return bindings;
}

}  // namespace

FunctionTable::FunctionTable(Context& ctx, const Module* module, ModuleBuilder& builder)
    : ctx_(ctx), builder_(builder) {
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function)) unread_.emplace(size_of(f), e);
}

void FunctionTable::read_entries_like(const Function* function) {
  const auto [begin, end] = unread_.equal_range(size_of(function));
  for (auto it = begin; it != end; ++it)
    known_.emplace(structural_hash(it->second.function), Known{it->second.function, it->second});
  unread_.erase(begin, end);
}

const GlobalVar* FunctionTable::add(const Expr* function, std::string_view hint) {
  if (const auto* f = as<Function>(function)) read_entries_like(f);
  const std::uint64_t hash = structural_hash(function);
  const auto [begin, end] = known_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (structural_equal(it->second.function, function))
      return ctx_.global_var(it->second.entry.name, it->second.entry.function->type);
  ModuleEntry entry{free_name(hint), function};
  // Functions of a module share no variables: a changed copy of a kernel gets symbols of its own.
  if (const auto* f = as<PrimFunc>(function)) entry.function = with_own_symbols(ctx_, f);
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
