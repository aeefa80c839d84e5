// The `vm.builtin.*` functions as the evaluator computes them: shape heap, checks of types, tuples, closures.
#include "eval/relax/lowered.h"

#include <cstring>

#include "eval/relax/lowered_relay.h"
#include "rldb/bytecode/builtin_args.h"
#include "rldb/bytecode/builtin_id.h"

namespace rldb::eval {

using bytecode::BuiltinId;
using bytecode::MakeShapeCode;
using bytecode::MatchShapeCode;
using runtime::DType;
using runtime::ErrorKind;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

using Args = bytecode::BuiltinArgs;

// ---- the shape heap: an int64 vector, or null when the function has no symbols ----

Result<std::int64_t*> slot(const Args& a, const Value& heap, std::int64_t i) {
  if (heap.is(ValueKind::Tensor) && heap.as_tensor().dtype() == DType::Int(64) && i >= 0 &&
      i < heap.as_tensor().element_count())
    return reinterpret_cast<std::int64_t*>(heap.as_tensor().data()) + i;
  return a.fail(ErrorKind::OutOfBounds, fmt::format("there is no slot {} in {}", i, runtime::describe(heap)));
}

Result<Value> alloc_shape_heap(const Args& a) {
  RLDB_TRY(const std::int64_t size, a.integer(0));
  RLDB_TRY(runtime::Ref<Tensor> heap, Tensor::empty({size}, DType::Int(64)));
  if (heap->byte_size() > 0) std::memset(heap->data(), 0, heap->byte_size());
  return Value(std::move(heap));
}

// One (code, value) pair against the actual value.
Result<Unit> match_one(const Args& a, const Value& heap, std::size_t pair, std::int64_t actual, std::string_view what) {
  RLDB_TRY(const std::int64_t code, a.integer(pair));
  RLDB_TRY(const std::int64_t v, a.integer(pair + 1));
  const auto mismatch = [&](std::int64_t expected) {
    return runtime::fail(ErrorKind::ShapeMismatch, fmt::format("{}match_cast error,  {} mismatch ({} vs. {})",
                                                               a.text(a.size() - 1), what, actual, expected));
  };
  switch (MatchShapeCode(code)) {
    case MatchShapeCode::AssertEqualToImm:
      if (actual != v) return mismatch(v);
      return Unit{};
    case MatchShapeCode::StoreToHeap: {
      RLDB_TRY(std::int64_t * to, slot(a, heap, v));
      *to = actual;
      return Unit{};
    }
    case MatchShapeCode::NoOp:
      return Unit{};
    case MatchShapeCode::AssertEqualToLoad: {
      RLDB_TRY(const std::int64_t* known, slot(a, heap, v));
      if (actual != *known) return mismatch(*known);
      return Unit{};
    }
  }
  return a.fail(ErrorKind::Unsupported, fmt::format("unknown match code {}", code));
}

Result<std::int64_t> made_one(const Args& a, const Value& heap, std::size_t pair) {
  RLDB_TRY(const std::int64_t code, a.integer(pair));
  RLDB_TRY(const std::int64_t v, a.integer(pair + 1));
  switch (MakeShapeCode(code)) {
    case MakeShapeCode::UseImm:
      return v;
    case MakeShapeCode::LoadShape: {
      RLDB_TRY(const std::int64_t* from, slot(a, heap, v));
      return *from;
    }
  }
  return a.fail(ErrorKind::Unsupported, fmt::format("unknown make code {}", code));
}

Result<Unit> pairs_fit(const Args& a, std::int64_t ndim, std::size_t around) {
  if (ndim >= 0 && std::uint64_t(ndim) <= a.size() && 2 * std::size_t(ndim) + around == a.size()) return Unit{};
  return a.fail(ErrorKind::ArgumentCount, fmt::format("{} arguments do not fit rank {}", a.size(), ndim));
}

Result<Value> match_shape(const Args& a) {
  std::vector<std::int64_t> shape;
  if (a[0].is(ValueKind::Tensor)) {
    shape = a[0].as_tensor().shape();
  } else {
    RLDB_TRY(const std::vector<std::int64_t>* given, a.shape(0));
    shape = *given;
  }
  RLDB_TRY(const std::int64_t ndim, a.integer(2));
  RLDB_TRY_VOID(pairs_fit(a, ndim, 4));
  if (std::int64_t(shape.size()) != ndim)
    return runtime::fail(ErrorKind::ShapeMismatch, fmt::format("{}match_cast shape size mismatch. ({} vs. {})",
                                                               a.text(a.size() - 1), shape.size(), ndim));
  for (std::size_t d = 0; d < shape.size(); ++d)
    RLDB_TRY_VOID(match_one(a, a[1], 3 + 2 * d, shape[d], fmt::format("shape[{}]", d)));
  return Value::null();
}

Result<Value> match_prim_value(const Args& a) {
  RLDB_TRY(const std::int64_t actual, a.integer(0));
  RLDB_TRY_VOID(match_one(a, a[1], 2, actual, "the value"));
  return Value::null();
}

Result<Value> make_shape(const Args& a) {
  RLDB_TRY(const std::int64_t ndim, a.integer(1));
  RLDB_TRY_VOID(pairs_fit(a, ndim, 2));
  std::vector<std::int64_t> dims;
  for (std::int64_t d = 0; d < ndim; ++d) {
    RLDB_TRY(const std::int64_t dim, made_one(a, a[0], std::size_t(2 + 2 * d)));
    dims.push_back(dim);
  }
  return Value::of_shape(std::move(dims));
}

Result<Value> make_prim_value(const Args& a) {
  RLDB_TRY(const std::int64_t v, made_one(a, a[0], 1));
  return Value::of_int(v);
}

// ---- checks ----

support::Failure<runtime::Error> not_as_declared(const Args& a, std::string_view wanted) {
  return runtime::fail(ErrorKind::TypeMismatch,
                       fmt::format("{}expect {} but get {}", a.text(a.size() - 1), wanted, runtime::describe(a[0])));
}

Result<Value> check_tensor(const Args& a) {
  RLDB_TRY(const std::int64_t ndim, a.integer(1));
  if (!a[0].is(ValueKind::Tensor)) return not_as_declared(a, "a Tensor");
  const Tensor& t = a[0].as_tensor();
  if (ndim >= 0 && t.ndim() != ndim) return not_as_declared(a, fmt::format("Tensor with ndim {}", ndim));
  if (a.size() < 4 || a[2].is_null()) return Value::null();
  RLDB_TRY(const DType dtype, a.dtype(2));
  if (!dtype.is_void() && t.dtype() != dtype)
    return not_as_declared(a, fmt::format("Tensor with dtype {}", runtime::to_string(dtype)));
  return Value::null();
}

Result<Value> check_shape(const Args& a) {
  RLDB_TRY(const std::int64_t ndim, a.integer(1));
  if (!a[0].is(ValueKind::Shape)) return not_as_declared(a, "a Shape");
  if (ndim >= 0 && std::int64_t(a[0].as_shape().size()) != ndim)
    return not_as_declared(a, fmt::format("Shape with ndim {}", ndim));
  return Value::null();
}

Result<Value> check_prim_value(const Args& a) {
  RLDB_TRY(const DType dtype, a.dtype(1));
  const bool whole = a[0].is(ValueKind::Int) || a[0].is(ValueKind::Bool);
  const bool good = dtype.is_float() ? a[0].is(ValueKind::Float) : !dtype.is_integral() || whole;
  if (!good) return not_as_declared(a, fmt::format("dtype {}", runtime::to_string(dtype)));
  return Value::null();
}

Result<Value> check_tuple(const Args& a) {
  RLDB_TRY(const std::int64_t size, a.integer(1));
  if (!a[0].is(ValueKind::Tuple) || std::int64_t(a[0].as_tuple().fields.size()) != size)
    return not_as_declared(a, fmt::format("a Tuple with {} elements", size));
  return Value::null();
}

Result<Value> check_func(const Args& a) {
  if (!a[0].is(ValueKind::Function)) return not_as_declared(a, "a Function");
  return Value::null();
}

// ---- memory and views ----

Result<Value> alloc_storage(const Args& a) {
  RLDB_TRY(const std::vector<std::int64_t>* shape, a.shape(0));
  RLDB_TRY(const DType dtype, a.dtype(2));
  RLDB_TRY(runtime::Ref<runtime::Storage> made, runtime::Storage::of_shape(*shape, dtype));
  return Value(std::move(made));
}

Result<Value> alloc_tensor(const Args& a) {
  if (!a[0].is(ValueKind::Storage)) return a.wrong(0, "a Storage");
  RLDB_TRY(const std::int64_t offset, a.integer(1));
  RLDB_TRY(const std::vector<std::int64_t>* shape, a.shape(2));
  RLDB_TRY(const DType dtype, a.dtype(3));
  if (offset < 0) return a.fail(ErrorKind::OutOfMemory, fmt::format("a tensor at byte {}", offset));
  RLDB_TRY(runtime::Ref<Tensor> made, Tensor::view(a[0].storage_ref(), std::size_t(offset), *shape, dtype));
  return Value(std::move(made));
}

Result<Value> alloc_shaped(const Args& a) {
  RLDB_TRY(const std::vector<std::int64_t>* shape, a.shape(0));
  RLDB_TRY(const DType dtype, a.dtype(1));
  RLDB_TRY(runtime::Ref<Tensor> made, Tensor::empty(*shape, dtype));
  return Value(std::move(made));
}

// The bytes of `t` from `offset` on, read with another shape and dtype.
Result<Value> viewed(const Args& a, const Tensor& t, std::int64_t offset, std::vector<std::int64_t> shape,
                     DType dtype) {
  const std::string wanted = runtime::describe(Value::of_shape(shape));
  const auto no_fit = [&] {
    return a.fail(ErrorKind::ShapeMismatch, fmt::format("{} of {} does not fit into {}", wanted,
                                                        runtime::to_string(dtype), runtime::describe(a[0])));
  };
  if (offset < 0 || std::size_t(offset) > t.byte_size()) return no_fit();
  RLDB_TRY(runtime::Ref<Tensor> made,
           Tensor::view(t.storage(), t.byte_offset() + std::size_t(offset), std::move(shape), dtype));
  if (made->byte_size() > t.byte_size() - std::size_t(offset)) return no_fit();
  return Value(std::move(made));
}

Result<Value> reshape(const Args& a) {
  RLDB_TRY(const Tensor* t, a.tensor(0));
  RLDB_TRY(const std::vector<std::int64_t>* shape, a.shape(1));
  RLDB_TRY(Value made, viewed(a, *t, 0, *shape, t->dtype()));
  if (made.as_tensor().element_count() != t->element_count())
    return a.fail(ErrorKind::ShapeMismatch,
                  fmt::format("cannot reshape {} to {}", runtime::describe(a[0]), runtime::describe(a[1])));
  return made;
}

Result<Value> memory_view(const Args& a) {
  RLDB_TRY(const Tensor* t, a.tensor(0));
  std::vector<std::int64_t> shape = t->shape();
  DType dtype = t->dtype();
  std::int64_t offset = 0;
  if (!a[1].is_null()) {
    RLDB_TRY(const std::vector<std::int64_t>* given, a.shape(1));
    shape = *given;
  }
  if (!a[2].is_null()) {
    RLDB_TRY(const DType given, a.dtype(2));
    if (!given.is_void()) dtype = given;
  }
  if (!a[3].is_null()) {
    RLDB_TRY(offset, a.integer(3));
  }
  return viewed(a, *t, offset, std::move(shape), dtype);
}

Result<Value> ensure_zero_offset(const Args& a) {
  RLDB_TRY(const Tensor* t, a.tensor(0));
  if (t->byte_offset() == 0) return a[0];
  RLDB_TRY(runtime::Ref<Tensor> copy, Tensor::empty(t->shape(), t->dtype()));
  if (t->byte_size() > 0) std::memcpy(copy->data(), t->peek(), t->byte_size());
  return Value(std::move(copy));
}

// ---- tuples ----

Result<Value*> field(const Args& a) {
  RLDB_TRY(runtime::Tuple * t, a.tuple(0));
  RLDB_TRY(const std::int64_t i, a.integer(1));
  if (i < 0 || std::uint64_t(i) >= t->fields.size())
    return a.fail(ErrorKind::OutOfBounds, fmt::format("field {} of a tuple of {}", i, t->fields.size()));
  return &t->fields[std::size_t(i)];
}

Result<Value> tuple_getitem(const Args& a) {
  RLDB_TRY(Value * f, field(a));
  return *f;
}

Result<Value> tuple_reset_item(const Args& a) {
  RLDB_TRY(Value * f, field(a));
  *f = Value::null();
  return Value::null();
}

Result<Value> same(const Args& a) { return a[0]; }
Result<Value> nothing(const Args&) { return Value::null(); }

Result<Value> read_if_cond(const Args& a) {
  RLDB_TRY(const bool taken, condition_of(a[0]));
  return Value::of_int(taken);
}

using Body = Result<Value> (*)(const Args&);

// Null: it calls back into the program, or is an operator that runs as a function.
Body body_of(BuiltinId id) {
  switch (id) {
    case BuiltinId::AllocShapeHeap:
      return alloc_shape_heap;
    case BuiltinId::MatchShape:
      return match_shape;
    case BuiltinId::MatchPrimValue:
      return match_prim_value;
    case BuiltinId::MakeShape:
      return make_shape;
    case BuiltinId::MakePrimValue:
      return make_prim_value;
    case BuiltinId::CheckTensorInfo:
      return check_tensor;
    case BuiltinId::CheckShapeInfo:
      return check_shape;
    case BuiltinId::CheckPrimValueInfo:
      return check_prim_value;
    case BuiltinId::CheckTupleInfo:
      return check_tuple;
    case BuiltinId::CheckFuncInfo:
      return check_func;
    case BuiltinId::AllocStorage:
      return alloc_storage;
    case BuiltinId::AllocTensor:
      return alloc_tensor;
    case BuiltinId::AllocShaped:
      return alloc_shaped;
    case BuiltinId::NullValue:
    case BuiltinId::MemoryClear:
      return nothing;
    case BuiltinId::Copy:
    case BuiltinId::ToDevice:  // every device is the CPU
      return same;
    case BuiltinId::Reshape:
      return reshape;
    case BuiltinId::EnsureZeroOffset:
      return ensure_zero_offset;
    case BuiltinId::MemoryView:
    case BuiltinId::MemoryViewAlias:
      return memory_view;
    case BuiltinId::ReadIfCond:
      return read_if_cond;
    case BuiltinId::TupleGetItem:
      return tuple_getitem;
    case BuiltinId::TupleResetItem:
      return tuple_reset_item;
    case BuiltinId::AdtMake:
      return adt_make;
    case BuiltinId::AdtIs:
      return adt_is;
    case BuiltinId::AdtField:
      return adt_field;
    case BuiltinId::NoMatch:
      return no_match;
    case BuiltinId::RefMake:
      return ref_make;
    case BuiltinId::RefRead:
      return ref_read;
    case BuiltinId::RefWrite:
      return ref_write;
    case BuiltinId::BroadcastShape:
      return broadcast_shape;
    case BuiltinId::ReshapedShape:
      return reshaped_shape;
    case BuiltinId::MakeTuple:
    case BuiltinId::InvokeClosure:
    case BuiltinId::MakeClosure:
    case BuiltinId::CallTirDyn:
    case BuiltinId::InvokeDebugFunc:
    case BuiltinId::ShapeOf:
    case BuiltinId::TensorToShape:
#define RLDB_BUILTIN(...)
#define RLDB_RUN_BUILTIN(Id, ...) case BuiltinId::Id:
#include "rldb/bytecode/builtin.def"
      break;
  }
  return nullptr;
}

}  // namespace

Result<bool> condition_of(const Value& v) {
  if (v.is(ValueKind::Int) || v.is(ValueKind::Bool)) return v.as_int() != 0;
  if (v.is(ValueKind::Tensor) && v.as_tensor().ndim() == 0 && v.as_tensor().dtype().is_integral())
    return runtime::load_as_int(v.as_tensor().peek(), v.as_tensor().dtype()) != 0;
  return runtime::fail(ErrorKind::TypeMismatch, fmt::format("the condition of an if is {}", runtime::describe(v)));
}

bool makes_memory(BuiltinId id) { return id == BuiltinId::AllocStorage || id == BuiltinId::AllocShaped; }

std::optional<Result<Value>> call_lowered(BuiltinId id, PackedArgs args) {
  if (id == BuiltinId::MakeTuple) return Value::of_tuple({args.begin(), args.end()});
  const Body body = body_of(id);
  if (!body) return std::nullopt;
  const Args a(id, args);
  // The row counts the machine argument.
  const bytecode::BuiltinInfo& row = bytecode::info(id);
  const int machine = row.takes_vm() ? 1 : 0;
  const int given = int(args.size()) + machine;
  if (given < row.min_args || (row.max_args >= 0 && given > row.max_args)) return Result<Value>(a.wrong_count());
  return body(a);
}

}  // namespace rldb::eval
