// Collects constants, divisors and counts from the bodies of functions.
#include "repro/bisect/named_numbers.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "rldb/ir/stmt.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

namespace {

// More of each kind say little, and cost a run each.
constexpr std::size_t kMostFloats = 10, kMostIntegers = 10, kMostWidths = 8, kMostDivisors = 6;
constexpr std::int64_t kMostWidth = 1 << 14, kMostInteger = std::int64_t(1) << 40;
constexpr double kMostFloat = 1e5, kLeastFloat = 1e-3;

class Collector {
 public:
  void add(const ir::Module* module) {
    for (const ir::ModuleEntry& e : module->entries) {
      const ir::Expr* f = e.function;
      if (!done_.insert(f).second) continue;
      if (const auto* kernel = ir::as<ir::PrimFunc>(f)) walk(kernel->body);
      if (const auto* relax = ir::as<ir::Function>(f)) walk(relax->body);
    }
  }

  NamedNumbers found() const {
    NamedNumbers out;
    out.floats = first_of(floats_, kMostFloats);
    out.integers = first_of(integers_, kMostIntegers);
    out.widths = first_of(divisors_, kMostDivisors);
    for (const std::int64_t n : counts_)
      if (out.widths.size() < kMostWidths && !divisors_.contains(n)) out.widths.push_back(n);
    out.widths.insert(out.widths.end(), ranges_.begin(), ranges_.end());
    return out;
  }

 private:
  template <class T>
  static std::vector<T> first_of(const std::set<T>& from, std::size_t most) {
    std::vector<T> out(from.begin(), from.end());
    std::sort(out.begin(), out.end(), [](T a, T b) {
      return std::abs(a) != std::abs(b) ? std::abs(a) < std::abs(b) : a < b;  // of integers at most kMostInteger
    });
    if (out.size() > most) out.resize(most);
    return out;
  }

  void walk(const ir::Node* body) {
    ir::walk(body, [&](const ir::Node* n) {
      if (const auto* loop = ir::as<ir::ForStmt>(n)) add_width(counts_, loop->extent);
      if (const auto* f = ir::as<ir::FloatImm>(n)) add_float(f->value);
      if (const auto* c = ir::as<ir::Constant>(n)) add_constant(*c->value);
      if (const auto* s = ir::as<ir::BufferStore>(n)) {
        add_integer(s->value);  // where a reduction begins
        for (const ir::Expr* index : s->indices) add_range_of(index);
      }
      if (const auto* l = ir::as<ir::BufferLoad>(n))
        for (const ir::Expr* index : l->indices) add_range_of(index);
      if (const auto* b = ir::as<ir::BinaryExpr>(n)) {
        for (const ir::Expr* side : {b->a, b->b}) add_integer(side);
        if (turns(b->op()))
          for (const ir::Expr* side : {b->a, b->b}) add_width(divisors_, side);
      }
      return true;
    });
  }

  // Where its second operand is reached, something changes: a remainder, a comparison.
  static bool turns(ir::BinaryKind op) {
    using enum ir::BinaryKind;
    return op != Add && op != Sub && op != Mul && op != And && op != Or;
  }

  void add_width(std::set<std::int64_t>& to, const ir::Expr* e) {
    if (const auto* n = ir::as<ir::IntImm>(e); n && n->value > 2 && n->value <= kMostWidth) to.insert(n->value);
  }

  // An index of few bits wraps round where its range ends, which a longer dim reaches.
  void add_range_of(const ir::Expr* index) {
    constexpr int kFewBits = 16;
    ir::walk(index, [&](const ir::Node* n) {
      const auto* e = ir::as<ir::Expr>(n);
      const auto* type = e && e->type ? ir::as<ir::PrimType>(e->type) : nullptr;
      if (!type || type->dtype.lanes != 1 || type->dtype.bits < 8 || type->dtype.bits > kFewBits) return true;
      if (type->dtype.is_int() || type->dtype.is_uint())
        ranges_.insert(std::int64_t(1) << (type->dtype.bits - (type->dtype.is_int() ? 1 : 0)));
      return true;
    });
  }

  void add_integer(const ir::Expr* e) {
    constexpr std::int64_t kAnyway = 16;
    const auto* n = ir::as<ir::IntImm>(e);
    if (n && n->value >= -kMostInteger && n->value <= kMostInteger && (n->value > kAnyway || n->value < -kAnyway))
      integers_.insert(n->value);
  }

  void add_float(double v) {
    if (std::fabs(v) >= kLeastFloat && std::fabs(v) <= kMostFloat) floats_.insert(v);
  }

  void add_constant(const runtime::Value& value) {
    if (!value.is(runtime::ValueKind::Tensor)) return;
    const runtime::Tensor& t = value.as_tensor();
    if (t.element_count() != 1 || t.dtype().lanes != 1) return;
    if (t.dtype().is_float()) add_float(t.at(0));
  }

  std::set<const ir::Expr*> done_;
  std::set<double> floats_;
  std::set<std::int64_t> integers_, divisors_, counts_, ranges_;
};

}  // namespace

NamedNumbers named_numbers(const ir::Module* module) { return named_numbers(std::vector<const ir::Module*>{module}); }

NamedNumbers named_numbers(const std::vector<const ir::Module*>& modules) {
  Collector all;
  for (const ir::Module* m : modules) all.add(m);
  return all.found();
}

std::vector<std::int64_t> dims_around(const std::vector<std::int64_t>& widths, const std::vector<std::int64_t>& known) {
  std::vector<std::int64_t> out;
  for (const std::int64_t width : widths)
    for (const std::int64_t dim : {width, width + 1, width - 1, 2 * width - 1})
      if (std::find(known.begin(), known.end(), dim) == known.end() &&
          std::find(out.begin(), out.end(), dim) == out.end())
        out.push_back(dim);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace rldb::repro
