// Reductions in conditions as loops. Sums are made in parts of as many elements as the language's, so that they round
// alike.
#include <algorithm>
#include <limits>

#include "debug/kernel/array_part.h"
#include "rldb/expression/array.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"

namespace rldb::debug {

using ir::BinaryKind;
using ir::Expr;
using ir::Stmt;
using runtime::DType;

namespace {

DType word_dtype(const Operand& x) { return x.is_float() ? DType::Float(64) : DType::Int(64); }

}  // namespace

// ---- words and loops ----

const ir::Buffer* ReductionLoops::word(DType dtype) {
  memory_.push_back(ctx_.buffer("rldb_word", std::vector<const Expr*>{ctx_.i64(1)}, dtype, "local"));
  parts_.back().push_back(set(memory_.back(), ctx_.literal(dtype, 0)));
  return memory_.back();
}
const Expr* ReductionLoops::get(const ir::Buffer* word) {
  return ctx_.load(word, std::vector<const Expr*>{ctx_.i64(0)});
}
const Stmt* ReductionLoops::set(const ir::Buffer* word, const Expr* value) {
  return ctx_.store(word, value, std::vector<const Expr*>{ctx_.i64(0)});
}
const Stmt* ReductionLoops::add(const ir::Buffer* word, const Expr* value) {
  return set(word, ctx_.binary(BinaryKind::Add, get(word), value));
}

// In row-major order.
void ReductionLoops::loop(const ArrayPart& x, const Body& body) {
  std::vector<const ir::Var*> vars;
  std::vector<const Expr*> index;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    vars.push_back(ctx_.var("rldb_at", x.shape[d]->type));
    index.push_back(vars.back());
  }
  const ir::Buffer* position = word(DType::Int(64));
  std::vector<const Stmt*> inside;
  body(x.at(index), get(position), inside);
  inside.push_back(add(position, ctx_.i64(1)));
  const Stmt* made = ctx_.seq_stmt(inside);
  for (std::size_t d = vars.size(); d-- > 0;)
    made = ctx_.for_stmt(vars[d], ctx_.i64(0), x.shape[d], ir::ForKind::Serial, made);
  parts_.back().push_back(made);
}

void ReductionLoops::end_part(const Expr* condition) {
  const std::vector<const Stmt*> inside = std::move(parts_.back());
  parts_.pop_back();
  if (!inside.empty()) parts_.back().push_back(ctx_.if_stmt(condition, ctx_.seq_stmt(inside)));
}

const Stmt* ReductionLoops::statements() { return parts_[0].empty() ? nullptr : ctx_.seq_stmt(parts_[0]); }

const Expr* ReductionLoops::size_of(const ArrayPart& x) {
  const Expr* size = ctx_.i64(1);
  for (const Expr* d : x.shape) size = ctx_.binary(BinaryKind::Mul, size, d);
  return size;
}

const Expr* ReductionLoops::bad_if_empty(const ArrayPart& x) {
  const Expr* bad = x.bad;
  for (const Expr* d : x.shape) {
    const auto known = ir::const_int(d);
    if (!known || *known == 0) bad = math_.either(bad, ctx_.binary(BinaryKind::LE, d, ctx_.i64(0)));
  }
  return bad;
}

// Some element, for its dtype.
Operand ReductionLoops::sample(const ArrayPart& x) {
  return x.at(std::vector<const Expr*>(x.shape.size(), ctx_.i64(0)));
}

// ---- reductions ----

// The first of equal ones; the first NaN wins.
Operand ReductionLoops::extreme(const ArrayPart& x, bool largest, bool place) {
  const Operand of = sample(x);
  if (of.is_bool()) throw NoForm{};
  const ir::Buffer *best = word(word_dtype(of)), *at = word(DType::Int(64));
  loop(x, [&](const Operand& e, const Expr* position, std::vector<const Stmt*>& out) {
    const ir::Var* v = ctx_.var("rldb_element", e.value->type);
    out.push_back(ctx_.bind(v, e.value));
    const Expr* better = ctx_.binary(largest ? BinaryKind::GT : BinaryKind::LT, v, get(best));
    if (e.is_float()) {
      better = ctx_.binary(BinaryKind::Or, better, ctx_.binary(BinaryKind::NE, v, v));
      better = ctx_.binary(BinaryKind::And, ctx_.binary(BinaryKind::EQ, get(best), get(best)), better);
    }
    better = ctx_.binary(BinaryKind::Or, ctx_.binary(BinaryKind::EQ, position, ctx_.i64(0)), better);
    out.push_back(ctx_.if_stmt(better, ctx_.seq_stmt(std::vector<const Stmt*>{set(best, v), set(at, position)})));
  });
  const Expr* bad = bad_if_empty(x);
  if (place) return {get(at), bad, DType::Int(64)};
  return {get(best), bad, of.element};
}

// The sum of f(element) by parts; `keep_lost`: what is lost of small parts beside large ones is added in the end.
const Expr* ReductionLoops::parted_sum(const ArrayPart& x, bool keep_lost,
                                       const std::function<const Expr*(const Operand&)>& f) {
  const ir::Buffer *part = word(DType::Float(64)), *sum = word(DType::Float(64)), *lost = word(DType::Float(64));
  const Expr* zero = ctx_.float_imm(DType::Float(64), 0);
  const auto size = [&](const Expr* e) { return ctx_.intrin(DType::Float(64), ir::intrin::Fabs, {e}); };
  const auto plus = [&](const Expr* a, const Expr* b) { return ctx_.binary(BinaryKind::Add, a, b); };
  const auto minus = [&](const Expr* a, const Expr* b) { return ctx_.binary(BinaryKind::Sub, a, b); };
  const Expr* infinite = ctx_.float_imm(DType::Float(64), std::numeric_limits<double>::infinity());
  const auto finite = [&](const Expr* e) { return ctx_.binary(BinaryKind::LT, size(e), infinite); };
  const auto end_part = [&]() -> const Stmt* {
    const ir::Var *next = ctx_.var("rldb_next", zero->type), *more = ctx_.var("rldb_more", zero->type);
    const Expr *s = get(sum), *p = get(part);
    const Expr* rest =
        ctx_.select(ctx_.binary(BinaryKind::GE, size(s), size(p)), plus(minus(s, next), p), plus(minus(p, next), s));
    std::vector<const Stmt*> all{ctx_.bind(next, plus(s, p))};
    if (keep_lost) {
      all.push_back(ctx_.bind(more, rest));
      all.push_back(ctx_.if_stmt(finite(next), add(lost, more)));
    }
    all.push_back(set(sum, next));
    all.push_back(set(part, zero));
    return ctx_.seq_stmt(all);
  };
  const Expr* chunk = ctx_.i64(expression::kChunk);
  loop(x, [&](const Operand& e, const Expr* position, std::vector<const Stmt*>& out) {
    const Expr* within = ctx_.binary(BinaryKind::FloorMod, position, chunk);
    const Expr* begins = ctx_.binary(BinaryKind::And, ctx_.binary(BinaryKind::EQ, within, ctx_.i64(0)),
                                     ctx_.binary(BinaryKind::GT, position, ctx_.i64(0)));
    out.push_back(ctx_.if_stmt(begins, end_part()));
    out.push_back(add(part, f(e)));
  });
  // Adding no part changes nothing.
  parts_.back().push_back(end_part());
  const Expr* s = get(sum);
  return keep_lost ? static_cast<const Expr*>(ctx_.select(finite(s), plus(s, get(lost)), s)) : s;
}

const Expr* ReductionLoops::sum_of(const ArrayPart& x) {
  return parted_sum(x, true, [&](const Operand& e) { return math_.to_double(e.value); });
}

Operand ReductionLoops::sum(const ArrayPart& x) {
  const Operand of = sample(x);
  if (of.is_float()) return math_.result(sum_of(x), x.bad, of.element);
  if (of.element.is_uint()) throw NoForm{};
  const ir::Buffer* sum = word(DType::Int(64));
  loop(x, [&](const Operand& e, const Expr*, std::vector<const Stmt*>& out) {
    out.push_back(add(sum, ir::cast_to(ctx_, DType::Int(64), e.value)));
  });
  return {get(sum), x.bad, DType::Int(64)};
}

Operand ReductionLoops::product(const ArrayPart& x) {
  const Operand of = sample(x);
  if (of.element.is_uint() || of.is_bool()) throw NoForm{};
  const ir::Buffer* product = word(word_dtype(of));
  parts_.back().push_back(set(product, ctx_.literal(product->dtype, 1)));
  loop(x, [&](const Operand& e, const Expr*, std::vector<const Stmt*>& out) {
    out.push_back(set(product, ctx_.binary(BinaryKind::Mul, get(product), e.value)));
  });
  return math_.result(get(product), x.bad, of.is_float() ? of.element : DType::Int(64));
}

Operand ReductionLoops::spread(const ArrayPart& x, bool root) {
  const Operand of = sample(x);
  const Expr* count = math_.to_double(size_of(x));
  const ir::Buffer* mean = word(DType::Float(64));
  const Expr* found = ctx_.binary(BinaryKind::Div, sum_of(x), count);
  parts_.back().push_back(set(mean, found));
  const Expr* apart = parted_sum(x, false, [&](const Operand& e) {
    const Expr* from = ctx_.binary(BinaryKind::Sub, math_.to_double(e.value), get(mean));
    return ctx_.binary(BinaryKind::Mul, from, from);
  });
  const Expr* variance = ctx_.binary(BinaryKind::Div, apart, count);
  if (root) variance = ctx_.intrin(DType::Float(64), ir::intrin::Sqrt, {variance});
  return math_.result(variance, x.bad, of.is_float() ? of.element : DType::Float(64));
}

Operand ReductionLoops::norm(const ArrayPart& x) {
  const Operand of = sample(x);
  const ir::Buffer* sum = word(DType::Float(64));
  loop(x, [&](const Operand& e, const Expr*, std::vector<const Stmt*>& out) {
    const Expr* size = ctx_.intrin(DType::Float(64), ir::intrin::Fabs, {math_.to_double(e.value)});
    out.push_back(add(sum, ctx_.binary(BinaryKind::Mul, size, size)));
  });
  const Expr* root = ctx_.intrin(DType::Float(64), ir::intrin::Sqrt, {get(sum)});
  return math_.result(root, x.bad, of.is_float() ? of.element : DType::Float(64));
}

const Expr* ReductionLoops::count_of(const ArrayPart& x, const std::function<const Expr*(const Operand&)>& holds) {
  const ir::Buffer* count = word(DType::Int(64));
  loop(x, [&](const Operand& e, const Expr*, std::vector<const Stmt*>& out) {
    out.push_back(ctx_.if_stmt(holds(e), add(count, ctx_.i64(1))));
  });
  return get(count);
}

bool ReductionLoops::has(std::string_view function) {
  constexpr std::string_view kKnown[] = {"max", "min", "argmax", "argmin", "sum",           "prod",    "mean",   "var",
                                         "std", "any", "all",    "norm",   "count_nonzero", "has_nan", "has_inf"};
  return std::find(std::begin(kKnown), std::end(kKnown), function) != std::end(kKnown);
}

bool ReductionLoops::takes_axis(std::string_view function) {
  return has(function) && function != "norm" && !function.starts_with("has_");
}

Operand ReductionLoops::reduce(std::string_view function, const ArrayPart& x) {
  if (function == "max" || function == "argmax") return extreme(x, true, function == "argmax");
  if (function == "min" || function == "argmin") return extreme(x, false, function == "argmin");
  if (function == "sum") return sum(x);
  if (function == "prod") return product(x);
  if (function == "var" || function == "std") return spread(x, function == "std");
  if (function == "norm") return norm(x);
  if (function == "mean") {
    const Operand of = sample(x);
    const Expr* mean = ctx_.binary(BinaryKind::Div, sum_of(x), math_.to_double(size_of(x)));
    return math_.result(mean, x.bad, of.is_float() ? of.element : DType::Float(64));
  }
  const auto not_zero = [&](const Operand& e) {
    return e.is_bool() ? e.value : ctx_.binary(BinaryKind::NE, e.value, ctx_.literal(e.value->dtype(), 0));
  };
  const auto test = [&](const Operand& e) {
    return math_.call(function == "has_nan" ? "isnan" : "isinf", std::span(&e, 1)).value;
  };
  if (function == "count_nonzero") return {count_of(x, not_zero), x.bad, DType::Int(64)};
  if (function == "any") return {ctx_.binary(BinaryKind::GT, count_of(x, not_zero), ctx_.i64(0)), x.bad};
  if (function == "all") return {ctx_.binary(BinaryKind::EQ, count_of(x, not_zero), size_of(x)), x.bad};
  if (sample(x).is_bool()) throw NoForm{};
  return {ctx_.binary(BinaryKind::GT, count_of(x, test), ctx_.i64(0)), x.bad};
}

}  // namespace rldb::debug
