// Builtins for programs translated from Relay: values of algebraic data types, references, and shapes that Relay
// computes at run time.
#include <algorithm>

#include "vm/builtins/args.h"

namespace rldb::vm {

namespace {

// A value of an algebraic data type is a tuple that begins with its constructor's name.
Result<const std::vector<Value>*> adt(const Args& a) {
  if (a[0].is(ValueKind::Tuple)) {
    const std::vector<Value>& fields = a[0].as_tuple().fields;
    if (!fields.empty() && fields[0].is(ValueKind::String)) return &fields;
  }
  return a.wrong(0, "a value that a constructor made");
}

}  // namespace

Result<Value> builtin_AdtMake(const CallSite&, PackedArgs args) {
  RLDB_ARGS(AdtMake);
  if (!a[0].is(ValueKind::String)) return a.wrong(0, "a constructor's name");
  return Value::of_tuple(std::vector<Value>(args.begin(), args.end()));
}

Result<Value> builtin_AdtIs(const CallSite&, PackedArgs args) {
  RLDB_ARGS(AdtIs);
  RLDB_TRY(const std::vector<Value>* fields, adt(a));
  if (!a[1].is(ValueKind::String)) return a.wrong(1, "a constructor's name");
  return Value::of_bool((*fields)[0].as_string() == a[1].as_string());
}

Result<Value> builtin_AdtField(const CallSite&, PackedArgs args) {
  RLDB_ARGS(AdtField);
  RLDB_TRY(const std::vector<Value>* fields, adt(a));
  RLDB_TRY(const std::int64_t i, a.integer(1));
  if (i < 0 || std::uint64_t(i) + 1 >= fields->size())
    return a.fail(ErrorKind::OutOfBounds,
                  fmt::format("field {} of `{}`, which has {}", i, (*fields)[0].as_string(), fields->size() - 1));
  return (*fields)[std::size_t(i) + 1];
}

Result<Value> builtin_NoMatch(const CallSite&, PackedArgs args) {
  RLDB_ARGS(NoMatch);
  return runtime::fail(ErrorKind::AssertFailed,
                       fmt::format("no arm of the `match?` takes {}", runtime::format_brief(a[0])));
}

namespace {

Result<Value*> referred(const Args& a) {
  if (a[0].is(ValueKind::Tuple) && a[0].as_tuple().fields.size() == 1) return &a[0].as_tuple().fields[0];
  return a.wrong(0, "a reference");
}

}  // namespace

Result<Value> builtin_RefMake(const CallSite&, PackedArgs args) {
  RLDB_ARGS(RefMake);
  return Value::of_tuple({a[0]});
}

Result<Value> builtin_RefRead(const CallSite&, PackedArgs args) {
  RLDB_ARGS(RefRead);
  RLDB_TRY(const Value* v, referred(a));
  return *v;
}

Result<Value> builtin_RefWrite(const CallSite&, PackedArgs args) {
  RLDB_ARGS(RefWrite);
  RLDB_TRY(Value * v, referred(a));
  *v = a[1];
  return Value::of_tuple({});
}

Result<Value> builtin_BroadcastShape(const CallSite&, PackedArgs args) {
  RLDB_ARGS(BroadcastShape);
  std::vector<std::int64_t> made;
  for (std::size_t k = 0; k < a.size(); ++k) {
    RLDB_TRY(const std::vector<std::int64_t>* shape, a.shape(k));
    if (shape->size() > made.size()) made.insert(made.begin(), shape->size() - made.size(), 1);
    const std::size_t skipped = made.size() - shape->size();
    for (std::size_t i = 0; i < shape->size(); ++i) {
      std::int64_t& to = made[skipped + i];
      const std::int64_t d = (*shape)[i];
      if (to != 1 && d != 1 && to != d)
        return runtime::fail(ErrorKind::ShapeMismatch,
                             fmt::format("the shapes do not broadcast: {} and {} at axis {}", to, d, skipped + i));
      if (d != 1) to = d;
    }
  }
  return Value::of_shape(std::move(made));
}

Result<Value> builtin_ReshapedShape(const CallSite&, PackedArgs args) {
  RLDB_ARGS(ReshapedShape);
  RLDB_TRY(const std::vector<std::int64_t>* from, a.shape(0));
  RLDB_TRY(const runtime::Tensor* codes, a.tensor(1));
  if (codes->ndim() != 1 || codes->dtype() != DType::Int(64)) return a.wrong(1, "an int64 tensor of rank 1");
  std::vector<std::int64_t> made;
  std::int64_t total = 1, others = 1, inferred = -1;
  for (const std::int64_t d : *from)
    if (__builtin_mul_overflow(total, d, &total)) return a.fail(ErrorKind::ShapeMismatch, "the tensor is too large");
  for (std::int64_t i = 0; i < codes->element_count(); ++i) {
    std::int64_t d = runtime::load_as_int(codes->data() + std::size_t(i) * 8, DType::Int(64));
    if (d == 0 && std::size_t(i) < from->size()) d = (*from)[std::size_t(i)];
    if (d < -1 || (d == -1 && inferred >= 0))
      return a.fail(ErrorKind::ShapeMismatch, fmt::format("{} is not a new dim, or -1 occurs twice", d));
    if (d == -1)
      inferred = i;
    else if (__builtin_mul_overflow(others, d, &others))
      return a.fail(ErrorKind::ShapeMismatch, "the new shape is too large");
    made.push_back(d);
  }
  if (inferred >= 0) {
    if (others == 0 || total % others != 0)
      return a.fail(ErrorKind::ShapeMismatch, fmt::format("{} elements cannot be divided by {}", total, others));
    made[std::size_t(inferred)] = total / others;
  } else if (total != others) {
    return a.fail(ErrorKind::ShapeMismatch, fmt::format("{} elements cannot become {}", total, others));
  }
  return Value::of_shape(std::move(made));
}

}  // namespace rldb::vm
