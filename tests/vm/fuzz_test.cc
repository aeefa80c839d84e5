// Programs damaged at random: whatever the verifier accepts must run to an end, a fault or a limit, never crash.
#include "rldb/bytecode/disassemble.h"
#include "vm/program_builder.h"

using namespace rldb;
using namespace rldb::vm;
using namespace rldb::vm::testing;

namespace {

// A bit of everything: heap, storage, tuples, closures, a loop, recursion.
Executable seed_program() {
  ExecutableBuilder b;
  bytecode::FunctionDebug fd;
  fd.heap_register = 1;
  fd.slots = {{"n", true, "parameter `x`, dimension 0"}, {"m", true, ""}};
  b.begin_function("main", {"x"}, fd);
  Arg text = b.constant(Value::of_string("ErrorContext(fn=main, loc=param[0], param=x) "));
  b.call("vm.builtin.alloc_shape_heap", {Arg::vm(), Arg::imm(2)}, 1);
  b.call("vm.builtin.check_tensor_info", {Arg::reg(0), Arg::imm(2), text});
  b.call("vm.builtin.match_shape",
         {Arg::reg(0), Arg::reg(1), Arg::imm(2), Arg::imm(1), Arg::imm(0), Arg::imm(1), Arg::imm(1), text});
  b.call("vm.builtin.make_shape", {Arg::reg(1), Arg::imm(2), Arg::imm(1), Arg::imm(1), Arg::imm(1), Arg::imm(0)}, 2);
  b.call("vm.builtin.alloc_storage",
         {Arg::vm(), b.constant(Value::of_shape({64})), Arg::imm(0), b.constant(Value::of_dtype(DType::UInt(8)))}, 3);
  b.call("vm.builtin.alloc_tensor",
         {Arg::reg(3), Arg::imm(0), Arg::reg(2), b.constant(Value::of_dtype(DType::Float(32)))}, 4);
  b.call("vm.builtin.reshape", {Arg::reg(0), Arg::reg(2)}, 5);
  b.call("vm.builtin.make_tuple", {Arg::reg(4), Arg::reg(5)}, 6);
  b.call("vm.builtin.tuple_getitem", {Arg::reg(6), Arg::imm(1)}, 7);
  b.call("vm.builtin.make_closure", {b.constant_function("sum"), Arg::imm(3)}, 8);
  b.call("vm.builtin.invoke_closure", {Arg::vm(), Arg::reg(8)}, 9);
  b.call("depth", {Arg::reg(9)}, 9, bytecode::FunctionKind::Bytecode);
  b.call("vm.builtin.null_value", {}, 7);
  b.call("relax.run.print", {b.constant(Value::of_string("{} {}")), Arg::reg(9), Arg::reg(6)});
  b.call("vm.builtin.make_tuple", {Arg::reg(9), Arg::reg(5), Arg::reg(2)}, 6);
  b.ret(6);
  b.end_function();
  add_loop(b);
  add_recursion(b);
  return b.finish();
}

class Random {
 public:
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return state_ >> 33;
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }

 private:
  std::uint64_t state_ = 42;
};

}  // namespace

TEST_CASE("damaged programs never crash the machine") {
  Fixture t;
  std::size_t old_limit = runtime::memory_limit();
  runtime::set_memory_limit(runtime::memory_in_use() + (std::size_t(1) << 24));
  Executable seed = seed_program();
  Value x = tensor_f32({2, 3});
  Limits limits;
  limits.max_frames = 200;
  limits.max_registers = 10'000;
  limits.max_instructions = 2'000;
  REQUIRE(vm::call(t.link(seed), "main", std::vector<Value>{x}, limits).finished());

  Random random;
  std::size_t refused = 0, finished = 0, faulted = 0;
  for (int round = 0; round < 20'000; ++round) {
    Executable exe = seed;
    std::uint64_t changes = 1 + random.below(3);
    for (std::uint64_t c = 0; c < changes; ++c) {
      bytecode::Word& w = exe.instr_data[random.below(exe.instr_data.size())];
      switch (random.below(4)) {
        case 0:
          w = bytecode::Word(random.below(12));
          break;
        case 1:
          w = Arg::imm(bytecode::Word(random.below(8)) - 3).word();
          break;
        case 2:
          w = exe.instr_data[random.below(exe.instr_data.size())];
          break;
        case 3:
          w ^= bytecode::Word(1) << random.below(64);
          break;
      }
    }
    auto program = Program::link(std::make_shared<const Executable>(std::move(exe)), t.environment());
    if (!program.ok()) {
      ++refused;
      continue;
    }
    Machine m(program.value(), limits);
    if (!m.start("main", std::vector<Value>{x}).ok()) continue;
    Outcome o = m.run();
    o.finished() ? ++finished : ++faulted;
    if (o.faulted()) {
      CHECK_FALSE(o.fault->error.message.empty());
      (void)m.shape_heap(0);
      CHECK(m.snapshot().ok());
    }
  }
  runtime::set_memory_limit(old_limit);
  CHECK(refused > 1000);
  CHECK(finished > 1000);
  CHECK(faulted > 1000);
}
