#include "rldb/runtime/plugin.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "rldb/support/file.h"
#include "runtime/helpers.h"

using namespace rldb::runtime;
using namespace rldb::runtime::testing;

namespace {

// docs/examples/plugin/my_functions.c, built by CMake.
const std::string kPlugin = RLDB_EXAMPLE_PLUGIN;
const DType kF32 = DType::Float(32);

Error load_error(const std::string& path) {
  PackedRegistry registry;
  const auto r = load_plugin(registry, path);
  REQUIRE_FALSE(r.ok());
  CHECK(registry.names().empty());
  return r.error();
}

}  // namespace

TEST_CASE("plugin: the example in C loads and runs") {
  Ref<Function> kept;
  {
    PackedRegistry registry;
    const auto names = load_plugin(registry, kPlugin);
    if (!names.ok()) FAIL(names.error().message);
    CHECK(names->names() == std::vector<std::string>{"my.scale", "my.sum"});
    REQUIRE(registry.find("my.scale"));
    CHECK(registry.find("my.sum")->doc == "from `" + kPlugin + "`");

    const Value x = Value(tensor({2, 2}, kF32, {1, 2, 3, 4}));
    const Value out = Value(tensor({2, 2}, kF32, {0, 0, 0, 0}));
    const Value args[] = {x, Value::of_float(2.5), out};
    const auto scaled = registry.find("my.scale")->function->native(args);
    if (!scaled.ok()) FAIL(scaled.error().message);
    CHECK(scaled->is_null());
    CHECK(elements(out) == std::vector<double>{2.5, 5, 7.5, 10});
    kept = registry.find("my.sum")->function;
  }
  // The library outlives the registry while there is a reference to one of its functions.
  const Value args[] = {Value(tensor({3}, kF32, {1, 2, 3}))};
  const auto sum = kept->native(args);
  REQUIRE(sum.ok());
  CHECK(sum->as_float() == 6);
}

TEST_CASE("plugin: an error that it raises becomes ours") {
  PackedRegistry registry;
  REQUIRE(load_plugin(registry, kPlugin).ok());
  const auto call = [&](std::string_view name, std::vector<Value> args) {
    const auto r = registry.find(name)->function->native(args);
    REQUIRE_FALSE(r.ok());
    return r.error();
  };
  CHECK(call("my.scale", {}).message == "`my.scale`: TypeError: my.scale takes x, factor, out");
  CHECK(call("my.scale", {}).kind == ErrorKind::Raised);
  // Message in parts, a null part skipped.
  CHECK(call("my.sum", {}).message == "`my.sum`: TypeError: my.sum takes one float32 tensor");
  const Value ints = Value(tensor({1}, DType::Int(32), {1}));
  CHECK(call("my.sum", {ints}).kind == ErrorKind::Raised);
  CHECK(call("my.sum", {Value::of_shape({1})}).message == "`my.sum`: TypeError: my.sum takes one float32 tensor");
}

TEST_CASE("plugin: files that are none") {
  CHECK(load_error("/nowhere/p.so").message.starts_with("cannot open `/nowhere/p.so`"));
  CHECK(load_error(RLDB_SOURCE_DIR "/LICENSE").message.find("not a shared library (no ELF header)") !=
        std::string::npos);
  // An executable is not a library, or (PIE) a library without our functions.
  CHECK(load_error("/proc/self/exe").kind == ErrorKind::BadFile);
}

TEST_CASE("plugin: a damaged symbol table is an error or an empty list, never a crash") {
  const auto bytes = rldb::support::read_file(kPlugin);
  REQUIRE(bytes.ok());
  REQUIRE(list_plugin_functions(*bytes, "p").ok());
  for (std::size_t n = 0; n < bytes->size(); n += 13) {
    (void)list_plugin_functions(bytes->substr(0, n), "p");
  }
  int accepted = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes->size(), 64); ++i) {
    std::string damaged = *bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xFF);
    accepted += list_plugin_functions(damaged, "p").ok();
  }
  CHECK(accepted < 64);
}
