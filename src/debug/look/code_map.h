// CodeMap: an executable seen as its user wrote it: which binding an instruction belongs to, where bindings start,
// what was certainly executed before a place.
//
// A user binding is one of the module version that was built (or, for an executable from a file, one source location
// of its debug info). Lowered code points back to it by provenance, else by span. The start of a binding is its first
// instruction in a function: the only place of it where stepping stops. An executable without debug info has no
// bindings; then every instruction is a start. Immutable once made. Users: the parts of Debugger.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

struct UserBinding {
  std::string function;                  // that it is written in
  std::string name;                      // empty: a result without a name
  const ir::Binding* binding = nullptr;  // null: executable from a file, or a result
  std::uint32_t node = 0;                // of the binding, or of the result expression
  source::Span span;
  std::string file;  // name of its text; empty: not known
  std::uint32_t line = 0;
};

// A variable of the user and the register that holds it. Lowering renames: the tensor that a kernel fills for `lv` is
// called `alloc` in the code; it is `lv` from the instruction after the kernel's call on.
struct UserVariable {
  std::string name;
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
  // -1: code that no binding of the user stands for.
  int binding_of(Pc pc) const { return binding_of_[std::size_t(pc)]; }
  const UserBinding& binding(int i) const { return bindings_[std::size_t(i)]; }
  const std::vector<UserBinding>& bindings() const { return bindings_; }
  const vm::StopSet& starts() const { return starts_; }
  bool has_debug_info() const { return has_debug_info_; }
  // Starts of a binding, one a function that it became code in.
  std::vector<Pc> starts_of(int binding) const;
  // Where a bytecode function begins for a user: its first binding, else its first instruction.
  Pc entry(FunctionIndex function) const;
  // The Ret instructions of a function.
  std::vector<Pc> returns(FunctionIndex function) const;
  // Every way from the function's entry to `later` has run `earlier` before.
  bool runs_before(Pc earlier, Pc later) const;
  Position position(Pc pc) const;
  const std::vector<UserVariable>& variables(FunctionIndex function) const { return variables_[std::size_t(function)]; }

 private:
  void collect(std::string_view function, const ir::SeqExpr* body, int depth);
  void add_binding(std::string_view function, const ir::Binding* b, int depth);
  void note_values(const ir::Expr* value, int binding, std::string_view function, int depth);
  int add(UserBinding b);
  void place(UserBinding& b);
  int by_provenance(std::uint32_t a, std::uint32_t b) const;
  void map_instructions();
  void map_locations();
  void mark_starts();
  void name_variables();
  bool is_user_variable(const bytecode::VariableRange& v) const;
  std::optional<UserVariable> result_variable(const bytecode::VariableRange& v) const;
  const std::vector<std::int64_t>& dominators(FunctionIndex function) const;

  std::shared_ptr<const session::Build> build_;
  session::Session& session_;
  std::vector<UserBinding> bindings_;
  std::unordered_map<std::uint32_t, int> by_node_;
  std::unordered_map<std::uint32_t, std::uint32_t> user_variables_;  // ids of parameters and bound variables
  std::vector<FunctionIndex> functions_;
  std::vector<int> binding_of_;
  vm::StopSet starts_;
  std::vector<std::vector<UserVariable>> variables_;  // by function
  bool has_debug_info_ = false;
  mutable std::unordered_map<FunctionIndex, std::vector<std::int64_t>>
      dominators_;  // per function: immediate dominator, relative
};

}  // namespace rldb::debug
