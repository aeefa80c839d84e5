// The packed functions that RFC 0089's programs and TVM's test programs call. To add one: write a function of type
// `Result<Value>(PackedArgs)`, and give it a row in register_test_functions with its argument count. In
// `R.call_packed` and `R.call_pure_packed` the result is the returned value; in `R.call_dps_packed` the arguments are
// the inputs and then the outputs, which the function fills, and the returned value is ignored.
// (`vm.builtin.*` are the machine's: bytecode/builtin.def.)
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "rldb/runtime/copy.h"
#include "rldb/runtime/packed.h"
#include "runtime/value/failures.h"

namespace rldb::runtime {

namespace {

Result<Tensor*> scalar_tensor(PackedArgs args, std::size_t i) {
  if (!args[i].is(ValueKind::Tensor)) {
    return mismatch(fmt::format("argument {}: expected a tensor, got {}", i, describe(args[i])));
  }
  Tensor& tensor = args[i].as_tensor();
  if (!tensor.dtype().is_scalar()) {
    return fail(ErrorKind::Unsupported, fmt::format("argument {}: elements of `{}`", i, to_string(tensor.dtype())));
  }
  return &tensor;
}

// Two tensors of one dtype, and the shape that NumPy broadcasting makes of theirs.
struct Pair {
  Tensor* a;
  Tensor* b;
  std::vector<std::int64_t> shape;
};

Result<Pair> broadcast_pair(PackedArgs args) {
  RLDB_TRY(Tensor * a, scalar_tensor(args, 0));
  RLDB_TRY(Tensor * b, scalar_tensor(args, 1));
  if (a->dtype() != b->dtype()) {
    return mismatch(fmt::format("argument 1: dtype is `{}`, but argument 0 has `{}`", to_string(b->dtype()),
                                to_string(a->dtype())));
  }
  const std::size_t rank = std::max(a->shape().size(), b->shape().size());
  std::vector<std::int64_t> shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto dim = [&](const Tensor& t) {
      const std::size_t missing = rank - t.shape().size();
      return i < missing ? std::int64_t(1) : t.shape()[i - missing];
    };
    const std::int64_t x = dim(*a);
    const std::int64_t y = dim(*b);
    if (x != y && x != 1 && y != 1) {
      return fail(ErrorKind::ShapeMismatch,
                  fmt::format("{} and {} do not broadcast: {} vs {}", describe(args[0]), describe(args[1]), x, y));
    }
    shape[i] = x == 1 ? y : x;
  }
  return Pair{a, b, std::move(shape)};
}

// The element of `t` that corresponds to element `flat` of the broadcast shape.
const std::byte* element_at(const Tensor& t, const std::vector<std::int64_t>& shape, std::int64_t flat) {
  std::int64_t offset = 0;
  std::int64_t stride = 1;
  const std::size_t missing = shape.size() - t.shape().size();
  for (std::size_t i = shape.size(); i-- > missing;) {
    const std::int64_t index = flat % shape[i];
    flat /= shape[i];
    const std::int64_t dim = t.shape()[i - missing];
    if (dim != 1) offset += index * stride;
    stride *= dim;
  }
  return t.data() + std::size_t(offset) * t.dtype().bytes();
}

// Integers are computed as words, floats as doubles rounded once to the element type.
template <class IntOp, class FloatOp>
Result<Value> elementwise(PackedArgs args, DType result, IntOp int_op, FloatOp float_op) {
  RLDB_TRY(Pair pair, broadcast_pair(args));
  const DType t = pair.a->dtype();
  RLDB_TRY(auto out, Tensor::empty(pair.shape, result.is_void() ? t : result, pair.a->device()));
  const std::int64_t n = out->element_count();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::byte* x = element_at(*pair.a, pair.shape, i);
    const std::byte* y = element_at(*pair.b, pair.shape, i);
    std::byte* to = out->data() + std::size_t(i) * out->dtype().bytes();
    if (t.is_float()) {
      store_double(to, out->dtype(), float_op(load_as_double(x, t), load_as_double(y, t)));
    } else {
      store_int(to, out->dtype(), int_op(load_as_int(x, t), load_as_int(y, t)));
    }
  }
  return Value(std::move(out));
}

// Unsigned arithmetic wraps; signed would be undefined.
std::int64_t wrap_add(std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) + std::uint64_t(b)); }
std::int64_t wrap_mul(std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) * std::uint64_t(b)); }

Result<Value> add(PackedArgs args) {
  return elementwise(args, DType::Void(), wrap_add, [](double a, double b) { return a + b; });
}

Result<Value> multiply(PackedArgs args) {
  return elementwise(args, DType::Void(), wrap_mul, [](double a, double b) { return a * b; });
}

Result<Value> less(PackedArgs args) {
  RLDB_TRY(Tensor * a, scalar_tensor(args, 0));
  if (a->dtype().is_uint()) {
    return elementwise(
        args, DType::Bool(), [](std::int64_t x, std::int64_t y) { return std::uint64_t(x) < std::uint64_t(y); },
        [](double x, double y) { return x < y; });
  }
  return elementwise(
      args, DType::Bool(), [](std::int64_t x, std::int64_t y) { return x < y; },
      [](double x, double y) { return x < y; });
}

// A fresh tensor with one subtracted everywhere.
Result<Value> subtract_one(PackedArgs args) {
  RLDB_TRY(Tensor * a, scalar_tensor(args, 0));
  const DType t = a->dtype();
  RLDB_TRY(auto out, Tensor::empty(a->shape(), t, a->device()));
  for (std::int64_t i = 0; i < a->element_count(); ++i) {
    const std::size_t at = std::size_t(i) * t.bytes();
    if (t.is_float()) {
      store_double(out->data() + at, t, load_as_double(a->data() + at, t) - 1);
    } else {
      store_int(out->data() + at, t, wrap_add(load_as_int(a->data() + at, t), -1));
    }
  }
  return Value(std::move(out));
}

// A 0-d bool tensor: whether all elements are zero.
Result<Value> equal_zero(PackedArgs args) {
  RLDB_TRY(Tensor * a, scalar_tensor(args, 0));
  RLDB_TRY(auto out, Tensor::empty({}, DType::Bool(), a->device()));
  bool all = true;
  for (std::int64_t i = 0; i < a->element_count(); ++i) all &= a->at(i) == 0;
  store_int(out->data(), out->dtype(), all);
  return Value(std::move(out));
}

Result<Value> first_argument(PackedArgs args) { return args[0]; }

// DPS: copies argument 0 into argument 1.
Result<Value> copy_into(PackedArgs args) {
  RLDB_TRY(Tensor * from, scalar_tensor(args, 0));
  RLDB_TRY(Tensor * to, scalar_tensor(args, 1));
  if (from->dtype() != to->dtype() || from->shape() != to->shape()) {
    return fail(ErrorKind::ShapeMismatch, fmt::format("cannot copy {} into {}", describe(args[0]), describe(args[1])));
  }
  if (from->byte_size() > 0) std::memmove(to->data(), from->data(), from->byte_size());
  return Value::null();
}

// DPS: argument 1 becomes argument 0 twice along the last axis, as np.tile(a, (1, 2)).
Result<Value> tile_into(PackedArgs args) {
  RLDB_TRY(Tensor * from, scalar_tensor(args, 0));
  RLDB_TRY(Tensor * to, scalar_tensor(args, 1));
  std::vector<std::int64_t> wanted = from->shape();
  while (wanted.size() < 2) wanted.insert(wanted.begin(), 1);
  std::int64_t doubled = 0;
  const std::int64_t last = wanted.back();
  const bool overflow = __builtin_mul_overflow(last, std::int64_t(2), &doubled);
  wanted.back() = doubled;
  if (overflow || from->dtype() != to->dtype() || to->shape() != wanted) {
    return fail(ErrorKind::ShapeMismatch,
                fmt::format("{} tiled by (1, 2) does not fit into {}", describe(args[0]), describe(args[1])));
  }
  const std::size_t row = std::size_t(last) * from->dtype().bytes();
  const std::size_t rows = row == 0 ? 0 : from->byte_size() / row;
  for (std::size_t r = 0; r < rows; ++r) {
    std::memcpy(to->data() + 2 * r * row, from->data() + r * row, row);
    std::memcpy(to->data() + (2 * r + 1) * row, from->data() + r * row, row);
  }
  return Value::null();
}

Result<Value> add_scalar(PackedArgs args) {
  if (args[0].is(ValueKind::Int) && args[1].is(ValueKind::Int)) {
    return Value::of_int(wrap_add(args[0].as_int(), args[1].as_int()));
  }
  const auto number = [](const Value& v) { return v.is(ValueKind::Float) ? v.as_float() : double(v.as_int()); };
  for (std::size_t i = 0; i < 2; ++i) {
    if (args[i].is(ValueKind::Int) || args[i].is(ValueKind::Float)) continue;
    return mismatch(fmt::format("argument {}: expected a number, got {}", i, describe(args[i])));
  }
  return Value::of_float(number(args[0]) + number(args[1]));
}

// In place: argument 0 += argument 1, and argument 0 is the result.
Result<Value> add_in_place(PackedArgs args) {
  RLDB_TRY(Value sum, add(args));
  const Value copy_args[] = {sum, args[0]};
  RLDB_TRY_VOID(copy_into(copy_args));
  return args[0];
}

// In place: argument 0 becomes the sum; the result is (argument 0, a fresh copy of the sum).
Result<Value> tuple_add_in_place(PackedArgs args) {
  RLDB_TRY(Value sum, add(args));
  const Value copy_args[] = {sum, args[0]};
  RLDB_TRY_VOID(copy_into(copy_args));
  return Value::of_tuple({args[0], sum});
}

// In place: every element plus one, so that an update can be seen.
Result<Value> increment_in_place(PackedArgs args) {
  RLDB_TRY(Tensor * t, scalar_tensor(args, 0));
  const std::size_t width = t->dtype().bytes();
  for (std::int64_t i = 0; i < t->element_count(); ++i)
    store_double(t->data() + std::size_t(i) * width, t->dtype(), t->at(i) + 1);
  return Value::null();
}

// DPS: the bytes of argument 0, whatever the two shapes are, as long as the sizes agree.
Result<Value> flatten_into(PackedArgs args) {
  RLDB_TRY(Tensor * from, scalar_tensor(args, 0));
  RLDB_TRY(Tensor * to, scalar_tensor(args, 1));
  if (from->dtype() != to->dtype() || from->element_count() != to->element_count()) {
    return fail(ErrorKind::ShapeMismatch, fmt::format("cannot lay {} out as {}", describe(args[0]), describe(args[1])));
  }
  std::memmove(to->data(), from->data(), from->byte_size());
  return Value::null();
}

// They compute where their arguments are.
struct Helpers {
  PackedRegistry& registry;
  std::vector<std::string>* called;
  // One of RFC 0089's: a user's program may mean another function by that name.
  void register_example(const std::string& name, const PackedFn& fn, std::string doc, int arity) {
    auto noted = [name, fn, to = called](PackedArgs args) {
      if (to && std::find(to->begin(), to->end(), name) == to->end()) to->push_back(name);
      return fn(args);
    };
    register_function(name, std::move(noted), std::move(doc), arity);
  }
  void register_function(const std::string& name, const PackedFn& fn, std::string doc, int arity) {
    auto on_one = [name, fn](PackedArgs args) -> Result<Value> {
      if (const std::string differ = devices_differ(args); !differ.empty())
        return fail(ErrorKind::TypeMismatch, fmt::format("`{}`: {}", name, differ));
      return fn(args);
    };
    registry.register_function(name, std::move(on_one), std::move(doc), arity).any_device = true;
  }
};

}  // namespace

void register_test_functions(PackedRegistry& registry, Output& out, std::vector<std::string>* called) {
  Helpers r{registry, called};
  // RFC 0089, sections 3 and 4.
  r.register_example("custom_add", add, "the sum of two tensors", 2);
  r.register_example("custom_tile", tile_into, "DPS: argument 0 twice along the last axis", 2);
  r.register_example(
      "custom_print",
      [&out](PackedArgs args) -> Result<Value> {
        out.write(format_value(args[0]) + "\n");
        return Value::null();
      },
      "prints its argument", 1);
  r.register_example("custom_inplace_update", increment_in_place, "in place: argument 0 plus one", 1);
  r.register_example("custom_func", copy_into, "DPS: copies argument 0 into argument 1", 2);
  r.register_example("myshape_func", first_argument, "a shape function: its argument", 1);
  r.register_example("flatten", flatten_into, "DPS: argument 0 laid out as argument 1", 2);

  // TVM's helpers.
  r.register_function("test.vm.move", first_argument, "its argument", 1);
  r.register_function("test.vm.add", add, "the sum of two tensors", 2);
  r.register_function("test.vm.mul", multiply, "the product of two tensors", 2);
  r.register_function("test.vm.less", less, "elementwise a < b", 2);
  r.register_function("test.vm.equal_zero", equal_zero, "are all elements zero", 1);
  r.register_function("test.vm.subtract_one", subtract_one, "its argument less one", 1);
  r.register_function("test.vm.identity", copy_into, "DPS: copies argument 0 into argument 1", 2);
  r.register_function("test.op.identity", copy_into, "DPS: copies argument 0 into argument 1", 2);
  r.register_function("test.vm.tile", tile_into, "DPS: argument 0 twice along the last axis", 2);
  r.register_function("test.vm.add_scalar", add_scalar, "the sum of two numbers", 2);
  r.register_function(
      "test.vm.get_device_id", [](PackedArgs) -> Result<Value> { return Value::of_int(0); },
      "the id of a device: there is one, 0", 1);
  r.register_function(
      "test.vm.check_if_defined", [](PackedArgs args) -> Result<Value> { return Value::of_bool(!args[0].is_null()); },
      "is the argument not null", 1);
  r.register_function("test.inplace.add", add_in_place, "argument 0 += argument 1", 2);
  r.register_function("test.inplace.tuple_add", tuple_add_in_place,
                      "argument 0 += argument 1; returns (argument 0, the sum)", 2);
  r.register_function("testing.echo", first_argument, "its argument", 1);
}

}  // namespace rldb::runtime
