// Functions that passes add to a module: one structurally equal to an existing function is not added again.
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
  // Functions of `module` take part in sharing.
  FunctionTable(ir::Context& ctx, const ir::Module* module, ir::ModuleBuilder& builder);
  // Gives a new function the name and form it gets in the module; `name` is unique among the functions added so far.
  using Finish = std::function<ir::ModuleEntry(const ir::Function* function, std::string_view name)>;
  void set_finish(Finish finish) { finish_ = std::move(finish); }
  // The name of the function, `hint` when it is free.
  const ir::GlobalVar* add(const ir::Expr* function, std::string_view hint);

 private:
  ir::Context& ctx_;
  ir::ModuleBuilder& builder_;
  std::string_view free_name(std::string_view hint);

  struct Known {
    const ir::Expr* function;  // as it was passed in
    ir::ModuleEntry entry;     // as the module has it
  };
  void read_entries_like(const ir::Function* function);

  std::unordered_multimap<std::uint64_t, Known> known_;  // by structural hash
  // Functions of the module not in known_ yet, by size: hashing a large one costs as much as the pass.
  std::unordered_multimap<std::size_t, ir::ModuleEntry> unread_;
  std::unordered_set<std::string> given_;  // names taken by a Finish that the module may not show
  Finish finish_;
};

}  // namespace rldb::passes
