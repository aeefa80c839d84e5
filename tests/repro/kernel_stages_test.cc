// Stages of PrimFuncs only, and kernels that are run by themselves.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "repro/loaded.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/bisect.h"
#include "rldb/support/file.h"

using namespace rldb;
using namespace rldb::repro_test;

namespace {

using Verdict = repro::TraceBisection::Verdict;

constexpr const char* kTwoKernels = R"(@I.ir_module
class Module:
    @T.prim_func
    def scale(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, 4), "float32")
        Y = T.match_buffer(y, (n, 4), "float32")
        for i, j in T.grid(n, 4):
            Y[i, j] = X[i, j] * T.float32(2)
    @T.prim_func
    def rest(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            B[i] = T.floormod(A[i], 3)
)";

class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "rldb-kernels-XXXXXX").string()) {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& pass, std::string text, const std::string& what = {}, const std::string& with = {}) {
    if (!what.empty()) {
      const auto at = text.find(what);
      REQUIRE(at != std::string::npos);
      text.replace(at, what.size(), with);
    }
    REQUIRE(support::write_file(fmt::format("{}/{:03}_{}.py", path_, number_++, pass), text).ok());
  }

  repro::TraceBisection bisect() const {
    Loaded loaded;
    return repro::bisect_trace(loaded.session(), path_, {});
  }

 private:
  std::string path_;
  int number_ = 0;
};

std::string kernels_of(const std::string& program) {
  Loaded loaded(program);
  ir::ModuleBuilder builder(loaded.session().context());
  for (const ir::ModuleEntry& e : loaded.module()->entries)
    if (ir::as<ir::PrimFunc>(e.function)) builder.set(e.name, e.function);
  return ir::print(builder.build());
}

// The kernels of a program, after these passes.
std::string kernels_after(const std::string& program, const std::string& passes) {
  Loaded loaded(kernels_of(program));
  source::Diagnostics d;
  REQUIRE(loaded.session().run_passes(passes, d));
  return ir::print(loaded.module());
}

constexpr const char* kProgram = R"(@I.ir_module
class Module:
    @T.prim_func
    def scale(X: T.Buffer((3, 4), "float32"), Y: T.Buffer((3, 4), "float32")):
        T.func_attr({"global_symbol": "scale", "target": T.target("llvm", host="llvm")})
        for i, j in T.grid(3, 4):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.float32(2)
    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        cls = Module
        y = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((3, 4), "float32"))
        return y
)";

}  // namespace

TEST_CASE("kernels: a stage of PrimFuncs only runs with the last Relax functions") {
  Folder right, wrong;
  const std::string opaque = kernels_after(kProgram, "ConvertBlocksToOpaque,LowerOpaqueBlock");
  const std::string flat = kernels_after(kProgram, "ConvertBlocksToOpaque,LowerOpaqueBlock,FlattenBuffer");
  right.write("Input", kProgram);
  right.write("LowerOpaqueBlock", opaque);
  right.write("FlattenBuffer", flat);
  const repro::TraceBisection good = right.bisect();
  CHECK(good.why == "");
  CHECK(good.verdict == Verdict::Agree);
  CHECK(good.stages[2].completed_by == "000_Input.py");
  wrong.write("Input", kProgram);
  wrong.write("LowerOpaqueBlock", opaque);
  wrong.write("FlattenBuffer", flat, "* 4 + ", "* 4 + 0 * ");
  const repro::TraceBisection b = wrong.bisect();
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "FlattenBuffer");
  CHECK(b.stages[b.good].pass == "LowerOpaqueBlock");
}

TEST_CASE("kernels: of the packed calling convention") {
  Folder right, wrong;
  const std::string passes = "ConvertBlocksToOpaque,LowerOpaqueBlock,FlattenBuffer";
  const std::string flat = kernels_after(kProgram, passes);
  const std::string packed = kernels_after(kProgram, passes + ",MakePackedAPI");
  REQUIRE(packed.find("self_handle") != std::string::npos);
  right.write("Input", kProgram);
  right.write("FlattenBuffer", flat);
  right.write("MakePackedAPI", packed);
  const repro::TraceBisection good = right.bisect();
  CHECK(good.why == "");
  CHECK(good.verdict == Verdict::Agree);
  wrong.write("Input", kProgram);
  wrong.write("FlattenBuffer", flat);
  wrong.write("MakePackedAPI", packed, "T.float32(2", "T.float32(3");
  const repro::TraceBisection b = wrong.bisect();
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "MakePackedAPI");
}

TEST_CASE("kernels: without any Relax function each is run by itself") {
  Folder right, wrong, dims;
  right.write("Input", kTwoKernels);
  right.write("Simplify", kTwoKernels, "X[i, j] * T.float32(2)", "X[i, j] + X[i, j]");
  const repro::TraceBisection good = right.bisect();
  CHECK(good.verdict == Verdict::Agree);
  CHECK(good.kernels_compared == std::vector<std::string>{"scale"});
  // Only negative numbers show it.
  wrong.write("Input", kTwoKernels);
  wrong.write("Simplify", kTwoKernels, "T.floormod", "T.truncmod");
  const repro::TraceBisection b = wrong.bisect();
  REQUIRE(b.verdict == Verdict::Found);
  REQUIRE(b.kernel);
  CHECK(b.kernel->kernel == "rest");
  CHECK(b.kernel->buffer == "B");
  CHECK(b.stages[b.bad].pass == "Simplify");
  // Only a dim above 32 shows it.
  dims.write("Input", kTwoKernels);
  dims.write("Simplify", kTwoKernels, "T.grid(n, 4)", "T.grid(T.min(n, T.int64(32)), 4)");
  const repro::TraceBisection tail = dims.bisect();
  REQUIRE(tail.verdict == Verdict::Found);
  CHECK(tail.kernel->dims == "n=33");
}

namespace {

// In the program the second kernel is given no negative numbers.
constexpr const char* kTwoCalls = R"(@I.ir_module
class Module:
    @T.prim_func
    def square(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            B[i] = T.min(T.max(A[i], -100), 100) * T.min(T.max(A[i], -100), 100)
    @T.prim_func
    def rest(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in range(8):
            B[i] = T.floormod(A[i], 3)
    @R.function
    def main(x: R.Tensor((8,), "int32")) -> R.Tensor((8,), "int32"):
        cls = Module
        y = R.call_tir(cls.square, (x,), out_sinfo=R.Tensor((8,), "int32"))
        z = R.call_tir(cls.rest, (y,), out_sinfo=R.Tensor((8,), "int32"))
        return z
)";

std::string program_after(const std::string& program, const std::string& passes) {
  Loaded loaded(program);
  source::Diagnostics d;
  REQUIRE(loaded.session().run_passes(passes, d));
  return ir::print(loaded.module());
}

}  // namespace

TEST_CASE("kernels: an index of few bits is tried beyond its range") {
  const std::string program = R"(@I.ir_module
class Module:
    @T.prim_func
    def scale(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            Y[i] = X[i] * T.float32(2)
)";
  Folder wrong;
  wrong.write("Input", program);
  wrong.write("NarrowDataType", program, "X[i]", "X[T.bitwise_and(T.Cast(\"int64\", T.Cast(\"int16\", i)), 32767)]");
  const repro::TraceBisection b = wrong.bisect();
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "NarrowDataType");
}

TEST_CASE("kernels: one whose callers are rewritten in the same stage") {
  std::string truncated = kTwoCalls;
  truncated.replace(truncated.find("T.floormod"), 10, "T.truncmod");
  const std::string before = program_after(kTwoCalls, "CallTIRRewrite"),
                    after = program_after(kTwoCalls, "CallTIRRewrite,KillAfterLastUse"),
                    wrong_after = program_after(truncated, "CallTIRRewrite,KillAfterLastUse");
  REQUIRE(before != after);
  Folder right, wrong;
  right.write("CallTIRRewrite", before);
  right.write("KillAfterLastUse", after);
  CHECK(right.bisect().verdict == Verdict::Agree);
  wrong.write("CallTIRRewrite", before);
  wrong.write("KillAfterLastUse", wrong_after);
  const repro::TraceBisection b = wrong.bisect();
  REQUIRE(b.verdict == Verdict::Found);
  REQUIRE(b.kernel);
  CHECK(b.kernel->kernel == "rest");
}

TEST_CASE("kernels: a maximum without its first value is large in fresh memory") {
  const std::string called = program_after(R"(@I.ir_module
class Module:
    @T.prim_func
    def top(x: T.Buffer((4, 8), "float32"), y: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.sblock("y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    y[vi] = T.float32(-1000)
                y[vi] = T.max(y[vi], x[vi, vk])
    @R.function
    def main(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = R.call_tir(cls.top, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return y
)",
                                           "CallTIRRewrite");
  Folder wrong;
  wrong.write("CallTIRRewrite", called);
  wrong.write("Wrong", called, "T.float32(-1000.0)", "y[vi]");
  const repro::TraceBisection b = wrong.bisect();
  REQUIRE(b.verdict == Verdict::Found);
  CHECK_FALSE(b.kernel);  // the whole programs differ
}

TEST_CASE("kernels: one that its callers use in another way from some stage on") {
  const std::string before = program_after(R"(@I.ir_module
class Module:
    @T.prim_func
    def less(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
        for i in range(4):
            C[i] = A[i] - T.floormod(B[i], 3)
    @R.function
    def main(x: R.Tensor((4,), "int32"), y: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
        cls = Module
        z = R.call_tir(cls.less, (x, y), out_sinfo=R.Tensor((4,), "int32"))
        return z
)",
                                           "CallTIRRewrite");
  std::string swapped = before;
  const auto replace = [](std::string& text, const std::string& what, const std::string& with) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    text.replace(at, what.size(), with);
  };
  replace(swapped, "less(x, y", "less(y, x");
  replace(swapped, "A[i] - B[i] % 3", "B[i] - A[i] % 3");
  std::string wrong_after = swapped;
  replace(wrong_after, "A[i] % 3", "A[i] % 4");
  Folder right, wrong;
  right.write("Before", before);
  right.write("Swapped", swapped);
  const repro::TraceBisection same = right.bisect();
  CHECK(same.verdict == Verdict::Agree);
  CHECK(same.kernels_compared.empty());  // by itself it does not agree
  REQUIRE(same.kernels_not_run.size() == 1);
  CHECK(same.kernels_not_run[0].kernel == "less");
  CHECK(repro::to_string(same, "right").find("each run by itself") == std::string::npos);
  wrong.write("Before", before);
  wrong.write("Swapped", swapped);
  wrong.write("Later", wrong_after);
  const repro::TraceBisection b = wrong.bisect();
  REQUIRE(b.verdict == Verdict::Found);
  CHECK(b.stages[b.bad].pass == "Later");
}

TEST_CASE("kernels: one that cannot be run leaves the verdict open, with its name") {
  Folder folder;
  const std::string calls = R"(@I.ir_module
class Module:
    @T.prim_func
    def scale(X: T.Buffer((3, 4), "float32"), Y: T.Buffer((3, 4), "float32")):
        T.evaluate(T.call_packed("somewhere.else", X.data, Y.data))
)";
  folder.write("Input", kProgram);
  folder.write("Lower", calls);
  const repro::TraceBisection b = folder.bisect();
  CHECK(b.verdict == Verdict::CannotTell);
  CHECK(b.why.find("`scale` from 001_Lower.py on") != std::string::npos);
}

TEST_CASE("kernels: two modules of kernels are compared by name") {
  Loaded loaded;
  std::string other = kTwoKernels;
  other.replace(other.find("T.floormod"), 10, "T.truncmod");
  const ir::Module* a = loaded.load(kTwoKernels);
  const ir::Module* b = loaded.load(other);
  CHECK(repro::has_only_kernels(a));
  const repro::Comparison same = repro::compare_kernels(loaded.session(), a, a, {});
  CHECK(same.verdict == repro::Comparison::Verdict::Equal);
  const repro::Comparison c = repro::compare_kernels(loaded.session(), a, b, {});
  REQUIRE(c.verdict == repro::Comparison::Verdict::Differs);
  REQUIRE(c.first);
  CHECK(c.first->function == "rest");
}
