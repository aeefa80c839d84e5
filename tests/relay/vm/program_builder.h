// Helpers of the tests of the Relay VM: programs written instruction by instruction, and shorthands for running them.
#pragma once

#include <doctest/doctest.h>

#include "rldb/relay/vm/machine.h"

namespace rldb::relay_vm::testing {

using relay_bytecode::Executable;
using relay_bytecode::Opcode;
using runtime::DType;
using runtime::ErrorKind;

using Fields = std::vector<std::int64_t>;
struct Code {
  Opcode op;
  Fields fields;
};

inline void add_function(Executable& exe, std::string name, std::vector<std::string> params, std::int64_t registers,
                         const std::vector<Code>& code) {
  relay_bytecode::FunctionEntry f;
  f.name = std::move(name);
  f.params = std::move(params);
  f.register_file_size = registers;
  f.start = exe.end();
  for (const Code& c : code) {
    Fields words{std::int64_t(c.op)};
    words.insert(words.end(), c.fields.begin(), c.fields.end());
    exe.add(words);
  }
  f.end = exe.end();
  exe.functions.push_back(std::move(f));
}

inline Value scalar(std::int64_t v) {
  auto t = runtime::Tensor::empty({}, DType::Int(32)).value();
  runtime::store_int(t->data(), t->dtype(), v);
  return Value(t);
}

inline std::int64_t number(const Value& v) { return std::int64_t(v.as_tensor().at(0)); }

// add(a, b), sub(a, b): integers, element 0.
class Fixture {
 public:
  Fixture() {
    add("add", [](std::int64_t a, std::int64_t b) { return a + b; });
    add("sub", [](std::int64_t a, std::int64_t b) { return a - b; });
  }
  std::shared_ptr<const Program> link(Executable exe, bool tail_calls = true) {
    Environment env;
    env.primitives = &table_;
    env.tail_calls = tail_calls;
    auto program = Program::link(std::make_shared<Executable>(std::move(exe)), env);
    REQUIRE(program.ok());
    return *program;
  }

 private:
  template <class F>
  void add(const char* name, F f) {
    table_.set(name, [f](PackedArgs in, PackedArgs out) -> Result<support::Unit> {
      const auto& to = out[0].as_tensor();
      runtime::store_int(to.data(), to.dtype(), f(number(in[0]), number(in[1])));
      return support::Unit{};
    });
  }
  PrimitiveTable table_;
};

// count(n, acc): n == 0 ? acc : count(n - 1, acc + 1), as compiled; `tail`: the call comes last.
inline Executable counting() {
  Executable exe;
  exe.primitives = {"add", "sub"};
  auto one = scalar(1), size = scalar(4), zero = scalar(0);
  exe.constants = {{one, "", 0}, {size, "", 0}, {zero, "", 0}};
  add_function(exe, "count", {"n", "acc"}, 12,
               {{Opcode::LoadConsti, {0, 2}},
                {Opcode::If, {0, 2, 1, 3}},
                {Opcode::Move, {1, 3}},
                {Opcode::Goto, {12}},
                {Opcode::LoadConst, {0, 0, 4}},
                {Opcode::LoadConst, {1, 0, 5}},
                {Opcode::LoadConst, {2, 0, 6}},
                {Opcode::AllocStorage, {5, 64, 0, 32, 1, 0, 0, 7}},
                {Opcode::AllocTensor, {7, 6, 0, 32, 1, 0, 8}},
                {Opcode::InvokePacked, {1, 3, 1, 0, 4, 8}},
                {Opcode::AllocStorage, {5, 64, 0, 32, 1, 0, 0, 9}},
                {Opcode::AllocTensor, {9, 6, 0, 32, 1, 0, 10}},
                {Opcode::InvokePacked, {0, 3, 1, 1, 4, 10}},
                {Opcode::Invoke, {0, 2, 11, 8, 10}},
                {Opcode::Move, {11, 3}},
                {Opcode::Ret, {3}}});
  return exe;
}

}  // namespace rldb::relay_vm::testing
