// Functions that passes add to a module: one that the module has already, structurally equal, is not added again.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/context.h"

namespace rldb::passes {

class FunctionTable {
 public:
  // What `module` holds takes part in sharing.
  FunctionTable(ir::Context& ctx, const ir::Module* module, ir::ModuleBuilder& builder);
  // Gives a new function the name and the form in which the module gets it; `name` is unique among what was added.
  using Finish = std::function<ir::ModuleEntry(const ir::Function* function, std::string_view name)>;
  void set_finish(Finish finish) { finish_ = std::move(finish); }
  // The name that the function has, `hint` when it is free.
  const ir::GlobalVar* add(const ir::Expr* function, std::string_view hint);

 private:
  ir::Context& ctx_;
  ir::ModuleBuilder& builder_;
  std::string_view free_name(std::string_view hint);

  struct Known {
    const ir::Expr* function;  // as it was given
    ir::ModuleEntry entry;     // as the module has it
  };
  void read_entries_like(const ir::Function* function);

  std::unordered_multimap<std::uint64_t, Known> known_;  // by structural hash
  // Functions of the module that are not in known_ yet, by size: the hash of a large one costs as much as the pass.
  std::unordered_multimap<std::size_t, ir::ModuleEntry> unread_;
  std::unordered_set<std::string> given_;  // names that a finish took and the module may not show
  Finish finish_;
};

}  // namespace rldb::passes
