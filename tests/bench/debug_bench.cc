// Costs of being debuggable: a step back after a million instructions, recording, and breakpoints, watchpoints and
// catchpoints that are set but not hit. Rows are compared with their program's row named Bare.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "rldb/bytecode/builder.h"
#include "rldb/bytecode/serialise.h"
#include "rldb/debug/debugger.h"
#include "rldb/support/check.h"

namespace {

using namespace rldb;
using runtime::Value;

// sum(n), five instructions per iteration.
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

// Each of many in a row, continuing from where the last one stopped.
void BM_ReverseStepsInARow(benchmark::State& state) {
  Program p;
  source::Diagnostics d;
  p.debugger.add_breakpoint("*6", false, d);
  p.start(kTurns, false);
  for (auto _ : state) benchmark::DoNotOptimize(p.debugger.reverse_step());
}
BENCHMARK(BM_ReverseStepsInARow)->Unit(benchmark::kMillisecond);

// From the end back to the start, over a million instructions and over eleven: a breakpoint there, a condition that is
// evaluated in each turn, a watchpoint.
void BM_ReverseContinue(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Program p;
    source::Diagnostics d;
    p.debugger.add_breakpoint("*6", false, d);
    p.start(state.range(1), false);
    if (state.range(0) == 0) p.debugger.add_breakpoint("*0", false, d);
    if (state.range(0) == 1) {
      p.debugger.add_breakpoint("*2", false, d);
      p.debugger.set_condition(2, fmt::format("n == {}", state.range(1) - 1), d);
    }
    if (state.range(0) == 2) p.debugger.add_watchpoint(fmt::format("n > {}", state.range(1) - 2), 0, false, d);
    state.ResumeTiming();
    const debug::StopReport stop = p.debugger.reverse_resume();
    state.PauseTiming();
    state.counters["stopped at"] = double(stop.time);
    state.ResumeTiming();
  }
}
BENCHMARK(BM_ReverseContinue)->ArgsProduct({{0, 1, 2}, {kTurns, 11 * kTurns}})->Unit(benchmark::kMillisecond);

// A million instructions: the bare machine, the debugger without breakpoints, and with one that is never reached.
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

// ---- kernels of about a millisecond ----

// A chain of kernels: products of small matrices (work), or sums of large tensors (memory).
std::string chain_of(bool products, int count) {
  const std::string type = products ? "R.Tensor((320, 320), \"float32\")" : "R.Tensor((1024, 1024), \"float32\")";
  std::string text = fmt::format(
      "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: {0}, w: {0}) -> {0}:\n        with "
      "R.dataflow():\n",
      type);
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("lv{}", i);
    text += fmt::format("            {} = R.{}({}, w)\n", name, products ? "matmul" : "add", last);
    last = name;
  }
  return text + fmt::format("            R.output({0})\n        return {0}\n", last);
}

struct Chain {
  explicit Chain(bool products) : debugger(session) {
    source::Diagnostics d;
    RLDB_CHECK(session.enter(chain_of(products, 200), d).ok, "the benchmark's program does not load");
    const std::int64_t n = products ? 320 : 1024;
    for (int i = 0; i < 2; ++i) {
      auto tensor = runtime::Tensor::empty({n, n}, runtime::DType::Float(32)).value();
      std::memset(tensor->data(), 0, tensor->byte_size());
      args.push_back(Value(std::move(tensor)));
    }
    session.run("main", args, d);  // compiles
  }
  void point(int kind) {
    source::Diagnostics d;
    if (kind == 1) debugger.add_breakpoint("main:lv199 if lv1[0, 0] > 1", false, d);
    if (kind == 1) debugger.set_condition(1, "lv1[0, 0] > 1", d);
    if (kind == 2) debugger.add_catchpoint("nan", d);
    if (kind == 3) debugger.add_watchpoint("x[0, 0]", 0, false, d);
  }
  session::Session session;
  debug::Debugger debugger;
  std::vector<Value> args;
};

void BM_KernelsBare(benchmark::State& state) {
  Chain c(state.range(0) != 0);
  source::Diagnostics d;
  for (auto _ : state) benchmark::DoNotOptimize(c.session.run("main", c.args, d));
}
BENCHMARK(BM_KernelsBare)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// Second argument: nothing (only recording), a breakpoint with a condition, catch nan, a watchpoint.
void BM_KernelsDebugger(benchmark::State& state) {
  Chain c(state.range(0) != 0);
  source::Diagnostics d;
  c.point(int(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(c.debugger.start("main", c.args, false, d));
}
BENCHMARK(BM_KernelsDebugger)->ArgsProduct({{0, 1}, {0, 1, 2, 3}})->Unit(benchmark::kMillisecond);

}  // namespace
