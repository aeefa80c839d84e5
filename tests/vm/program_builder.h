// Helpers of the vm tests: an environment with a few packed functions, and shorthands for running things.
#pragma once

#include <doctest/doctest.h>

#include "rldb/bytecode/builder.h"
#include "rldb/vm/machine.h"

namespace rldb::vm::testing {

using bytecode::Arg;
using bytecode::Executable;
using bytecode::ExecutableBuilder;
using bytecode::kVoidRegister;
using runtime::DType;
using runtime::ErrorKind;
using runtime::PackedRegistry;
using runtime::ValueKind;

class Capture : public runtime::Output {
 public:
  void write(std::string_view text) override { this->text += text; }
  std::string text;
};

// test.add(a, b), test.sub, test.less: integers. test.fail(): an error. test.apply(f, x): calls f(x) from C++.
class Fixture {
 public:
  Fixture() {
    auto binary = [&](const char* name, auto op) {
      registry.register_function(
          name, [op](PackedArgs a) -> Result<Value> { return Value::of_int(op(a[0].as_int(), a[1].as_int())); }, "", 2);
    };
    binary("test.add", [](std::uint64_t a, std::uint64_t b) { return std::int64_t(a + b); });
    binary("test.sub", [](std::uint64_t a, std::uint64_t b) { return std::int64_t(a - b); });
    binary("test.less", [](std::int64_t a, std::int64_t b) { return std::int64_t(a < b); });
    registry.register_function(
        "test.fail",
        [](PackedArgs) -> Result<Value> { return runtime::fail(ErrorKind::Raised, "test.fail was called"); }, "", 0);
    registry.register_function(
        "test.apply", [](PackedArgs a) -> Result<Value> { return a[0].as_function().native(a.subspan(1)); }, "", 2);
  }

  std::shared_ptr<const Program> link(Executable exe) {
    auto program = Program::link(std::make_shared<const Executable>(std::move(exe)), environment());
    REQUIRE_MESSAGE(program.ok(), (program.ok() ? std::string() : program.error().message));
    return program.value();
  }
  Environment environment() { return {&kernels, &registry, &output, &interrupt}; }

  PackedRegistry registry;
  runtime::KernelTable kernels;
  Capture output;
  std::atomic<bool> interrupt{false};
};

inline Value I(std::int64_t v) { return Value::of_int(v); }

// sum(n): acc = 0; while 0 < n { acc += n; n -= 1 }
inline void add_loop(ExecutableBuilder& b, const char* name = "sum") {
  b.begin_function(name, {"n"});
  b.call("vm.builtin.copy", {Arg::imm(0)}, 1);
  bytecode::Pc head = b.call("test.less", {Arg::imm(0), Arg::reg(0)}, 2);
  bytecode::Pc exit = b.branch(2);
  b.call("test.add", {Arg::reg(1), Arg::reg(0)}, 1);
  b.call("test.sub", {Arg::reg(0), Arg::imm(1)}, 0);
  b.jump(head - b.next_pc());
  b.patch_to_here(exit);
  b.ret(1);
  b.end_function();
}

// fact-like recursion: depth(n) = n < 1 ? 0 : 1 + depth(n - 1)
inline void add_recursion(ExecutableBuilder& b) {
  b.begin_function("depth", {"n"});
  b.call("test.less", {Arg::reg(0), Arg::imm(1)}, 1);
  bytecode::Pc branch = b.branch(1);
  b.call("vm.builtin.copy", {Arg::imm(0)}, 2);
  b.ret(2);
  b.patch_to_here(branch);
  b.call("test.sub", {Arg::reg(0), Arg::imm(1)}, 2);
  b.call("depth", {Arg::reg(2)}, 3);
  b.call("test.add", {Arg::reg(3), Arg::imm(1)}, 4);
  b.ret(4);
  b.end_function();
}

inline Value tensor_i64(std::vector<std::int64_t> shape, const std::vector<std::int64_t>& values) {
  auto t = runtime::Tensor::empty(std::move(shape), DType::Int(64)).value();
  for (std::size_t i = 0; i < values.size(); ++i) store_int(t->data() + 8 * i, DType::Int(64), values[i]);
  return Value(t);
}

inline Value tensor_f32(std::vector<std::int64_t> shape, const std::vector<double>& values = {}) {
  auto t = runtime::Tensor::empty(std::move(shape), DType::Float(32)).value();
  for (std::int64_t i = 0; i < t->element_count(); ++i)
    store_double(t->data() + 4 * i, DType::Float(32), std::size_t(i) < values.size() ? values[std::size_t(i)] : 0.0);
  return Value(t);
}

}  // namespace rldb::vm::testing
