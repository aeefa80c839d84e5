// Plugins that use the whole C ABI: objects, containers, functions both ways, errors; and plugins that misuse it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "rldb/runtime/ffi_abi.h"
#include "rldb/runtime/object_value.h"
#include "rldb/runtime/plugin.h"
#include "runtime/helpers.h"

using namespace rldb::runtime;
using namespace rldb::runtime::testing;

namespace {

const DType kF32 = DType::Float(32);

struct Loaded {
  PackedRegistry registry;
  bool isolate = false;
  std::shared_ptr<Isolation> isolation = std::make_shared<Isolation>();
  PluginInfo info;

  explicit Loaded(const std::string& path, bool isolated = false) : isolate(isolated) {
    isolation->on = &isolate;
    auto loaded = load_plugin(registry, path, isolation);
    if (!loaded.ok()) FAIL(loaded.error().message);
    info = *loaded;
  }
  Result<Value> try_call(std::string_view name, std::vector<Value> args) {
    const PackedInfo* f = registry.find(name);
    REQUIRE_MESSAGE(f, name);
    return f->function->native(args);
  }
  Value call(std::string_view name, std::vector<Value> args) {
    auto r = try_call(name, std::move(args));
    if (!r.ok()) FAIL(r.error().message);
    return *r;
  }
  std::string error(std::string_view name, std::vector<Value> args) {
    auto r = try_call(name, std::move(args));
    REQUIRE_FALSE_MESSAGE(r.ok(), name);
    return r.error().message;
  }
};

Value f32(std::vector<std::int64_t> shape, std::vector<double> values) {
  return Value(tensor(std::move(shape), kF32, std::move(values)));
}

Value native(const std::string& name, PackedFn fn) {
  return Value(rldb::support::make_ref<Function>(name, std::move(fn)));
}

Value int_map() {
  return Value::of_object(rldb::support::make_ref<MapValue>(std::vector<std::pair<Value, Value>>{
      {Value::of_string("x"), Value::of_int(5)}, {Value::of_string("a long key here"), Value::of_int(6)}}));
}

}  // namespace

TEST_CASE("ffi: a library made like TVM's loads, with registered functions and signatures") {
  Loaded p(RLDB_TVM_PLUGIN);
  std::map<std::string, PluginFunction> by_name;
  for (const PluginFunction& f : p.info.functions) by_name[f.name] = f;
  CHECK(by_name.at("volume").signature == "(Shape) -> int");
  CHECK(by_name.at("volume").doc == "the product of the dimensions");
  CHECK(by_name.at("test.times_ten").signature == "(int) -> int");
  CHECK(by_name.at("test.times_ten").doc == "ten times an int");
  CHECK(by_name.count("_metadata_volume") == 0);
  CHECK(p.call("test.times_ten", {Value::of_int(4)}).as_int() == 40);
  CHECK(p.call("types_work", {}).as_int() == 1);
}

TEST_CASE("ffi: arguments and results of every kind, in this process and in a guard") {
  for (const bool isolated : {false, true}) {
    CAPTURE(isolated);
    Loaded p(RLDB_TVM_PLUGIN, isolated);
    CHECK(p.call("hello", {}).as_string() == "hello from a plugin, longer than small");
    CHECK(p.call("brief", {}).as_string() == "brief");
    CHECK(p.call("volume", {Value::of_shape({2, 3, 4})}).as_int() == 24);
    CHECK(p.error("volume", {Value::of_int(1)}) == "`volume`: TypeError: a shape is needed");
    CHECK(p.error("boom", {f32({2, 2}, {1, 2, 3, 4})}) == "`boom`: ValueError: boom with ndim 2");
    CHECK(elements(p.call("strided", {})) == std::vector<double>{2, 4, 3, 5});
    const Value listed = p.call("listed", {f32({2}, {8, 9})});
    CHECK(describe(listed) == "tuple(3)");
    CHECK(listed.as_tuple().fields[1].as_string() == "a text that is long");
    CHECK(elements(listed.as_tuple().fields[2]) == std::vector<double>{8, 9});
    CHECK(describe(p.call("mapped", {})) == "{\"a\": 1, \"b\": 2}");
    CHECK(p.call("map_total", {int_map()}).as_int() == 11);
    CHECK(p.call("array_total", {Value::of_tuple({Value::of_int(3), Value::of_int(4)})}).as_int() == 7);
    CHECK(describe(p.call("device_of", {f32({1}, {1})})) == "device(\"cpu\")");
    const std::pair<Value, std::int64_t> kinds[] = {{Value(), 0},
                                                    {Value::of_int(1), 1},
                                                    {Value::of_bool(true), 2},
                                                    {Value::of_float(1), 3},
                                                    {Value::of_dtype(kF32), 5},
                                                    {Value::of_string("x"), 65},
                                                    {Value::of_string("longer than seven bytes"), 65},
                                                    {Value::of_shape({1}), 69},
                                                    {f32({1}, {1}), 70},
                                                    {Value::of_tuple({}), 71},
                                                    {int_map(), 72}};
    for (const auto& [v, kind] : kinds) CHECK(p.call("kind_of", {v}).as_int() == kind);
    for (const auto& [v, kind] : kinds) CHECK(compare(p.call("ident", {v}), v).empty());
  }
}

TEST_CASE("ffi: a library that gives an address in a later call stays loaded") {
  {
    Loaded p(RLDB_LATE_PLUGIN);
    for (const char* name : {"give_allocator", "give_tensor_allocator", "give_function"}) p.call(name, {});
  }
  const TVMFFICustomAllocator* allocator = TVMFFIGetCustomAllocator();
  std::free(allocator->allocate(64, 16, kTVMFFIObject, allocator->context));
  TVMFFISetCustomAllocator(nullptr);
  DLTensor none{};
  DLManagedTensorVersioned* made = nullptr;
  std::string said;
  const auto hear = [](void* to, const char*, const char* message) { *static_cast<std::string*>(to) = message; };
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator()(&none, &made, &said, hear) == -1);
  CHECK(said == "the allocator of late_plugin.c has none");
  TVMFFIEnvSetDLPackManagedTensorAllocator(nullptr, 1, nullptr);
  Loaded p(RLDB_TVM_PLUGIN);
  CHECK(p.call("by_name", {Value::of_string("late.answer")}).as_int() == 42);
}

TEST_CASE("ffi: an object of the plugin is kept, passed back and released") {
  for (const bool isolated : {false, true}) {
    CAPTURE(isolated);
    Loaded p(RLDB_TVM_PLUGIN, isolated);
    const std::int64_t before = p.call("alive", {}).as_int();
    {
      const Value counter = p.call("counter", {});
      CHECK(describe(counter) == "object of type `test.Counter`");
      CHECK(p.call("count", {counter}).as_int() == 1);
      CHECK(p.call("count", {counter}).as_int() == 2);
      CHECK(p.call("alive", {}).as_int() == before + 1);
    }
    CHECK(p.call("alive", {}).as_int() == before);
    CHECK(p.error("count", {Value::of_int(1)}) == "`count`: TypeError: a counter is needed");
  }
}

TEST_CASE("ffi: a returned tensor is the argument itself, or memory of the plugin") {
  Loaded p(RLDB_TVM_PLUGIN);
  const Value x = f32({2}, {1, 2});
  CHECK(p.call("ident", {x}).object() == x.object());
  const Value first = p.call("own_tensor", {});
  CHECK(first.as_tensor().at(0) == 1);
  p.call("own_tensor", {});
  CHECK(first.as_tensor().at(0) == 2);
  // In a guard there is a copy of its memory; an argument stays one with what is returned.
  Loaded guarded(RLDB_TVM_PLUGIN, true);
  const Value y = f32({2}, {1, 2});
  CHECK(guarded.call("ident", {y}).as_tensor().storage() == y.as_tensor().storage());
}

TEST_CASE("ffi: functions as arguments and as results") {
  Loaded p(RLDB_TVM_PLUGIN);
  const Value twice = native("twice", [](PackedArgs a) -> Result<Value> { return Value::of_int(a[0].as_int() * 2); });
  CHECK(p.call("apply", {twice, Value::of_int(21)}).as_int() == 42);
  const Value add_five = p.call("adder", {Value::of_int(5)});
  const Value one[] = {Value::of_int(1)};
  CHECK(add_five.as_function().native(one)->as_int() == 6);
  CHECK(p.call("apply", {add_five, Value::of_int(2)}).as_int() == 7);
  p.registry.register_function("session.answer", [](PackedArgs) -> Result<Value> { return Value::of_int(42); });
  CHECK(p.call("by_name", {Value::of_string("session.answer")}).as_int() == 42);
  CHECK(p.call("by_name", {Value::of_string("test.times_ten"), Value::of_int(3)}).as_int() == 30);
  CHECK(p.error("by_name", {Value::of_string("nobody")}) == "`by_name`: KeyError: no function nobody");
  // The error of a callback comes through unchanged, with its kind and notes.
  const Value fails = native("fails", [](PackedArgs) -> Result<Value> {
    return rldb::support::Failure(Error{ErrorKind::Interrupted, "stopped in `fails`", {"a note"}});
  });
  const auto r = p.try_call("apply", {fails, Value::of_int(1)});
  REQUIRE_FALSE(r.ok());
  CHECK(r.error().kind == ErrorKind::Interrupted);
  CHECK(r.error().message == "stopped in `fails`");
  CHECK(r.error().notes == std::vector<std::string>{"a note"});
  // Foreign frames see no exception.
  const Value throws = native("throws", [](PackedArgs) -> Result<Value> { throw std::bad_alloc(); });
  CHECK_THROWS_AS((void)p.try_call("apply", {throws, Value::of_int(1)}), std::bad_alloc);
}

TEST_CASE("ffi: a guard refuses callbacks by name, and calls its own functions") {
  Loaded p(RLDB_TVM_PLUGIN, true);
  const Value twice = native("twice", [](PackedArgs a) -> Result<Value> { return a[0]; });
  CHECK(p.error("apply", {twice, Value::of_int(1)}) ==
        "`apply`: argument 0: a function cannot be passed to a guard process (`isolate` is on)");
  const Value add_five = p.call("adder", {Value::of_int(5)});
  const Value one[] = {Value::of_int(1)};
  CHECK(add_five.as_function().native(one)->as_int() == 6);
  CHECK(p.call("apply", {add_five, Value::of_int(2)}).as_int() == 7);
}

TEST_CASE("ffi: the examples in C and C++") {
  for (const bool isolated : {false, true}) {
    Loaded c(RLDB_OBJECTS_PLUGIN, isolated);
    const Value generator = c.call("my.random", {Value::of_int(3)});
    const Value a = c.call("my.uniform", {generator, Value::of_shape({2, 2})});
    const Value b = c.call("my.uniform", {generator, Value::of_shape({2, 2})});
    CHECK(describe(a) == "Tensor[(2, 2), \"float32\"]");
    CHECK_FALSE(compare(a, b).empty());
    CHECK(compare(a, c.call("my.uniform", {c.call("my.random", {Value::of_int(3)}), Value::of_shape({2, 2})})).empty());
    const Value split = c.call("my.split", {Value::of_shape({4, 7})});
    CHECK(split.as_tuple().fields[0].as_int() == 2);
    CHECK(split.as_tuple().fields[1].as_int() == 7);
    Loaded cxx(RLDB_CXX_PLUGIN, isolated);
    CHECK(cxx.call("my_norm", {f32({2}, {3, 4})}).as_float() == 5);
    CHECK(cxx.call("my_describe", {f32({1}, {1}), Value::of_shape({1})}).as_string() == "2 arguments, 70, 69");
    CHECK(cxx.error("my_norm", {}) == "`my_norm`: ValueError: one tensor is needed");
  }
  Loaded c(RLDB_OBJECTS_PLUGIN);
  const Value inc = native("inc", [](PackedArgs x) -> Result<Value> { return Value::of_int(x[0].as_int() + 1); });
  CHECK(c.call("my.repeat", {inc, Value::of_int(1), Value::of_int(5)}).as_int() == 6);
}

TEST_CASE("ffi: misuse is an error that says what it was") {
  const Value shape = Value::of_shape({1, 2});
  const std::pair<const char*, const char*> cases[] = {
      {"wrong_index", "`wrong_index` returned type index 40"},
      {"negative_index", "`negative_index` returned type index -7"},
      {"wild_object", "`wild_object` returned an address outside of its memory"},
      {"odd_object", "`odd_object` returned an address of no object"},
      {"null_object", "`null_object` returned a null object"},
      {"null_text", "`null_text` returned a text outside of its memory"},
      {"wild_tensor", "`wild_tensor` returned a tensor outside of its memory"},
      {"long_small_text", "`long_small_text` returned a short text of 4000 bytes"},
      {"bad_dtype", "`bad_dtype` returned an element type of code 99, 3 bits and 0 lanes"},
      {"lies", "`lies` returned an object of type index 69 under type index 70"},
      {"returns_lent", "`returns_lent` returned argument 0 without retaining it"},
      {"double_free", "`double_free` released argument 0 more often than it retained it"},
      {"frees_argument", "`frees_argument` released argument 0 more often than it retained it"},
      {"returns_freed", "`returns_freed` returned an object that was freed"},
      {"raises_garbage", "`raises_garbage` raised an address outside of its memory"},
      {"no_message", "`no_message`: status 7 and no message"},
      {"calls_null", "`calls_null`: TypeError: cannot call a null object"},
      {"calls_itself", "`calls_itself`: RecursionError: functions call each other too deeply: no stack is left"},
      {"endless_array", "`endless_array` returned values nested deeper than 200"},
      {"long_array", "`long_array` returned a container of 1152921504606846976 items"},
      {"huge_tensor", "`huge_tensor` returned a tensor whose size is negative or overflows"},
      {"tensor_without_data", "`tensor_without_data` returned a tensor without data"},
      {"tensor_of_rank_million", "`tensor_of_rank_million` returned a tensor of rank 1000000"},
  };
  for (const bool isolated : {false, true}) {
    CAPTURE(isolated);
    Loaded p(RLDB_HOSTILE_OBJECTS, isolated);
    for (const auto& [name, message] : cases) CHECK(p.error(name, {shape}) == message);
    CHECK(p.call("finds_itself", {shape}).is_null());
    // The session goes on.
    CHECK(p.error("no_message", {}) == "`no_message`: status 7 and no message");
  }
}
