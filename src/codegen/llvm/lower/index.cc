// Indices in 64 bits, and what is known of an expression ahead of its value: its sign, its width, its faults.
#include <bit>

#include "codegen/llvm/lower/depth.h"
#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/scalar.h"

namespace rldb::codegen {

using ir::as;
using ir::BinaryKind;

Lowering::Value* Lowering::to_index(Value* v, DType t) {
  llvm::Type* word = value_type(DType::Int(64), v->getType()->isVectorTy() ? lanes_of(v) : 0);
  return b_.CreateIntCast(v, word, t.is_int());
}

// In 64 bits throughout: an int32 index that would wrap is out of bounds anyway. Checked code computes as written.
Lowering::Value* Lowering::index(const ir::Expr* e) {
  DepthGuard guard(depth_, "an expression is nested too deeply");
  const DType t = e->dtype().element();
  if (const auto* i = as<ir::IntImm>(e)) return i64(i->value);
  if (const auto* v = as<ir::Var>(e)) {
    const auto it = vars_.find(v);
    if (it != vars_.end() && lane0_ && it->second.base) return it->second.base;
    if (it != vars_.end() && it->second.wide) return it->second.wide;
  }
  if (!checked() || wide_) {
    if (const auto* b = as<ir::BinaryExpr>(e); b && t.is_int()) {
      if (b->kind == BinaryKind::Add || b->kind == BinaryKind::Sub || b->kind == BinaryKind::Mul) {
        Value* x = index(b->a);
        Value* y = index(b->b);
        unify(x, y);
        const bool exact = counts(b);
        if (b->kind == BinaryKind::Add) return b_.CreateAdd(x, y, "", false, exact);
        if (b->kind == BinaryKind::Sub) return b_.CreateSub(x, y, "", false, exact);
        return b_.CreateMul(x, y, "", false, exact);
      }
      if (b->kind == BinaryKind::FloorDiv || b->kind == BinaryKind::FloorMod || b->kind == BinaryKind::Div ||
          b->kind == BinaryKind::Mod) {
        if (Value* lanes = divide_lanes(b)) return lanes;
        Value* x = index(b->a);
        Value* y = index(b->b);
        unify(x, y);
        const auto wide = restore_later(wide_, true);  // this one is
        return divide(b->op(), x, y, false, non_negative(b->a));
      }
    }
    if (const auto* c = as<ir::CastExpr>(e); c && t.is_int() && t.bits == 64 && c->value->dtype().is_int())
      return index(c->value);
  }
  return to_index(value(e), t);
}

// Lanes that are equally far apart, by a number: the first is divided as a scalar, and what the others are beyond its
// remainder in 32 bits. Vectors of 64 bits have no instruction for the upper half of a product, which LLVM replaces a
// quotient by: 16 lanes of one take 200 instructions. Null: they are not.
Lowering::Value* Lowering::divide_lanes(const ir::BinaryExpr* e) {
  constexpr std::int64_t kMost = 1 << 30;
  if (!widened_ || lane0_) return nullptr;
  const bool remainder = e->kind == BinaryKind::FloorMod;
  if (!remainder && e->kind != BinaryKind::FloorDiv) return nullptr;
  const std::int64_t by = ir::const_int(e->b).value_or(0);
  const auto step = lane_step(e->a);
  if (by < 2 || by >= kMost || (by & (by - 1)) == 0 || !step || *step <= 0 || *step >= kMost / widened_lanes_)
    return nullptr;
  // A dividend that may wrap does so between two lanes.
  if (!counts(e->a)) return nullptr;
  const auto in_64_bits = restore_later(wide_, true);
  const auto first = [&] {
    const auto lane = restore_later(lane0_, true);
    return index(e->a);
  }();
  const bool non_negative_first = non_negative(e->a);
  Value* number = i64(by);
  Value* quotient = divide(BinaryKind::FloorDiv, first, number, false, non_negative_first);
  Value* rest = divide(BinaryKind::FloorMod, first, number, false, non_negative_first);
  std::vector<llvm::Constant*> steps;
  for (unsigned i = 0; i < widened_lanes_; ++i) steps.push_back(b_.getInt32(unsigned(*step) * i));
  Value* lanes = b_.CreateAdd(splat(b_.CreateTrunc(rest, b_.getInt32Ty()), widened_lanes_),
                              llvm::ConstantVector::get(steps), "", true, true);
  Value* divisor = splat(b_.getInt32(unsigned(by)), widened_lanes_);
  llvm::Type* wide = value_type(DType::Int(64), widened_lanes_);
  if (remainder) return b_.CreateZExt(b_.CreateURem(lanes, divisor), wide);
  return b_.CreateAdd(splat(quotient, widened_lanes_), b_.CreateZExt(b_.CreateUDiv(lanes, divisor), wide), "", false,
                      true);
}

Lowering::Value* Lowering::wide_index(const ir::Expr* e) {
  const auto wide = restore_later(wide_, true);
  return index(e);
}

// Whether an integer is computed from numbers, loops' variables and dims alone: it counts elements, so that 64 bits
// hold it and what it is computed from. Data may be anything: `-A[i] % 6` wraps for the least integer.
bool Lowering::counts(const ir::Expr* e, int depth) {
  if (depth > 40) return false;
  // A number near the limits is none that elements have.
  constexpr std::int64_t kMostNumber = std::int64_t(1) << 62;
  if (const auto* n = as<ir::IntImm>(e)) return n->value < kMostNumber && n->value > -kMostNumber;
  if (const auto* v = as<ir::Var>(e)) {
    const auto it = vars_.find(v);
    return it == vars_.end() || it->second.counts;
  }
  if (const auto* c = as<ir::CastExpr>(e)) return c->value->dtype().is_integral() && counts(c->value, depth + 1);
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b || !e->dtype().is_int()) return false;
  // A remainder by a size is one, whatever is divided.
  const bool remainder = b->kind == BinaryKind::FloorMod || b->kind == BinaryKind::Mod;
  return counts(b->b, depth + 1) && (remainder || counts(b->a, depth + 1));
}

// Bits that a non-negative integer may need. A product of several variables counts elements, and there are not so many,
// so that each is taken for a short one.
int Lowering::significant_bits(const ir::Expr* e, int depth) {
  constexpr int kCount = 15;
  const int all = e->dtype().bits;
  if (depth > 40) return all;
  if (const auto* i = as<ir::IntImm>(e)) return std::bit_width(std::uint64_t(i->value));
  if (as<ir::Var>(e)) return counts(e) ? std::min(kCount, all) : all;
  if (const auto* c = as<ir::CastExpr>(e)) return std::min(significant_bits(c->value, depth + 1), all);
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b) return all;
  const auto left = [&] { return significant_bits(b->a, depth + 1); };
  const auto right = [&] { return significant_bits(b->b, depth + 1); };
  switch (b->op()) {
    case BinaryKind::Add:
      return std::max(left(), right()) + 1;
    case BinaryKind::Mul:
      return left() + right();
    case BinaryKind::Min:
    case BinaryKind::FloorDiv:
    case BinaryKind::Div:
      return left();
    case BinaryKind::FloorMod:
      return right();
    case BinaryKind::Max:
      return std::max(left(), right());
    case BinaryKind::Mod:
    case BinaryKind::Sub:
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
      break;
  }
  return all;
}

bool Lowering::non_negative(const ir::Expr* e, int depth) {
  if (depth > 40) return false;
  if (const auto* i = as<ir::IntImm>(e)) return i->value >= 0;
  if (e->dtype().is_uint() || e->dtype().is_bool()) return true;
  if (const auto* v = as<ir::Var>(e)) {
    const auto it = vars_.find(v);
    return it != vars_.end() && it->second.non_negative;
  }
  if (const auto* c = as<ir::CastExpr>(e)) {
    const DType from = c->value->dtype();
    // The highest bit of an unsigned number becomes the sign of a signed one of the same width.
    const int room = c->dtype().bits - (from.is_int() ? 0 : 1);
    return from.is_integral() && room >= from.bits && non_negative(c->value, depth + 1);
  }
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b || !e->dtype().is_int()) return false;
  const auto both = [&] { return non_negative(b->a, depth + 1) && non_negative(b->b, depth + 1); };
  switch (b->op()) {
    case BinaryKind::Add:
    case BinaryKind::Mul:
      // A narrow type may wrap, and so may a wide one of large numbers.
      return (wide_ || e->dtype().bits >= 64) && both() && significant_bits(b->a) + significant_bits(b->b) < 63;
    case BinaryKind::FloorDiv:
    case BinaryKind::Div:
    case BinaryKind::Min:
      return both();
    case BinaryKind::Max:
      return non_negative(b->a, depth + 1) || non_negative(b->b, depth + 1);
    case BinaryKind::FloorMod:
      return non_negative(b->b, depth + 1);
    case BinaryKind::Mod:
      return non_negative(b->a, depth + 1);
    case BinaryKind::Sub:
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
      break;  // comparisons are bool; a difference may be anything
  }
  return false;
}

// No load, no fault, no effect, and cheap: may be computed even if its value is not needed.
bool Lowering::speculable(const ir::Expr* e, int depth) {
  if (depth > 6) return false;
  if (as<ir::Var>(e) || as<ir::IntImm>(e) || as<ir::FloatImm>(e)) return true;
  if (const auto* b = as<ir::BinaryExpr>(e)) {
    if (b->kind == BinaryKind::Div || b->kind == BinaryKind::Mod || b->kind == BinaryKind::FloorDiv ||
        b->kind == BinaryKind::FloorMod) {
      const auto divisor = ir::const_int(b->b);
      if (!e->dtype().is_float() && (!divisor || *divisor == 0)) return false;
    }
    return speculable(b->a, depth + 1) && speculable(b->b, depth + 1);
  }
  if (const auto* n = as<ir::NotExpr>(e)) return speculable(n->a, depth + 1);
  if (const auto* c = as<ir::CastExpr>(e)) return speculable(c->value, depth + 1);
  if (const auto* b = as<ir::Broadcast>(e)) return speculable(b->value, depth + 1);
  if (const auto* s = as<ir::SelectExpr>(e))
    return speculable(s->cond, depth + 1) && speculable(s->true_value, depth + 1) &&
           speculable(s->false_value, depth + 1);
  return false;
}

}  // namespace rldb::codegen
