// The cost of a comparison relative to a plain run of the program, and of a candidate of the reducer.
//
// `compare` runs two programs and copies every tensor on the way; `ratio` is its time over that of one plain run on the
// same engine, and should stay below 2.5. `candidate` is one program tried in a child process: `tries/s` counts them.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "rldb/repro/compare.h"
#include "rldb/repro/reduce.h"

using namespace rldb;

namespace {

// Layers of a matrix product, a sum and a maximum each.
std::string layers(std::int64_t n, int width) {
  const std::string type = fmt::format("R.Tensor(({0}, {0}), \"float32\")", width);
  std::string text = fmt::format(
      "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: {0}, w: {0}) -> {0}:\n        with "
      "R.dataflow():\n",
      type);
  std::string last = "x";
  for (std::int64_t i = 0; i < n; ++i) {
    text += fmt::format("            a{0} = R.matmul({1}, w)\n            b{0} = R.add(a{0}, x)\n", i, last);
    text += fmt::format("            c{0} = R.tanh(b{0})\n", i);
    last = fmt::format("c{}", i);
  }
  return text + fmt::format("            R.output({0})\n        return {0}\n", last);
}

struct Opened {
  session::Session session;
  repro::Program program;
  explicit Opened(const std::string& text) {
    source::Diagnostics d;
    if (!session.load_text("bench", text, d)) return;
    program.module = session.module();
    program.function = "main";
    auto arguments = session.arguments("main", {}, d);
    if (!arguments) return;
    for (const session::Argument& a : *arguments) program.args.push_back(a.value);
  }
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void compare(benchmark::State& state) {
  Opened o(layers(state.range(0), int(state.range(1))));
  const auto plain = [&] {
    eval::Watcher nobody;
    source::Diagnostics d;
    auto run = o.session.run_watched(o.program.module, "main", o.program.args, nobody, d);
    benchmark::DoNotOptimize(run.ok);
  };
  plain();  // compiles the kernels
  double run = 1e9;
  for (int i = 0; i < 5; ++i) run = std::min(run, seconds_of(plain));
  double compared = 1e9;
  for (auto _ : state) {
    const double one = seconds_of([&] {
      const auto c = repro::compare(o.session, o.program, o.program, {});
      if (c.verdict != repro::Comparison::Verdict::Equal) state.SkipWithError("does not compare");
    });
    compared = std::min(compared, one);
  }
  state.counters["ratio"] = compared / run;
}
BENCHMARK(compare)->Args({16, 64})->Args({16, 256})->Args({4, 512})->Unit(benchmark::kMillisecond);

// No pass causes a symptom in this one: the condition is that it contains a product.
void candidate(benchmark::State& state) {
  Opened o(layers(state.range(0), 8));
  repro::Question q;
  q.kind = repro::OracleKind::Command;
  q.command = "grep -q matmul";
  std::size_t tried = 0;
  for (auto _ : state) {
    const repro::Reduction r = repro::reduce(o.session, o.program.module, q, {});
    if (!r.module) state.SkipWithError("is not reduced");
    tried += r.tried;
  }
  state.counters["tries/s"] = benchmark::Counter(double(tried), benchmark::Counter::kIsRate);
}
BENCHMARK(candidate)->Arg(10)->Arg(100)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
