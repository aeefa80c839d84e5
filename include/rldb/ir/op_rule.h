// A column of op/rule.def, and of the classes of op/class.def, as a table: operator to entry.
#pragma once

#include <array>
#include <initializer_list>
#include <utility>

#include "rldb/ir/op_class.h"
#include "rldb/ir/op_id.h"

namespace rldb::op {

// In the order of Id.
inline constexpr Class kClasses[] = {
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) Class::op_class,
#include "rldb/ir/op/op.def"
};

struct NoRule {
  Column column;
  Id id;
};
// The operators without a rule.
inline constexpr NoRule kNoRules[] = {
#define RLDB_OP_NONE(column, Op, reason) {Column::column, Id::Op},
#include "rldb/ir/op/rule.def"
};

// The cell of a class names a function.
constexpr bool is_rule(std::string_view cell) { return cell != "own" && cell != "none"; }

template <class Rule>
class RuleTable {
 public:
  consteval RuleTable(std::initializer_list<std::pair<Id, Rule>> rows) {
    for (const auto& [id, rule] : rows) {
      if (rules_[std::size_t(id)]) throw "two rows for one operator";
      rules_[std::size_t(id)] = rule;
    }
  }
  // The operators without a row have the rule of their class, unless a row says that they have none.
  consteval RuleTable(Column column, std::initializer_list<std::pair<Id, Rule>> rows,
                      std::initializer_list<std::pair<Class, Rule>> by_class)
      : RuleTable(rows) {
    std::array<bool, kCount> none{};
    for (const NoRule& n : kNoRules)
      if (n.column == column) none[std::size_t(n.id)] = true;
    for (const auto& [of, rule] : by_class)
      for (std::size_t i = 0; i < kCount; ++i)
        if (kClasses[i] == of && !rules_[i] && !none[i]) rules_[i] = rule;
  }
  // By full name. Null: the operator has no entry in this column.
  Rule find(std::string_view name) const {
    const Row* r = op::find(name);
    return r ? rules_[std::size_t(r->id)] : nullptr;
  }
  Rule find(const ir::Expr* callee) const {
    const Row* r = row_of(callee);
    return r ? rules_[std::size_t(r->id)] : nullptr;
  }

 private:
  std::array<Rule, kCount> rules_{};
};

}  // namespace rldb::op
