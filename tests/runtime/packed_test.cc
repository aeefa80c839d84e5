#include "rldb/runtime/packed.h"

#include <doctest/doctest.h>

#include "runtime/helpers.h"

using namespace rldb::runtime;
using namespace rldb::runtime::testing;

namespace {

const DType kF32 = DType::Float(32);

struct Captured : Output {
  std::string text;
  void write(std::string_view t) override { text += t; }
};

struct Fixture {
  Captured out;
  PackedRegistry registry;
  Fixture() { register_test_functions(registry, out); }
  Result<Value> call(std::string_view name, const std::vector<Value>& args) {
    const PackedInfo* info = registry.find(name);
    REQUIRE(info);
    return info->function->native(args);
  }
  Value good(std::string_view name, const std::vector<Value>& args) {
    auto r = call(name, args);
    if (!r.ok()) FAIL(r.error().message);
    return std::move(r).value();
  }
  Error bad(std::string_view name, const std::vector<Value>& args) {
    auto r = call(name, args);
    REQUIRE_FALSE(r.ok());
    return r.error();
  }
};

Value vec(const std::vector<double>& v, DType t = kF32) { return Value(tensor({std::int64_t(v.size())}, t, v)); }

}  // namespace

TEST_CASE("registry: find, names, replace, arity") {
  PackedRegistry r;
  CHECK(r.find("f") == nullptr);
  r.register_function(
      "f", [](PackedArgs) -> Result<Value> { return Value::of_int(1); }, "doc", 1);
  r.register_function("e", [](PackedArgs) -> Result<Value> { return Value::of_int(2); });
  CHECK(r.names() == std::vector<std::string_view>{"e", "f"});
  CHECK(r.find("f")->doc == "doc");
  CHECK(r.find("f")->arity == 1);
  const auto wrong = r.find("f")->function->native({});
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().kind == ErrorKind::ArgumentCount);
  CHECK(wrong.error().message == "`f` takes 1 argument, got 0");
  r.register_function("f", [](PackedArgs) -> Result<Value> { return Value::of_int(3); });
  CHECK(r.find("f")->function->native({})->as_int() == 3);
}

TEST_CASE_FIXTURE(Fixture, "custom_add and test.vm.add: sums, broadcasting, dtypes") {
  CHECK(elements(good("custom_add", {vec({1, 2}), vec({10, 20})})) == std::vector<double>{11, 22});
  const Value column = Value(tensor({2, 1}, kF32, {1, 2}));
  CHECK(elements(good("test.vm.add", {column, vec({10, 20, 30})})) == std::vector<double>{11, 21, 31, 12, 22, 32});
  CHECK(elements(good("test.vm.add", {vec({127}, DType::Int(8)), vec({1}, DType::Int(8))})) ==
        std::vector<double>{-128});
  CHECK(bad("custom_add", {vec({1, 2}), vec({1, 2, 3})}).message ==
        "Tensor[(2,), \"float32\"] and Tensor[(3,), \"float32\"] do not broadcast: 2 vs 3");
  CHECK(bad("custom_add", {vec({1}), vec({1}, DType::Int(8))}).kind == ErrorKind::TypeMismatch);
  CHECK(bad("custom_add", {vec({1}), Value::of_int(1)}).message == "argument 1: expected a tensor, got 1");
  CHECK(bad("custom_add", {vec({1})}).kind == ErrorKind::ArgumentCount);
}

TEST_CASE_FIXTURE(Fixture, "custom_tile fills its output") {
  const Value in = Value(tensor({2, 2}, kF32, {1, 2, 3, 4}));
  const Value out = Value(tensor({2, 4}, kF32, std::vector<double>(8, 0)));
  CHECK(good("custom_tile", {in, out}).is_null());
  CHECK(elements(out) == std::vector<double>{1, 2, 1, 2, 3, 4, 3, 4});
  CHECK(bad("custom_tile", {in, in}).kind == ErrorKind::ShapeMismatch);
  const Value none = Value(tensor({2, 0}, kF32, {}));
  CHECK(good("custom_tile", {none, none}).is_null());
}

TEST_CASE_FIXTURE(Fixture, "custom_print writes to the output it was given") {
  good("custom_print", {vec({1, 2})});
  CHECK(out.text == "Tensor[(2,), \"float32\"]\n[1. 2.]\n");
}

TEST_CASE_FIXTURE(Fixture, "test.vm helpers") {
  const Value a = vec({2, 3});
  CHECK(good("test.vm.move", {a}).object() == a.object());
  CHECK(elements(good("test.vm.mul", {a, a})) == std::vector<double>{4, 9});
  CHECK(elements(good("test.vm.subtract_one", {a})) == std::vector<double>{1, 2});
  CHECK(elements(a) == std::vector<double>{2, 3});
  CHECK(elements(good("test.vm.equal_zero", {a})) == std::vector<double>{0});
  CHECK(elements(good("test.vm.equal_zero", {vec({0, 0})})) == std::vector<double>{1});
  CHECK(good("test.vm.equal_zero", {a}).as_tensor().dtype() == DType::Bool());
  CHECK(elements(good("test.vm.less", {a, vec({3, 3})})) == std::vector<double>{1, 0});
  const Value big = Value(tensor({1}, DType::UInt(64), {0x1p63}));
  const Value one = Value(tensor({1}, DType::UInt(64), {1}));
  CHECK(elements(good("test.vm.less", {one, big})) == std::vector<double>{1});
  const Value to = vec({0, 0});
  good("test.vm.identity", {a, to});
  CHECK(elements(to) == std::vector<double>{2, 3});
  CHECK(bad("test.op.identity", {a, vec({1})}).message ==
        "cannot copy Tensor[(2,), \"float32\"] into Tensor[(1,), \"float32\"]");
  CHECK(good("test.vm.add_scalar", {Value::of_int(1), Value::of_int(2)}).as_int() == 3);
  CHECK(good("test.vm.add_scalar", {Value::of_int(1), Value::of_float(.5)}).as_float() == 1.5);
  CHECK(bad("test.vm.add_scalar", {a, Value::of_int(1)}).kind == ErrorKind::TypeMismatch);
  CHECK(good("test.vm.check_if_defined", {Value::null()}).as_int() == 0);
  CHECK(good("test.vm.check_if_defined", {a}).as_int() == 1);
}

TEST_CASE_FIXTURE(Fixture, "in-place helpers change argument 0") {
  const Value a = vec({1, 2});
  const Value r = good("test.inplace.add", {a, vec({10, 20})});
  CHECK(r.object() == a.object());
  CHECK(elements(a) == std::vector<double>{11, 22});
  const Value pair = good("test.inplace.tuple_add", {a, vec({1, 1})});
  REQUIRE(pair.as_tuple().fields.size() == 2);
  CHECK(pair.as_tuple().fields[0].object() == a.object());
  CHECK(pair.as_tuple().fields[1].object() != a.object());
  CHECK(elements(pair.as_tuple().fields[1]) == std::vector<double>{12, 23});
}
