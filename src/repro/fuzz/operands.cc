// Maker: operands that meet conditions, and choices of shapes, dtypes and axes.
#include <fmt/format.h>

#include "repro/fuzz/maker.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/scalar.h"
#include "rldb/runtime/value.h"
#include "rldb/support/check.h"

namespace rldb::repro {

using ir::as;
using ir::DType;

namespace {

constexpr std::int64_t kMostSymbolic = 40, kMostOfConstant = 256, kMostOfShape = 1200;
constexpr std::size_t kMostParams = 7;

// With every variable replaced by a number.
std::int64_t value_of(const ir::Expr* e, std::int64_t variable) {
  if (const auto n = ir::const_int(e)) return *n;
  if (as<ir::Var>(e)) return variable;
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b) return variable;
  const std::int64_t x = value_of(b->a, variable), y = value_of(b->b, variable);
  const ir::BinaryKind kind = b->op();
  if (kind == ir::BinaryKind::Add) return x + y;
  if (kind == ir::BinaryKind::Sub) return x - y;
  if (kind == ir::BinaryKind::Mul) return x * y;
  if (kind == ir::BinaryKind::FloorDiv) return y == 0 ? 0 : x / y;
  return kind == ir::BinaryKind::Min ? std::min(x, y) : std::max(x, y);
}

}  // namespace

double rounding_of(DType dtype) {
  if (!dtype.is_float()) return 0;
  if (dtype.is_bfloat16()) return 4e-3;
  return dtype.bits == 16 ? 5e-4 : dtype.bits == 64 ? 1e-15 : 6e-8;
}

Range moderate(DType dtype) {
  if (dtype.is_bool()) return {0, 1};
  if (dtype.is_uint()) return {0, dtype.bits == 8 ? 255.0 : 10'000.0};
  if (dtype.is_int()) return dtype.bits == 8 ? Range{-127, 127} : Range{-30'000, 30'000};
  if (dtype.is_bfloat16()) return {-8, 8};  // 8 bits of precision: a sum of larger ones is mostly rounding
  return dtype.bits == 16 ? Range{-64, 64} : Range{-5000, 5000};
}

std::int64_t most_of(const ir::Expr* dim) { return std::max(value_of(dim, 1), value_of(dim, kMostSymbolic)); }
std::int64_t least_of(const ir::Expr* dim) { return std::min(value_of(dim, 1), value_of(dim, kMostSymbolic)); }

std::int64_t most_elements(const ir::TensorType* t) {
  std::int64_t all = 1;
  for (const ir::Expr* d : t->shape) all *= std::clamp<std::int64_t>(most_of(d), 0, 1 << 20);
  return std::abs(all);
}

bool is_static(const ir::TensorType* t) {
  return t->has_shape &&
         std::all_of(t->shape.begin(), t->shape.end(), [](const ir::Expr* d) { return ir::const_int(d).has_value(); });
}

Dims dims_of(const ir::TensorType* t) { return {t->shape.begin(), t->shape.end()}; }
bool same_dim(const ir::Expr* a, const ir::Expr* b) { return a == b || ir::expr_equal(a, b); }
bool same_dims(const Dims& a, const Dims& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_dim);
}

// ---- choices ----

DType Maker::dtype(Kind kind) {
  switch (kind) {
    case Kind::Bool:
      return DType::Bool();
    case Kind::Float:
      return one_of(setting_.floats);
    case Kind::Int:
      return one_of(setting_.ints);
    case Kind::Signed:
    case Kind::Number:
      return random.one_in(4) ? one_of(setting_.ints) : one_of(setting_.floats);
    case Kind::Any:
      return random.one_in(12) ? DType::Bool() : dtype(Kind::Number);
  }
  RLDB_UNREACHABLE("kind of a dtype");
}

const ir::Expr* Maker::dim() {
  if (!symbols_.empty() && random.one_in(3)) return some_symbol();
  return ctx.i64(size());
}

Dims Maker::shape(int min_ndim, int max_ndim) {
  const int most = std::max(min_ndim, std::min(max_ndim, 4));
  const std::size_t n = std::size_t(min_ndim) + random.below(std::size_t(most - min_ndim + 1));
  Dims dims;
  for (std::size_t i = 0; i < n; ++i) dims.push_back(dim());
  for (std::size_t i = 0; i < n && most_elements(ctx.tensor(dims, DType::Float(32))) > kMostOfShape; ++i)
    dims[i] = ctx.i64(1 + std::int64_t(random.below(2)));
  return dims;
}

std::int64_t Maker::axis_of(int ndim) { return either(int(random.below(std::size_t(ndim))), ndim); }

std::vector<std::int64_t> Maker::axes_of(int ndim) {
  std::vector<std::int64_t> all;
  for (int i = 0; i < ndim; ++i) all.push_back(either(i, ndim));
  for (std::size_t i = all.size(); i-- > 1;) std::swap(all[i], all[random.below(i + 1)]);
  if (!all.empty()) all.resize(1 + random.below(all.size()));
  return all;
}

// ---- values ----

bool Maker::meets(const Wanted& w, const Known& v) const {
  if (v.ndim() < w.min_ndim || v.ndim() > w.max_ndim || (w.exact && !v.exact)) return false;
  const DType t = v.dtype();
  switch (w.kind) {
    case Kind::Float:
      if (!t.is_float()) return false;
      break;
    case Kind::Int:
      if (!t.is_int() && !t.is_uint()) return false;
      break;
    case Kind::Signed:
      if (!t.is_float() && !t.is_int()) return false;
      break;
    case Kind::Bool:
      if (!t.is_bool()) return false;
      break;
    case Kind::Number:
      if (t.is_bool()) return false;
      break;
    case Kind::Any:
      break;
  }
  return !w.also || w.also(v);
}

// Newer values are chosen more often: passes work on chains.
std::optional<Known> Maker::find(const std::function<bool(const Known&)>& fits) {
  std::vector<const Known*> all;
  for (const Known& v : pool_)
    if (fits(v)) all.push_back(&v);
  if (all.empty()) return std::nullopt;
  const std::size_t n = all.size();
  return *all[n - 1 - std::min(random.below(n), random.below(n))];
}

Known Maker::operand(const Wanted& wanted) {
  const std::optional<Known> preferred = std::exchange(preferred_, std::nullopt);
  if (preferred && meets(wanted, *preferred)) return within(*preferred, wanted.within);
  const bool wants_new = random.one_in(8);
  if (!wants_new)
    if (const auto found = find([&](const Known& v) { return meets(wanted, v); })) return within(*found, wanted.within);
  constexpr std::size_t kTries = 20;
  for (std::size_t i = 0; i < kTries; ++i) {
    const DType t = dtype(wanted.kind);
    if (wanted.kind == Kind::Signed && t.is_uint()) continue;
    const Dims dims = shape(wanted.min_ndim, wanted.max_ndim);
    const Known like{nullptr, ctx.tensor(dims, t), {}, true, 0};
    if (!meets(wanted, like)) continue;
    return fresh(dims, t, wanted.within);
  }
  return fresh(Dims(std::size_t(wanted.min_ndim), ctx.i64(4)),
               wanted.kind == Kind::Bool  ? DType::Bool()
               : wanted.kind == Kind::Int ? DType::Int(32)
                                          : DType::Float(32),
               wanted.within);
}

Known Maker::of(const Dims& shape, DType dtype, Range range, bool exact) {
  const auto fits = [&](const Known& v) {
    return v.dtype() == dtype && (!exact || v.exact) && same_dims(dims_of(v.type), shape);
  };
  if (!random.one_in(5))
    if (const auto found = find(fits)) return within(*found, range);
  return fresh(shape, dtype, range);
}

Known Maker::make(const Dims& shape, DType dtype, Range range) {
  const ir::TensorType* type = ctx.tensor(shape, dtype);
  const bool may_be_constant = is_static(type) && most_elements(type) <= kMostOfConstant;
  if (may_be_constant && (in_branch() || params_.size() >= kMostParams || random.one_in(3))) {
    const Range r = dtype.is_bool()       ? Range{0, 1}
                    : dtype.is_integral() ? range & (dtype.is_uint() ? Range{0, 9} : Range{-9, 9})
                                          : range & Range{-2, 2};
    const Range used = r.low <= r.high ? r : range;
    if (dtype.is_integral()) return integers(shape, dtype, std::int64_t(used.low), std::int64_t(used.high));
    Random own(random.next());
    const auto at = [&](std::size_t) {
      return used.low + (used.high - used.low) * double(own.next() >> 11) / double(1ull << 53);
    };
    return constant(shape, dtype, at, used);
  }
  std::vector<const ir::Var*> dims;
  ir::collect_vars(type, dims);
  const auto is_given = [&](const ir::Var* v) {
    return std::find(symbols_.begin(), symbols_.end(), v) != symbols_.end();
  };
  if (!std::all_of(dims.begin(), dims.end(), is_given)) {
    // A `match_cast` gives the dim its value: inputs cannot know it.
    const Known value = make({}, dtype, range);
    if (const auto full = emit(op::Full, {ctx.shape(shape), value.var}, {}, {value.range, value.exact, value.error}))
      return *full;
  }
  return add_param(fmt::format("x{}", params_.size()), type);
}

Known Maker::fresh(const Dims& shape, DType dtype, Range range) { return within(make(shape, dtype, range), range); }

Known Maker::constant(const Dims& shape, DType dtype, const std::function<double(std::size_t)>& at, Range range) {
  std::vector<std::int64_t> sizes;
  for (const ir::Expr* d : shape) sizes.push_back(*ir::const_int(d));
  auto made = runtime::Tensor::empty(std::move(sizes), dtype);
  RLDB_CHECK(made.ok(), "a small tensor");
  runtime::Tensor& t = **made;
  for (std::int64_t i = 0; i < t.element_count(); ++i)
    runtime::store_double(t.data() + std::size_t(i) * dtype.bytes(), dtype, at(std::size_t(i)));
  const ir::Constant* c = ctx.constant(runtime::Value(*made));
  Known known{bind(c), as<ir::TensorType>(c->type), range, true, 0};
  pool_.push_back(known);
  return known;
}

Known Maker::integers(const Dims& shape, DType dtype, std::int64_t low, std::int64_t high) {
  const auto at = [&](std::size_t) { return double(low + std::int64_t(random.below(std::size_t(high - low + 1)))); };
  return constant(shape, dtype, at, {double(low), double(high)});
}

Known Maker::within(const Known& v, Range range) {
  if (range.contains(v.range) || v.dtype().is_bool()) return v;
  const bool whole = v.dtype().is_integral();
  const Range kept{whole ? std::ceil(range.low) : range.low, whole ? std::floor(range.high) : range.high};
  const auto bound = [&](double x) -> const ir::Expr* {
    const double nearest = std::clamp(x, -1e9, 1e9);
    return whole ? static_cast<const ir::Expr*>(ctx.i64(std::int64_t(nearest)))
                 : ctx.float_imm(DType::Float(64), nearest);
  };
  const auto cut = emit(op::Clip, {v.var, bound(kept.low), bound(kept.high)}, {},
                        {{std::clamp(v.range.low, kept.low, kept.high), std::clamp(v.range.high, kept.low, kept.high)},
                         v.exact,
                         v.error});
  return cut ? *cut : v;
}

}  // namespace rldb::repro
