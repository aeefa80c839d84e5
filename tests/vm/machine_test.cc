// The machine: loops, recursion, conditions, tuples, closures, stepping, hooks, limits, faults, snapshots.
#include "vm/program_builder.h"

using namespace rldb;
using namespace rldb::vm;
using namespace rldb::vm::testing;
using bytecode::FunctionIndex;
using bytecode::Pc;

namespace {

Outcome run(const std::shared_ptr<const Program>& p, const char* f, std::vector<Value> args, Limits limits = {}) {
  return call(p, f, args, limits);
}

}  // namespace

TEST_CASE("a loop counts") {
  Fixture t;
  ExecutableBuilder b;
  add_loop(b);
  auto p = t.link(b.finish());
  CHECK(run(p, "sum", {I(10)}).value.as_int() == 55);
  CHECK(run(p, "sum", {I(0)}).value.as_int() == 0);
  Machine m(p);
  REQUIRE(m.start("sum", std::vector<Value>{I(2)}).ok());
  CHECK(m.run().finished());
  CHECK(m.instructions() == 1 + 2 * 5 + 2 + 1);
  CHECK_FALSE(m.running());
}

TEST_CASE("recursion costs no C++ stack, and is limited") {
  Fixture t;
  ExecutableBuilder b;
  add_recursion(b);
  auto p = t.link(b.finish());
  CHECK(run(p, "depth", {I(7)}).value.as_int() == 7);
  CHECK(run(p, "depth", {I(90'000)}).value.as_int() == 90'000);
  Outcome deep = run(p, "depth", {I(200'000)});
  REQUIRE(deep.faulted());
  CHECK(deep.fault->error.kind == ErrorKind::StackOverflow);
  CHECK(deep.fault->function_name == "depth");
  CHECK(deep.fault->instruction.find("call  depth") == 0);
  Limits small;
  small.max_registers = 100;
  CHECK(run(p, "depth", {I(50)}, small).fault->error.kind == ErrorKind::StackOverflow);
}

TEST_CASE("values of void calls are dropped (TVM 17389)") {
  Fixture t;
  ExecutableBuilder b;
  b.begin_function("inner", {"x"});
  b.ret(0);
  b.end_function();
  b.begin_function("main", {"x"});
  b.call("inner", {Arg::reg(0)}, kVoidRegister);
  b.ret(0);
  b.end_function();
  CHECK(run(t.link(b.finish()), "main", {I(3)}).value.as_int() == 3);
}

TEST_CASE("tuples") {
  Fixture t;
  ExecutableBuilder b;
  b.begin_function("main", {"x"});
  b.call("vm.builtin.make_tuple", {Arg::reg(0), Arg::imm(8), b.constant(Value::of_string("s"))}, 1);
  b.call("vm.builtin.tuple_getitem", {Arg::reg(1), Arg::imm(1)}, 2);
  b.call("vm.builtin.tuple_reset_item", {Arg::reg(1), Arg::imm(0)});
  b.call("vm.builtin.make_tuple", {Arg::reg(1), Arg::reg(2)}, 3);
  b.ret(3);
  b.end_function();
  b.begin_function("bad", {"x"});
  b.call("vm.builtin.tuple_getitem", {Arg::reg(0), Arg::imm(5)}, 1);
  b.ret(1);
  b.end_function();
  auto p = t.link(b.finish());
  Value v = run(p, "main", {I(3)}).value;
  REQUIRE(v.is(ValueKind::Tuple));
  CHECK(v.as_tuple().fields[0].as_tuple().fields[0].is_null());
  CHECK(v.as_tuple().fields[0].as_tuple().fields[2].as_string() == "s");
  CHECK(v.as_tuple().fields[1].as_int() == 8);
  CHECK(run(p, "bad", {v}).fault->error.kind == ErrorKind::OutOfBounds);
  CHECK(run(p, "bad", {I(1)}).fault->error.message ==
        "vm.builtin.tuple_getitem: argument 0 must be a Tuple but is " + describe(I(1)));
}

TEST_CASE("closures over bytecode and packed functions, captured values last") {
  Fixture t;
  ExecutableBuilder b;
  b.begin_function("minus", {"a", "b"});
  b.call("test.sub", {Arg::reg(0), Arg::reg(1)}, 2);
  b.ret(2);
  b.end_function();
  b.begin_function("main", {"x"});
  b.call("vm.builtin.make_closure", {b.constant_function("minus"), Arg::imm(1)}, 1);
  b.call("vm.builtin.invoke_closure", {Arg::vm(), Arg::reg(1), Arg::reg(0)}, 2);
  b.call("vm.builtin.make_closure", {b.constant_function("test.sub"), Arg::imm(10)}, 3);
  b.call("vm.builtin.invoke_closure", {Arg::vm(), Arg::reg(3), Arg::reg(2)}, 4);
  b.call("vm.builtin.make_tuple", {Arg::reg(1), Arg::reg(2), Arg::reg(4)}, 5);
  b.ret(5);
  b.end_function();
  b.begin_function("wrong", {});
  b.call("vm.builtin.make_closure", {b.constant_function("minus"), Arg::imm(1)}, 0);
  b.call("vm.builtin.invoke_closure", {Arg::vm(), Arg::reg(0)}, 1);
  b.ret(1);
  b.end_function();
  auto p = t.link(b.finish());
  Value v = run(p, "main", {I(100)}).value;
  REQUIRE(v.is(ValueKind::Tuple));
  CHECK(v.as_tuple().fields[1].as_int() == 99);
  CHECK(v.as_tuple().fields[2].as_int() == 89);
  Value closure = v.as_tuple().fields[0];
  SUBCASE("the host calls a closure") {
    Machine m(p);
    REQUIRE(m.start(closure, std::vector<Value>{I(5)}).ok());
    CHECK(m.run().value.as_int() == 4);
    CHECK(p->invoke(closure, std::vector<Value>{I(5)})->as_int() == 4);
  }
  SUBCASE("another program calls it: the one that made it runs") {
    ExecutableBuilder c;
    c.begin_function("main", {"f"});
    c.call("vm.builtin.invoke_closure", {Arg::vm(), Arg::reg(0), Arg::imm(8)}, 1);
    c.ret(1);
    c.end_function();
    CHECK(run(t.link(c.finish()), "main", {closure}).value.as_int() == 7);
  }
  SUBCASE("a closure outlives its program: an error, not a crash") {
    ExecutableBuilder c;
    c.begin_function("main", {"f"});
    c.call("vm.builtin.invoke_closure", {Arg::vm(), Arg::reg(0), Arg::imm(8)}, 1);
    c.ret(1);
    c.end_function();
    auto other = t.link(c.finish());
    p.reset();
    CHECK(run(other, "main", {closure}).faulted());
  }
  if (p) {
    Outcome bad = run(p, "wrong", {});
    REQUIRE(bad.faulted());
    CHECK(bad.fault->error.kind == ErrorKind::ArgumentCount);
    CHECK(bad.fault->error.message.find("minus(a, b)") != std::string::npos);
  }
}

TEST_CASE("a packed function calls back into the program, within a limit") {
  Fixture t;
  ExecutableBuilder b;
  b.begin_function("inc", {"x"});
  b.call("test.add", {Arg::reg(0), Arg::imm(1)}, 1);
  b.ret(1);
  b.end_function();
  b.begin_function("main", {"x"});
  b.call("test.apply", {b.constant_function("inc"), Arg::reg(0)}, 1);
  b.ret(1);
  b.end_function();
  b.begin_function("forever", {"x"});
  b.call("test.apply", {b.constant_function("forever"), Arg::reg(0)}, 1);
  b.ret(1);
  b.end_function();
  auto p = t.link(b.finish());
  CHECK(run(p, "main", {I(41)}).value.as_int() == 42);
  Outcome o = run(p, "forever", {I(0)});
  REQUIRE(o.faulted());
  CHECK(o.fault->error.kind == ErrorKind::StackOverflow);
}

TEST_CASE("wrong calls are told apart") {
  Fixture t;
  ExecutableBuilder b;
  add_loop(b);
  b.begin_function("main", {});
  b.call("test.ad", {Arg::imm(1), Arg::imm(2)}, 0);
  b.ret(0);
  b.end_function();
  b.begin_function("fails", {});
  b.call("test.fail", {}, 0);
  b.ret(0);
  b.end_function();
  b.begin_function("count", {});
  b.call("test.add", {Arg::imm(1)}, 0);
  b.ret(0);
  b.end_function();
  auto p = t.link(b.finish());
  CHECK(p->unresolved() == std::vector<std::string_view>{"test.ad"});

  Outcome o = run(p, "sum", {});
  CHECK(o.fault->error.message.find("`sum(n)`: takes 1 but 0 given") != std::string::npos);
  o = run(p, "nothing", {});
  CHECK(o.fault->error.kind == ErrorKind::UnknownFunction);
  o = run(p, "main", {});
  REQUIRE(o.faulted());
  CHECK(o.fault->error.message.find("Cannot find PackedFunc test.ad") == 0);
  CHECK(o.fault->error.notes == std::vector<std::string>{"did you mean `test.add`?"});
  o = run(p, "fails", {});
  CHECK(o.fault->error.message == "test.fail was called");
  CHECK(o.fault->pc == p->executable().functions[std::size_t(p->executable().find_function("fails"))].start);
  CHECK(run(p, "count", {}).fault->error.kind == ErrorKind::ArgumentCount);
  // A function other than bytecode can be run by name, too.
  CHECK(run(p, "test.add", {I(1), I(2)}).value.as_int() == 3);
  // A machine that has faulted stays faulted.
  Machine m(p);
  REQUIRE(m.start("fails", {}).ok());
  CHECK(m.run().faulted());
  CHECK(m.running());
  CHECK(m.run().faulted());
  CHECK(m.step().fault->error.message == "test.fail was called");
}

TEST_CASE("stepping shows every instruction, and time is a count") {
  Fixture t;
  ExecutableBuilder b;
  add_recursion(b);
  auto p = t.link(b.finish());
  Machine m(p);
  REQUIRE(m.start("depth", std::vector<Value>{I(1)}).ok());
  CHECK(m.frame().pc == 0);
  Outcome o = m.step();
  CHECK(o.stopped());
  CHECK(o.reason == StopReason::Stepped);
  CHECK(m.instructions() == 1);
  CHECK(m.read_register(0, 1)->as_int() == 0);
  CHECK(m.read_register(0, 99) == nullptr);
  m.step(3);  // If, sub, call
  REQUIRE(m.frames().size() == 2);
  CHECK(m.frames()[0].pc == 5);  // the Call in progress
  CHECK(m.frame().pc == 0);
  CHECK(m.read_register(1, 0)->as_int() == 0);
  std::uint64_t before = m.instructions();
  Machine copy = m;
  CHECK(m.run().value.as_int() == 1);
  CHECK(copy.instructions() == before);
  CHECK(copy.run().value.as_int() == 1);
  CHECK(copy.instructions() == m.instructions());
}

TEST_CASE("a stop set stops before the instruction, and continuing leaves it") {
  Fixture t;
  ExecutableBuilder b;
  add_loop(b);
  auto p = t.link(b.finish());
  StopSet stops(p->executable().instruction_count());
  CHECK(stops.empty());
  stops.set(3);  // acc += n
  Machine m(p);
  REQUIRE(m.start("sum", std::vector<Value>{I(3)}).ok());
  for (std::int64_t n : {3, 2, 1}) {
    Outcome o = m.run(stops);
    REQUIRE(o.stopped());
    CHECK(o.reason == StopReason::Hook);
    CHECK(m.frame().pc == 3);
    CHECK(m.read_register(0, 0)->as_int() == n);
  }
  CHECK(m.run(stops).value.as_int() == 6);
  SUBCASE("the debugger writes a register") {
    REQUIRE(m.start("sum", std::vector<Value>{I(3)}).ok());
    REQUIRE(m.run(stops).stopped());
    CHECK(m.write_register(0, 0, I(1)));
    CHECK_FALSE(m.write_register(0, 50, I(1)));
    stops.set(3, false);
    CHECK(m.run(stops).value.as_int() == 1);
  }
}

TEST_CASE("a hook sees instructions and calls, before and after, and may skip a call") {
  Fixture t;
  ExecutableBuilder b;
  b.begin_function("inner", {"x"});
  b.call("test.add", {Arg::reg(0), Arg::imm(1)}, 1);
  b.ret(1);
  b.end_function();
  b.begin_function("main", {"x"});
  b.call("inner", {Arg::reg(0)}, 1);
  b.call("test.add", {Arg::reg(1), Arg::imm(5)}, 1);
  b.call("vm.builtin.invoke_closure", {Arg::vm(), b.constant_function("inner"), Arg::reg(1)}, 1);
  b.ret(1);
  b.end_function();
  auto p = t.link(b.finish());
  struct Log : Hook {
    const bytecode::Executable* exe = nullptr;
    std::string text;
    Pc skip = -1;
    Pc stop_after = -1;
    bool before_instruction(const Machine& m) override {
      text += "i" + std::to_string(m.frame().pc.value()) + " ";
      return false;
    }
    bool after_instruction(const Machine&, std::size_t, Pc pc) override { return pc == stop_after; }
    CallAction before_call(const Machine&, const CallEvent& e) override {
      text += "(" + exe->functions[std::size_t(e.callee)].name + "/" + std::to_string(e.args.size()) + " ";
      return e.pc == skip ? CallAction::Skip : CallAction::Run;
    }
    void after_call(const Machine&, const CallEvent& e, const Value& v) override {
      text += "=" + std::to_string(v.as_int()) + "@" + std::to_string(e.pc.value()) + ") ";
    }
  } log;
  log.exe = &p->executable();
  Machine m(p);
  SUBCASE("everything is seen") {
    REQUIRE(m.start("main", std::vector<Value>{I(1)}).ok());
    CHECK(m.run(log).value.as_int() == 8);
    CHECK(log.text ==
          "i2 (inner/1 i0 (test.add/2 =2@0) i1 =2@2) i3 (test.add/2 =7@3) "
          "i4 (vm.builtin.invoke_closure/3 i0 (test.add/2 =8@0) i1 =8@4) i5 ");
  }
  SUBCASE("skip") {
    log.skip = 3;
    REQUIRE(m.start("main", std::vector<Value>{I(1)}).ok());
    CHECK(m.run(log).value.as_int() == 3);
  }
  SUBCASE("stop after an instruction") {
    log.stop_after = 3;
    REQUIRE(m.start("main", std::vector<Value>{I(1)}).ok());
    Outcome o = m.run(log);
    REQUIRE(o.stopped());
    CHECK(m.frame().pc == 4);
    CHECK(m.read_register(0, 1)->as_int() == 7);
    CHECK(m.run().value.as_int() == 8);
  }
}

TEST_CASE("an endless loop can be interrupted and goes on, or meets the limit") {
  Fixture t;
  ExecutableBuilder b;
  b.begin_function("main", {"x"});
  b.call("vm.builtin.copy", {Arg::imm(1)}, 1);
  b.jump(-1);
  b.end_function();
  auto p = t.link(b.finish());
  Machine m(p);
  REQUIRE(m.start("main", std::vector<Value>{I(1)}).ok());
  t.interrupt = true;
  Outcome o = m.run();
  REQUIRE(o.stopped());
  CHECK(o.reason == StopReason::Interrupted);
  CHECK_FALSE(t.interrupt.load());
  CHECK(m.step(10).reason == StopReason::Stepped);
  CHECK(m.instructions() == 10);
  Limits limits;
  limits.max_instructions = 1000;
  m.set_limits(limits);
  o = m.run();
  REQUIRE(o.faulted());
  CHECK(o.fault->error.kind == ErrorKind::Interrupted);
  CHECK(m.instructions() == 1000);
}

TEST_CASE("a snapshot shares no data, keeps aliases, and shares constants") {
  Fixture t;
  t.registry.register_function("test.poke", [](PackedArgs a) -> Result<Value> {
    store_int(a[0].as_tensor().data(), DType::Int(64), 99);
    return Value();
  });
  ExecutableBuilder b;
  b.begin_function("main", {"x", "y"});
  b.call("vm.builtin.copy", {b.constant(tensor_i64({1}, {5}))}, 2);
  b.call("vm.builtin.make_tuple", {Arg::reg(0), Arg::reg(1)}, 3);
  b.call("test.poke", {Arg::reg(0)});
  b.ret(3);
  b.end_function();
  auto p = t.link(b.finish());
  Value x = tensor_i64({2}, {1, 2});
  Value y(runtime::Tensor::view(x.as_tensor().storage(), 8, {1}, DType::Int(64)).value());
  Machine m(p);
  REQUIRE(m.start("main", std::vector<Value>{x, y}).ok());
  m.step(2);
  auto snapshot = m.snapshot();
  REQUIRE(snapshot.ok());
  CHECK(m.snapshot_bytes() == 16);
  REQUIRE(m.run().finished());
  CHECK(x.as_tensor().at(0) == 99);
  Machine& copy = snapshot.value();
  CHECK(copy.instructions() == 2);
  const Value& cx = *copy.read_register(0, 0);
  const Value& cy = *copy.read_register(0, 1);
  const Value& ct = *copy.read_register(0, 3);
  CHECK(cx.as_tensor().at(0) == 1);
  CHECK(cx.as_tensor().storage().get() == cy.as_tensor().storage().get());
  CHECK(ct.as_tuple().fields[0].object() == cx.object());
  CHECK(copy.read_register(0, 2)->object() == p->executable().constants[0].object());
  CHECK(copy.run().value.as_tuple().fields[0].as_tensor().at(0) == 99);
}

TEST_CASE("a snapshot has its own references, those that refer to themselves too") {
  Fixture t;
  ExecutableBuilder b;
  b.begin_function("main", {"x"});
  b.call("rldb.ref.make", {Arg::reg(0)}, 1);
  b.call("rldb.ref.write", {Arg::reg(1), Arg::reg(1)}, 2);
  b.call("rldb.ref.write", {Arg::reg(1), Arg::reg(0)}, 2);
  b.ret(1);
  b.end_function();
  Machine m(t.link(b.finish()));
  REQUIRE(m.start("main", std::vector<Value>{I(5)}).ok());
  m.step(2);
  auto snapshot = m.snapshot();
  REQUIRE(snapshot.ok());
  REQUIRE(m.run().finished());
  const Value& copied = *snapshot->read_register(0, 1);
  CHECK(copied.as_tuple().fields[0].object() == copied.object());
  CHECK(snapshot->run().value.as_tuple().fields[0].as_int() == 5);
}

TEST_CASE("a machine without anything to run says so") {
  Fixture t;
  ExecutableBuilder b;
  add_loop(b);
  Machine m(t.link(b.finish()));
  CHECK(m.run().faulted());
  CHECK_FALSE(m.start(I(3), {}).ok());
}

TEST_CASE("what the verifier refuses is not linked") {
  Fixture t;
  ExecutableBuilder b;
  add_loop(b);
  Executable exe = b.finish();
  exe.instr_data[0] = 17;
  auto p = Program::link(std::make_shared<const Executable>(exe), t.environment());
  REQUIRE_FALSE(p.ok());
  CHECK(p.error().kind == ErrorKind::BadFile);
}
