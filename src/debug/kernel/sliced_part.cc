// Subscripts of buffers in conditions: Python's rules, over expressions.
#include "debug/kernel/sliced_part.h"

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/choice.h"

namespace rldb::debug {

using ir::BinaryKind;
using ir::Expr;
using runtime::DType;

namespace {

class Slicer {
 public:
  Slicer(ir::Context& ctx, OperandMath& math, const ir::Buffer* b) : ctx_(ctx), math_(math), b_(b) {
    if (b->dtype.lanes != 1 || b->dtype == DType::UInt(64)) throw NoForm{};
  }

  ConditionPart make(std::vector<SlicedDim> items) {
    const std::size_t rest = std::size_t(std::count_if(items.begin(), items.end(), [](auto& i) { return i.is_rest; }));
    const std::size_t given = items.size() - rest;
    if (rest > 1 || given > b_->shape.size()) throw NoForm{};
    SlicedDim whole;
    whole.is_slice = true;
    auto at = std::find_if(items.begin(), items.end(), [](auto& i) { return i.is_rest; });
    if (at != items.end()) at = items.erase(at);
    items.insert(at, b_->shape.size() - given, whole);
    for (std::size_t d = 0; d < items.size(); ++d) items[d].is_slice ? slice(d, items[d]) : index(d, *items[d].start);
    if (shape_.empty()) {
      Operand one = element({});
      one.bad = bad_;
      return {one, {}};
    }
    return {
        {},
        ArrayPart{shape_, [self = *this](std::span<const Expr* const> i) mutable { return self.element(i); }, bad_}};
  }

 private:
  // Where a dimension of the buffer is: `start`, or `start + step * the next index of the array`.
  struct Place {
    const Expr* start;
    const Expr* step;  // null: it has no index
  };

  const Expr* binary(BinaryKind kind, const Expr* a, const Expr* b) { return ctx_.binary(kind, a, b); }
  const Expr* dim(std::size_t d) { return ir::cast_to(ctx_, DType::Int(64), b_->shape[d]); }

  // Negative ones count from the end.
  void index(std::size_t d, const Operand& given) {
    if (given.is_float() || given.is_bool()) throw NoForm{};
    const Expr *zero = ctx_.i64(0), *size = dim(d);
    const Expr* from_end = binary(BinaryKind::LT, given.value, zero);
    const Expr* at = ctx_.select(from_end, binary(BinaryKind::Add, given.value, size), given.value);
    const Expr* outside = binary(BinaryKind::Or, binary(BinaryKind::LT, at, zero), binary(BinaryKind::GE, at, size));
    bad_ = math_.either(bad_, math_.either(given.bad, outside));
    places_.push_back({at, nullptr});
  }

  // A bound, cut off: at 0 and the size, when going backwards at -1 and the last.
  const Expr* limit(const std::optional<Operand>& given, const Expr* size, bool forward, const Expr* otherwise) {
    if (!given) return otherwise;
    if (given->is_float() || given->is_bool()) throw NoForm{};
    bad_ = math_.either(bad_, given->bad);
    const Expr* low = ctx_.i64(forward ? 0 : -1);
    const Expr* high = forward ? size : ir::sub(ctx_, size, ctx_.i64(1));
    const Expr* v = given->value;
    const Expr* from_end = ir::compare(ctx_, BinaryKind::LT, v, ctx_.i64(0));
    const Expr* at = choose(from_end, ir::add(ctx_, v, size), v);
    return ir::min(ctx_, ir::max(ctx_, at, low), high);
  }
  const Expr* choose(const Expr* condition, const Expr* a, const Expr* b) {
    if (const auto known = ir::const_int(condition)) return *known ? a : b;
    return ctx_.select(condition, a, b);
  }

  void slice(std::size_t d, const SlicedDim& s) {
    const auto step = s.step ? ir::const_int(s.step->value) : std::optional<std::int64_t>(1);
    constexpr std::int64_t kMost = std::int64_t(1) << 32;
    if (!step || *step == 0 || *step > kMost || *step < -kMost) throw NoForm{};
    const bool forward = *step > 0;
    const Expr *size = dim(d), *one = ctx_.i64(1);
    const Expr* start =
        limit(s.start, size, forward, forward ? static_cast<const Expr*>(ctx_.i64(0)) : ir::sub(ctx_, size, one));
    const Expr* stop = limit(s.stop, size, forward, forward ? size : ctx_.i64(-1));
    const Expr* span = forward ? ir::sub(ctx_, stop, start) : ir::sub(ctx_, start, stop);
    const Expr* steps = ctx_.i64(forward ? *step : -*step);
    const Expr* count = ir::floor_div(ctx_, ir::add(ctx_, span, ir::sub(ctx_, steps, one)), steps);
    shape_.push_back(ir::max(ctx_, count, ctx_.i64(0)));
    places_.push_back({start, ctx_.i64(*step)});
  }

  Operand element(std::span<const Expr* const> index) {
    std::vector<const Expr*> at;
    std::size_t next = 0;
    for (const Place& p : places_)
      at.push_back(p.step ? ir::add(ctx_, p.start, ir::mul(ctx_, index[next++], p.step)) : p.start);
    const Expr* loaded = ctx_.load(b_, at);
    const bool real = b_->dtype.is_float();
    const DType wide = b_->dtype.is_bool() ? DType::Bool() : real ? DType::Float(64) : DType::Int(64);
    Operand out;
    out.value = ir::cast_to(ctx_, wide, loaded);
    // Read only where it is not bad.
    if (bad_) out.value = ctx_.intrin(wide, ir::intrin::IfThenElse, {bad_, ctx_.literal(wide, 0), out.value});
    if (!b_->dtype.is_bool()) out.element = b_->dtype;
    return out;
  }

  ir::Context& ctx_;
  OperandMath& math_;
  const ir::Buffer* b_;
  std::vector<Place> places_;
  std::vector<const Expr*> shape_;
  const Expr* bad_ = nullptr;
};

}  // namespace

ConditionPart sliced(ir::Context& ctx, OperandMath& math, const ir::Buffer* b, std::vector<SlicedDim> dims) {
  return Slicer(ctx, math, b).make(std::move(dims));
}

}  // namespace rldb::debug
