// KernelScope: by the interval arithmetic of interval.h, and the evaluator where values are known.
#include "debug/provenance/kernel_scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::debug {

using ir::as;
using runtime::ErrorKind;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

runtime::Error cannot_slice(std::string_view why) {
  return {ErrorKind::Unsupported, fmt::format("iterations cannot be left out: {}", why), {}};
}

// The part of a kernel that the walk cannot follow; empty: it follows all.
std::string_view foreign_part(const ir::Node* n) {
  if (const auto* b = as<ir::SBlock>(n); b && !b->match_buffers.empty()) return "a block matches a part of a buffer";
  if (const auto* d = as<ir::DeclBuffer>(n); d && d->data && d->data != d->buffer->data) return "a computed pointer";
  if (as<ir::WhileStmt>(n)) return "a `while` loop";
  if (as<ir::LetExpr>(n)) return "a let inside an expression";
  if (const auto* loop = as<ir::ForStmt>(n); loop && loop->step) return "a loop with a step";
  const auto* store = as<ir::BufferStore>(n);
  if (store && (store->predicate || store->value->dtype().lanes != 1)) return "stores of vectors";
  const auto* load = as<ir::BufferLoad>(n);
  if (load && (load->predicate || load->dtype().lanes != 1)) return "loads of vectors";
  const ir::Buffer* buffer = store ? store->buffer : load ? load->buffer : nullptr;
  if (buffer && (!buffer->strides.empty() || (buffer->elem_offset && !as<ir::IntImm>(buffer->elem_offset) &&
                                              as<ir::Var>(buffer->elem_offset) == nullptr)))
    return "a buffer with strides";
  const auto* call = as<ir::Call>(n);
  const ir::IntrinsicInfo* row = call ? ir::called_intrinsic(call) : nullptr;
  if (call && (!row || row->purity == ir::IntrinsicPurity::Effect)) return "a call with effects";
  return {};
}

}  // namespace

Result<Unit> KernelScope::prepare() {
  std::string_view foreign;
  ir::walk(f_->body, [&](const ir::Node* n) {
    if (foreign.empty()) foreign = foreign_part(n);
    if (const auto* store = as<ir::BufferStore>(n)) written_.insert(store->buffer->data);
    return foreign.empty();
  });
  if (foreign.empty() && ir::threads_wait(f_->body)) foreign = "threads wait for each other";
  if (foreign.empty() && binds_written()) foreign = "a let of memory that it writes";
  if (!foreign.empty()) return support::Failure(cannot_slice(foreign));
  eval::TirMachine machine(f_, nullptr);
  RLDB_TRY_VOID(machine.start(args_));
  for (auto& [v, value] : machine.variables())
    if (value.is(ValueKind::Int) || value.is(ValueKind::Bool)) known_[v] = Interval::of(value.as_int());
  for (auto& [b, value] : machine.buffers())
    if (value.is(ValueKind::Tensor)) tensors_.emplace(b->data, value);
  return arguments_apart();
}

// An element that is bound may be overwritten before it is used. Notes the blocks with axes that are bound to elements.
bool KernelScope::binds_written() {
  bool found = false;
  const auto reads_written = [&](const ir::Expr* e) {
    ir::walk(e, [&](const ir::Node* n) {
      const auto* load = as<ir::BufferLoad>(n);
      found = found || (load && written_.contains(load->buffer->data));
      return !found;
    });
  };
  ir::walk(f_->body, [&](const ir::Node* n) {
    if (const auto* let = as<ir::BindStmt>(n)) reads_written(let->value);
    if (const auto* realize = as<ir::SBlockRealize>(n))
      for (const ir::Expr* value : realize->iter_values) {
        reads_written(value);
        if (has_loads(value)) loading_axes_.insert(realize);
      }
    return !found;
  });
  return found;
}

// An argument that is written and lies over another one would have two names.
Result<Unit> KernelScope::arguments_apart() const {
  for (const ir::PrimParam& p : f_->params)
    if (p.buffer && !tensors_.contains(p.buffer->data)) return support::Failure(cannot_slice("an argument"));
  for (const auto& [data, value] : tensors_) {
    if (!written_.contains(data)) continue;
    for (const auto& [other, with] : tensors_) {
      const Tensor &a = value.as_tensor(), &b = with.as_tensor();
      if (data != other && a.storage() == b.storage() && a.byte_offset() < b.byte_offset() + b.byte_size() &&
          b.byte_offset() < a.byte_offset() + a.byte_size())
        return support::Failure(cannot_slice("arguments share memory"));
    }
  }
  return Unit{};
}

Interval KernelScope::range_of(const ir::Expr* e) const {
  return interval_of(e, known_, [this](const ir::Expr* x) { return exactly(x); });
}
// By the evaluator, from variables with one value and memory that the kernel leaves alone.
std::optional<std::int64_t> KernelScope::exactly(const ir::Expr* e) const {
  if (e->dtype().is_float() || e->dtype().lanes != 1) return std::nullopt;
  bool possible = true;
  ir::walk(e, [&](const ir::Node* n) {
    const auto* v = as<ir::Var>(n);
    const auto* load = as<ir::BufferLoad>(n);
    if (load) possible = possible && !written_.contains(load->buffer->data) && tensors_.contains(load->buffer->data);
    if (v && v->dtype().is_integral()) {
      const auto it = known_.find(v);
      possible = possible && it != known_.end() && it->second.is_point();
    } else if (v && v->dtype().is_float()) {
      possible = false;  // a let
    }
    return possible;
  });
  if (!possible) return std::nullopt;
  const auto value = eval::eval_scalar(e, {[this](const ir::Var* v) -> std::optional<Value> {
                                             const auto it = known_.find(v);
                                             if (it == known_.end()) return std::nullopt;
                                             return Value::of_int(it->second.low);
                                           },
                                           [this](const ir::Buffer* b) -> std::optional<Value> {
                                             const auto it = tensors_.find(b->data);
                                             return it == tensors_.end() ? std::nullopt : std::optional(it->second);
                                           }});
  if (!value.ok()) return std::nullopt;
  return value->as_int();
}
std::optional<std::int64_t> KernelScope::point(const ir::Expr* e) const {
  const Interval i = range_of(e);
  return i.is_point() ? std::optional(i.low) : std::nullopt;
}
std::int64_t KernelScope::needed(const ir::Expr* e) {
  const auto value = point(e);
  if (!value) fail("an index or condition depends on what it writes");
  return value.value_or(0);
}
void KernelScope::fail(std::string_view why) {
  if (!problem_) problem_ = cannot_slice(why);
}

// a * b + c; nullopt: it is no number of 64 bits. An index behind a condition that did not hold may be any number.
static std::optional<std::int64_t> multiply_add(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0, sum = 0;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum)) return std::nullopt;
  return sum;
}

// The element's first byte, as an interval.
Interval KernelScope::bytes_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const {
  Interval at = Interval::of(0);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const Interval extent = d < b->shape.size() ? range_of(b->shape[d]) : Interval{};
    const Interval i = range_of(indices[d]);
    if (d > 0 && (!extent.is_point() || at.low < 0)) return {};
    if (i.low <= Interval::kLow || i.high >= Interval::kHigh) return {};
    const auto low = d == 0 ? std::optional(i.low) : multiply_add(at.low, extent.low, i.low);
    const auto high = d == 0 ? std::optional(i.high) : multiply_add(at.high, extent.low, i.high);
    if (!low || !high) return {};
    at = {*low, *high};
  }
  const std::int64_t width = std::int64_t(b->dtype.bytes());
  const std::int64_t base = base_of(b);
  const auto low = multiply_add(at.low, width, base), high = multiply_add(at.high, width, base);
  return low && high ? Interval{*low, *high} : Interval{};
}
std::int64_t KernelScope::base_of(const ir::Buffer* b) const {
  const auto it = tensors_.find(b->data);
  const auto* offset = b->elem_offset ? as<ir::IntImm>(b->elem_offset) : nullptr;
  return (it == tensors_.end() ? 0 : std::int64_t(it->second.as_tensor().byte_offset())) +
         (offset ? offset->value * std::int64_t(b->dtype.bytes()) : 0);
}
const void* KernelScope::memory_of(const ir::Buffer* b) const {
  const auto it = tensors_.find(b->data);
  return it == tensors_.end() ? static_cast<const void*>(b->data) : it->second.as_tensor().storage().get();
}
std::optional<MemoryPlace> KernelScope::place_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const {
  const Interval at = bytes_of(b, indices);
  return at.is_point() ? std::optional(MemoryPlace{memory_of(b), at.low}) : std::nullopt;
}
void KernelScope::set_axes(const ir::SBlockRealize* r) {
  for (std::size_t i = 0; i < r->iter_values.size(); ++i)
    known_[r->block->iter_vars[i].var] = range_of(r->iter_values[i]);
  if (!loading_axes_.contains(r)) return;
  for (std::size_t i = 0; i < r->iter_values.size(); ++i) lets_[r->block->iter_vars[i].var] = r->iter_values[i];
}

bool KernelScope::starts_reduction(const ir::SBlockRealize* r) {
  for (const ir::IterVar& axis : r->block->iter_vars)
    if (axis.kind == ir::IterKind::Reduce && needed(axis.var) != needed(axis.dom.min)) return false;
  return true;
}

bool KernelScope::may_start_reduction(const ir::SBlockRealize* r) const {
  return std::all_of(r->block->iter_vars.begin(), r->block->iter_vars.end(), [&](const ir::IterVar& axis) {
    if (axis.kind != ir::IterKind::Reduce) return true;
    const Interval at = range_of(axis.var), first = range_of(axis.dom.min);
    return at.low <= first.high && first.low <= at.high;
  });
}

bool KernelScope::may_be(const MemoryPlace& place, const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const {
  if (memory_of(b) != place.memory || !bytes_of(b, indices).contains(place.byte)) return false;
  std::int64_t rest = (place.byte - base_of(b)) / std::int64_t(b->dtype.bytes());
  for (std::size_t d = indices.size(); d-- > 1;) {
    const Interval extent = range_of(b->shape[d]);
    if (!extent.is_point() || extent.low <= 0) return true;
    if (!range_of(indices[d]).contains(rest % extent.low)) return false;
    rest /= extent.low;
  }
  return indices.empty() || range_of(indices[0]).contains(rest);
}

std::optional<Interval> KernelScope::whole_loop(const ir::Expr* min, const ir::Expr* extent) const {
  const Interval first = min ? range_of(min) : Interval::of(0), count = range_of(extent);
  if (count.high <= 0) return std::nullopt;
  if (count.high >= Interval::kHigh || first.high >= Interval::kHigh) return Interval{first.low, Interval::kHigh};
  return Interval{first.low, first.high + count.high - 1};
}

ReadScope KernelScope::reads() const {
  return {[this](const ir::Buffer* b, ir::Span<const ir::Expr*> i) { return place_of(b, i); },
          [this](const ir::Var* v) -> const ir::Expr* {
            const auto it = lets_.find(v);
            return it == lets_.end() ? nullptr : it->second;
          },
          [this](const ir::Expr* e) { return point(e); }};
}

}  // namespace rldb::debug
