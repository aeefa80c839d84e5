// The JIT against its competitors and limits: milliseconds to compile a kernel, matrix products against OpenBLAS (one
// thread), elementwise kernels against memcpy. They all run in the same process, so that ratios can be read directly.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>

#include "rldb/codegen/llvm/jit.h"
#include "rldb/frontend/parse.h"
#include "rldb/ops/op_info.h"

#ifdef RLDB_HAVE_OPENBLAS
#include <cblas.h>
extern "C" void openblas_set_num_threads(int);
#endif

namespace {

using namespace rldb;

const ir::PrimFunc* parse(ir::Context& ctx, const std::string& text) {
  ops::install(ctx);
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  const auto result = frontend::parse(ctx, sources, sources.add("kernel.py", text), diagnostics);
  if (!result.module) return nullptr;
  for (const ir::ModuleEntry& e : result.module->entries)
    if (const auto* f = ir::as<ir::PrimFunc>(e.function)) return f;
  return nullptr;
}

std::string matmul_text(int n, bool transposed) {
  return fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer(({0}, {0}), "float32"), B: T.Buffer(({0}, {0}), "float32"), C: T.Buffer(({0}, {0}), "float32")):
    T.func_attr({{"tirx.noalias": True}})
    for i, j, k in T.grid({0}, {0}, {0}):
        with T.sblock("mm"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * {1}
)",
                     n, transposed ? "B[vj, vk]" : "B[vk, vj]");
}

std::string elementwise_text(std::int64_t n, const char* expr) {
  return fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer(({0},), "float32"), B: T.Buffer(({0},), "float32"), C: T.Buffer(({0},), "float32")):
    T.func_attr({{"tirx.noalias": True}})
    for i in range({0}):
        with T.sblock("add"):
            vi = T.axis.spatial({0}, i)
            C[vi] = {1}
)",
                     n, expr);
}

// A reduction of A (and W) to B.
std::string reduction_text(const char* a, const char* w, const char* b, const char* loops, const char* extents,
                           const char* axes, const char* kinds, const char* place, const char* term) {
  return fmt::format(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer({0}, "float32"), W: T.Buffer({1}, "float32"), B: T.Buffer({2}, "float32")):
    T.func_attr({{"tirx.noalias": True}})
    for {3} in T.grid({4}):
        with T.sblock("reduce"):
            {5} = T.axis.remap("{6}", [{3}])
            with T.init():
                B[{7}] = T.float32(0)
            B[{7}] = {8}
)",
                     a, w, b, loops, extents, axes, kinds, place, term);
}

std::vector<runtime::Value> tensors(const runtime::KernelSignature& s) {
  std::vector<runtime::Value> out;
  for (const auto& p : s.params) {
    std::vector<std::int64_t> shape;
    for (const auto& d : p.shape) shape.push_back(runtime::evaluate(d, {}).value());
    auto t = runtime::Tensor::empty(shape, p.dtype).value();
    auto* data = reinterpret_cast<float*>(t->data());
    for (std::int64_t i = 0; i < t->element_count(); ++i) data[i] = float(i % 1000) * 0.001f;
    out.push_back(runtime::Value(std::move(t)));
  }
  return out;
}

void run_kernel(benchmark::State& state, const std::string& text, bool check_bounds = true) {
  ir::Context ctx;
  const ir::PrimFunc* f = parse(ctx, text);
  codegen::JitOptions options;
  options.check_bounds = check_bounds;
  auto jit = codegen::Jit::create(options).value();
  auto kernel = f ? jit->add(ctx, f, "kernel") : ir::Result<std::shared_ptr<runtime::Kernel>>(nullptr);
  if (!kernel.ok() || !*kernel) return state.SkipWithError("does not compile");
  const auto args = tensors((*kernel)->signature());
  if (!runtime::call_kernel(**kernel, args).ok()) return state.SkipWithError("does not run");
  for (auto _ : state) benchmark::DoNotOptimize(runtime::call_kernel(**kernel, args).ok());
}

void jit_compile(benchmark::State& state, const std::string& text) {
  ir::Context ctx;
  const ir::PrimFunc* f = parse(ctx, text);
  if (!f) return state.SkipWithError("does not parse");
  for (auto _ : state) {
    auto jit = codegen::Jit::create({}).value();
    if (!jit->add(ctx, f, "kernel").ok() || !jit->compile("kernel").ok())
      return state.SkipWithError("does not compile");
  }
}

void matmul_jit(benchmark::State& state, bool transposed) {
  const auto n = int(state.range(0));
  run_kernel(state, matmul_text(n, transposed));
  state.counters["GFlops"] =
      benchmark::Counter(2e-9 * n * n * n * double(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(matmul_jit, plain, false)->Arg(1024)->Arg(256)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(matmul_jit, transposed, true)->Arg(1024)->Unit(benchmark::kMillisecond);

#ifdef RLDB_HAVE_OPENBLAS
void matmul_openblas(benchmark::State& state) {
  const auto n = int(state.range(0));
  openblas_set_num_threads(1);
  std::vector<float> a(std::size_t(n) * std::size_t(n), 0.5f), b = a, c = a;
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
    benchmark::ClobberMemory();
  }
  state.counters["GFlops"] =
      benchmark::Counter(2e-9 * n * n * n * double(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(matmul_openblas)->Arg(1024)->Arg(256)->Arg(64)->Unit(benchmark::kMillisecond);
#endif

void conv_jit(benchmark::State& state) {
  run_kernel(state, reduction_text("(64, 58, 58)", "(64, 64, 3, 3)", "(64, 56, 56)", "o, h, w, c, y, x",
                                   "64, 56, 56, 64, 3, 3", "vo, vh, vw, vc, vy, vx", "SSSRRR", "vo, vh, vw",
                                   "B[vo, vh, vw] + A[vc, vh + vy, vw + vx] * W[vo, vc, vy, vx]"));
}
BENCHMARK(conv_jit)->Unit(benchmark::kMillisecond);

void pool_jit(benchmark::State& state) {
  run_kernel(state, reduction_text("(64, 114, 114)", "(1,)", "(64, 112, 112)", "c, h, w, y, x", "64, 112, 112, 3, 3",
                                   "vc, vh, vw, vy, vx", "SSSRR", "vc, vh, vw",
                                   "T.max(B[vc, vh, vw], A[vc, vh + vy, vw + vx])"));
}
BENCHMARK(pool_jit)->Unit(benchmark::kMillisecond);

void sum_jit(benchmark::State& state, const char* term) {
  run_kernel(state,
             reduction_text("(1024, 1024)", "(1,)", "(1024,)", "i, k", "1024, 1024", "vi, vk", "SR", "vi", term));
}
BENCHMARK_CAPTURE(sum_jit, outer, "B[vi] + A[vk, vi]")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sum_jit, inner, "B[vi] + A[vi, vk]")->Unit(benchmark::kMillisecond);

constexpr std::int64_t kElements = 16 << 20;

void add_jit(benchmark::State& state) {
  run_kernel(state, elementwise_text(kElements, "A[vi] + B[vi]"));
  state.SetBytesProcessed(state.iterations() * kElements * 12);
}
BENCHMARK(add_jit)->Unit(benchmark::kMillisecond);

void exp_jit(benchmark::State& state) {
  run_kernel(state, elementwise_text(1 << 20, "T.exp(A[vi])"));
  state.SetItemsProcessed(state.iterations() * (1 << 20));
}
BENCHMARK(exp_jit)->Unit(benchmark::kMillisecond);

// The limit: the C library's copy of the same number of bytes read and written.
void add_memcpy(benchmark::State& state) {
  std::vector<float> from(std::size_t(kElements) * 3 / 2, 1.0f), to = from;
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
    benchmark::DoNotOptimize(to.data());  // a copy that nobody sees is none
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kElements * 12);
}
BENCHMARK(add_memcpy)->Unit(benchmark::kMillisecond);

void call_small(benchmark::State& state) { run_kernel(state, elementwise_text(4, "A[vi] + B[vi]")); }
BENCHMARK(call_small)->Unit(benchmark::kNanosecond);

// The price of bounds checks: the argument switches them on. The index of the gather is read from a tensor, so no
// access to its source can be proved.
void bounds(benchmark::State& state, const std::string& text) { run_kernel(state, text, state.range(0) != 0); }
BENCHMARK_CAPTURE(bounds, matmul, matmul_text(256, false))->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bounds, add, elementwise_text(1 << 16, "A[vi] + B[vi]"))
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(bounds, shifted, elementwise_text(1 << 16, "T.if_then_else(vi > 0, A[vi - 1], T.float32(0))"))
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(bounds, reversed, elementwise_text(1 << 16, "A[65535 - vi]"))
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(bounds, gather, elementwise_text(1 << 16, "A[T.Cast(\"int32\", B[vi])]"))
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond);

// LLVM works in threads of its own.
BENCHMARK_CAPTURE(jit_compile, add, elementwise_text(1024, "A[vi] + B[vi]"))
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(jit_compile, exp, elementwise_text(1024, "T.exp(A[vi])"))
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(jit_compile, matmul, matmul_text(1024, false))
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();

}  // namespace
