// CodeMap: an executable as seen by its user: the binding that an instruction belongs to, where bindings start, and
// what was certainly executed before a place.
//
// A user binding is one of a function as it was written (loaded or entered; the passes applied since do not matter),
// or, for an executable from a file, one source location of its debug info. Lowered code refers back to it by
// provenance, else by span. Code that serves several bindings (a fused kernel, a merged common subexpression) has a
// group of them, in text order. The start of a group is its first instruction in a function: the only place in it where
// stepping stops, once per binding. An executable without debug info has no bindings; then every instruction is a
// start. Code that was inlined more than once starts anew each time. Immutable once made. Users: the parts of Debugger.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

class FunctionTables;
class GroupResults;

struct UserBinding {
  std::string function;                  // in which it is written
  std::string name;                      // empty: a result without a name
  const ir::Binding* binding = nullptr;  // null: executable from a file, or a result
  std::uint32_t node = 0;                // of the binding, or of the result expression
  source::Span span;
  std::string file;  // name of its text; empty: not known
  std::uint32_t line = 0;
  int sequence = 0;  // bindings in the same branch, nested function or function body have the same
  int owner = -1;    // whose value contains that sequence; -1: a function as a whole
};

// Relative to a binding that runs next: `Perhaps` is in a branch that is behind, taken or not.
enum class BindingReach : std::uint8_t { Yes, Perhaps, No };

// A variable of the user and the register that holds it. Lowering renames: the tensor that a kernel fills for `lv` is
// called `alloc` in the code; it is `lv` from the instruction after the kernel's call on.
struct UserVariable {
  std::string name;
  std::uint32_t id;  // of the variable as written; 0: not known
  const bytecode::VariableRange* range;
  Pc begin;  // of the range, or later
};

class CodeMap {
 public:
  CodeMap(std::shared_ptr<const session::Build> build, session::Session& session);

  const bytecode::Executable& executable() const { return *build_->executable; }
  const std::shared_ptr<const session::Build>& build() const { return build_; }

  FunctionIndex function_of(Pc pc) const { return functions_[std::size_t(pc)]; }
  const std::string& function_name(Pc pc) const;
  // The bindings that an instruction serves; empty: code without a corresponding user binding.
  const std::vector<int>& group_of(Pc pc) const { return groups_[std::size_t(group_of_[std::size_t(pc)])]; }
  // The kernel that the group at a pc calls; empty: none, or more than one.
  std::string kernel_of_group(Pc pc) const;
  const UserBinding& binding(int i) const { return bindings_[std::size_t(i)]; }
  const std::vector<UserBinding>& bindings() const { return bindings_; }
  const vm::StopSet& starts() const { return starts_; }
  bool has_debug_info() const { return has_debug_info_; }
  // Starts of a binding, one for each function that has code for it.
  std::vector<Site> starts_of(int binding) const;
  bool has_code(int binding) const { return has_code_[std::size_t(binding)]; }
  // The binding of that name nearest to a place: the last one of its function at or before `at`, else the first one
  // after it. -1: there is none. `at` is a binding, or -1 for the start of every function.
  int find_binding(std::string_view function, std::string_view name, int at) const;
  // All bindings of that name, the nearest to a place first: a name may be bound in both branches of an `if`.
  std::vector<int> find_bindings(std::string_view function, std::string_view name, int at) const;
  // Of a binding in the function in which `here` runs next.
  BindingReach reached(int binding, int here) const;
  // Where a bytecode function begins for a user: its first binding, else its first instruction.
  Pc entry(FunctionIndex function) const;
  // The Ret instructions of a function.
  std::vector<Pc> returns(FunctionIndex function) const;
  // Every path from the function's entry to `later` has executed `earlier` before.
  bool runs_before(Pc earlier, Pc later) const;
  // The last binding of the function whose code starts at or before a pc; -1: there is none.
  int last_binding_before(Pc pc) const;
  // The binding of a variable; -1: a parameter, a symbolic variable.
  int binding_of_variable(const ir::Var* v) const;
  // The variable of which it is another name, `alloc` of `left = alloc`, or `a` of a kernel that overwrites `a` and
  // returns it; null: it is none.
  const ir::Var* alias_of(const ir::Var* v) const;
  // That variable of a kernel's result in place; null: it is none.
  const ir::Var* overwritten_by(const ir::Binding* b) const;
  // Has the program bindings that work in place? A callee may overwrite what its caller holds.
  bool overwrites() const;
  // Behind the last instruction of a function that computes the binding; -1: there is none.
  Pc computed_at(int binding, FunctionIndex function) const;
  // Where a variable has its value: of a written allocation, behind the first call that fills it.
  Pc value_begins(const UserVariable& v) const;
  bool has_variable(FunctionIndex function, std::uint32_t variable) const;
  // Some start of the binding's code lies on every path to `pc`.
  bool was_executed(int binding, Pc pc) const;
  // The binding of `function` that calls `callee`, if there is exactly one; else -1.
  int only_call(std::string_view function, std::string_view callee) const;
  // The functions as they were written, as a module.
  const ir::Module* written_module() const;
  // `part`: which binding of the group.
  Position position(Pc pc, int part = 0) const;
  const std::vector<UserVariable>& variables(FunctionIndex function) const { return variables_[std::size_t(function)]; }
  // Made when it is first asked for.
  const FunctionTables& tables(FunctionIndex function) const;

 private:
  void collect(std::string_view function, const ir::SeqExpr* body, int depth, int owner = -1);
  void add_binding(UserBinding u, const ir::Binding* b, int depth);
  void note_values(const ir::Expr* value, int binding, std::string_view function, int depth);
  int add(UserBinding b);
  void place(UserBinding& b);
  // The nearest bindings among the origins of two nodes, nearest first.
  std::vector<int> by_provenance(std::uint32_t a, std::uint32_t b) const;
  int group(std::vector<int> bindings);
  void map_instructions();
  void leave_out_entries();
  void widen_groups();
  void map_locations();
  void mark_starts();
  // The part of an instruction in its binding.
  enum class Work : std::uint8_t { None, Memory, Result };
  Work work_at(Pc pc) const;
  // All its bindings are of another function than the code.
  bool is_inlined(Pc pc) const;
  void name_variables();
  // A register's user variable; nullopt: it holds none.
  std::optional<UserVariable> user_variable(const bytecode::VariableRange& v, const GroupResults& results) const;
  std::optional<UserVariable> result_variable(const bytecode::VariableRange& v, const GroupResults& results) const;
  std::optional<UserVariable> shared_variable(const bytecode::VariableRange& v, const std::vector<int>& group,
                                              const GroupResults& results) const;
  // The bindings that the code serves which gives a register its value: the call that made it, or that filled it.
  const std::vector<int>& group_filling(const bytecode::VariableRange& v) const;
  // The written variable from which a lowered one comes, itself included; null: there is none.
  const ir::Var* written_variable(const bytecode::VariableRange& v) const;
  // Where a register holds the binding's result: after the binding's last call that receives it.
  Pc filled_at(const bytecode::VariableRange& v, int binding) const;
  // By relative pc: an instruction dominates those numbered from its own number to `end`. -1: not reached.
  struct DominatorTree {
    std::vector<std::int64_t> number, end;
  };
  const DominatorTree& dominators(FunctionIndex function) const;

  std::shared_ptr<const session::Build> build_;
  session::Session& session_;
  std::vector<UserBinding> bindings_;
  int sequences_ = 0;
  std::unordered_map<std::uint32_t, int> by_node_;
  std::unordered_map<std::uint32_t, const ir::Var*> user_variables_;  // parameters and bound variables
  std::unordered_map<std::uint32_t, int> by_variable_;                // bindings by the variable's id
  // Of the functions as they are run: code for one, such as its check, is not code for the variable it comes from.
  std::unordered_set<std::uint32_t> parameters_;
  std::vector<ir::ModuleEntry> written_;
  mutable const ir::Module* written_module_ = nullptr;
  std::vector<FunctionIndex> functions_;
  std::vector<std::vector<int>> groups_{{}};  // 0: no binding
  std::map<std::vector<int>, int> group_numbers_;
  std::vector<int> group_of_;   // by pc
  std::vector<bool> has_code_;  // by binding
  vm::StopSet starts_;
  std::vector<std::vector<UserVariable>> variables_;  // by function
  bool has_debug_info_ = false;
  mutable std::unordered_map<FunctionIndex, DominatorTree> dominators_;
  mutable std::unordered_map<FunctionIndex, std::shared_ptr<const FunctionTables>> tables_;
};

}  // namespace rldb::debug
