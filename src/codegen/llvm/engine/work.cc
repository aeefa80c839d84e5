#include "codegen/llvm/engine/work.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

namespace {

using ir::as;

constexpr double kEndless = std::numeric_limits<double>::infinity();

class Counter {
 public:
  Counter(const runtime::KernelSignature& signature, std::span<const std::int64_t> variables) {
    for (std::size_t i = 0; i < signature.variables.size(); ++i)
      values_[signature.variables[i]] = i < variables.size() ? double(variables[i]) : 1;
  }

  double count(const ir::Stmt* s, int depth = 0) {
    constexpr int kMaxDepth = 500;
    if (depth > kMaxDepth || ir::isa<ir::WhileStmt>(s)) return kEndless;
    if (const auto* loop = as<ir::ForStmt>(s)) {
      const double n = amount(loop->extent).value_or(kEndless);
      return n < 1 ? 0 : n * count(loop->body, depth + 1);
    }
    double sum = 1;
    ir::for_each_use(s, [&](const ir::Node* n) {
      if (const auto* inner = as<ir::Stmt>(n))
        sum += count(inner, depth + 1);
      else
        sum += operations(n);
    });
    return sum;
  }

 private:
  static double operations(const ir::Node* n) {
    constexpr double kCall = 10;
    double found = 0;
    ir::walk(n, [&](const ir::Node* part) {
      if (ir::isa<ir::Stmt>(part)) return false;
      found += ir::isa<ir::Call>(part) ? kCall : ir::isa<ir::BinaryExpr>(part) || ir::isa<ir::BufferLoad>(part) ? 1 : 0;
      return true;
    });
    return found;
  }

  // Of the variables by name: a namesake makes the count wrong, and nothing else.
  std::optional<double> amount(const ir::Expr* e, int depth = 0) const {
    constexpr int kMaxDepth = 100;
    if (const auto n = ir::const_int(e)) return double(*n);
    if (depth > kMaxDepth) return std::nullopt;
    if (const auto* v = as<ir::Var>(e)) {
      const auto it = values_.find(v->name);
      if (it == values_.end()) return std::nullopt;
      return it->second;
    }
    if (const auto* c = as<ir::CastExpr>(e)) return amount(c->value, depth + 1);
    const auto* b = as<ir::BinaryExpr>(e);
    if (!b) return std::nullopt;
    const auto x = amount(b->a, depth + 1), y = amount(b->b, depth + 1);
    using enum ir::BinaryKind;
    if (b->op() == Min && (!x || !y)) return x ? x : y;
    if (!x || !y) return std::nullopt;
    if (b->op() == Add) return *x + *y;
    if (b->op() == Sub) return *x - *y;
    if (b->op() == Mul) return *x * *y;
    if (b->op() == Min) return std::min(*x, *y);
    if (b->op() == Max) return std::max(*x, *y);
    if ((b->op() == Div || b->op() == FloorDiv) && *y != 0) return *x / *y;
    return std::nullopt;
  }

  std::unordered_map<std::string_view, double> values_;
};

}  // namespace

double work_of(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
               std::span<const std::int64_t> variables) {
  return Counter(signature, variables).count(f->body);
}

}  // namespace rldb::codegen
