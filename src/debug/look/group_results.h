// Which of several bindings that one piece of code serves a register holds: of those that were fused, one whose value
// is used outside of the group. Users: CodeMap.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "debug/look/code_map.h"

namespace rldb::debug {

class GroupResults {
 public:
  // Of functions as they were written.
  GroupResults(const std::vector<UserBinding>& bindings, const std::vector<ir::ModuleEntry>& written);

  // The binding of the group whose value a register with this printed type can hold; -1: it is not known which.
  int result_of(const std::vector<int>& group, std::string_view type) const;

 private:
  bool is_used_outside(int binding, const std::vector<int>& group) const;

  static constexpr int kResult = -1;  // of a function, a branch, a nested function
  const std::vector<UserBinding>& bindings_;
  std::unordered_map<std::uint32_t, std::vector<int>> users_;  // of a variable
};

// A register with that printed type can hold a value of the type: the same kind, and no constant dimension that
// differs. Passes may have another dtype and other names of symbols.
bool is_of_one_kind(const ir::Type* type);  // a tensor, shape or tuple: what its registers print begins alike
bool can_hold(std::string_view printed, const ir::Type* type);

}  // namespace rldb::debug
