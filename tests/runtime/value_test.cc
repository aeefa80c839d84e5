#include "rldb/runtime/value.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "rldb/support/ref.h"
#include "runtime/helpers.h"

using namespace rldb::runtime;
using namespace rldb::runtime::testing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
const DType kF32 = DType::Float(32);

std::string text(const Ref<Tensor>& t) { return format_value(Value(t)); }

}  // namespace

TEST_CASE("storage: aligned, counted, limited") {
  const std::size_t before = memory_in_use();
  {
    auto s = Storage::allocate(100);
    REQUIRE(s.ok());
    CHECK(reinterpret_cast<std::uintptr_t>((*s)->data()) % 64 == 0);
    CHECK(memory_in_use() == before + 100);
    std::memset((*s)->data(), 7, 100);
    auto copy = (*s)->clone();
    REQUIRE(copy.ok());
    CHECK((*copy)->data() != (*s)->data());
    CHECK((*copy)->data()[99] == std::byte(7));
  }
  CHECK(memory_in_use() == before);
  CHECK(Storage::allocate(0).ok());

  const std::size_t limit = memory_limit();
  CHECK(limit > (std::size_t(1) << 26));
  set_memory_limit(before + 1000);
  CHECK(Storage::allocate(1000).ok());
  const auto refused = Storage::allocate(1001);
  set_memory_limit(limit);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::OutOfMemory);
  CHECK(refused.error().message.find("a tensor of 1001 bytes does not fit") == 0);
}

TEST_CASE("tensor: sizes are checked") {
  const auto kind = [](std::vector<std::int64_t> shape, DType t) {
    const auto result = Tensor::empty(std::move(shape), t);
    REQUIRE_FALSE(result.ok());
    return result.error().kind;
  };
  const std::int64_t huge = std::int64_t(1) << 40;
  CHECK(kind({2, -1}, kF32) == ErrorKind::ShapeMismatch);
  CHECK(kind({huge, huge}, kF32) == ErrorKind::OutOfMemory);
  CHECK(kind({huge, 1 << 20}, kF32) == ErrorKind::OutOfMemory);
  CHECK(kind({std::int64_t(1) << 62}, kF32) == ErrorKind::OutOfMemory);
  CHECK(kind({2}, DType::Void()) == ErrorKind::TypeMismatch);
  CHECK(kind({2}, DType::Float(32, -4)) == ErrorKind::TypeMismatch);
  CHECK(kind(std::vector<std::int64_t>(65, 1), kF32) == ErrorKind::Unsupported);
  const auto empty = Tensor::empty({huge, huge, 0}, kF32);
  REQUIRE(empty.ok());
  CHECK((*empty)->element_count() == 0);
  CHECK((*empty)->byte_size() == 0);
  const auto message = Tensor::empty({2, -1}, kF32).error().message;
  CHECK(message == "dimension 1 of shape (2, -1) is negative");
}

TEST_CASE("tensor: views fit or fail") {
  auto storage = Storage::allocate(64);
  REQUIRE(storage.ok());
  CHECK(Tensor::view(*storage, 0, {16}, kF32).ok());
  CHECK(Tensor::view(*storage, 60, {1}, kF32).ok());
  CHECK(Tensor::view(*storage, 64, {0}, kF32).ok());
  CHECK_FALSE(Tensor::view(*storage, 4, {16}, kF32).ok());
  CHECK_FALSE(Tensor::view(*storage, 65, {0}, kF32).ok());
  CHECK_FALSE(Tensor::view(*storage, ~std::size_t(0), {1}, kF32).ok());
  const auto view = Tensor::view(*storage, 8, {2}, kF32);
  REQUIRE(view.ok());
  CHECK((*view)->data() == (*storage)->data() + 8);
}

TEST_CASE("value: immediates") {
  CHECK(Value::of_float(1.5).as_float() == 1.5);
  CHECK(std::isnan(Value::of_float(kNan).as_float()));
  CHECK(Value::of_dtype(DType::Float(32, 4)).as_dtype() == DType::Float(32, 4));
  CHECK(Value::of_dtype(DType::Int(8, -4)).as_dtype() == DType::Int(8, -4));
  CHECK(Value::of_int(-7).as_int() == -7);
  CHECK(Value::null().is_null());
}

TEST_CASE("value: references are counted, moves leave null") {
  Value a = Value(tensor({2}, kF32, {1, 2}));
  CHECK(a.object()->use_count() == 1);
  Value b = a;
  CHECK(a.object()->use_count() == 2);
  Value c = std::move(b);
  CHECK(b.is_null());
  CHECK(a.object()->use_count() == 2);
  c = Value::of_int(1);
  CHECK(a.object()->use_count() == 1);
}

TEST_CASE("deep copy shares no storage") {
  const Value original = Value::of_tuple({Value(tensor({2}, kF32, {1, 2})), Value::of_int(3)});
  const auto copy = deep_copy(original);
  REQUIRE(copy.ok());
  CHECK(compare(*copy, original).empty());
  original.as_tuple().fields[0].as_tensor().data()[3] = std::byte(0);
  CHECK_FALSE(compare(*copy, original).empty());
}

TEST_CASE("deep copy: nesting has a limit and no stack to overflow") {
  Value v = Value::of_int(1);
  for (int i = 0; i < 1000; ++i) v = Value::of_tuple({v});
  const auto copy = deep_copy(v);
  REQUIRE_FALSE(copy.ok());
  CHECK(copy.error().kind == ErrorKind::Unsupported);
  CHECK(format_value(v).find("...") != std::string::npos);
}

TEST_CASE("format: floats in columns, as NumPy") {
  CHECK(text(tensor({2, 3}, kF32, {1, 2, 3, 4, 5, 6})) == "Tensor[(2, 3), \"float32\"]\n[[1. 2. 3.]\n [4. 5. 6.]]");
  CHECK(text(tensor({4}, kF32, {1, 2.5, -10.25, 0.1})) == "Tensor[(4,), \"float32\"]\n[  1.     2.5  -10.25   0.1 ]");
  CHECK(text(tensor({3}, DType::Float(64), {1.0 / 3, 2, 0})) ==
        "Tensor[(3,), \"float64\"]\n[0.33333333 2.         0.        ]");
  CHECK(text(tensor({2}, kF32, {1.0 / 3, 100})) == "Tensor[(2,), \"float32\"]\n[  0.33333334 100.        ]");
  CHECK(text(tensor({2}, DType::Float(16), {0.1, 0.333})) == "Tensor[(2,), \"float16\"]\n[0.1   0.333]");
  CHECK(text(tensor({2}, DType::BFloat16(), {0.1, 3.14})) == "Tensor[(2,), \"bfloat16\"]\n[0.1  3.14]");
}

TEST_CASE("format: scientific where columns would not do") {
  CHECK(text(tensor({2}, kF32, {1e10, 1.5})) == "Tensor[(2,), \"float32\"]\n[1.0e+10 1.5e+00]");
  CHECK(text(tensor({2}, kF32, {1e-5, 1})) == "Tensor[(2,), \"float32\"]\n[1.e-05 1.e+00]");
  CHECK(text(tensor({2}, DType::Float(64), {1e-300, -1e300})) == "Tensor[(2,), \"float64\"]\n[ 1.e-300 -1.e+300]");
  CHECK(text(tensor({2}, kF32, {1e9, kNan})) == "Tensor[(2,), \"float32\"]\n[1.e+09    nan]");
}

TEST_CASE("format: nan, inf, zeros") {
  CHECK(text(tensor({3}, kF32, {1, kNan, -kInf})) == "Tensor[(3,), \"float32\"]\n[  1.  nan -inf]");
  CHECK(text(tensor({2}, kF32, {kNan, kNan})) == "Tensor[(2,), \"float32\"]\n[nan nan]");
  CHECK(text(tensor({2}, kF32, {0, -0.0})) == "Tensor[(2,), \"float32\"]\n[ 0. -0.]");
}

TEST_CASE("format: integers, bools, empty, 0-d") {
  CHECK(text(tensor({3}, DType::Int(32), {1, -20, 300})) == "Tensor[(3,), \"int32\"]\n[  1 -20 300]");
  CHECK(text(tensor({2}, DType::UInt(8), {0, 255})) == "Tensor[(2,), \"uint8\"]\n[  0 255]");
  CHECK(text(tensor({2}, DType::Bool(), {1, 0})) == "Tensor[(2,), \"bool\"]\n[ True False]");
  CHECK(text(tensor({2}, DType::Bool(), {1, 1})) == "Tensor[(2,), \"bool\"]\n[ True  True]");
  CHECK(text(tensor({0, 3}, kF32, {})) == "Tensor[(0, 3), \"float32\"]\n[]");
  CHECK(text(tensor({}, kF32, {1})) == "Tensor[(), \"float32\"]\n1.0");
  CHECK(text(tensor({}, kF32, {0.1})) == "Tensor[(), \"float32\"]\n0.1");
  CHECK(text(tensor({}, DType::Bool(), {1})) == "Tensor[(), \"bool\"]\nTrue");
}

TEST_CASE("format: rank three has blank lines between matrices") {
  CHECK(text(tensor({2, 2, 1}, DType::Int(8), {1, 2, 3, 4})) ==
        "Tensor[(2, 2, 1), \"int8\"]\n[[[1]\n  [2]]\n\n [[3]\n  [4]]]");
}

TEST_CASE("format: long rows wrap at NumPy's column") {
  std::vector<double> values(40);
  for (int i = 0; i < 40; ++i) values[std::size_t(i)] = i;
  CHECK(text(tensor({40}, DType::Int(64), values)) ==
        "Tensor[(40,), \"int64\"]\n"
        "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
        " 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39]");
}

TEST_CASE("format: big tensors are summarised, columns fit what is shown") {
  std::vector<double> values(2000);
  for (int i = 0; i < 2000; ++i) values[std::size_t(i)] = i;
  CHECK(text(tensor({2000}, DType::Int(64), values)) ==
        "Tensor[(2000,), \"int64\"]\n[   0    1    2 ... 1997 1998 1999]");
  values[1000] = 1e20;  // hidden: does not widen the columns
  CHECK(text(tensor({200, 10}, kF32, values)) ==
        "Tensor[(200, 10), \"float32\"]\n"
        "[[0.000e+00 1.000e+00 2.000e+00 ... 7.000e+00 8.000e+00 9.000e+00]\n"
        " [1.000e+01 1.100e+01 1.200e+01 ... 1.700e+01 1.800e+01 1.900e+01]\n"
        " [2.000e+01 2.100e+01 2.200e+01 ... 2.700e+01 2.800e+01 2.900e+01]\n"
        " ...\n"
        " [1.970e+03 1.971e+03 1.972e+03 ... 1.977e+03 1.978e+03 1.979e+03]\n"
        " [1.980e+03 1.981e+03 1.982e+03 ... 1.987e+03 1.988e+03 1.989e+03]\n"
        " [1.990e+03 1.991e+03 1.992e+03 ... 1.997e+03 1.998e+03 1.999e+03]]");
}

TEST_CASE("format: a tensor longer than its edges on one axis of 10^8 elements is quick") {
  auto t = Tensor::empty({100'000'000}, DType::Int(8));
  REQUIRE(t.ok());
  std::memset((*t)->data(), 1, (*t)->byte_size());
  CHECK(text(*t) == "Tensor[(100000000,), \"int8\"]\n[1 1 1 ... 1 1 1]");
}

TEST_CASE("format: other values, and tuples of them") {
  CHECK(format_value(Value::null()) == "null");
  CHECK(format_value(Value::of_int(-3)) == "-3");
  CHECK(format_value(Value::of_float(2)) == "2.0");
  CHECK(format_value(Value::of_float(1e-7)) == "1e-07");
  CHECK(format_value(Value::of_float(1e16)) == "1e+16");
  CHECK(format_value(Value::of_float(123456789.123)) == "123456789.123");
  CHECK(format_value(Value::of_bool(true)) == "True");
  CHECK(format_value(Value::of_dtype(kF32)) == "dtype(\"float32\")");
  CHECK(format_value(Value::of_string("a\"b\n\033")) == "\"a\\\"b\\n\\x1b\"");
  CHECK(format_value(Value::of_shape({2, 3})) == "shape(2, 3)");
  CHECK(format_value(Value::of_shape({})) == "shape()");
  const Value tuple =
      Value::of_tuple({Value(tensor({2, 1}, kF32, {1, 2})), Value::of_tuple({Value::of_int(3), Value::null()})});
  CHECK(format_value(tuple) ==
        "tuple(2)\n"
        "[0] Tensor[(2, 1), \"float32\"]\n"
        "    [[1.]\n"
        "     [2.]]\n"
        "[1] tuple(2)\n"
        "    [0] 3\n"
        "    [1] null");
  CHECK(describe(tuple) == "tuple(2)");
}

TEST_CASE("compare: where, what, how much") {
  const Value a = Value(tensor({2, 3}, kF32, {1, 2, 3, 4, 5, 6}));
  const Value b = Value(tensor({2, 3}, kF32, {1, 2, 3.5, 4, 5, 6.25}));
  CHECK(compare(a, a).empty());
  CHECK(compare(a, b) ==
        "element [0, 2] is 3.0, expected 3.5; 2 of 6 elements differ; largest difference 0.5 "
        "absolute, 0.142857 relative (atol=1e-05, rtol=1e-05)");
  CHECK(compare(a, b, {.atol = 1, .rtol = 0}).empty());
  CHECK(compare(Value::of_tuple({a, Value::of_tuple({a})}), Value::of_tuple({a, Value::of_tuple({b})}))
            .starts_with("at [1][0]: element [0, 2] is 3.0"));
}

TEST_CASE("compare: a tensor without dims has no index") {
  const Value three = Value(tensor({}, kF32, {3})), four = Value(tensor({}, kF32, {4}));
  CHECK(compare(three, four) == "3.0, expected 4.0; difference 1 absolute, 0.25 relative (atol=1e-05, rtol=1e-05)");
  CHECK(compare(Value::of_tuple({three}), Value::of_tuple({four})).starts_with("at [0]: 3.0, expected 4.0;"));
}

TEST_CASE("compare: nan and inf") {
  const Value a = Value(tensor({3}, kF32, {kNan, kInf, 1}));
  const Value b = Value(tensor({3}, kF32, {1, kInf, kNan}));
  CHECK(compare(a, a).empty());
  CHECK_FALSE(compare(a, a, {.equal_nan = false}).empty());
  CHECK(compare(a, b).starts_with("element [0] is nan, expected 1.0; 2 of 3 elements differ"));
  CHECK_FALSE(compare(Value(tensor({1}, kF32, {kInf})), Value(tensor({1}, kF32, {-kInf}))).empty());
}

TEST_CASE("compare: integers beyond 2^53 are not rounded") {
  auto a = Tensor::empty({1}, DType::Int(64));
  auto b = Tensor::empty({1}, DType::Int(64));
  REQUIRE((a.ok() && b.ok()));
  store_int((*a)->data(), DType::Int(64), (std::int64_t(1) << 60) + 1);
  store_int((*b)->data(), DType::Int(64), std::int64_t(1) << 60);
  CHECK(compare(Value(*a), Value(*b), {.atol = 0, .rtol = 0})
            .starts_with("element [0] is 1152921504606846977, expected 1152921504606846976"));
}

TEST_CASE("compare: kinds, shapes, dtypes, sizes") {
  const Value a = Value(tensor({2}, kF32, {1, 2}));
  CHECK(compare(a, Value(tensor({2, 1}, kF32, {1, 2}))) ==
        "Tensor[(2,), \"float32\"], expected Tensor[(2, 1), \"float32\"]");
  CHECK(compare(a, Value(tensor({2}, DType::Int(32), {1, 2}))) ==
        "Tensor[(2,), \"float32\"], expected Tensor[(2,), \"int32\"]");
  CHECK(compare(Value::of_int(1), Value::of_bool(true)) == "1, expected True");
  CHECK(compare(Value::of_shape({1}), Value::of_shape({2})) == "shape(1), expected shape(2)");
  CHECK(compare(Value::of_tuple({a}), Value::of_tuple({})) == "tuple(1), expected tuple(0)");
  CHECK(compare(Value::of_float(1), Value::of_float(1 + 1e-9)).empty());
}

TEST_CASE("compare: functions of two programs by name and captured values, storages by size") {
  const auto closure = [](std::string name, std::vector<Value> captured) {
    auto f = rldb::support::make_ref<Function>(std::move(name), 0);
    f->captured = std::move(captured);
    return Value(f);
  };
  CHECK(compare(closure("f", {}), closure("f", {})).empty());
  CHECK(compare(closure("f", {}), closure("g", {})) == "function(`f`), expected function(`g`)");
  CHECK(compare(closure("f", {Value::of_int(1)}), closure("f", {Value::of_int(1)})).empty());
  CHECK(compare(closure("f", {Value::of_int(1)}), closure("f", {})).find("1 captured") != std::string::npos);
  CHECK(compare(closure("f", {Value::of_int(1)}), closure("f", {Value::of_int(2)})) ==
        "at .captured[0]: 1, expected 2");
  const auto storage = [](std::size_t bytes) { return Value(Storage::allocate(bytes).value()); };
  CHECK(compare(storage(8), storage(8)).empty());
  CHECK_FALSE(compare(storage(8), storage(16)).empty());
}
