// Programs without debug info: every instruction is a step. Stepping, frames, time travel, limits.
#include <random>

#include "debug/helpers.h"
#include "debug/run/timeline.h"
#include "rldb/debug/file_names.h"
#include "rldb/support/memory.h"

using namespace rldb;
using namespace rldb::debug;
using namespace rldb::debug::testing;

TEST_CASE("instructions and time") {
  Fixture f(sum_loop());
  StopReport r = f.start({Value::of_int(3)});
  CHECK(r.kind == StopKind::Entry);
  CHECK(r.time == 0);
  CHECK(r.where.pc == 0);
  CHECK(f.local("n") == "3");
  r = f.debugger.step_instruction();
  CHECK(r.kind == StopKind::Step);
  CHECK(r.time == 1);
  r = f.debugger.step_instruction(4);
  CHECK(r.time == 5);
  CHECK(r.where.pc == 5);
  CHECK(f.local("n") == "2");
  r = f.debugger.resume();
  REQUIRE(r.kind == StopKind::Finished);
  CHECK(r.value.as_int() == 6);
  CHECK(!f.debugger.active());
  // 1 copy, 3 iterations of 5, less, if, ret.
  CHECK(r.time == 19);
  // Going back from the end.
  r = f.debugger.reverse_step_instruction();
  CHECK(r.kind == StopKind::Step);
  CHECK(r.time == 18);
  CHECK(r.where.pc == 6);
  CHECK(f.debugger.active());
  CHECK(f.debugger.resume().value.as_int() == 6);
}

TEST_CASE("breakpoints on instructions and callees: conditions, ignores, hits, once") {
  Fixture f(sum_loop());
  const int n = f.at("test.add", "n == 2");
  StopReport r = f.start({Value::of_int(5)}, false);
  REQUIRE(r.kind == StopKind::Breakpoint);
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(r.where.pc == 3);
  CHECK(f.local("n") == "2");
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  f.debugger.remove_breakpoint(n);

  const int m = f.at("*4");
  f.debugger.find_breakpoint(m)->ignore = 3;
  r = f.start({Value::of_int(5)}, false);
  REQUIRE(r.kind == StopKind::Breakpoint);
  CHECK(f.local("n") == "2");
  CHECK(f.debugger.find_breakpoint(m)->hits == 4);
  f.debugger.find_breakpoint(m)->enabled = false;
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  f.debugger.remove_breakpoint(m);

  source::Diagnostics d;
  REQUIRE(f.debugger.add_breakpoint("main", true, d));
  CHECK(f.start({Value::of_int(2)}, false).kind == StopKind::Breakpoint);
  CHECK(f.debugger.breakpoints().empty());
  CHECK(f.debugger.resume().kind == StopKind::Finished);
}

TEST_CASE("a parameter that the code itself changes is watched, forward and backward") {
  Fixture f(sum_loop());
  f.start({Value::of_int(5)});
  source::Diagnostics d;
  REQUIRE(f.debugger.add_watchpoint("n > 3", 0, false, d));
  StopReport r = f.debugger.resume();
  REQUIRE(r.kind == StopKind::Breakpoint);
  CHECK(f.local("n") == "3");
  const std::uint64_t changed = r.time;
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  r = f.debugger.reverse_resume();
  REQUIRE(r.kind == StopKind::Breakpoint);
  CHECK(r.time + 1 == changed);  // before the instruction that changes it
  CHECK(f.local("n") == "4");
}

TEST_CASE("a condition that cannot be evaluated stops and says so") {
  Fixture f(sum_loop());
  f.at("*3", "nn == 2");
  StopReport r = f.start({Value::of_int(5)}, false);
  CHECK(r.kind == StopKind::Breakpoint);
  CHECK(r.note.find("`nn` has no value here") != std::string::npos);
}

TEST_CASE("specs that mean nothing are refused with the nearest name") {
  Fixture f(sum_loop());
  CHECK(f.refused("test.ad").find("did you mean `test.add`?") != std::string::npos);
  CHECK(f.refused("*99").find("there is no instruction 99") != std::string::npos);
  CHECK(f.refused("mian:x").find("did you mean `main`?") != std::string::npos);
  Fixture empty;
  source::Diagnostics d;
  const Breakpoint* b = empty.debugger.add_breakpoint("anything", false, d);
  REQUIRE(b);
  CHECK(b->sites.empty());
}

TEST_CASE("why: a value of a program without bindings is shown, another name refused") {
  Fixture f(sum_loop());
  f.start({Value::of_int(3)});
  f.debugger.step_instruction(3);
  source::Diagnostics d;
  const auto steps = f.debugger.why("n", 0, 3, d);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].value == f.local("n"));
  CHECK(f.debugger.why("nothing", 0, 3, d).empty());
  CHECK(d.all().back().message.find("`nothing` has no value here") != std::string::npos);
}

TEST_CASE("recursion: over calls, out of them, and back") {
  Fixture f(bare_recursion());
  f.start({Value::of_int(3)});
  StopReport r = f.debugger.next();
  CHECK(r.kind == StopKind::Step);
  CHECK(r.where.pc == 1);
  const std::uint64_t after = r.time;
  r = f.debugger.reverse_next();
  CHECK(r.where.pc == 0);
  CHECK(r.time == 0);
  r = f.debugger.next_instruction();
  CHECK(r.time == after);
  f.debugger.go_to(0);
  // Into the innermost call.
  f.at("*6");
  r = f.debugger.resume();
  REQUIRE(r.kind == StopKind::Breakpoint);
  CHECK(f.debugger.frames().size() == 5);
  CHECK(f.local("n") == "0");
  CHECK(f.local("n", 1) == "1");
  CHECK(f.local("n", 4) == "3");
  CHECK(f.debugger.locals(5).empty());
  r = f.debugger.finish();
  CHECK(r.returned_from == "depth");
  CHECK(r.returned.as_int() == 0);
  CHECK(f.debugger.frames().size() == 4);
  r = f.debugger.finish();
  CHECK(r.returned.as_int() == 1);
  f.debugger.remove_breakpoint(1);
  r = f.debugger.reverse_finish();
  CHECK(f.debugger.frames().size() == 2);
  CHECK(f.debugger.machine()->executable().instruction(r.where.pc).op == bytecode::Opcode::Call);
  r = f.debugger.reverse_finish();
  CHECK(r.time == 0);
  r = f.debugger.reverse_step();
  CHECK(r.kind == StopKind::HistoryEnd);
  CHECK(r.time == 0);
}

TEST_CASE("what a program prints is not printed again by going back") {
  Fixture f(bare_recursion());
  f.start({Value::of_int(2)});
  f.debugger.next(2);
  CHECK(f.output.text == "said\n");
  const StopReport here = f.debugger.last_stop();
  f.debugger.step(3);
  f.debugger.reverse_step(3);
  CHECK(f.output.text == "said\n");
  CHECK(f.debugger.last_stop().time == here.time);
  f.debugger.go_to(0);
  f.debugger.resume();
  // A packed function's effect happened: it is not called again.
  CHECK(f.output.text == "said\n");
}

TEST_CASE("reverse-continue stops at the breakpoint passed last, then at the start") {
  Fixture f(sum_loop());
  const int n = f.at("*3", "n > 2");
  f.start({Value::of_int(5)}, false);
  f.debugger.resume();
  StopReport last = f.debugger.resume();
  CHECK(f.local("n") == "3");
  CHECK(f.debugger.resume().kind == StopKind::Finished);
  StopReport r = f.debugger.reverse_resume();
  REQUIRE(r.kind == StopKind::Breakpoint);
  CHECK(r.breakpoints == std::vector<int>{n});
  CHECK(r.time == last.time);
  CHECK(f.local("n") == "3");
  f.debugger.reverse_resume();
  CHECK(f.local("n") == "4");
  f.debugger.reverse_resume();
  r = f.debugger.reverse_resume();
  CHECK(r.kind == StopKind::HistoryEnd);
  CHECK(r.time == 0);
}

TEST_CASE("an interrupt stops a long run, which can go on") {
  Fixture f(sum_loop());
  f.session.registry().register_function("test.less", [&](runtime::PackedArgs a) -> runtime::Result<Value> {
    if (a[1].as_int() == 50) f.session.interrupt() = true;
    return Value::of_int(a[0].as_int() < a[1].as_int());
  });
  StopReport r = f.start({Value::of_int(100)}, false);
  REQUIRE(r.kind == StopKind::Interrupted);
  CHECK(f.local("n") == "50");
  f.session.registry().register_function("test.less", [](runtime::PackedArgs a) -> runtime::Result<Value> {
    return Value::of_int(a[0].as_int() < a[1].as_int());
  });
}

TEST_CASE("an interrupt where a breakpoint would have stopped the run is a stop there") {
  const auto run = [](const std::string& place, const char* condition, std::vector<StopReport>& stops) {
    Fixture f(sum_loop());
    f.session.registry().register_function("test.less", [&](runtime::PackedArgs a) -> runtime::Result<Value> {
      if (a[1].as_int() == 50) f.session.interrupt() = true;
      return Value::of_int(a[0].as_int() < a[1].as_int());
    });
    if (!place.empty()) f.at(place.c_str(), condition);
    stops.push_back(f.start({Value::of_int(100)}, false));
    f.session.registry().register_function("test.less", [](runtime::PackedArgs a) -> runtime::Result<Value> {
      return Value::of_int(a[0].as_int() < a[1].as_int());
    });
    stops.push_back(f.debugger.resume());
  };
  std::vector<StopReport> free, held, passed;
  run("", "", free);
  REQUIRE(free[0].kind == StopKind::Interrupted);
  const std::string place = fmt::format("*{}", free[0].where.pc);
  run(place, "n == 50", held);
  CHECK(held[0].kind == StopKind::Breakpoint);
  CHECK(held[0].time == free[0].time);
  CHECK(held[1].kind == StopKind::Finished);
  run(place, "n == 1000", passed);
  CHECK(passed[0].kind == StopKind::Interrupted);
  CHECK(passed[1].kind == StopKind::Finished);
}

TEST_CASE("a long run: a step back is found, checkpoints stay few") {
  Fixture f(sum_loop());
  constexpr std::int64_t kTurns = 40'000;
  f.at("*6");
  StopReport r = f.start({Value::of_int(kTurns)}, false);
  REQUIRE(r.kind == StopKind::Breakpoint);
  const std::uint64_t end = r.time;
  CHECK(end == 5 * kTurns + 3);
  r = f.debugger.reverse_step_instruction();
  CHECK(r.time == end - 1);
  r = f.debugger.reverse_step();
  CHECK(r.time == end - 2);
  r = f.debugger.go_to(1 + 5 * 1000);
  CHECK(f.local("n") == fmt::format("{}", kTurns - 1000));
  r = f.debugger.go_to(end + 100);
  CHECK(r.kind == StopKind::Finished);
}

TEST_CASE("a timeline keeps the start, is dense near the present, and bounded") {
  // Only the thinning rule, on a machine that does nothing expensive.
  Fixture f(sum_loop());
  source::Diagnostics d;
  auto machine = f.session.start("main", std::vector<Value>{Value::of_int(1'000'000)}, d);
  REQUIRE(machine);
  Timeline t;
  REQUIRE(t.begin(*machine));
  for (int i = 0; i < 3000; ++i) {
    machine->step(7);
    t.ran(*machine, 1'000'000'000);  // pretend that it took a long time
  }
  CHECK(t.size() > 10);
  CHECK(t.size() <= 256);
  CHECK(t.at_or_before(0)->instructions() == 0);
  const std::uint64_t now = machine->instructions();
  CHECK(now - t.at_or_before(now)->instructions() == 0);
  CHECK(now - t.at_or_before(now - 1)->instructions() <= 14);
  for (std::uint64_t age = 100; age < now; age *= 2) {
    const std::uint64_t gap = (now - age) - t.at_or_before(now - age)->instructions();
    CHECK(gap <= age / 2 + 14);
  }
}

TEST_CASE("a larger memory limit gives runs with larger values a history") {
  Fixture f(sum_loop());
  source::Diagnostics d;
  const auto machine = f.session.start("main", std::vector<Value>{Value::of_int(3)}, d);
  REQUIRE(machine);
  constexpr std::size_t kGiB = std::size_t(1) << 30;
  const std::size_t before = support::memory_limit();
  const auto limit_with = [&](std::size_t memory) {
    support::set_memory_limit(memory);
    Timeline t;
    CHECK(t.begin(*machine));
    return t.limit();
  };
  CHECK(limit_with(kGiB) == kGiB / 2);
  CHECK(limit_with(12 * kGiB) == 3 * kGiB);
  CHECK(limit_with(~std::size_t(0)) == 4 * kGiB);
  support::set_memory_limit(before);
}

TEST_CASE("any way to a moment shows the same: random steps forward and back against going there at once") {
  std::mt19937 random(7);
  for (int round = 0; round < 4; ++round) {
    Fixture f(bare_recursion()), g(bare_recursion());
    f.start({Value::of_int(4)});
    g.start({Value::of_int(4)});
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t count = random() % 3 + 1;
      switch (random() % 9) {
        case 0:
          f.debugger.step(count);
          break;
        case 1:
          f.debugger.next(count);
          break;
        case 2:
          f.debugger.step_instruction(count);
          break;
        case 3:
          f.debugger.next_instruction(count);
          break;
        case 4:
          f.debugger.reverse_step(count);
          break;
        case 5:
          f.debugger.reverse_next(count);
          break;
        case 6:
          f.debugger.reverse_step_instruction(count);
          break;
        case 7:
          f.debugger.finish();
          break;
        case 8:
          f.debugger.reverse_finish();
          break;
      }
      const StopReport& r = f.debugger.last_stop();
      if (r.kind == StopKind::Finished) {
        CHECK(r.value.as_int() == 4);
        f.debugger.reverse_step();
        continue;
      }
      g.debugger.go_to(r.time);
      REQUIRE(f.state() == g.state());
    }
  }
}

TEST_CASE("an executable of a file is debugged by the names of the text it was built from") {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("rldb_names_{}.rlvm", ::getpid())).string();
  source::Diagnostics d;
  {
    session::Session built;
    REQUIRE(built.load_file(RLDB_SOURCE_DIR "/docs/examples/mlp.py", d));
    const auto bytes = executable_file(built, d);
    REQUIRE_MESSAGE(bytes, text_of(d));
    std::ofstream(path, std::ios::binary) << *bytes;
  }
  Fixture f;
  REQUIRE(f.session.load_file(path, d));
  std::remove(path.c_str());
  f.at("main:lv1");
  StopReport r = f.start({f32({2, 4}, {1}), f32({4, 8}, {1}), f32({8}, {0}), f32({8, 3}, {1}), f32({3}, {0})}, false);
  REQUIRE(r.kind == StopKind::Breakpoint);
  CHECK(r.where.binding == "lv1");
  CHECK(f.local("lv0").starts_with("["));
  for (const char* next : {"lv2", "lv3", "gv"}) {
    r = f.debugger.next();
    CHECK(r.where.binding == next);
  }
  CHECK(f.local("lv3").starts_with("["));
  CHECK(f.debugger.reverse_next().where.binding == "lv3");
}
