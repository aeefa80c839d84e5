// Cost of the machine itself: instructions, packed calls, kernels, calls of bytecode, with and without breakpoints.
// A trivial packed call costs at most 25 ns; breakpoints that are not hit at most 1 %. `per_call`: for one instruction.
#include <benchmark/benchmark.h>

#include "rldb/bytecode/builder.h"
#include "rldb/bytecode/serialise.h"
#include "rldb/vm/machine.h"

namespace {

using namespace rldb;
using bytecode::Arg;
using bytecode::Executable;
using bytecode::ExecutableBuilder;
using runtime::Value;

constexpr int kCalls = 10'000;

struct Setup {
  Setup() {
    registry.register_function(
        "identity", [](vm::PackedArgs a) -> runtime::Result<Value> { return a[0]; }, "", 1);
    registry.register_function(
        "inc", [](vm::PackedArgs a) -> runtime::Result<Value> { return Value::of_int(a[0].as_int() + 1); }, "", 1);
  }
  std::shared_ptr<const vm::Program> link(Executable exe) {
    vm::Environment env;
    env.registry = &registry;
    env.interrupt = &interrupt;
    return vm::Program::link(std::make_shared<const Executable>(std::move(exe)), env).value();
  }
  runtime::PackedRegistry registry;
  std::atomic<bool> interrupt{false};
};

// main(x): kCalls times callee(x...), then return.
Executable straight(const char* callee, std::vector<Arg> args, bytecode::RegName dst) {
  ExecutableBuilder b;
  b.begin_function("main", {"x"});
  for (int i = 0; i < kCalls; ++i) b.call(callee, args, dst);
  b.ret(0);
  b.end_function();
  return b.finish();
}

template <class Run>
void run_calls(benchmark::State& state, const std::shared_ptr<const vm::Program>& program, Value x, Run run) {
  vm::Machine m(program);
  std::vector<Value> args{std::move(x)};
  for (auto _ : state) {
    (void)m.start("main", args);
    vm::Outcome o = run(m);
    if (!o.finished()) state.SkipWithError("the program did not finish");
  }
  state.counters["per_call"] = benchmark::Counter(double(state.iterations()) * kCalls,
                                                  benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

auto plain = [](vm::Machine& m) { return m.run(); };

Value small_tensor() { return Value(runtime::Tensor::empty({4}, runtime::DType::Float(32)).value()); }

void vm_packed_call(benchmark::State& state) {
  Setup s;
  run_calls(state, s.link(straight("inc", {Arg::reg(0)}, 1)), Value::of_int(1), plain);
}
BENCHMARK(vm_packed_call);

void vm_packed_call_tensor(benchmark::State& state) {
  Setup s;
  run_calls(state, s.link(straight("identity", {Arg::reg(0)}, 1)), small_tensor(), plain);
}
BENCHMARK(vm_packed_call_tensor);

void vm_builtin_copy(benchmark::State& state) {
  Setup s;
  run_calls(state, s.link(straight("vm.builtin.copy", {Arg::reg(0)}, 1)), small_tensor(), plain);
}
BENCHMARK(vm_builtin_copy);

void vm_packed_call_empty_stop_set(benchmark::State& state) {
  Setup s;
  auto p = s.link(straight("inc", {Arg::reg(0)}, 1));
  vm::StopSet stops(p->executable().instruction_count());
  run_calls(state, p, Value::of_int(1), [&](vm::Machine& m) { return m.run(stops); });
}
BENCHMARK(vm_packed_call_empty_stop_set);

void vm_packed_call_hook(benchmark::State& state) {
  Setup s;
  vm::Hook hook;
  run_calls(state, s.link(straight("inc", {Arg::reg(0)}, 1)), Value::of_int(1),
            [&](vm::Machine& m) { return m.run(hook); });
}
BENCHMARK(vm_packed_call_hook);

// The overhead of one kernel call: 3 tensors of known shape.
class EmptyKernel : public runtime::Kernel {
 public:
  EmptyKernel() {
    signature_.name = "k";
    for (const char* name : {"a", "b", "c"}) {
      runtime::KernelParam p;
      p.name = name;
      p.dtype = runtime::DType::Float(32);
      p.shape.push_back({{{runtime::DimOp::Code::Const, 4}}, "4"});
      signature_.params.push_back(std::move(p));
    }
  }
  const runtime::KernelSignature& signature() const override { return signature_; }
  runtime::Result<runtime::Value> run(runtime::PackedArgs, std::span<const std::int64_t>) override {
    return runtime::Value();
  }

 private:
  runtime::KernelSignature signature_;
};

void vm_kernel_call(benchmark::State& state) {
  Setup s;
  runtime::KernelTable kernels;
  kernels.set("k", std::make_shared<EmptyKernel>());
  vm::Environment env;
  env.kernels = &kernels;
  Executable exe = straight("k", {Arg::reg(0), Arg::reg(0), Arg::reg(0)}, bytecode::kVoidRegister);
  auto p = vm::Program::link(std::make_shared<const Executable>(std::move(exe)), env).value();
  run_calls(state, p, small_tensor(), plain);
}
BENCHMARK(vm_kernel_call);

void vm_bytecode_call(benchmark::State& state) {
  Setup s;
  ExecutableBuilder b;
  b.begin_function("f", {"x"});
  b.ret(0);
  b.end_function();
  b.begin_function("main", {"x"});
  for (int i = 0; i < kCalls; ++i) b.call("f", {Arg::reg(0)}, 1);
  b.ret(1);
  b.end_function();
  run_calls(state, s.link(b.finish()), small_tensor(), plain);
}
BENCHMARK(vm_bytecode_call);

// Dispatch alone: instructions that call nothing. A loop would need a call for its counter, so they are in sequence.
template <class Emit>
void run_instructions(benchmark::State& state, Emit emit) {
  Setup s;
  ExecutableBuilder b;
  b.begin_function("main", {"x"});
  for (int i = 0; i < kCalls; ++i) emit(b);
  b.ret(0);
  b.ret(0);  // where the last branch would go
  b.end_function();
  run_calls(state, s.link(b.finish()), Value::of_int(1), plain);
}

void vm_jump(benchmark::State& state) {
  run_instructions(state, [](ExecutableBuilder& b) { b.jump(1); });
}
BENCHMARK(vm_jump);

void vm_branch(benchmark::State& state) {
  run_instructions(state, [](ExecutableBuilder& b) { b.branch(0, 2); });
}
BENCHMARK(vm_branch);

void vm_load_and_link(benchmark::State& state) {
  Setup s;
  std::string bytes = bytecode::serialise(straight("inc", {Arg::reg(0)}, 1)).value();
  for (auto _ : state) {
    auto exe = bytecode::load(bytes);
    benchmark::DoNotOptimize(s.link(std::move(exe).value()));
  }
  state.SetBytesProcessed(std::int64_t(state.iterations() * bytes.size()));
}
BENCHMARK(vm_load_and_link)->Unit(benchmark::kMillisecond);

}  // namespace
