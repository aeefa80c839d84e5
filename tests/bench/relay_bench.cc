// Cost of the Relay VM compared with the Relax machine (vm_bench.cc): calls of a function, and Relay text at a size at
// which anything quadratic shows.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <ctime>

#include "rldb/frontend/relay.h"
#include "rldb/ops/op_info.h"
#include "rldb/relay/codegen/compile.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/relay/to_relax.h"
#include "rldb/relay/vm/machine.h"

namespace {

using namespace rldb;
using relay_bytecode::Opcode;
using runtime::Value;

constexpr int kCalls = 10'000;

void add_function(relay_bytecode::Executable& exe, const char* name, std::int64_t registers,
                  const std::vector<std::vector<std::int64_t>>& code) {
  relay_bytecode::FunctionEntry f;
  f.name = name;
  f.params = {"x"};
  f.register_file_size = registers;
  f.start = exe.end();
  for (const auto& words : code) exe.add(words);
  f.end = exe.end();
  exe.functions.push_back(std::move(f));
}

// main(x): kCalls times id(x), then return.
void relay_vm_calls(benchmark::State& state) {
  relay_bytecode::Executable exe;
  std::vector<std::vector<std::int64_t>> code(kCalls, {std::int64_t(Opcode::Invoke), 1, 1, 1, 0});
  code.push_back({std::int64_t(Opcode::Ret), 0});
  add_function(exe, "main", 2, code);
  add_function(exe, "id", 1, {{std::int64_t(Opcode::Ret), 0}});
  auto program =
      relay_vm::Program::link(std::make_shared<const relay_bytecode::Executable>(std::move(exe)), {}).value();
  relay_vm::Machine m(program);
  const std::vector<Value> args{Value(runtime::Tensor::empty({}, runtime::DType::Int(32)).value())};
  for (auto _ : state) {
    (void)m.start("main", args);
    if (!m.run().finished()) state.SkipWithError("the program did not finish");
  }
  state.counters["per_call"] = benchmark::Counter(double(state.iterations()) * kCalls,
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(relay_vm_calls);

std::string lets(std::int64_t count) {
  std::string text = "#[version = \"0.0.5\"]\ndef @main(%v: Tensor[(4), float32]) {\n";
  for (std::int64_t i = 0; i < count; ++i)
    text += fmt::format("  let %v{} = add(%v{}, 1f);\n", i + 1, i ? std::to_string(i) : "");
  return text + fmt::format("  %v{}\n}}\n", count);
}

// Of all threads: other work on the machine does not count.
double processor_seconds() {
  ::timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// A chain of lets through one phase after another; the counters are seconds of each.
void relay_lets(benchmark::State& state) {
  const std::string text = lets(state.range(0));
  double times[4] = {};
  for (auto _ : state) {
    relay::Context ctx;
    ir::Context relax;
    ops::install(relax);
    source::SourceManager sources;
    source::Diagnostics found;
    double last = processor_seconds();
    const auto lap = [&](int phase) {
      const double now = processor_seconds();
      times[phase] += now - last;
      last = now;
    };
    const auto parsed = frontend::parse_relay(ctx, sources, sources.add("lets.relay", text), found);
    lap(0);
    relay::Typing typing;
    if (!parsed.module || !relay::infer_types(ctx, parsed.module, typing, found)) state.SkipWithError("no types");
    lap(1);
    if (!relay::to_relax(relax, ctx, *parsed.module, typing, found)) state.SkipWithError("not translated");
    lap(2);
    relay::PassEnv env{ctx, found};
    const relay::Module* prepared = relay::prepare_for_vm(env, parsed.module);
    if (!prepared || !relay::compile_vm(ctx, prepared, found)) state.SkipWithError("not compiled");
    lap(3);
  }
  const char* names[] = {"parse", "types", "translate", "compile"};
  for (int i = 0; i < 4; ++i) state.counters[names[i]] = times[i] / double(state.iterations());
}
BENCHMARK(relay_lets)->Arg(25'000)->Arg(50'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
