// PTX as text: whole functions (ptx/), what is in all of them, and refusals. `ptxas`, where there is one, has to accept
// every text; nothing is run.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "golden/golden.h"
#include "rldb/codegen/nvptx/nvptx.h"
#include "rldb/frontend/parse.h"
#include "rldb/ops/op_info.h"

using namespace rldb;

namespace {

// A module of PrimFuncs, and the PTX of its first one or why there is none.
std::string ptx_of(const std::string& text, const codegen::GpuOptions& options = {}) {
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  ops::install(ctx);
  const source::FileId file = sources.add("kernel.py", text);
  const auto result = frontend::parse(ctx, sources, file, diagnostics);
  if (!result.ok || !result.module) return "does not parse: " + source::render(diagnostics, sources);
  for (const ir::ModuleEntry& e : result.module->entries)
    if (const auto* f = ir::as<ir::PrimFunc>(e.function)) {
      const auto made = codegen::ptx_text(ctx, f, e.name, options);
      return made.ok() ? *made : made.error().text;
    }
  return "no PrimFunc in the text";
}

// LLVM's version and the comment lines around it are not the code's.
std::string without_head(const std::string& ptx) {
  const std::size_t at = ptx.find(".version");
  return at == std::string::npos ? ptx : ptx.substr(at);
}

std::string kernel_text(std::string_view body) {
  return fmt::format("from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n{}", body);
}

bool has_ptxas() { return std::system("command -v ptxas >/dev/null 2>&1") == 0; }

// Empty: accepted.
std::string assembled(const std::string& ptx) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("rldb_ptx_{}", getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "k.ptx") << ptx;
  const std::string log = (folder / "log").string();
  // The oldest processor that each version of the tool still knows may be later than that of the text.
  const std::string command = fmt::format(
      "cd {} && {{ ptxas -arch=sm_70 k.ptx -o k.cubin >log 2>&1 || ptxas -arch=sm_80 k.ptx -o k.cubin >log 2>&1; }}",
      folder.string());
  const bool good = std::system(command.c_str()) == 0;
  const std::string said = good ? "" : golden::read(log);
  std::filesystem::remove_all(folder);
  return said;
}

}  // namespace

TEST_CASE("nvptx: the PTX of kernels") {
  golden::check_cases("codegen/nvptx/ptx", [](golden::Case& c) {
    codegen::GpuOptions options;
    options.check_bounds = !c.find("UNCHECKED");
    c.set("PTX", "", without_head(ptx_of(c.find("KERNEL")->text + "\n", options)));
  });
}

TEST_CASE("nvptx: kernels that OpenCL runs are compiled, and ptxas accepts them") {
  const bool ptxas = has_ptxas();
  if (!ptxas) MESSAGE("no ptxas: it is not tried whether the texts assemble");
  for (const auto& path : golden::files_of("codegen/opencl/kernels", ".py")) {
    INFO(path.filename().string());
    const std::string ptx = ptx_of(golden::read(path));
    if (ptx.find(".visible .entry") == std::string::npos) {
      CHECK_MESSAGE(golden::read(path).find("# no ptx") != std::string::npos, ptx);
      continue;
    }
    if (ptxas) CHECK(assembled(ptx) == "");
  }
}

TEST_CASE("nvptx: threads, barriers, shared memory and faults are those of the device") {
  const std::string ptx = ptx_of(golden::read(RLDB_SOURCE_DIR "/tests/codegen/opencl/kernels/matmul_shared.py"));
  for (const char* part : {".visible .entry matmul_kernel", "%tid.x", "%ctaid.y", "bar.sync", ".shared .align 16"})
    CHECK_MESSAGE(ptx.find(part) != std::string::npos, part);
  // All of its accesses are proved.
  CHECK(ptx.find("atom") == std::string::npos);
  const std::string checked = ptx_of(kernel_text(R"(def gather(A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int32"),
           B: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("b"):
            vi = T.axis.spatial(8, tx)
            B[vi] = A[I[vi]]
)"));
  CHECK(checked.find("atom.global.min.u32") != std::string::npos);
}

TEST_CASE("nvptx: refused by name") {
  CHECK(ptx_of(kernel_text(
                   "def f(A: T.Buffer((8,), \"float32\")):\n    for i in range(8):\n        A[i] = T.float32(1)\n"))
            .find("does not run in threads") != std::string::npos);
  CHECK(ptx_of(kernel_text(R"(def f(A: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("b"):
            vi = T.axis.spatial(8, tx)
            A[vi] = T.nextafter(A[vi], A[vi])
)")) == "kernel `f` cannot run on CUDA: a device has no function `nextafterf`");
}
