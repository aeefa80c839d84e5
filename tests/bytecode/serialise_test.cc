// Files: round trip, TVM's own layouts, and every way to damage one.
#include "rldb/bytecode/serialise.h"

#include <doctest/doctest.h>

#include <cstring>

#include "bytecode/file/format.h"
#include "rldb/bytecode/builder.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/support/bytes.h"
#include "rldb/support/memory.h"

using namespace rldb;
using namespace rldb::bytecode;
using runtime::DType;
using runtime::Value;
using support::ByteWriter;

namespace {

Executable sample() {
  ExecutableBuilder b;
  FunctionDebug fd;
  fd.heap_register = 1;
  fd.location = {1, 12, 5};
  fd.slots = {{"n", true, "parameter `x`, dimension 0", DType::Int(64)}, {"n * 2", false, "computed"}};
  fd.variables = {{"x", 7, 0, 0, 2, true, "R.Tensor((n,), dtype=\"float32\")"}};
  b.begin_function("main", {"x"}, fd);
  InstructionDebug d;
  d.variable = "lv";
  d.location = {1, 13, 9};
  d.slots_read = {0};
  d.slots_written = {1};
  b.at(d);
  auto t = runtime::Tensor::empty({2, 3}, DType::Float(32)).value();
  for (int i = 0; i < 6; ++i) store_double(t->data() + 4 * i, DType::Float(32), i * 0.5);
  auto flags = runtime::Tensor::empty({2}, DType::Bool()).value();
  std::memset(flags->data(), 1, 2);
  b.call(
      "f",
      {Arg::reg(0), Arg::vm(), b.constant(Value(t), "global.texture"), b.constant(Value::of_int(std::int64_t(1) << 60)),
       b.constant(Value::of_float(2.5)), b.constant(Value::of_string("text")), b.constant(Value::of_shape({1, 2, 3})),
       b.constant(Value::of_dtype(DType::BFloat16(4))), b.constant(Value(flags)), b.constant_function("main")},
      2);
  b.ret(2);
  b.end_function();
  Executable exe = b.finish();
  exe.debug.files = {"model.py"};
  exe.tensor_ir = "@I.ir_module\nclass Kernels: ...";
  exe.kernels = {{"add", std::string("\0object\xff", 8)}};
  exe.metadata = {{"rldb.engine", "jit"}};
  return exe;
}

std::string bytes_of(const Executable& exe) {
  auto bytes = serialise(exe);
  REQUIRE(bytes.ok());
  return bytes.value();
}

}  // namespace

TEST_CASE("what is written is read") {
  Executable exe = sample();
  std::string bytes = bytes_of(exe);
  CHECK(is_executable_file(bytes));
  auto loaded = load(bytes);
  REQUIRE_MESSAGE(loaded.ok(), (loaded.ok() ? "" : loaded.error().message));
  const Executable& back = loaded.value();
  CHECK(as_text(back) == as_text(exe));
  CHECK(back.instr_data == exe.instr_data);
  CHECK(back.functions[0].param_names == std::vector<std::string>{"x"});
  REQUIRE(back.constants.size() == exe.constants.size());
  for (std::size_t i = 0; i < exe.constants.size(); ++i) {
    CHECK(back.constants[i].kind() == exe.constants[i].kind());
    CHECK(compare(back.constants[i], exe.constants[i], {0, 0}) == "");
  }
  CHECK(back.memory_scopes == exe.memory_scopes);
  CHECK(back.tensor_ir == exe.tensor_ir);
  CHECK(back.kernels == exe.kernels);
  CHECK(back.metadata == exe.metadata);
  CHECK(back.debug.files == exe.debug.files);
  CHECK(back.debug.functions[0].slots[1].text == "n * 2");
  CHECK(back.debug.functions[0].slots[0].is_variable);
  CHECK(back.debug.functions[0].variables[0].type == exe.debug.functions[0].variables[0].type);
  CHECK(back.debug.instructions[0].location == Location{1, 13, 9});
  CHECK(back.debug.instructions[0].slots_written == std::vector<std::int32_t>{1});
  CHECK(bytes_of(back) == bytes);
}

TEST_CASE("files of TVM: no sections of ours, version 1, old tags of constants") {
  ByteWriter out;
  out.u64(format::kMagicV1);
  out.string("0.14");
  out.u64(1);
  out.i32(1);
  out.string("main");
  for (std::int64_t v : {0, 1, 1, 1}) out.i64(v);
  out.u64(1);
  out.string("x");
  std::string head = out.take();
  auto code = [] {
    ByteWriter w;
    w.u64(1);
    w.i64(0);
    w.u64(2);
    w.i64(2);
    w.i64(0);
    return w.take();
  };
  SUBCASE("tags of tvm-ffi") {
    ByteWriter c;
    c.u64(2);
    c.i32(1);
    c.i64(77);
    c.i32(65);
    c.string("s");
    auto exe = load(head + c.take() + code());
    REQUIRE(exe.ok());
    CHECK(exe->constants[0].as_int() == 77);
    CHECK(exe->constants[1].as_string() == "s");
  }
  SUBCASE("tags of the VM's own enumeration") {
    ByteWriter c;
    c.u64(3);
    c.i32(4);
    c.i64(77);
    c.i32(3);
    c.string("s");
    c.i32(2);
    c.u64(1);
    c.i64(9);
    auto exe = load(head + c.take() + code());
    REQUIRE(exe.ok());
    CHECK(exe->constants[0].as_int() == 77);
    CHECK(exe->constants[1].as_string() == "s");
    CHECK(exe->constants[2].as_shape() == std::vector<std::int64_t>{9});
  }
}

TEST_CASE("a constant without a place in the format is refused by name") {
  Executable exe = sample();
  exe.constants.push_back(Value::of_tuple({}));
  auto bytes = serialise(exe);
  REQUIRE_FALSE(bytes.ok());
  CHECK(bytes.error().kind == runtime::ErrorKind::Unsupported);
}

TEST_CASE("every index of the debug info stays in its table") {
  const auto refused = [](auto&& change) {
    Executable exe = sample();
    change(exe);
    const auto checked = verify(exe);
    const bool loads = load(bytes_of(exe)).ok();
    CHECK(loads == checked.ok());
    return checked.ok() ? std::string() : checked.error().message;
  };
  REQUIRE(refused([](Executable&) {}) == "");
  const auto names = [](const std::string& message, std::string_view what) {
    return message.find(what) != std::string::npos;
  };
  using E = Executable;
  CHECK(names(refused([](E& e) { e.debug.functions[0].heap_register = 3; }), "heap register 3 of 3 in `main`"));
  CHECK(names(refused([](E& e) { e.debug.functions[0].heap_register = -2; }), "heap register -2"));
  auto variable = [](E& e) -> VariableRange& { return e.debug.functions[0].variables[0]; };
  CHECK(names(refused([&](E& e) { variable(e).reg = 3; }), "variable `x` in register 3 of 3"));
  CHECK(names(refused([&](E& e) { variable(e).reg = -1; }), "register -1"));
  CHECK(names(refused([&](E& e) { variable(e).begin = -1; }), "lives in [-1, 2), the function is [0, 2)"));
  CHECK(names(refused([&](E& e) { variable(e).is_parameter = false; }), "lives in [0, 2)"));
  CHECK(names(refused([&](E& e) { variable(e).end = 3; }), "lives in [0, 3)"));
  CHECK(names(refused([&](E& e) { variable(e).begin = 2, variable(e).end = 1; }), "lives in [2, 1)"));
  CHECK(names(refused([&](E& e) { variable(e).end = bytecode::Pc(std::int64_t(1) << 62); }), "lives in"));
  CHECK(names(refused([](E& e) { e.debug.instructions[0].slots_read = {2}; }), "pc 0: slot 2 of 2"));
  CHECK(names(refused([](E& e) { e.debug.instructions[0].slots_written = {-1}; }), "pc 0: slot -1 of 2"));
  CHECK(names(refused([](E& e) { e.debug.instructions[0].location.file = 2; }), "pc 0: file 2 of 1"));
  CHECK(names(refused([](E& e) { e.debug.functions[0].location.file = 2; }), "`main`: file 2 of 1"));
  CHECK(names(refused([](E& e) { e.debug.files[0] = "a\x1b[2Jb"; }), "control characters"));
  CHECK(names(refused([&](E& e) { variable(e).name = "x\nfake"; }), "control characters"));
  CHECK(names(refused([](E& e) { e.functions[0].name = "ma\xc2\x9bin"; }), "control characters"));
  CHECK(refused([&](E& e) { variable(e).name = "größe_名"; }) == "");
}

TEST_CASE("a small file cannot ask for a large frame") {
  Executable exe = sample();
  exe.functions[0].register_file_size = 4096;
  CHECK(verify(exe).ok());
  exe.functions[0].register_file_size = 1 << 20;
  const auto checked = verify(exe);
  REQUIRE(!checked.ok());
  CHECK(checked.error().message.find("1048576 registers, more than its code can use") != std::string::npos);
}

TEST_CASE("no count in a file asks for more memory than the file's size allows") {
  const std::string good = bytes_of(sample());
  const std::size_t limit = support::memory_limit();
  support::set_memory_limit(support::memory_in_use() + (std::size_t(4) << 20));
  for (std::size_t at = 0; at + 8 <= good.size(); ++at) {
    for (const std::uint64_t count : {std::uint64_t(100'000), std::uint64_t(1) << 32, ~std::uint64_t(0) >> 4}) {
      std::string bytes = good;
      std::memcpy(bytes.data() + at, &count, sizeof count);
      CHECK_NOTHROW((void)load(bytes));
    }
  }
  support::set_memory_limit(limit);
}

TEST_CASE("every truncation is an error") {
  std::string bytes = bytes_of(sample());
  // The only prefix that is a complete file of TVM's ends where our sections begin.
  std::size_t accepted = 0;
  for (std::size_t n = 0; n < bytes.size(); ++n) accepted += load(bytes.substr(0, n)).ok();
  CHECK(accepted == 1);
}

TEST_CASE("no damaged byte crashes the loader, and what it accepts is verified") {
  std::string bytes = bytes_of(sample());
  std::size_t refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int change : {0x01, 0x80, 0xff}) {
      std::string bad = bytes;
      bad[at] = char(bad[at] ^ change);
      auto loaded = load(bad);
      if (!loaded.ok()) {
        ++refused;
        CHECK_FALSE(loaded.error().message.empty());
        continue;
      }
      CHECK(verify(loaded.value()).ok());
      as_text(loaded.value());
      listing(loaded.value(), 0);
      stats(loaded.value());
      bytes_of(loaded.value());
    }
  }
  CHECK(refused > bytes.size());  // most changes are detected
}

TEST_CASE("things that are not executables") {
  CHECK_FALSE(load("").ok());
  CHECK_FALSE(load("from tvm.script import ir as I\n").ok());
  CHECK_FALSE(is_executable_file("from tvm"));
  CHECK_FALSE(is_executable_file(""));
  std::string bytes = bytes_of(sample());
  CHECK(load(bytes + "x").error().message.find("after the last section") != std::string::npos);
  // A function count that no file could hold.
  ByteWriter out;
  out.u64(format::kMagicV2);
  out.string("0.14");
  out.u64(~std::uint64_t(0));
  CHECK(load(out.take()).error().message.find("more functions than bytes left") != std::string::npos);
}
