// Costs of being debuggable: a step back after a million instructions, and breakpoints that are set but not hit.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>

#include "rldb/bytecode/builder.h"
#include "rldb/bytecode/serialise.h"
#include "rldb/debug/debugger.h"
#include "rldb/support/check.h"

namespace {

using namespace rldb;
using runtime::Value;

// sum(n), five instructions a turn.
bytecode::Executable sum_loop() {
  using bytecode::Arg;
  bytecode::ExecutableBuilder b;
  b.begin_function("main", {"n"});
  b.call("vm.builtin.copy", {Arg::imm(0)}, 1);
  const bytecode::Pc head = b.call("bench.less", {Arg::imm(0), Arg::reg(0)}, 2);
  const bytecode::Pc exit = b.branch(2);
  b.call("bench.add", {Arg::reg(1), Arg::reg(0)}, 1);
  b.call("bench.sub", {Arg::reg(0), Arg::imm(1)}, 0);
  b.jump(head - b.next_pc());
  b.patch_to_here(exit);
  b.ret(1);
  b.end_function();
  return b.finish();
}

struct Program {
  Program() : debugger(session) {
    auto binary = [&](const char* name, auto op) {
      session.registry().register_function(name, [op](runtime::PackedArgs a) -> runtime::Result<Value> {
        return Value::of_int(op(a[0].as_int(), a[1].as_int()));
      });
    };
    binary("bench.add", [](std::int64_t a, std::int64_t b) { return a + b; });
    binary("bench.sub", [](std::int64_t a, std::int64_t b) { return a - b; });
    binary("bench.less", [](std::int64_t a, std::int64_t b) { return std::int64_t(a < b); });
    const auto path = std::filesystem::temp_directory_path() / "rldb_debug_bench.rlvm";
    std::ofstream(path, std::ios::binary) << bytecode::serialise(sum_loop()).value();
    source::Diagnostics d;
    RLDB_CHECK(session.load_file(path.string(), d), "the benchmark's program does not load");
    std::filesystem::remove(path);
  }
  debug::StopReport start(std::int64_t turns, bool at_entry) {
    source::Diagnostics d;
    const std::vector<Value> args{Value::of_int(turns)};
    return debugger.start("main", args, at_entry, d);
  }
  session::Session session;
  debug::Debugger debugger;
};

constexpr std::int64_t kTurns = 200'000;  // a million instructions

void BM_ReverseStepAfterAMillion(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Program p;
    source::Diagnostics d;
    p.debugger.add_breakpoint("*6", false, d);
    p.start(kTurns, false);
    state.ResumeTiming();
    benchmark::DoNotOptimize(p.debugger.reverse_step());
  }
}
BENCHMARK(BM_ReverseStepAfterAMillion)->Unit(benchmark::kMillisecond);

// Each of many in a row, going on from where the last one led.
void BM_ReverseStepsInARow(benchmark::State& state) {
  Program p;
  source::Diagnostics d;
  p.debugger.add_breakpoint("*6", false, d);
  p.start(kTurns, false);
  for (auto _ : state) benchmark::DoNotOptimize(p.debugger.reverse_step());
}
BENCHMARK(BM_ReverseStepsInARow)->Unit(benchmark::kMillisecond);

// A million instructions: bare machine, debugger without breakpoints, with one that is never reached.
void BM_BareMachine(benchmark::State& state) {
  Program p;
  for (auto _ : state) {
    source::Diagnostics d;
    const std::vector<Value> args{Value::of_int(kTurns)};
    benchmark::DoNotOptimize(p.session.run("main", args, d));
  }
}
BENCHMARK(BM_BareMachine)->Unit(benchmark::kMillisecond);

void BM_DebuggerNoBreakpoint(benchmark::State& state) {
  Program p;
  for (auto _ : state) benchmark::DoNotOptimize(p.start(kTurns, false));
}
BENCHMARK(BM_DebuggerNoBreakpoint)->Unit(benchmark::kMillisecond);

void BM_DebuggerBreakpointNotHit(benchmark::State& state) {
  Program p;
  source::Diagnostics d;
  p.debugger.add_breakpoint("*6", false, d);
  p.debugger.find_breakpoint(1)->enabled = true;
  p.debugger.find_breakpoint(1)->condition = "n > 0";  // at the end it is 0
  for (auto _ : state) benchmark::DoNotOptimize(p.start(kTurns, false));
}
BENCHMARK(BM_DebuggerBreakpointNotHit)->Unit(benchmark::kMillisecond);

}  // namespace
