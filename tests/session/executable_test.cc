// Executables from files: what opening reads, what running compiles, and when stored machine code may run.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "rldb/bytecode/serialise.h"
#include "rldb/session/session.h"

using namespace rldb;
using runtime::Value;
using session::Session;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

// `y` is computed by a kernel named `work`, which this text defines.
std::string program(const std::string& expression) {
  return R"(
@I.ir_module
class Module:
    @T.prim_func
    def work(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                B[v] = )" +
         expression + R"(

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = R.call_tir(cls.work, (x,), out_ty=R.Tensor((4,), "float32"))
        return y
)";
}

std::string text_of(const source::Diagnostics& d) {
  std::string text;
  for (const source::Diagnostic& one : d.all()) text += one.message + "\n";
  return text;
}

bytecode::Executable built(const std::string& text) {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE_MESSAGE(s.load_text("program.py", text, d), text_of(d));
  auto bytes = s.serialise(d);
  REQUIRE_MESSAGE(bytes, text_of(d));
  return bytecode::load(*bytes).value();
}

// A session over a file with this executable.
struct Opened {
  explicit Opened(const bytecode::Executable& exe, session::Options options = {}) : session(options, &quiet) {
    static int count = 0;
    const std::string path =
        (std::filesystem::temp_directory_path() / fmt::format("rldb_executable_test_{}_{}.rlvm", ::getpid(), count++))
            .string();
    std::ofstream(path, std::ios::binary) << bytecode::serialise(exe).value();
    source::Diagnostics d;
    const bool ok = session.load_file(path, d);
    std::remove(path.c_str());
    REQUIRE_MESSAGE(ok, text_of(d));
    CHECK(d.all().empty());
  }
  // The result's first element for an input of threes, or the message.
  std::string run() {
    said.clear();
    const std::vector<std::string> texts{"4xf32=3,3,3,3"};
    auto args = session.arguments("main", texts, said);
    REQUIRE(args);
    const std::vector<Value> values{(*args)[0].value};
    const session::RunResult result = session.run("main", values, said);
    if (!result.ok) return "failed: " + text_of(said);
    return fmt::format("{}", result.value.as_tensor().at(0));
  }
  Quiet quiet;
  Session session;
  source::Diagnostics said;
};

session::Options trusting() {
  session::Options o;
  o.trust_kernels = true;
  return o;
}

}  // namespace

TEST_CASE("a file has its kernels as text, and opening it reads nothing of them") {
  bytecode::Executable exe = built(program("A[v] + A[v]"));
  CHECK(exe.tensor_ir.find("def work(") != std::string::npos);
  CHECK(exe.tensor_ir.find("R.function") == std::string::npos);
  REQUIRE(exe.kernels.contains("work"));
  // Neither section has to be valid for that.
  exe.tensor_ir = "@I.ir_module\nclass M(:";
  exe.kernels["work"] = "RLDBKRN2 and then nothing that a linker likes";
  Opened opened(exe, trusting());
  source::Diagnostics d;
  auto view = opened.session.viewable(d);
  REQUIRE(view);
  CHECK(d.all().empty());
  CHECK(view->program->unresolved() == std::vector<std::string_view>{"work"});
  CHECK(opened.session.kernel_states().empty());
}

TEST_CASE("run compiles the TensorIR; machine code of the file runs only when it is trusted") {
  const bytecode::Executable sum = built(program("A[v] + A[v]"));
  bytecode::Executable crossed = sum;
  crossed.kernels = built(program("A[v] * A[v]")).kernels;  // good code with a good checksum, from another program
  Opened plain(crossed);
  CHECK(plain.run() == "6");
  CHECK(plain.said.all().empty());
  Opened trusted(crossed, trusting());
  CHECK(trusted.run() == "9");
  // The option is read at each run.
  trusted.session.options().trust_kernels = false;
  CHECK(trusted.run() == "6");
  for (const session::Engine engine : {session::Engine::Vm, session::Engine::Eval}) {
    trusted.session.options().trust_kernels = true;
    trusted.session.options().engine = engine;
    CHECK(trusted.run() == "6");
  }
}

TEST_CASE("trusted code that is damaged or of another machine is not used, which is said") {
  bytecode::Executable exe = built(program("A[v] + A[v]"));
  std::string& blob = exe.kernels["work"];
  SUBCASE("damaged") { blob[blob.size() / 2] ^= 1; }
  SUBCASE("another CPU") { blob[8 + 8 + 8 + 2] ^= 1; }
  SUBCASE("something else") { blob = "an object"; }
  Opened opened(exe, trusting());
  CHECK(opened.run() == "6");
  CHECK(text_of(opened.said).find("kernel `work` of ") != std::string::npos);
  CHECK(text_of(opened.said).find("is compiled from its TensorIR: ") != std::string::npos);
  CHECK(!opened.said.has_errors());
}

TEST_CASE("a file without TensorIR opens; its kernels are unresolved and named") {
  bytecode::Executable exe = built(program("A[v] + A[v]"));
  exe.tensor_ir.clear();
  Opened opened(exe);
  const std::string said = opened.run();
  CHECK(said.find("kernel `work` has no TensorIR") != std::string::npos);
  CHECK(said.find("Cannot find PackedFunc work") != std::string::npos);
  opened.session.options().trust_kernels = true;
  CHECK(opened.run() == "6");
  // As TVM leaves it.
  exe.kernels.clear();
  exe.metadata.clear();
  exe.debug = {};
  Opened bare(exe);
  CHECK(bare.run().find("Cannot find PackedFunc work") != std::string::npos);
}

TEST_CASE("a file of TVM runs where a module has its kernels") {
  // A matmul that only exists once the module is lowered, one of the module's own kernels, and a shape function.
  const std::string text = R"(
@I.ir_module
class Module:
    @T.prim_func
    def work(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + A[v]

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        y = R.match_cast(R.exp(R.reshape(x, R.shape([n * 2 // 2]))), R.Tensor((4,), "float32"))
        z = R.call_tir(cls.work, (y,), out_ty=R.Tensor((4,), "float32"))
        w = R.match_cast(R.log(z), R.Tensor((n,), "float32"))
        return w
)";
  bytecode::Executable exe = built(text);
  exe.tensor_ir.clear();
  exe.kernels.clear();
  exe.metadata.clear();
  exe.debug = {};
  const auto path = std::filesystem::temp_directory_path() / fmt::format("rldb_kernels_{}.py", ::getpid());
  std::ofstream(path) << text;
  session::Options options;
  options.kernels_file = path.string();
  for (const session::Engine engine : {session::Engine::Jit, session::Engine::Vm}) {
    options.engine = engine;
    Opened opened(exe, options);
    CHECK(opened.run().substr(0, 6) == "3.6931");
    CHECK(text_of(opened.said) == "");
  }
  std::ofstream(path) << "@I.ir_module\nclass M(:";
  CHECK(Opened(exe, options).run().starts_with("failed: "));
  std::filesystem::remove(path);
  Opened gone(exe, options);
  CHECK(gone.run().find("cannot open") != std::string::npos);
}

TEST_CASE("the TensorIR of a file is the text of a stranger") {
  bytecode::Executable exe = built(program("A[v] + A[v]"));
  const auto said = [&](std::string text) {
    exe.tensor_ir = std::move(text);
    return Opened(exe).run();
  };
  CHECK(said("@I.ir_module\nclass Module:\n    @T.prim_func\n    def work(A: T.Buffer((4,), \"float32\")):\n"
             "        A[0] = nothing\n")
            .find("`nothing` is not defined") != std::string::npos);
  CHECK(said("this is prose").starts_with("failed: "));
  CHECK(said("# nothing\n").starts_with("failed: "));
  CHECK(said("@I.ir_module\nclass Module:\n    @R.function\n    def work(x: R.Tensor((4,), \"float32\")) -> "
             "R.Tensor((4,), \"float32\"):\n        return x\n")
            .find("`work` is not a PrimFunc") != std::string::npos);
  CHECK(said(std::string("\0\1\2", 3)).starts_with("failed: "));
  // A kernel whose parameters differ from those passed by the code is an error of the call.
  CHECK(said("@I.ir_module\nclass Module:\n    @T.prim_func\n    def work(A: T.Buffer((5,), \"float32\"), B: "
             "T.Buffer((5,), \"float32\")):\n        B[0] = A[0]\n")
            .find("dimension 0 is 4, expected 5") != std::string::npos);
}

TEST_CASE("what is built, stored and read again computes the same") {
  for (const char* name : {"mlp", "attention", "rfc_dataflow"}) {
    CAPTURE(name);
    Quiet quiet;
    Session from_text({}, &quiet);
    source::Diagnostics d;
    REQUIRE(from_text.load_file(fmt::format(RLDB_SOURCE_DIR "/docs/examples/{}.py", name), d));
    auto bytes = from_text.serialise(d);
    REQUIRE_MESSAGE(bytes, text_of(d));
    Opened opened(bytecode::load(*bytes).value());
    auto args = from_text.arguments("main", {}, d);
    REQUIRE(args);
    std::vector<Value> values;
    for (const session::Argument& a : *args) values.push_back(a.value);
    const auto want = from_text.run("main", values, d);
    const auto got = opened.session.run("main", values, d);
    REQUIRE_MESSAGE((want.ok && got.ok), text_of(d));
    CHECK(runtime::compare(got.value, want.value, {0, 0}) == "");
  }
}

TEST_CASE("inputs of a file are made up by the types in its debug information") {
  bytecode::Executable exe = built(R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), w: R.Tensor(("n * 2",), "float16"), s: R.Shape(["n", "m"]),
             t: R.Tuple(R.Tensor((3,), "int64"), R.Tensor(("m",), "bool"))) -> R.Tensor(("n", 2), "float32"):
        y = R.add(x, x)
        return y
)");
  session::Options options;
  options.dims["n"] = 3;
  Opened opened(exe, options);
  source::Diagnostics d;
  const auto made = opened.session.arguments("main", {}, d);
  REQUIRE_MESSAGE(made, text_of(d));
  std::string seen;
  for (const session::Argument& a : *made)
    seen += fmt::format("{}{} = {}\n", a.generated ? "" : "given: ", a.parameter, runtime::describe(a.value));
  CHECK(seen ==
        "x = Tensor[(3, 2), \"float32\"]\n"
        "w = Tensor[(6,), \"float16\"]\n"
        "s = shape(3, 4)\n"
        "t = tuple(2)\n");
  std::vector<Value> values;
  for (const session::Argument& a : *made) values.push_back(a.value);
  CHECK(opened.session.run("main", values, d).ok);
  // Given values are checked against them, and determine the others.
  const std::vector<std::string> five{"x=5x2xf32=ones"};
  const auto with_five = opened.session.arguments("main", five, d);
  REQUIRE_MESSAGE(with_five, text_of(d));
  CHECK((*with_five)[1].value.as_tensor().shape() == std::vector<std::int64_t>{10});
  CHECK_FALSE(opened.session.arguments("main", std::vector<std::string>{"x=2x3xf32=ones"}, d));
  // A file without types, or without valid ones.
  for (bytecode::FunctionDebug& f : exe.debug.functions)
    for (bytecode::VariableRange& v : f.variables) v.type = v.name == "x" ? "R.Tensor((" : "";
  source::Diagnostics unknown;
  CHECK_FALSE(Opened(exe, options).session.arguments("main", {}, unknown));
  CHECK(text_of(unknown).find("`x`") != std::string::npos);
}

TEST_CASE("inputs of a file are made up for parameters on devices") {
  Opened opened(built(R"(
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})
    @R.function
    def main(x: R.Tensor((2, 3), "float32", "llvm:0:global")) -> R.Tensor((2, 3), "float32", "llvm:0:global"):
        y = R.add(x, x)
        return y
)"));
  source::Diagnostics d;
  const auto made = opened.session.arguments("main", {}, d);
  REQUIRE_MESSAGE(made, text_of(d));
  CHECK(runtime::describe(made->front().value) == "Tensor[(2, 3), \"float32\"]");
}

TEST_CASE("a kernel of the cache folder is used only if nobody else can have written it") {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("rldb_cache_test_{}", ::getpid());
  std::filesystem::create_directory(folder);
  session::Options options;
  options.cache_dir = folder.string();
  const bytecode::Executable exe = built(program("A[v] + A[v]"));
  const auto from_cache = [&] {
    Opened opened(exe, options);
    CHECK(opened.run() == "6");
    REQUIRE(opened.session.kernel_states().size() == 1);
    return opened.session.kernel_states()[0].from_cache;
  };
  CHECK(!from_cache());
  CHECK(from_cache());
  for (const auto& file : std::filesystem::directory_iterator(folder))
    std::filesystem::permissions(file, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  CHECK(!from_cache());
  CHECK(from_cache());  // written again, as a separate file
  std::filesystem::remove_all(folder);
}

TEST_CASE("isolation: a kernel that writes where it must not is an error, and its writes stay away") {
  session::Options options;
  options.check_bounds = false;
  options.isolate = true;
  Opened opened(built(program("A[v + T.if_then_else(A[0] > T.float32(100), 536870912, 0)] + A[v]")), options);
  CHECK(opened.run() == "6");
  source::Diagnostics d;
  const std::vector<std::string> texts{"4xf32=200,3,3,3"};
  auto args = opened.session.arguments("main", texts, d);
  REQUIRE(args);
  const std::vector<Value> values{(*args)[0].value};
  const auto result = opened.session.run("main", values, d);
  CHECK(!result.ok);
  CHECK(text_of(d).find("kernel `work` was stopped by an access to memory that is not its own") != std::string::npos);
  CHECK(opened.run() == "6");
}
