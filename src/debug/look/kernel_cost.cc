#include "debug/look/kernel_cost.h"

#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

namespace {

class KernelCounter {
 public:
  explicit KernelCounter(AmountOf vars) : vars_(std::move(vars)) {}

  void count(const ir::Stmt* s, const Amount& times, int depth = 0) {
    constexpr int kMaxDepth = 500;
    if (!s || depth > kMaxDepth) return;
    support::poll();
    if (const auto* loop = ir::as<ir::ForStmt>(s)) return count_loop(loop, times, depth);
    if (const auto* store = ir::as<ir::BufferStore>(s)) {
      cost.operations += times * Amount(operations_of(store->value));
      return;
    }
    if (const auto* block = ir::as<ir::SBlock>(s)) return count(block->body, times, depth + 1);
    // Nested statements: sequences, branches (each counted as if it were taken), attributes.
    ir::for_each_use(s, [&](const ir::Node* n) {
      if (const auto* inner = ir::as<ir::Stmt>(n)) count(inner, times, depth + 1);
    });
    if (ir::isa<ir::WhileStmt>(s)) cost.unknown = "a `while` loop (its body is counted once)";
  }

  KernelCost cost;

 private:
  void count_loop(const ir::ForStmt* loop, const Amount& times, int depth) {
    auto extent = amount_of(loop->extent, vars_);
    if (!extent) {
      cost.unknown = "a loop of unknown extent (its body is counted once)";
      extent = Amount(1);
    }
    // The mean of its values stands for the variable.
    Amount mean = amount_of(loop->min, vars_).value_or(Amount());
    mean += *extent * Amount(0.5);
    mean += Amount(-0.5);
    vars_[loop->var] = std::move(mean);
    count(loop->body, times * *extent, depth + 1);
  }

  // Arithmetic in a value; indices are addresses and do not count.
  static double operations_of(const ir::Expr* e) {
    double found = 0;
    ir::walk(e, [&](const ir::Node* n) {
      found += ir::isa<ir::BinaryExpr>(n) || ir::isa<ir::Call>(n);
      return !ir::isa<ir::BufferLoad>(n);
    });
    return found;
  }

  AmountOf vars_;
};

}  // namespace

KernelCost kernel_cost(const ir::PrimFunc* f, AmountOf vars) {
  KernelCounter counter(std::move(vars));
  counter.count(f->body, Amount(1));
  return std::move(counter.cost);
}

void bind_dims(AmountOf& vars, const ir::Buffer* buffer, const std::vector<Amount>& dims) {
  if (!buffer) return;
  for (std::size_t d = 0; d < buffer->shape.size() && d < dims.size(); ++d)
    if (const auto* v = ir::as<ir::Var>(buffer->shape[d])) vars.emplace(v, dims[d]);
}

}  // namespace rldb::debug
