// The extents of regions, which are written by their ends.
#include <algorithm>
#include <vector>

#include "frontend/script/tir/tir.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/regions.h"
#include "rldb/ir/scalar.h"

namespace rldb::frontend::script {

namespace {

// A sum of an integer dtype that the analyzer does not simplify, as its values may wrap. Terms that are on both sides
// of a difference cancel whether they do or not.
class Sum {
 public:
  void add(const ir::Expr* e, bool minus) {
    const auto* b = ir::as<ir::BinaryExpr>(e);
    if (b && (b->op() == ir::BinaryKind::Add || b->op() == ir::BinaryKind::Sub)) {
      add(b->a, minus);
      return add(b->b, minus != (b->op() == ir::BinaryKind::Sub));
    }
    const auto same = std::find_if(terms_.begin(), terms_.end(),
                                   [&](const Term& t) { return t.minus != minus && ir::structural_equal(t.value, e); });
    if (same != terms_.end())
      terms_.erase(same);
    else
      terms_.push_back({e, minus});
  }

  const ir::Expr* value(ir::Context& ctx, ir::DType dtype) const {
    const ir::Expr* out = nullptr;
    for (const bool minus : {false, true})
      for (const Term& t : terms_) {
        if (t.minus != minus) continue;
        const ir::Expr* left = out || !minus ? out : ctx.int_imm(dtype, 0);
        out = !left ? t.value : minus ? ir::sub(ctx, left, t.value) : ir::add(ctx, left, t.value);
      }
    return out ? out : ctx.int_imm(dtype, 0);
  }

 private:
  struct Term {
    const ir::Expr* value;
    bool minus;
  };
  std::vector<Term> terms_;
};

bool is_simplified(ir::DType t) { return t.is_int() && t.bits >= 32; }

}  // namespace

const ir::Expr* region_extent(Reader& r, const ir::Expr* begin, const ir::Expr* end) {
  if (ir::is_const(begin, 0)) return end;
  const ir::Expr* e = ir::sub(r.ctx, end, begin);
  if (ir::isa<ir::IntImm>(e)) return e;
  // Written as the printer does: the difference is not looked into, where minima and maxima could be joined.
  const auto* sum_of = ir::as<ir::BinaryExpr>(end);
  const bool written = sum_of && sum_of->op() == ir::BinaryKind::Add && ir::structural_equal(sum_of->a, begin);
  if (is_simplified(begin->dtype())) return ir::simplified_extent(r.ctx, written ? sum_of->b : e);
  if (written) return sum_of->b;
  Sum sum;
  sum.add(end, false);
  sum.add(begin, true);
  return sum.value(r.ctx, begin->dtype());
}

}  // namespace rldb::frontend::script
