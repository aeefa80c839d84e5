#include "rldb/ir/arith.h"

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"

namespace rldb::ir {

struct Analyzer::Impl {
  Context& ctx;
};
Analyzer::Analyzer(Context& ctx) : impl_(std::make_unique<Impl>(Impl{ctx})) {}
Analyzer::~Analyzer() = default;
void Analyzer::bind(const Var*, Bounds) {}
void Analyzer::bind_range(const Var*, const Range&) {}
void Analyzer::bind_value(const Var*, const Expr*) {}
void Analyzer::assume(const Expr*) {}
const Expr* Analyzer::simplify(const Expr* e) { return e; }
bool Analyzer::prove_equal(const Expr* a, const Expr* b) { return expr_equal(a, b); }
bool Analyzer::prove(const Expr* condition) { return is_const(condition, 1); }
bool Analyzer::prove_different(const Expr* a, const Expr* b) {
  const auto x = const_int(a), y = const_int(b);
  return x && y && *x != *y;
}
Bounds Analyzer::bounds(const Expr* e) { return {const_int(e), const_int(e)}; }

bool prove_shapes_equal(Context&, std::span<const Expr* const> a, std::span<const Expr* const> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!expr_equal(a[i], b[i])) return false;
  return true;
}

}  // namespace rldb::ir
