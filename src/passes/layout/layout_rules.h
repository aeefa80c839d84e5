// How operators accept other layouts of their operands.
#pragma once

#include <functional>
#include <unordered_map>

#include "passes/layout/layout.h"

namespace rldb::passes {

// Wanted layouts by operator: of the data, of the weights, of the result.
using WantedLayouts = std::unordered_map<std::string, std::vector<std::string>>;

// A call whose operands are stored in other layouts.
struct LayoutDecision {
  std::vector<Layout> operands;         // of the first arguments; the rest are unchanged
  std::vector<Layout> items;            // of the items of the first argument, when it is a literal tuple
  std::vector<const ir::Expr*> others;  // replace the arguments after `operands`, where a rule changes them
  ir::Span<ir::NamedAttr> attrs;
  Layout result;
  std::vector<Layout> fields;  // of the result, when that is a tuple
};

struct LayoutQuery {
  ir::Context& ctx;
  const ir::Call* call;  // the original one, operands with their original types
  const WantedLayouts& wanted;
  std::function<Layout(const ir::Expr*)> layout_of;  // the current layout of an operand
};

// Nullopt: the operator needs its operands in their original layouts.
std::optional<LayoutDecision> decide_layout(const LayoutQuery& q);

using LayoutRule = std::optional<LayoutDecision> (*)(const LayoutQuery& q);
// Functions named by the rows of class.def and rule.def.
namespace layout_rule {
#define RLDB_OP_CLASS(id, infer, shard, layout, gradient, legalise, mixed, in_place, pattern, doc) \
  std::optional<LayoutDecision> layout(const LayoutQuery& q);
#include "rldb/ir/op/class.def"
#define RLDB_OP_LAYOUT(Op, function) std::optional<LayoutDecision> function(const LayoutQuery& q);
#include "rldb/ir/op/rule.def"
}  // namespace layout_rule

}  // namespace rldb::passes
