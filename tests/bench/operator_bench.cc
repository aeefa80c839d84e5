// Operators as kernels, one after another and one call at a time, and oneDNN on the same shapes and plain layouts:
// `operator/NAME/rldb` beside `operator/NAME/onednn` and limits of the machine. scripts/bench makes its table of them.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "bench/onednn.h"
#include "rldb/codegen/llvm/jit.h"
#include "rldb/frontend/parse.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass.h"
#include "rldb/runtime/threads.h"
#include "rldb/session/session.h"

namespace {

using namespace rldb;

constexpr std::int64_t kSymbolic = 1024;  // each symbolic dim

struct Operator {
  const char* name;
  const char* params;
  const char* expression;
};
constexpr Operator kOperators[] = {
#define RLDB_BENCH_OPERATOR(name, params, expression) {#name, params, expression},
#include "bench/operator.def"
};

// A function with one operator, legalised: its kernel.
struct Legalised {
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  const ir::PrimFunc* kernel = nullptr;

  explicit Legalised(const Operator& op) {
    ops::install(ctx);
    const std::string text = fmt::format(
        "@I.ir_module\nclass Module:\n    @R.function\n    def main({}):\n        z = {}\n        return z\n",
        op.params, op.expression);
    const ir::Module* module = frontend::parse(ctx, sources, sources.add(op.name, text), diagnostics).module;
    if (!module) return;
    passes::PassEnv env{ctx, diagnostics};
    auto done = passes::run_pipeline(env, module, *passes::parse_pipeline("LegalizeOps"));
    if (!done.ok()) return;
    for (const ir::ModuleEntry& e : done.value()->entries)
      if (const auto* f = ir::as<ir::PrimFunc>(e.function)) kernel = f;
  }
};

std::vector<runtime::Value> arguments(const runtime::KernelSignature& s) {
  std::vector<runtime::Value> out;
  const std::vector<std::int64_t> dims(s.variables.size(), kSymbolic);
  for (const auto& p : s.params) {
    std::vector<std::int64_t> shape;
    for (const auto& d : p.shape) shape.push_back(runtime::evaluate(d, dims).value());
    auto t = runtime::Tensor::empty(shape, p.dtype).value();
    for (std::int64_t i = 0; i < t->element_count(); ++i)
      runtime::store_double(t->data() + std::size_t(i) * p.dtype.bytes(), p.dtype,
                            p.dtype.is_float() ? double(i * 7919 % 1000) * 0.001 : double(i * 7919 % 100));
    out.push_back(runtime::Value(std::move(t)));
  }
  return out;
}

void time_operator(benchmark::State& state, const Operator& op, codegen::FpMode fp) {
  Legalised legalised(op);
  if (!legalised.kernel) return state.SkipWithError("does not parse");
  session::Session session;  // its functions: the kernels of sort and topk call one
  codegen::JitOptions options;
  options.fp = fp;
  options.registry = &session.registry();
  auto jit = codegen::Jit::create(options).value();
  auto kernel = jit->add(legalised.ctx, legalised.kernel, "kernel");
  if (!kernel.ok()) return state.SkipWithError("does not compile");
  const auto args = arguments((*kernel)->signature());
  if (!runtime::call_kernel(**kernel, args).ok()) return state.SkipWithError("does not run");
  for (auto _ : state) benchmark::DoNotOptimize(runtime::call_kernel(**kernel, args).ok());
}

void time_two_threads(benchmark::State& state, const Operator& op) {
  runtime::set_thread_count(2);
  time_operator(state, op, codegen::FpMode::Strict);
  runtime::set_thread_count(1);
}

void time_compile(benchmark::State& state, const Operator& op) {
  Legalised legalised(op);
  if (!legalised.kernel) return state.SkipWithError("does not parse");
  for (auto _ : state) {
    auto jit = codegen::Jit::create({}).value();
    if (!jit->add(legalised.ctx, legalised.kernel, "kernel").ok() || !jit->compile("kernel").ok())
      return state.SkipWithError("does not compile");
  }
}

// A copy of 1024 x 1024 floats: the limit of an elementwise kernel of one input.
void copy_1m(benchmark::State& state) {
  std::vector<float> from(std::size_t(1) << 20, 1.0f), to = from;
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
    benchmark::DoNotOptimize(to.data());  // a copy that nobody sees is none
    benchmark::ClobberMemory();
  }
}

const bool registered = [] {
  runtime::set_thread_count(1);  // of the whole program: peers have one thread, too
  for (const Operator& op : kOperators) {
    const std::string base = fmt::format("operator/{}/", op.name);
    const auto add = [&](const char* what, auto body) {
      return benchmark::RegisterBenchmark((base + what).c_str(), body)->Unit(benchmark::kMicrosecond);
    };
    add("rldb", [op](benchmark::State& s) { time_operator(s, op, codegen::FpMode::Strict); });
    add("rldb_fast", [op](benchmark::State& s) { time_operator(s, op, codegen::FpMode::Fast); });
    add("rldb_two_threads", [op](benchmark::State& s) { time_two_threads(s, op); })->UseRealTime();
    // LLVM works in threads of its own.
    add("compile", [op](benchmark::State& s) { time_compile(s, op); })->MeasureProcessCPUTime();
    if (auto peer = bench::onednn_call(op.name))
      add("onednn", [peer](benchmark::State& s) {
        for (auto _ : s) peer();
      });
  }
  benchmark::RegisterBenchmark("limit/copy_1m", copy_1m)->Unit(benchmark::kMicrosecond);
  return true;
}();

}  // namespace
