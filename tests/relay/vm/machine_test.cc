// The machine: calls, tail calls, data types, closures, stepping, stop sets, limits, faults, snapshots.
#include "program_builder.h"

using namespace rldb;
using namespace rldb::relay_vm;
using namespace rldb::relay_vm::testing;

TEST_CASE("a call at the end takes the place of its frame: a million in constant memory") {
  Fixture t;
  auto program = t.link(counting());
  const std::vector<Value> args{scalar(1'000'000), scalar(0)};
  Machine m(program);
  REQUIRE(m.start("count", args).ok());
  m.step(10'000);
  CHECK(m.frames().size() == 1);
  const Outcome o = m.run();
  REQUIRE(o.finished());
  CHECK(number(o.value) == 1'000'000);
}

TEST_CASE("without that, frames are limited, and depth costs no C++ stack") {
  Fixture t;
  auto program = t.link(counting(), false);
  CHECK(number(call(program, "count", std::vector<Value>{scalar(90'000), scalar(0)}).value) == 90'000);
  const Outcome deep = call(program, "count", std::vector<Value>{scalar(200'000), scalar(0)});
  REQUIRE(deep.faulted());
  CHECK(deep.fault->error.kind == ErrorKind::StackOverflow);
  CHECK(deep.fault->instruction == "invoke $11 VMFunc[0]($8,$10)");
}

TEST_CASE("stepping, stop sets and snapshots") {
  Fixture t;
  auto program = t.link(counting());
  Machine m(program);
  REQUIRE(m.start("count", std::vector<Value>{scalar(3), scalar(0)}).ok());
  StopSet stops(std::int64_t(program->executable().end()));
  stops.set(12);
  int seen = 0;
  std::optional<Machine> kept;
  Outcome o = m.run(stops);
  for (; o.stopped(); o = m.run(stops)) {
    CHECK(o.reason == StopReason::Hook);
    CHECK(m.frame().pc == 12);
    if (++seen == 2) {
      auto copy = m.snapshot();
      REQUIRE(copy.ok());
      kept = std::move(copy).value();
    }
  }
  REQUIRE(o.finished());
  CHECK(seen == 3);
  // The copy has its own tensors: it continues as if nothing had happened since.
  const Outcome again = kept->run();
  REQUIRE(again.finished());
  CHECK(number(again.value) == 3);
  CHECK(kept->instructions() == m.instructions());
}

TEST_CASE("data types and closures; what is no such thing is a fault that leaves the machine as it was") {
  Fixture t;
  Executable exe;
  add_function(exe, "second", {"captured", "x"}, 3,
               {{Opcode::AllocADT, {7, 2, 2, 0, 1}}, {Opcode::GetField, {2, 1, 2}}, {Opcode::Ret, {2}}});
  add_function(exe, "main", {"a", "b"}, 4,
               {{Opcode::AllocClosure, {0, 1, 2, 0}}, {Opcode::InvokeClosure, {2, 1, 3, 1}}, {Opcode::Ret, {3}}});
  add_function(exe, "wrong", {"a"}, 2, {{Opcode::GetField, {0, 0, 1}}, {Opcode::Ret, {1}}});
  add_function(exe, "fall", {}, 1, {{Opcode::Fatal, {}}});
  auto program = t.link(std::move(exe));
  CHECK(number(call(program, "main", std::vector<Value>{scalar(4), scalar(5)}).value) == 5);
  Machine m(program);
  REQUIRE(m.start("wrong", std::vector<Value>{scalar(4)}).ok());
  const Outcome o = m.run();
  REQUIRE(o.faulted());
  CHECK(o.fault->error.message == "$0 is a tensor, which has no fields");
  CHECK(m.instructions() == 0);
  CHECK(m.run().faulted());
  CHECK(call(program, "fall", {}).fault->instruction == "fatal");
  CHECK(call(program, "main", {}).fault->error.kind == ErrorKind::ArgumentCount);
}

TEST_CASE("a long list is made, copied, printed and let go of without recursion") {
  Value list = make_adt(constructor_tag("List", 1), {});
  for (int i = 0; i < 200'000; ++i) list = make_adt(constructor_tag("List", 0), {scalar(i), list});
  Fixture t;
  Executable exe;
  add_function(exe, "main", {"x"}, 1, {{Opcode::Ret, {0}}});
  exe.constructors[constructor_tag("List", 0)] = {"List", "Cons"};
  exe.constructors[constructor_tag("List", 1)] = {"List", "Nil"};
  auto program = t.link(std::move(exe));
  Machine m(program);
  REQUIRE(m.start("main", std::vector<Value>{list}).ok());
  auto copy = m.snapshot();
  REQUIRE(copy.ok());
  const Value again = copy->run().value;
  CHECK(again.object() != list.object());
  const Value end = again.as_tuple().fields[1].as_tuple().fields[1];
  CHECK(to_text(again, &program->executable()).starts_with("[199999, 199998, "));
  CHECK(tag_of(end) == constructor_tag("List", 0));
}

TEST_CASE("tags are those that TVM's compiler gives") {
  CHECK(constructor_tag("List", 0) == -2013265920);
  CHECK(constructor_tag("List", 1) == -2013265919);
  CHECK(to_text(make_adt(5, {scalar(1)})) == "ADT(5, 1)");
  CHECK(to_text(make_adt(0, {scalar(1)})) == "(1,)");
}
