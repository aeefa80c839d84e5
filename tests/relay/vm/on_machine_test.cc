// A Relay program on vm::Machine: the map of its code, stops, hooks, copies; it runs as on its own machine.
#include "rldb/relay/vm/on_machine.h"

#include "program_builder.h"
#include "rldb/bytecode/disassemble.h"
#include "rldb/runtime/kernel.h"

using namespace rldb;
using namespace rldb::relay_vm;
using namespace rldb::relay_vm::testing;

namespace {

std::shared_ptr<const vm::Program> mapped(const std::shared_ptr<const Program>& program) {
  auto map = map_of(program->executable());
  REQUIRE(map.ok());
  auto linked = vm::link_other(std::make_shared<const bytecode::Executable>(std::move(map).value()), {},
                               instruction_set(program));
  REQUIRE(linked.ok());
  return std::move(linked).value();
}

struct Counting : vm::Hook {
  bool before_instruction(const vm::Machine&) override { return ++before, false; }
  bool after_instruction(const vm::Machine&, std::size_t, Pc) override { return ++after == stop_after; }
  int before = 0, after = 0, stop_after = -1;
};

}  // namespace

TEST_CASE("the map has an instruction at each pc, with the listing's text") {
  Fixture t;
  const auto program = t.link(counting());
  const auto map = map_of(program->executable());
  REQUIRE(map.ok());
  REQUIRE(map->end() == program->executable().end());
  for (Pc pc = 0; pc < map->end(); ++pc)
    CHECK(bytecode::instruction_text(*map, pc) == relay_bytecode::instruction_text(program->executable(), pc));
  const bytecode::Instruction call = map->instruction(13);
  CHECK(call.op == bytecode::Opcode::Call);
  CHECK(call.callee == 0);
  CHECK(call.dst == 11);
  CHECK(map->functions[0].param_names == std::vector<std::string>{"n", "acc"});
}

TEST_CASE("a run on vm::Machine is the run on the Relay machine") {
  Fixture t;
  const auto program = t.link(counting());
  const std::vector<Value> args{scalar(1'000), scalar(0)};
  Machine own(program);
  REQUIRE(own.start("count", args).ok());
  const Outcome wanted = own.run();
  vm::Machine m(mapped(program));
  REQUIRE(m.start("count", args).ok());
  const Outcome o = m.run();
  REQUIRE(o.finished());
  CHECK(number(o.value) == number(wanted.value));
  CHECK(m.instructions() == own.instructions());
}

TEST_CASE("stop sets, hooks and copies") {
  Fixture t;
  vm::Machine m(mapped(t.link(counting())));
  REQUIRE(m.start("count", std::vector<Value>{scalar(5), scalar(0)}).ok());
  StopSet stops(m.executable().instruction_count());
  stops.set(12);
  Outcome o = m.run(stops);
  REQUIRE(o.stopped());
  CHECK(m.frame().pc == 12);
  auto copy = m.snapshot();
  REQUIRE(copy.ok());
  CHECK(m.snapshot_bytes() > 0);
  int hits = 1;
  for (o = m.run(stops); o.stopped(); o = m.run(stops)) ++hits;
  CHECK(hits == 5);
  Counting hook;
  hook.stop_after = 3;
  o = copy->run(hook);
  CHECK(o.stopped());
  CHECK(hook.before == 2);  // not called for the instruction at which the stop set stopped
  o = copy->run(hook);
  REQUIRE(o.finished());
  CHECK(number(o.value) == 5);
  CHECK(copy->instructions() == m.instructions());
}

TEST_CASE("a fault stays at its instruction, whose text is the listing's") {
  Fixture t;
  Executable exe;
  add_function(exe, "wrong", {"a"}, 2, {{Opcode::GetField, {0, 0, 1}}, {Opcode::Ret, {1}}});
  vm::Machine m(mapped(t.link(std::move(exe))));
  REQUIRE(m.start("wrong", std::vector<Value>{scalar(4)}).ok());
  const Outcome o = m.run();
  REQUIRE(o.faulted());
  CHECK(o.fault->instruction == "get_field $1 $0[0]");
  CHECK(m.frame().pc == 0);
}

TEST_CASE("what cannot be mapped is refused") {
  Fixture t;
  Executable exe;
  add_function(exe, "main", {"a"}, 3,
               {{Opcode::LoadConsti, {1, 1}},
                {Opcode::If, {0, 1, 2, 3}},
                {Opcode::Ret, {0}},
                {Opcode::Ret, {0}},
                {Opcode::Ret, {1}}});
  const auto program = t.link(std::move(exe));
  const auto map = map_of(program->executable());
  REQUIRE(!map.ok());
  CHECK(map.error().message.find("pc 1") != std::string::npos);
}
