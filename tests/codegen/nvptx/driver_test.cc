// The calls of CUDA's driver, by a library that keeps memory and writes down what it is asked to do (fake_cuda.c). It
// executes nothing: that kernels compute the right numbers is not tested here.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "golden/golden.h"
#include "rldb/codegen/nvptx/nvptx.h"
#include "rldb/frontend/parse.h"
#include "rldb/ops/op_info.h"
#include "rldb/runtime/tensor_file.h"

using namespace rldb;

namespace {

// Loaded by its name, it is the library that is found when libcuda.so.1 is opened.
bool has_driver() {
  static const bool loaded = dlopen(RLDB_FAKE_CUDA, RTLD_NOW | RTLD_GLOBAL) != nullptr;
  return loaded;
}

struct CudaKernel {
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  std::shared_ptr<runtime::Kernel> kernel;
  std::string problem;

  explicit CudaKernel(const std::string& text) {
    ops::install(ctx);
    const auto result = frontend::parse(ctx, sources, sources.add("kernel.py", text), diagnostics);
    const auto* f = result.module ? ir::as<ir::PrimFunc>(result.module->entries[0].function) : nullptr;
    if (!f) {
      problem = "does not parse: " + source::render(diagnostics, sources);
      return;
    }
    auto made = codegen::cuda_kernel(ctx, f, result.module->entries[0].name, {});
    if (made.ok())
      kernel = *made;
    else
      problem = made.error().text;
  }
};

constexpr const char* kAdd = R"(
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def add(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.sblock("b"):
                vi = T.axis.spatial(128, bx * 64 + tx)
                B[vi] = A[vi] + T.float32(1)
)";

// The error, or the calls that one run makes.
std::string calls_of_run(runtime::Kernel& kernel, const char* fails = "") {
  const auto log = std::filesystem::temp_directory_path() / fmt::format("rldb_cuda_{}", getpid());
  std::filesystem::remove(log);
  setenv("FAKE_CUDA_LOG", log.c_str(), 1);
  setenv("FAKE_CUDA_FAIL", fails, 1);
  std::vector<runtime::Value> args;
  for (const char* literal : {"128xf32=ones", "128xf32=zeros"})
    args.push_back(runtime::parse_value_literal(literal).value());
  auto done = runtime::call_kernel(kernel, args);
  if (done.ok()) (void)args[1].as_tensor().peek();  // the result is copied when it is read
  unsetenv("FAKE_CUDA_LOG");
  unsetenv("FAKE_CUDA_FAIL");
  const std::string calls = golden::read(log);
  std::filesystem::remove(log);
  return done.ok() ? calls : done.error().message;
}

}  // namespace

TEST_CASE("nvptx: the driver is asked for what a call needs") {
  REQUIRE(has_driver());
  const auto devices = codegen::cuda_devices();
  REQUIRE_MESSAGE(devices.ok(), devices.error().text);
  CHECK(devices->at(0).name == "no device");
  CHECK(devices->at(0).major == 7);
  CudaKernel k(kAdd);
  REQUIRE(k.problem == "");
  CHECK(calls_of_run(*k.kernel) ==
        "cuModuleLoadData .target sm_70\n"
        "cuModuleGetFunction add_kernel\n"
        "cuMemAlloc 80\n"
        "cuMemAlloc 512\n"
        "cuMemcpyHtoDAsync 512\n"
        "cuMemAlloc 512\n"
        "cuMemcpyHtoDAsync 512\n"
        "cuMemcpyHtoDAsync 80\n"
        "cuLaunchKernel add_kernel grid 2 1 1 block 64 1 1\n"
        "cuMemcpyDtoHAsync 80\n"
        "cuMemcpyDtoHAsync 512\n");
}

TEST_CASE("nvptx: errors of the driver are reported") {
  REQUIRE(has_driver());
  const auto error = [](const char* fails) {
    CudaKernel k(kAdd);
    REQUIRE(k.problem == "");
    return calls_of_run(*k.kernel, fails);
  };
  CHECK(error("cuModuleLoadData") == "CUDA's driver refuses kernel `add`: CUDA_ERROR_OUT_OF_MEMORY (2)");
  CHECK(error("cuMemAlloc") == "CUDA cannot allocate memory: CUDA_ERROR_OUT_OF_MEMORY (2)");
  CHECK(error("cuLaunchKernel") == "CUDA cannot launch a kernel: CUDA_ERROR_OUT_OF_MEMORY (2)");
  CHECK(error("cuMemcpyDtoHAsync") == "CUDA cannot copy from the device: CUDA_ERROR_OUT_OF_MEMORY (2)");
}
