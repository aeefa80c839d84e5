// The `rldb.adt.*`, `rldb.ref.*` and `rldb.relay.*` functions as the evaluator computes them.
#include "eval/relax/lowered_relay.h"

#include <algorithm>

namespace rldb::eval {

using runtime::DType;
using runtime::ErrorKind;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;

namespace {

using Args = bytecode::BuiltinArgs;

bool is_made_by_constructor(const Value& v) {
  return v.is(ValueKind::Tuple) && !v.as_tuple().fields.empty() && v.as_tuple().fields.front().is(ValueKind::String);
}
Result<const std::string*> constructor_of(const Args& a) {
  if (!is_made_by_constructor(a[0])) return a.wrong(0, "a value that a constructor made");
  return &a[0].as_tuple().fields.front().as_string();
}

support::Failure<runtime::Error> misfit(std::string text) {
  return runtime::fail(ErrorKind::ShapeMismatch, std::move(text));
}

}  // namespace

Result<Value> adt_make(const Args& a) {
  std::vector<Value> parts;
  for (std::size_t i = 0; i < a.size(); ++i) parts.push_back(a[i]);
  if (!parts.front().is(ValueKind::String)) return a.wrong(0, "a constructor's name");
  return Value::of_tuple(std::move(parts));
}

Result<Value> adt_is(const Args& a) {
  RLDB_TRY(const std::string* made_by, constructor_of(a));
  if (!a[1].is(ValueKind::String)) return a.wrong(1, "a constructor's name");
  return Value::of_bool(*made_by == a[1].as_string());
}

Result<Value> adt_field(const Args& a) {
  RLDB_TRY(const std::string* made_by, constructor_of(a));
  RLDB_TRY(const std::int64_t i, a.integer(1));
  const auto count = std::int64_t(a[0].as_tuple().fields.size()) - 1;
  if (i < 0 || i >= count)
    return a.fail(ErrorKind::OutOfBounds, fmt::format("field {} of `{}`, which has {}", i, *made_by, count));
  return a[0].as_tuple().fields[std::size_t(i + 1)];
}

Result<Value> no_match(const Args& a) {
  return runtime::fail(ErrorKind::AssertFailed,
                       fmt::format("no arm of the `match?` takes {}", runtime::format_brief(a[0])));
}

// ---- references ----

Result<Value> ref_make(const Args& a) { return Value(support::make_ref<runtime::Tuple>(std::vector<Value>{a[0]})); }

Result<Value> ref_read(const Args& a) {
  if (!a[0].is(ValueKind::Tuple) || a[0].as_tuple().fields.size() != 1) return a.wrong(0, "a reference");
  return a[0].as_tuple().fields.front();
}

Result<Value> ref_write(const Args& a) {
  if (!a[0].is(ValueKind::Tuple) || a[0].as_tuple().fields.size() != 1) return a.wrong(0, "a reference");
  a[0].as_tuple().fields.front() = a[1];
  return Value(support::make_ref<runtime::Tuple>(std::vector<Value>{}));
}

// Axis by axis from the right: all that are not 1 must be equal.
Result<Value> broadcast_shape(const Args& a) {
  std::size_t rank = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    RLDB_TRY(const std::vector<std::int64_t>* shape, a.shape(k));
    rank = std::max(rank, shape->size());
  }
  std::vector<std::int64_t> result(rank, 1);
  for (std::size_t from_end = 1; from_end <= rank; ++from_end) {
    std::int64_t& dim = result[rank - from_end];
    for (std::size_t k = 0; k < a.size(); ++k) {
      const std::vector<std::int64_t>& shape = a[k].as_shape();
      if (shape.size() < from_end) continue;
      const std::int64_t d = shape[shape.size() - from_end];
      if (d == 1 || d == dim) continue;
      if (dim != 1)
        return misfit(fmt::format("the shapes do not broadcast: {} and {} at axis {}", dim, d, rank - from_end));
      dim = d;
    }
  }
  return Value::of_shape(std::move(result));
}

Result<Value> reshaped_shape(const Args& a) {
  RLDB_TRY(const std::vector<std::int64_t>* old, a.shape(0));
  RLDB_TRY(const runtime::Tensor* codes, a.tensor(1));
  if (codes->ndim() != 1 || codes->dtype() != DType::Int(64)) return a.wrong(1, "an int64 tensor of rank 1");
  const auto* code = reinterpret_cast<const std::int64_t*>(codes->data());
  std::vector<std::int64_t> result(code, code + codes->element_count());
  std::int64_t elements = 1, product = 1;
  for (const std::int64_t d : *old)
    if (__builtin_mul_overflow(elements, d, &elements)) return misfit("the tensor is too large");
  std::int64_t* open = nullptr;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 0 && i < old->size()) result[i] = (*old)[i];
    if (result[i] == -1 && !open) {
      open = &result[i];
      continue;
    }
    if (result[i] < 0) return misfit(fmt::format("{} is not a new dim, or -1 occurs twice", result[i]));
    if (__builtin_mul_overflow(product, result[i], &product)) return misfit("the new shape is too large");
  }
  if (open) {
    if (product == 0 || elements % product != 0)
      return misfit(fmt::format("{} elements cannot be divided by {}", elements, product));
    *open = elements / product;
  } else if (elements != product) {
    return misfit(fmt::format("{} elements cannot become {}", elements, product));
  }
  return Value::of_shape(std::move(result));
}

}  // namespace rldb::eval
