// FunctionTables: facts about the code of one function that questions at a stop need and that no run changes. Made once
// for a function, so that a question costs what it asks for, not what the function has. Users: CodeMap, and those who
// ask about frames.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rldb/debug/debugger.h"
#include "rldb/debug/storage.h"

namespace rldb::debug {

class CodeMap;

class FunctionTables {
 public:
  FunctionTables(const CodeMap& map, FunctionIndex function);

  // The named ranges of a register, in the order of the debug info.
  const std::vector<const bytecode::VariableRange*>& ranges_of(bytecode::RegName reg) const;
  // The variable that a register holds at a pc; null: none. The innermost (latest begun) range wins.
  const bytecode::VariableRange* variable_at(bytecode::RegName reg, Pc pc) const;
  // The instructions that write slots of the shape heap.
  const std::vector<Pc>& slot_writers() const { return slot_writers_; }

  // Names of variables and bindings, as numbers below `name_count`.
  std::size_t name_count() const { return names_.size(); }
  std::string_view name(int number) const { return names_[std::size_t(number)]; }
  // -1: nothing has that name.
  int number_of(std::string_view name) const;
  // Of each row of CodeMap::variables.
  const std::vector<int>& variable_names() const { return variable_names_; }
  // The rows of CodeMap::variables with a name.
  const std::vector<int>& variables_named(int number) const { return variables_named_[std::size_t(number)]; }
  // Where a variable begins, and where a binding's code starts, in the order of the code.
  struct Named {
    Site site;
    int name;
    bool is_variable;
  };
  const std::vector<Named>& named() const { return named_; }

  // Null: not a bytecode function.
  const StoragePlan* plan() const { return plan_ ? &*plan_ : nullptr; }

 private:
  std::unordered_map<bytecode::RegName, std::vector<const bytecode::VariableRange*>> ranges_;
  std::vector<Pc> slot_writers_;
  std::vector<std::string_view> names_;  // the map has the texts
  std::unordered_map<std::string_view, int> numbers_;
  std::vector<int> variable_names_;
  std::vector<std::vector<int>> variables_named_;
  std::vector<Named> named_;
  std::optional<StoragePlan> plan_;
};

}  // namespace rldb::debug
