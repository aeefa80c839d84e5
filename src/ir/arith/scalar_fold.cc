// One operator on two literals, in every dtype, as the evaluator and compiled code compute it.
#include "ir/arith/scalar_fold.h"

#include <algorithm>

namespace rldb::ir {

namespace {

std::int64_t wrap(std::uint64_t v) { return static_cast<std::int64_t>(v); }
std::uint64_t bits(std::int64_t v) { return static_cast<std::uint64_t>(v); }

// uint64 literals above 2^63 are stored as negative numbers.
bool less(DType t, std::int64_t a, std::int64_t b) { return t.is_uint() ? bits(a) < bits(b) : a < b; }

std::int64_t trunc_div(DType t, std::int64_t a, std::int64_t b) {
  if (t.is_uint()) return wrap(bits(a) / bits(b));
  if (b == -1) return wrap(0 - bits(a));
  return a / b;
}
std::int64_t trunc_mod(DType t, std::int64_t a, std::int64_t b) {
  if (t.is_uint()) return wrap(bits(a) % bits(b));
  return b == -1 ? 0 : a % b;
}

}  // namespace

std::int64_t wrap_to(DType t, std::int64_t v) {
  if (t.is_bool()) return v != 0;
  if (t.bits >= 64 || t.bits == 0) return v;
  const std::uint64_t mask = (std::uint64_t(1) << t.bits) - 1;
  std::uint64_t low = bits(v) & mask;
  if (t.is_int() && (low >> (t.bits - 1)) != 0) low |= ~mask;
  return wrap(low);
}

std::optional<std::int64_t> fold_int(BinaryKind kind, DType t, std::int64_t a, std::int64_t b) {
  const auto fit = [t](std::int64_t v) { return std::optional<std::int64_t>(wrap_to(t, v)); };
  // Dimensions are int64, and a wrapped value would be a wrong answer for them: left unfolded.
  const bool exact = t.is_int() && t.bits == 64;
  std::int64_t whole = 0;
  switch (kind) {
    case BinaryKind::Add:
      if (exact && __builtin_add_overflow(a, b, &whole)) return std::nullopt;
      return fit(wrap(bits(a) + bits(b)));
    case BinaryKind::Sub:
      if (exact && __builtin_sub_overflow(a, b, &whole)) return std::nullopt;
      return fit(wrap(bits(a) - bits(b)));
    case BinaryKind::Mul:
      if (exact && __builtin_mul_overflow(a, b, &whole)) return std::nullopt;
      return fit(wrap(bits(a) * bits(b)));
    case BinaryKind::Div:
      return b == 0 ? std::nullopt : fit(trunc_div(t, a, b));
    case BinaryKind::Mod:
      return b == 0 ? std::nullopt : fit(trunc_mod(t, a, b));
    case BinaryKind::FloorDiv:
      return b == 0 ? std::nullopt : fit(t.is_uint() ? trunc_div(t, a, b) : floor_div(a, b));
    case BinaryKind::FloorMod:
      return b == 0 ? std::nullopt : fit(t.is_uint() ? trunc_mod(t, a, b) : floor_mod(a, b));
    case BinaryKind::Min:
      return less(t, a, b) ? a : b;
    case BinaryKind::Max:
      return less(t, a, b) ? b : a;
    case BinaryKind::EQ:
      return a == b;
    case BinaryKind::NE:
      return a != b;
    case BinaryKind::LT:
      return less(t, a, b);
    case BinaryKind::LE:
      return !less(t, b, a);
    case BinaryKind::GT:
      return less(t, b, a);
    case BinaryKind::GE:
      return !less(t, a, b);
    case BinaryKind::And:
      return a != 0 && b != 0;
    case BinaryKind::Or:
      return a != 0 || b != 0;
  }
  RLDB_UNREACHABLE("every binary kind has its case");
}

std::optional<double> fold_float(BinaryKind kind, double a, double b) {
  switch (kind) {
    case BinaryKind::Add:
      return a + b;
    case BinaryKind::Sub:
      return a - b;
    case BinaryKind::Mul:
      return a * b;
    case BinaryKind::Div:
      return b == 0 ? std::nullopt : std::optional<double>(a / b);
    case BinaryKind::Min:
      return std::min(a, b);
    case BinaryKind::Max:
      return std::max(a, b);
    case BinaryKind::Mod:
    case BinaryKind::FloorDiv:
    case BinaryKind::FloorMod:
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
      break;  // remainders of floats are left to the program
  }
  return std::nullopt;
}

bool fold_float_compare(Comparison op, double a, double b) {
  switch (op) {
    case Comparison::EQ:
      return a == b;
    case Comparison::NE:
      return a != b;
    case Comparison::LT:
      return a < b;
    case Comparison::LE:
      return a <= b;
    case Comparison::GT:
      return a > b;
    case Comparison::GE:
      return a >= b;
  }
  RLDB_UNREACHABLE("every comparison has its case");
}

}  // namespace rldb::ir
