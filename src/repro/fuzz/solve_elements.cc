// Solvers of operators on elements: of one, and of several with broadcasting.
#include "repro/fuzz/domain.h"
#include "repro/fuzz/solve.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/ir/op_class.h"
#include "rldb/ir/scalar.h"

namespace rldb::repro::solver {

using ir::DType;

namespace {

// A value that broadcasts with `a`: one that is there, or one with some of its dims.
Known partner(Maker& m, const Known& a, Range within, bool exact = false, bool same = false) {
  const Dims dims = dims_of(a.type);
  const auto fits = [&](const Known& b) {
    if (b.dtype() != a.dtype() || (exact && !b.exact) || b.var == a.var) return false;
    const Dims other = dims_of(b.type);
    if (same) return same_dims(dims, other);
    const std::size_t common = std::min(dims.size(), other.size());
    for (std::size_t i = 1; i <= common; ++i) {
      const ir::Expr *x = dims[dims.size() - i], *y = other[other.size() - i];
      if (!same_dim(x, y) && !ir::is_const(x, 1) && !ir::is_const(y, 1)) return false;
    }
    return true;
  };
  if (!m.random.one_in(4))
    if (const auto found = m.find(fits)) return m.within(*found, within);
  if (same) return m.fresh(dims, a.dtype(), within);
  Dims own(dims.begin() + std::ptrdiff_t(m.random.below(dims.size() + 1)), dims.end());
  for (const ir::Expr*& d : own)
    if (m.random.one_in(4)) d = m.ctx.i64(1);
  return m.fresh(own, a.dtype(), within);
}

bool emit_two(Maker& m, const ops::OpInfo& op, Known a, Known b, const Image& image) {
  return m.emit(op, {a.var, b.var}, {}, image).has_value();
}

// Operands may change sides: a smaller one first, too.
void maybe_swap(Maker& m, Known& a, Known& b) {
  if (m.flip()) std::swap(a, b);
}

}  // namespace

bool one_element(Maker& m, const ops::OpInfo& op) {
  const op::Row* row = op::find(op.name);
  const auto domain = row ? domain_of(row->id) : std::nullopt;
  if (!domain) return false;
  const op::Class c = op::class_of(row->id);
  const bool any = c == op::Class::Identity || c == op::Class::Storage;
  const bool floats = c == op::Class::FloatFunction || c == op::Class::Predicate || !domain->hull;
  const Known x = m.operand({any      ? Kind::Any
                             : floats ? Kind::Float
                                      : Kind::Signed,
                             0, 4, domain->operand, domain->steadiness == Steadiness::Jumps});
  std::vector<ir::NamedAttr> attrs;
  for (const ops::AttrInfo& a : op.attrs) {
    if (a.name == op_attr::Alpha) attrs.push_back(m.ctx.named(a.name, m.ctx.attr(0.25)));
    if (a.name == op_attr::Beta) attrs.push_back(m.ctx.named(a.name, m.ctx.attr(m.flip() ? 1.0 : 2.0)));
    if (a.name == op_attr::Threshold) attrs.push_back(m.ctx.named(a.name, m.ctx.attr(20.0)));
  }
  return m.emit(op, {x.var}, attrs, image_of(*domain, x)).has_value();
}

bool bits(Maker& m, const ops::OpInfo& op) {
  const bool logical = op::find(op.name)->id == op::Id::LogicalNot;
  const Known x = m.operand({logical || m.random.one_in(4) ? Kind::Bool : Kind::Int});
  const Range r = x.dtype().is_bool()   ? Range{0, 1}
                  : x.dtype().is_uint() ? moderate(x.dtype())
                                        : Range{-x.range.high - 1, -x.range.low - 1};
  return m.emit(op, {x.var}, {}, {r, true, 0}).has_value();
}

bool clip(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Number, 0, 4, moderate(DType::Float(32))});
  const bool whole = x.dtype().is_integral();
  const std::int64_t low = x.dtype().is_uint() ? 1 : -1 - std::int64_t(m.random.below(3));
  const std::int64_t high = low + 1 + std::int64_t(m.random.below(5));
  const auto bound = [&](std::int64_t v) -> const ir::Expr* {
    return whole ? static_cast<const ir::Expr*>(m.ctx.i64(v)) : m.ctx.float_imm(DType::Float(64), double(v) / 2);
  };
  const Range to = whole ? Range{double(low), double(high)} : Range{double(low) / 2, double(high) / 2};
  return m.emit(op, {x.var, bound(low), bound(high)}, {}, {to, x.exact, x.error}).has_value();
}

bool conversion(Maker& m, const ops::OpInfo& op) {
  DType to = m.dtype(Kind::Any);
  if (m.random.one_in(6)) to = DType::Float(m.flip() ? 16 : 64);
  const bool to_float = to.is_float();
  const Known x = m.operand({Kind::Any, 0, 4, moderate(to) & Range{-100, 100}, !to_float});
  // Of a fraction, truth and integer part jump; negative numbers do not become unsigned.
  const Range r = to.is_bool() ? Range{0, 1} : x.range;
  if (to.is_bool() && x.dtype().is_float()) return false;
  return m
      .emit(op, {x.var}, {m.ctx.named(op.attrs[0].name, m.ctx.attr(to))},
            {r, x.exact, x.error + rounding_of(to) * x.range.largest()})
      .has_value();
}

bool arithmetic(Maker& m, const ops::OpInfo& op) {
  const bool product = op.name == op::Multiply, minus = op.name == op::Subtract;
  Known a = m.operand({minus ? Kind::Signed : Kind::Number});
  const double room = moderate(a.dtype()).high;
  const double most = product ? std::floor(std::sqrt(room)) : std::floor(room / 2);
  const Range limit{a.dtype().is_uint() ? 0 : -most, most};
  a = m.within(a, limit);
  Known b = m.random.one_in(8) ? a : partner(m, a, limit);
  maybe_swap(m, a, b);
  const Range r = product ? times(a.range, b.range) : minus ? a.range - b.range : a.range + b.range;
  const double error = product ? a.error * b.range.largest() + b.error * a.range.largest() : a.error + b.error;
  return emit_two(m, op, a, b, {r, false, error});
}

bool division(Maker& m, const ops::OpInfo& op) {
  const auto id = op::find(op.name)->id;
  const bool jumps = id != op::Id::Divide;
  const Known a = m.operand({jumps ? Kind::Number : Kind::Float, 0, 4, Range{-100, 100}, jumps});
  const bool negative = !a.dtype().is_uint() && m.random.one_in(3);
  const Range divisors =
      a.dtype().is_float() ? (negative ? Range{-20, -0.5} : Range{0.5, 20}) : (negative ? Range{-9, -1} : Range{1, 9});
  const Known b = partner(m, a, divisors, jumps);
  const double most = id == op::Id::FloorMod || id == op::Id::Mod ? b.range.largest() : a.range.largest() * 2 + 1;
  const Range r{a.dtype().is_uint() ? 0 : -most, most};
  return emit_two(m, op, a, b, {r, jumps, 2 * a.error + 4 * a.range.largest() * b.error});
}

bool power(Maker& m, const ops::OpInfo& op) {
  const Known a = m.operand({Kind::Float, 0, 4, Range{0.2, 4}});
  const Known b = partner(m, a, Range{-2, 3});
  return emit_two(m, op, a, b, {{0.02, 64}, false, 130 * (a.error + b.error)});
}

bool shift(Maker& m, const ops::OpInfo& op) {
  const bool left = op::find(op.name)->id == op::Id::LeftShift;
  const Known a = m.operand({Kind::Int, 0, 4, left ? Range{0, 15} : Range{-100, 100}});
  const Known b = partner(m, a, {0, 3});
  return emit_two(m, op, a, b, {left ? Range{0, 120} : a.range | Range{0, 0}, true, 0});
}

bool bitwise(Maker& m, const ops::OpInfo& op) {
  const Known a = m.operand({m.random.one_in(4) ? Kind::Bool : Kind::Int, 0, 4, Range{-63, 63}});
  const Known b = partner(m, a, a.dtype().is_bool() ? Range{0, 1} : Range{-63, 63});
  const Range r = a.dtype().is_bool() ? Range{0, 1} : a.dtype().is_uint() ? Range{0, 63} : Range{-64, 63};
  return emit_two(m, op, a, b, {r, true, 0});
}

bool logical(Maker& m, const ops::OpInfo& op) {
  const Known a = m.operand({Kind::Bool});
  return emit_two(m, op, a, partner(m, a, {0, 1}), {{0, 1}, true, 0});
}

bool angle(Maker& m, const ops::OpInfo& op) {
  const Known a = m.operand({Kind::Float, 0, 4, Range{-20, 20}});
  const Known b = partner(m, a, {0.2, 20});
  return emit_two(m, op, a, b, {{-1.6, 1.6}, false, 5 * (a.error + b.error)});
}

bool log_sum(Maker& m, const ops::OpInfo& op) {
  const Known a = m.operand({Kind::Float, 0, 4, Range{-8, 8}});
  const Known b = partner(m, a, {-8, 8});
  return emit_two(m, op, a, b, {{-8, 8.7}, false, a.error + b.error});
}

bool larger(Maker& m, const ops::OpInfo& op) {
  Known a = m.operand({Kind::Number});
  Known b = partner(m, a, kEverything);
  maybe_swap(m, a, b);
  return emit_two(m, op, a, b, {a.range | b.range, a.exact && b.exact, a.error + b.error});
}

bool comparison(Maker& m, const ops::OpInfo& op) {
  Known a = m.operand({Kind::Number, 0, 4, kEverything, true});
  Known b = partner(m, a, kEverything, true);
  maybe_swap(m, a, b);
  return emit_two(m, op, a, b, {{0, 1}, true, 0});
}

bool where(Maker& m, const ops::OpInfo& op) {
  const Known a = m.operand({Kind::Number});
  const Known b = partner(m, a, kEverything);
  const auto condition = m.find([&](const Known& v) {
    return v.dtype().is_bool() && (v.ndim() == 0 || same_dims(dims_of(v.type), dims_of(a.type)));
  });
  const Known c = condition ? *condition : m.fresh(dims_of(a.type), DType::Bool(), {0, 1});
  return m.emit(op, {c.var, a.var, b.var}, {}, {a.range | b.range, a.exact && b.exact, a.error + b.error}).has_value();
}

bool fused_multiply(Maker& m, const ops::OpInfo& op) {
  const Known a = m.operand({Kind::Float, 1, 4, Range{-20, 20}});
  const Known b = partner(m, a, {-20, 20}, false, true), c = partner(m, a, {-20, 20}, false, true);
  const Range r = times(a.range, b.range) + c.range;
  return m.emit(op, {a.var, b.var, c.var}, {}, {r, false, 20 * (a.error + b.error) + c.error}).has_value();
}

}  // namespace rldb::repro::solver
