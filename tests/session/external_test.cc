// External modules: what an executable keeps of them, invalid graphs, runtimes that a program registers.
#include "rldb/session/external.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "rldb/bytecode/serialise.h"
#include "rldb/passes/codegen.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/session.h"

using namespace rldb;
using runtime::Value;
using session::Session;

namespace {

struct Quiet : runtime::Output {
  void write(std::string_view) override {}
};

constexpr std::string_view kProgram = R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            y = R.multiply(x, R.const([2.0, 3.0], "float32"))
            z = R.exp(y)
            R.output(z)
        return z
)";

constexpr std::string_view kKernelProgram = R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def scale(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), n: T.int64, factor: T.float32):
        for i in range(n):
            with T.sblock("scale"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * factor
    @T.prim_func(private=True, s_tir=True)
    def fused(X: T.Buffer((T.int64(2),), "float32"), Y: T.Buffer((T.int64(2),), "float32")):
        Z = T.sblock_alloc_buffer((T.int64(2),))
        for i in range(T.int64(2)):
            with T.sblock("twice"):
                vi = T.axis.spatial(T.int64(2), i)
                Z[vi] = X[vi] * T.float32(2)
        for i in range(T.int64(2)):
            with T.sblock("exp"):
                vi = T.axis.spatial(T.int64(2), i)
                Y[vi] = T.exp(Z[vi])
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.call_tir(Module.fused, (x,), out_ty=R.Tensor((2,), "float32"))
        return y
)";

std::string text_of(const source::Diagnostics& d) {
  std::string text;
  for (const source::Diagnostic& one : d.all()) text += one.message + "\n";
  return text;
}

std::string pipeline_for(std::string_view codegen) {
  return fmt::format(
      "FuseOpsByPattern([(\"{}.scale\", is_op(\"multiply\")(wildcard(), wildcard()))], "
      "annotate_codegen=True), RunCodegen",
      codegen);
}

// The first element of `main` for two ones, or the message.
std::string run(Session& s) {
  source::Diagnostics d;
  const std::vector<std::string> texts{"2xf32=1,1"};
  auto args = s.arguments("main", texts, d);
  REQUIRE_MESSAGE(args, text_of(d));
  const std::vector<Value> values{(*args)[0].value};
  const session::RunResult result = s.run("main", values, d);
  return result.ok ? fmt::format("{:.3f}", result.value.as_tensor().at(0)) : text_of(d);
}

// A program's own generator, and the runtime for its output.
ir::Result<const ir::Attr*> triple_codegen(const passes::CodegenInput& input) {
  ir::Context& ctx = input.env.ctx;
  return ctx.attr_dict(std::vector<ir::NamedAttr>{ctx.named(passes::external::kKind, ctx.attr(input.codegen)),
                                                  ctx.named(passes::external::kSymbol, ctx.attr(input.symbol))});
}

runtime::Result<std::vector<session::ExternalPacked>> triple_runtime(const ir::Attr* module,
                                                                     const runtime::PackedRegistry&) {
  const auto triple = [](runtime::PackedArgs args) -> runtime::Result<Value> {
    const runtime::Tensor &from = args[0].as_tensor(), &to = args.back().as_tensor();
    for (std::int64_t i = 0; i < from.element_count(); ++i)
      runtime::store_double(to.data() + std::size_t(i) * 4, to.dtype(), 3 * from.at(i));
    return Value::null();
  };
  return std::vector<session::ExternalPacked>{
      {std::string(passes::string_of(module, passes::external::kSymbol)), triple}};
}

}  // namespace

TEST_CASE("an executable has the graphs that its code calls") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("program.py", std::string(kProgram), d));
  REQUIRE_MESSAGE(s.run_passes(pipeline_for(passes::codegen_name::Json), d), text_of(d));
  CHECK(run(s) == "7.389");
  const auto bytes = s.serialise(d);
  REQUIRE_MESSAGE(bytes, text_of(d));
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("rldb_external_test_{}.rlvm", ::getpid())).string();
  std::ofstream(path, std::ios::binary) << *bytes;
  Session opened({}, &quiet);
  const bool ok = opened.load_file(path, d);
  std::remove(path.c_str());
  REQUIRE_MESSAGE(ok, text_of(d));
  CHECK(run(opened) == "7.389");
  // Without them the call has no target.
  bytecode::Executable exe = bytecode::load(*bytes).value();
  exe.tensor_ir.clear();
  std::ofstream(path, std::ios::binary) << bytecode::serialise(exe).value();
  Session without({}, &quiet);
  REQUIRE(without.load_file(path, d));
  std::remove(path.c_str());
  CHECK(run(without).find("fused_relax_multiply_json") != std::string::npos);
}

TEST_CASE("an executable has the kernels of external modules") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("program.py", std::string(kKernelProgram), d));
  REQUIRE_MESSAGE(s.run_passes("SplitCallTIRByPattern(patterns=[scale])", d), text_of(d));
  CHECK(run(s) == "7.389");
  const auto bytes = s.serialise(d);
  REQUIRE_MESSAGE(bytes, text_of(d));
  for (const session::Engine engine : {session::Engine::Jit, session::Engine::Eval}) {
    session::Options options;
    options.engine = engine;
    Session opened(options, &quiet);
    const std::string path =
        (std::filesystem::temp_directory_path() / fmt::format("rldb_external_kernel_{}.rlvm", ::getpid())).string();
    std::ofstream(path, std::ios::binary) << *bytes;
    const bool ok = opened.load_file(path, d);
    std::remove(path.c_str());
    REQUIRE_MESSAGE(ok, text_of(d));
    CHECK(run(opened) == "7.389");
  }
}

TEST_CASE("external modules of kind tir whose text is no kernel are named") {
  const auto refused = [](std::string_view external, std::string_view why) {
    Quiet quiet;
    Session s({}, &quiet);
    source::Diagnostics d;
    const std::string text = fmt::format(R"(
@I.ir_module
class Module:
    I.module_attrs({{"external_mods": [{}]}})
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.call_dps_packed("f", (x,), out_ty=R.Tensor((2,), "float32"))
        return y
)",
                                         external);
    REQUIRE_MESSAGE(s.load_text("program.py", text, d), text_of(d));
    CHECK_MESSAGE(run(s).find(why) != std::string::npos, run(s));
  };
  refused(R"x({"kind": "tir", "symbol": "f", "module": ""})x", "is not usable");
  refused(R"x({"kind": "tir", "symbol": "f", "module": "x = 1"})x", "is not usable");
  refused(R"x({"kind": "tir", "symbol": "f", "module": "@T.prim_func\ndef g(n: T.int64):\n    T.evaluate(n)"})x",
          "no PrimFunc of that name");
  refused(R"x({"kind": "tir", "symbol": "main", "module": "@T.prim_func\ndef main(n: T.int64):\n    T.evaluate(n)"})x",
          "a function of that name too");
}

TEST_CASE("a program registers a code generator and a runtime for it") {
  static bool once = false;
  if (!once) {
    passes::register_codegen({"triple", triple_codegen, "three times the first argument"});
    session::register_external_runtime("triple", triple_runtime);
    once = true;
  }
  for (const session::Engine engine : {session::Engine::Jit, session::Engine::Eval}) {
    Quiet quiet;
    session::Options options;
    options.engine = engine;
    Session s(options, &quiet);
    source::Diagnostics d;
    REQUIRE(s.load_text("program.py", std::string(kProgram), d));
    REQUIRE_MESSAGE(s.run_passes(pipeline_for("triple"), d), text_of(d));
    CHECK(run(s) == "20.086");
  }
}

TEST_CASE("the nodes of a graph can be asked for their values") {
  Quiet quiet;
  Session s({}, &quiet);
  source::Diagnostics d;
  REQUIRE(s.load_text("program.py", std::string(kProgram), d));
  REQUIRE(s.run_passes(pipeline_for(passes::codegen_name::Json), d));
  const auto modules = passes::external_modules(s.module());
  REQUIRE(modules.size() == 1);
  auto graph = passes::read_graph(modules[0]);
  REQUIRE(graph.ok());
  auto function = session::GraphFunction::make(std::move(*graph), s.registry());
  REQUIRE(function.ok());
  const std::vector<Value> args{runtime::parse_value_literal("2xf32=1,1").value(),
                                runtime::parse_value_literal("2xf32=2,3").value()};
  auto values = function->all_values(args);
  REQUIRE(values.ok());
  REQUIRE(values->size() == 3);
  CHECK((*values)[2][0].as_tensor().at(1) == 3);
  const std::vector<Value> wrong{args[0]};
  CHECK_FALSE(function->all_values(wrong).ok());
  CHECK_FALSE(function->call(args).ok());
}

TEST_CASE("a library that a module names is read and not loaded; a call of it says what to load") {
  for (const session::Engine engine : {session::Engine::Jit, session::Engine::Eval}) {
    Quiet quiet;
    session::Options options;
    options.engine = engine;
    Session s(options, &quiet);
    source::Diagnostics d;
    const std::string text = R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.call_dps_packed("my.scale", (x, R.prim_value(T.float64(3.0))), out_ty=R.Tensor((2,), "float32"))
        return y
)";
    REQUIRE(s.load_text("program.py", text, d));
    REQUIRE_MESSAGE(s.run_passes("AttachExternModules([\"" RLDB_EXAMPLE_PLUGIN "\"])", d), text_of(d));
    CHECK(run(s).find("which is not loaded") != std::string::npos);
    REQUIRE(s.load_plugin(RLDB_EXAMPLE_PLUGIN, d));
    CHECK(run(s) == "3.000");
  }
}
