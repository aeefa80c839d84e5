// PTX as text: whole functions (ptx/), what is in all of them, and refusals. `ptxas`, where there is one, has to accept
// every text; nothing is run. A folder of one's own: RLDB_NVPTX_KERNELS=DIR rldb_codegen_nvptx_tests -tc="*folder*"
// prints a line for each kernel that has threads.
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

// The PTX of each PrimFunc of a module, or why there is none.
std::vector<std::pair<std::string, std::string>> all_ptx_of(const std::string& text,
                                                            const codegen::GpuOptions& options = {}) {
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  ops::install(ctx);
  const source::FileId file = sources.add("kernel.py", text);
  const auto result = frontend::parse(ctx, sources, file, diagnostics);
  if (!result.ok || !result.module) return {{"", "does not parse: " + source::render(diagnostics, sources)}};
  std::vector<std::pair<std::string, std::string>> all;
  for (const ir::ModuleEntry& e : result.module->entries)
    if (const auto* f = ir::as<ir::PrimFunc>(e.function)) {
      const auto made = codegen::ptx_text(ctx, f, e.name, options);
      all.emplace_back(e.name, made.ok() ? *made : made.error().text);
    }
  return all;
}

// Of its first PrimFunc.
std::string ptx_of(const std::string& text, const codegen::GpuOptions& options = {}) {
  const auto all = all_ptx_of(text, options);
  return all.empty() ? "no PrimFunc in the text" : all.front().second;
}

bool is_ptx(const std::string& text) { return text.find(".visible .entry") != std::string::npos; }

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
    if (!is_ptx(ptx)) {
      CHECK_MESSAGE(golden::read(path).find("# no ptx") != std::string::npos, ptx);
      continue;
    }
    if (ptxas) CHECK(assembled(ptx) == "");
  }
}

TEST_CASE("nvptx: kernels of a folder") {
  const char* folder = std::getenv("RLDB_NVPTX_KERNELS");
  if (!folder) return;
  const bool ptxas = has_ptxas();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".py") continue;
    const std::string text = golden::read(entry.path());
    if (text.find("threadIdx") == std::string::npos && text.find("blockIdx") == std::string::npos) continue;
    for (const auto& [name, ptx] : all_ptx_of(text)) {
      const std::string said = !is_ptx(ptx) ? "refused: " + ptx : ptxas ? assembled(ptx) : "";
      fmt::print("{}:{}: {}\n", entry.path().filename().string(), name,
                 said.empty() ? "assembled" : said.substr(0, said.find('\n')));
      std::fflush(stdout);
    }
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
