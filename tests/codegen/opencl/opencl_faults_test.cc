// Kernels that are refused before anything runs, and the reports of threads.
#include <doctest/doctest.h>

#include <atomic>

#include "codegen/opencl/on_device.h"
#include "rldb/runtime/tensor_file.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

// A kernel of 64 threads in two blocks over A, B and I.
std::string kernel_of(const std::string& statements) {
  return R"(
from tvm.script import tirx as T
@T.prim_func
def kernel(A: T.Buffer((64,), "float32"), I: T.Buffer((64,), "int32"), B: T.Buffer((64,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 32)
)" + statements;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("opencl: what is refused, by name") {
  const std::string unscheduled = R"(
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("b"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi]
)";
  CHECK(refusal(unscheduled) == "kernel `kernel` cannot run on OpenCL: `for i in range(64):` does not run in threads");
  CHECK(has(refusal(kernel_of("    B[bx * 32 + tx] = T.call_extern(\"float32\", \"mine\", A[tx])\n")),
            "`T.call_extern(\"mine\")` has no form in OpenCL C"));
  CHECK(has(refusal(kernel_of("    S = T.alloc_buffer((32,), \"float8_e4m3fn\", scope=\"shared\")\n"
                              "    S[tx] = T.Cast(\"float8_e4m3fn\", A[tx])\n")),
            "float8_e4m3fn, which has no type in OpenCL C here"));
  CHECK(
      has(refusal(kernel_of("    W = T.alloc_buffer((32,), \"float32\", scope=\"wmma.matrix_a\")\n    W[0] = A[tx]\n")),
          "memory of scope `wmma.matrix_a` (`W`)"));
  CHECK(has(refusal(kernel_of("    T.tvm_storage_sync(\"global\")\n    B[tx] = A[tx]\n")),
            "a barrier over `global` has no form in OpenCL C"));
  CHECK(has(refusal(kernel_of("    if tx < 7:\n        B[tx] = T.tvm_warp_shuffle(0, A[tx], 1, 32, 32)\n")),
            "`T.tvm_warp_shuffle` is in a branch or loop in which not all threads of a block stay together"));
  CHECK(has(refusal(kernel_of("    for i in range(4):\n        if tx > i:\n            T.evaluate(T.break_loop())\n"
                              "        B[tx] = T.tvm_warp_shuffle(0, A[tx], 1, 32, 32)\n")),
            "in which not all threads of a block stay together"));
  CHECK(has(refusal(kernel_of("    if tx > 7:\n        T.evaluate(T.thread_return())\n"
                              "    B[tx] = T.tvm_warp_shuffle(0, A[tx], 1, 32, 32)\n")),
            "comes after a return of some threads of the block"));
}

TEST_CASE("opencl: a fault names buffer, index and thread, the same in every run") {
  if (!has_device()) return;
  const std::string text = kernel_of("    B[bx * 33 + tx] = A[bx * 32 + tx]\n");
  for (int i = 0; i < 3; ++i)
    CHECK(device_error(text) ==
          "access out of bounds: `B`, index 0 is 64, but the extent is 64\nin the thread blockIdx.x = 1, threadIdx.x = "
          "31");
  CHECK(
      device_error(kernel_of("    B[tx] = A[I[tx] * 0 - 1 - tx]\n")) ==
      "access out of bounds: `A`, index 0 is -1, but the extent is 64\nin the thread blockIdx.x = 0, threadIdx.x = 0");
  CHECK(device_error(kernel_of("    B[tx] = T.Cast(\"float32\", 7 // (I[tx] * 0))\n")) ==
        "integer division by zero\nin the thread blockIdx.x = 0, threadIdx.x = 0");
  CHECK(device_error(kernel_of("    B[bx * 32 + tx] = T.if_then_else(tx < 32, A[tx], A[tx + 1000])\n")) == "");
}

TEST_CASE("opencl: arrays of threads that a CPU has no stack for are refused") {
  if (!has_device()) return;
  if (codegen::opencl_devices()->front().platform != "Portable Computing Language") {
    MESSAGE("skipped: the device is not a CPU by PoCL");
    return;
  }
  KernelText t(
      kernel_of("    S = T.alloc_buffer((65536,), \"float32\", scope=\"local\")\n"
                "    for i in range(65536):\n"
                "        S[i] = A[tx]\n"
                "    T.tvm_storage_sync(\"shared\")\n"
                "    B[bx * 32 + tx] = S[65535 - tx]\n"));
  REQUIRE(t.problem == "");
  auto kernel = codegen::opencl_kernel(t.ctx, t.functions[0].second, "kernel", {});
  REQUIRE(!kernel.ok());
  CHECK(has(kernel.error().text, "its blocks have 32 threads with arrays of 262144 bytes each"));
  CHECK(same_on_device(kernel_of("    S = T.alloc_buffer((1024,), \"float32\", scope=\"local\")\n"
                                 "    for i in range(1024):\n"
                                 "        S[i] = A[tx]\n"
                                 "    T.tvm_storage_sync(\"shared\")\n"
                                 "    B[bx * 32 + tx] = S[1023 - tx]\n")) == "");
}

namespace {

// Runs with 64 ones, the given counts and 64 zeros; the error.
std::string run_with(runtime::Kernel& kernel, const char* count) {
  std::vector<runtime::Value> args;
  for (const char* literal : {"64xf32=ones", count, "64xf32=zeros"})
    args.push_back(runtime::parse_value_literal(literal).value());
  auto done = runtime::call_kernel(kernel, args);
  return done.ok() ? "" : done.error().message;
}

}  // namespace

// Some of these loops would take hours.
TEST_CASE("opencl: an interrupt ends kernels in long loops") {
  if (!has_device()) return;
  for (const char* body : {
           "    for i in range(I[63] * 30000000):\n"
           "        B[bx * 32 + tx] = T.sin(B[bx * 32 + tx])\n",
           "    for i, j in T.grid(1000000, I[63] * 1000):\n"
           "        B[bx * 32 + tx] = T.sin(B[bx * 32 + tx])\n",
           "    S = T.alloc_buffer((32,), \"float32\", scope=\"shared\")\n"
           "    for i in range(I[63] * 30000000):\n"
           "        S[tx] = T.sin(B[bx * 32 + tx])\n"
           "        T.tvm_storage_sync(\"shared\")\n"
           "        B[bx * 32 + tx] = S[31 - tx]\n"
           "        T.tvm_storage_sync(\"shared\")\n",
           "    while B[bx * 32 + tx] < T.float32(2) * T.Cast(\"float32\", I[63]):\n"
           "        B[bx * 32 + tx] = T.sin(B[bx * 32 + tx])\n",
       }) {
    INFO(body);
    KernelText t(kernel_of(std::string("    B[bx * 32 + tx] = A[bx * 32 + tx]\n") + body));
    REQUIRE(t.problem == "");
    std::atomic<bool> interrupt = true;
    codegen::GpuOptions options;
    options.interrupt = &interrupt;
    options.patience = std::chrono::seconds(100);
    auto kernel = codegen::opencl_kernel(t.ctx, t.functions[0].second, "kernel", options);
    REQUIRE_MESSAGE(kernel.ok(), kernel.error().text);
    CHECK(run_with(**kernel, "64xi32=arange") == "interrupted in kernel `kernel`");
    interrupt = false;
    CHECK(run_with(**kernel, "64xi32=zeros") == "");
  }
}

// The loop is too short to look: it ends after a second or so.
TEST_CASE("opencl: the wait for a kernel that goes on can be interrupted too") {
  if (!has_device()) return;
  KernelText t(
      "from tvm.script import tirx as T\n\n@T.prim_func\ndef kernel(A: T.Buffer((64,), \"float32\"), "
      "I: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"float32\")):\n"
      "    tx = T.launch_thread(\"threadIdx.x\", 1)\n"
      "    if I[63] > 0:\n"
      "        for i in range(4000000):\n"
      "            B[tx] = T.sin(T.sin(T.sin(T.sin(T.sin(T.sin(T.sin(T.sin(B[tx]))))))))\n");
  REQUIRE(t.problem == "");
  std::atomic<bool> interrupt = true;
  codegen::GpuOptions options;
  options.interrupt = &interrupt;
  options.patience = std::chrono::milliseconds(0);
  auto kernel = codegen::opencl_kernel(t.ctx, t.functions[0].second, "kernel", options);
  REQUIRE_MESSAGE(kernel.ok(), kernel.error().text);
  CHECK(run_with(**kernel, "64xi32=arange") == "interrupted in kernel `kernel`, which the device goes on computing");
  CHECK(run_with(**kernel, "64xi32=zeros") ==
        "interrupted before kernel `kernel`: the device still computes the kernel that was interrupted");
  interrupt = false;
  CHECK(run_with(**kernel, "64xi32=zeros") == "");
}

TEST_CASE("opencl: a fault changes no tensor") {
  if (!has_device()) return;
  KernelText t(kernel_of("    B[bx * 33 + tx] = A[bx * 32 + tx]\n"));
  REQUIRE(t.problem == "");
  auto kernel = codegen::opencl_kernel(t.ctx, t.functions[0].second, "kernel", {});
  REQUIRE(kernel.ok());
  std::vector<runtime::Value> args;
  for (const char* literal : {"64xf32=ones", "64xi32=zeros", "64xf32=zeros"})
    args.push_back(runtime::parse_value_literal(literal).value());
  CHECK(!runtime::call_kernel(**kernel, args).ok());
  for (int i = 0; i < 64; ++i) CHECK(args[2].as_tensor().at(i) == 0);
}

TEST_CASE("opencl: kernels look for numbers that they write") {
  if (!has_device()) return;
  KernelText t(kernel_of("    B[bx * 32 + tx] = T.log(A[bx * 32 + tx])\n"));
  REQUIRE(t.problem == "");
  auto kernel = codegen::opencl_kernel(t.ctx, t.functions[0].second, "kernel", {});
  REQUIRE(kernel.ok());
  const auto noted = [&](const char* a) {
    std::vector<runtime::Value> args;
    for (const char* literal : {a, "64xi32=zeros", "64xf32=zeros"})
      args.push_back(runtime::parse_value_literal(literal).value());
    REQUIRE(runtime::call_kernel(**kernel, args).ok());
    return (*kernel)->may_have_written();
  };
  CHECK(!noted("64xf32=ones").has_value());
  (*kernel)->look_for(runtime::bit(runtime::NumericEvent::NaN));
  CHECK(noted("64xf32=ones") == false);
  CHECK(noted("64xf32=rand(seed=1)") == true);  // of negative numbers
  (*kernel)->look_for(runtime::bit(runtime::NumericEvent::Inf));
  CHECK(noted("64xf32=zeros") == true);
}
