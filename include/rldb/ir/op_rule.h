// A column of op/rule.def as a table: operator to entry.
#pragma once

#include <array>
#include <initializer_list>
#include <utility>

#include "rldb/ir/op_id.h"

namespace rldb::op {

template <class Rule>
class RuleTable {
 public:
  consteval RuleTable(std::initializer_list<std::pair<Id, Rule>> rows) {
    for (const auto& [id, rule] : rows) {
      if (rules_[std::size_t(id)]) throw "two rows for one operator";
      rules_[std::size_t(id)] = rule;
    }
  }
  // By full name. Null: the operator has no entry in this column.
  Rule find(std::string_view name) const {
    const Row* r = op::find(name);
    return r ? rules_[std::size_t(r->id)] : nullptr;
  }

 private:
  std::array<Rule, kCount> rules_{};
};

}  // namespace rldb::op
