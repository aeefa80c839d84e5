// Reads of expressions, choices and lets included.
#include "debug/provenance/reads.h"

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/walk.h"

namespace rldb::debug {

using ir::as;

namespace {

struct Choice {
  const ir::Expr *condition, *yes, *no;
};

std::optional<Choice> choice_of(const ir::Node* n) {
  if (const auto* s = as<ir::SelectExpr>(n)) return Choice{s->cond, s->true_value, s->false_value};
  const auto* call = as<ir::Call>(n);
  if (call && ir::is_call_of(call, ir::intrin::IfThenElse)) return Choice{call->args[0], call->args[1], call->args[2]};
  return std::nullopt;
}

}  // namespace

bool has_loads(const ir::Expr* e) {
  bool found = false;
  ir::walk(e, [&](const ir::Node* n) {
    found = found || as<ir::BufferLoad>(n);
    return !found;
  });
  return found;
}

bool collect_indices(ir::Span<const ir::Expr*> indices, const ReadScope& scope, std::vector<KernelRead>& out) {
  bool known = true;
  for (const ir::Expr* i : indices) known = collect_reads(i, ReadRole::Index, nullptr, scope, out) && known;
  return known;
}

bool collect_reads(const ir::Expr* e, ReadRole role, const ir::Expr* condition, const ReadScope& scope,
                   std::vector<KernelRead>& out) {
  bool known = true;
  ir::walk(e, [&](const ir::Node* n) {
    if (const auto* load = as<ir::BufferLoad>(n)) {
      const auto place = scope.place(load->buffer, load->indices);
      known = known && place;
      if (place) out.push_back({*place, role, condition});
      known = collect_indices(load->indices, scope, out) && known;
      return false;
    }
    if (const auto* v = as<ir::Var>(n)) {
      const std::vector<KernelRead>* bound = scope.bound ? scope.bound(v) : nullptr;
      for (std::size_t i = 0; bound && i < bound->size(); ++i) {
        out.push_back((*bound)[i]);
        if (out.back().role == ReadRole::Value) out.back().role = role, out.back().condition = condition;
      }
      if (bound) return false;
      if (const ir::Expr* value = scope.let(v)) known = collect_reads(value, role, condition, scope, out) && known;
      return false;
    }
    if (const auto* b = as<ir::BinaryExpr>(n); b && (b->op() == ir::BinaryKind::And || b->op() == ir::BinaryKind::Or)) {
      known = collect_reads(b->a, role, condition, scope, out) && known;
      // The right side is read only where the left one does not decide.
      const auto left = scope.value(b->a);
      if (left && (*left != 0) == (b->op() == ir::BinaryKind::Or)) return false;
      known = collect_reads(b->b, role, condition, scope, out) && known;
      return false;
    }
    const auto choice = choice_of(n);
    if (!choice) return true;
    known = collect_reads(choice->condition, ReadRole::Condition, choice->condition, scope, out) && known;
    const auto yes = scope.value(choice->condition);
    known = known && yes;
    if (yes) known = collect_reads(*yes ? choice->yes : choice->no, role, condition, scope, out) && known;
    return false;
  });
  return known;
}

}  // namespace rldb::debug
