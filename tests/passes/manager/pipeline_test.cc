// Textual pipelines, the runner and the history.
#include <doctest/doctest.h>

#include "passes/golden.h"
#include "rldb/passes/option_error.h"
#include "rldb/pipeline/instruments.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_pattern.h"
#include "rldb/source/diagnostic_pipeline.h"
#include "rldb/source/diagnostic_refusal.h"

using namespace rldb;
using namespace rldb::passes;

namespace {

std::string round_trip(std::string_view text) {
  auto parsed = parse_pipeline(text);
  if (!parsed.ok()) return parsed.error().text + (parsed.error().hint.empty() ? "" : " (" + parsed.error().hint + ")");
  std::string out;
  for (const PassInvocation& p : *parsed) out += (out.empty() ? "" : ",") + to_string(p);
  return out;
}

class WithoutFirst : public pipeline::Instrument {
 public:
  bool wants(const PassInvocation& pass, pipeline::ModuleRef) override { return pass.name() != "ToNonDataflow"; }
  void left_out(const PassInvocation&) override { ++count; }
  int count = 0;
};

constexpr std::string_view kProgram = R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y
)";

}  // namespace

TEST_CASE("pipelines are read with options in any of the usual spellings") {
  CHECK(round_trip("ToNonDataflow, RemovePurityChecking") == "ToNonDataflow,RemovePurityChecking");
  CHECK(round_trip("  ToNonDataflow()\n,VMShapeLower( emit_err_ctx=False ), ") ==
        "ToNonDataflow,VMShapeLower(emit_err_ctx=False)");
  CHECK(round_trip("DeadCodeElimination([\"main\", 'f'])") == "DeadCodeElimination([\"main\", 'f'])");
  CHECK(round_trip("VMBuiltinLower") == "LowerRuntimeBuiltin");
  CHECK(round_trip("FuseOps{max_depth=2 ** 2},Normalize{}") == "FuseOps(max_depth=2 ** 2),Normalize");
}

TEST_CASE("TVM's Sequential and get_pipeline, with the modules of Python in front") {
  CHECK(round_trip("Sequential([relax.transform.LegalizeOps(), DeadCodeElimination([\"main\"])])") ==
        "LegalizeOps,DeadCodeElimination([\"main\"])");
  CHECK(round_trip("tvm.transform.Sequential(passes=[Sequential([ToNonDataflow]), Normalize], opt_level=2)") ==
        "ToNonDataflow,Normalize");
  CHECK(round_trip("relax.get_pipeline(\"zero\")") == round_trip("zero"));
  CHECK(round_trip("relax.pipeline.get_pipeline()") == round_trip("zero"));
  CHECK(round_trip("get_pipeline(\"nothing\")").starts_with("unknown pass `nothing`"));
  CHECK(round_trip("Sequential(LegalizeOps)").starts_with("option `passes` of pass `Sequential` expects a list"));
  std::string nested = "Normalize";
  for (int i = 0; i < 100; ++i) nested = "Sequential([" + nested + "])";
  CHECK(round_trip(nested).find("nested too deeply") != std::string::npos);
}

TEST_CASE("mistakes in a pipeline are named with the nearest spelling") {
  CHECK(
      round_trip("MetaScheduleTuneTIR()") ==
      "TVM's pass `MetaScheduleTuneTIR` is not available: rldb does not tune; DefaultSchedule is the schedule that the "
      "JIT uses");
  CHECK(round_trip("ToNonDatflow") == "unknown pass `ToNonDatflow` (did you mean `ToNonDataflow`?)");
  CHECK(round_trip("VMShapeLower(emit_err=True)").starts_with("pass `VMShapeLower` has no option `emit_err`"));
  CHECK(round_trip("VMShapeLower(emit_err_ctx=3)") ==
        "option `emit_err_ctx` of pass `VMShapeLower` expects True or False, got `3`");
  CHECK(round_trip("ToNonDataflow(1)") == "pass `ToNonDataflow` takes 0 options, got 1");
  CHECK(round_trip("VMShapeLower(True, emit_err_ctx=True)") ==
        "option `emit_err_ctx` of pass `VMShapeLower` is given twice");
  CHECK(round_trip("").starts_with("pipeline text, column 1: no pass named"));
  CHECK(round_trip("ToNonDataflow RemovePurityChecking").starts_with("pipeline text, column 15"));
  CHECK(round_trip("ToNonDataflow(").starts_with("pipeline text, column 15"));
  CHECK(round_trip("VMShapeLower([1)").starts_with("pipeline text"));
}

TEST_CASE("named pipelines hold only passes that exist") {
  bool minimum = false;
  for (const PipelineInfo& p : named_pipelines()) {
    CHECK_MESSAGE(parse_pipeline(p.passes).ok(), std::string(p.name));
    minimum = minimum || p.name == "minimum";
  }
  CHECK(minimum);
  auto parsed = parse_pipeline("minimum");
  REQUIRE(parsed.ok());
  CHECK(parsed->back().name() == "AttachGlobalSymbol");
}

TEST_CASE("a pass that runs kernels wants somebody who can") {
  testing::check_fails("FoldConstant", kProgram, "nothing here can run a kernel");
}

TEST_CASE("every pass has a name, a function and a line of help") {
  for (const PassInfo& p : all_passes()) {
    CHECK(find_pass(p.name) == &p);
    CHECK(bool(p.run));
    CHECK(!p.doc.empty());
    CHECK(&info(p.id) == &p);
  }
}

TEST_CASE("the runner records, vetoes and stops at the bisect limit") {
  testing::Program p;
  const ir::Module* module = p.parse(kProgram);
  REQUIRE(module != nullptr);
  auto pipeline = parse_pipeline("ToNonDataflow,RemovePurityChecking,AttachGlobalSymbol");
  REQUIRE(pipeline.ok());
  PassEnv env{p.ctx, p.diagnostics};
  pipeline::Recorder recorder;
  const std::vector<PassRecord>& records = recorder.records;

  auto result = run_pipeline(env, module, *pipeline, {true, {&recorder}});
  REQUIRE(result.ok());
  REQUIRE(records.size() == 3);
  CHECK(records[0].before == pipeline::ModuleRef(module));
  CHECK(records[0].changed == std::vector<std::string>{"main"});
  CHECK(records[1].before == records[0].after);
  CHECK(records[2].changed.empty());  // main is public already

  recorder.records.clear();
  std::string told;
  pipeline::BisectLimit limit(1, [&](std::size_t number, const PassInvocation& pass, bool runs) {
    told += (runs ? "" : "not ") + std::to_string(number) + " " + to_string(pass) + ";";
  });
  REQUIRE(run_pipeline(env, module, *pipeline, {true, {&limit, &recorder}}).ok());
  CHECK(records.size() == 1);
  CHECK(told == "1 ToNonDataflow;not 2 RemovePurityChecking;not 3 AttachGlobalSymbol;");

  recorder.records.clear();
  WithoutFirst veto;
  REQUIRE(run_pipeline(env, module, *pipeline, {true, {&recorder, &veto}}).ok());
  CHECK(records.size() == 2);
  CHECK(veto.count == 1);
  CHECK(records[0].before == pipeline::ModuleRef(module));
}

TEST_CASE("a lowering pass on a pure function is a warning, said once") {
  testing::Program p;
  const ir::Module* module = p.parse(R"(
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x
)");
  REQUIRE(module != nullptr);
  auto pipeline = parse_pipeline("VMShapeLower,AttachGlobalSymbol");
  REQUIRE(pipeline.ok());
  PassEnv env{p.ctx, p.diagnostics};
  CHECK(run_pipeline(env, module, *pipeline, {}).ok());
  REQUIRE(p.diagnostics.all().size() == 1);
  CHECK(p.diagnostics.all()[0].id == diag::PassMadeImpureCalls);
  CHECK_FALSE(p.diagnostics.has_errors());

  p.diagnostics.clear();
  auto in_order = parse_pipeline("RemovePurityChecking,VMShapeLower,AttachGlobalSymbol");
  REQUIRE(in_order.ok());
  CHECK(run_pipeline(env, module, *in_order, {}).ok());
  CHECK(p.diagnostics.all().empty());
}

TEST_CASE("impure calls are counted, however many are kept") {
  testing::Program p;
  std::string text = R"(
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
        B[0] = A[0]

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Module
        v0 = x
)";
  for (int i = 0; i < 1200; ++i)
    text += "        v" + std::to_string(i + 1) + " = R.call_tir(cls.f, (v" + std::to_string(i) +
            ",), out_ty=R.Tensor((1,), \"float32\"))\n";
  const ir::Module* module = p.parse(text + "        return v1200\n");
  REQUIRE(module != nullptr);
  PassEnv env{p.ctx, p.diagnostics};
  CHECK(run_pipeline(env, module, *parse_pipeline("CallTIRRewrite"), {}).ok());
  REQUIRE(p.diagnostics.all().size() == 1);
  CHECK(p.diagnostics.all()[0].message.find("made 1200 impure calls") != std::string::npos);
}

TEST_CASE("a pass that did nothing shares the module") {
  testing::Program p;
  const ir::Module* module = p.parse(kProgram);
  REQUIRE(module != nullptr);
  PassEnv env{p.ctx, p.diagnostics};
  for (std::string_view name : {"LambdaLift", "LowerAllocTensor", "DeadCodeElimination", "AttachGlobalSymbol"}) {
    auto result = run_pipeline(env, module, *parse_pipeline(name));
    REQUIRE(result.ok());
    CHECK_MESSAGE(*result == module, std::string(name));
  }
}

TEST_CASE("history rewinds, and a new pass drops what came after") {
  testing::Program p;
  const ir::Module* module = p.parse(kProgram);
  REQUIRE(module != nullptr);
  PassEnv env{p.ctx, p.diagnostics};
  History history;
  CHECK_FALSE(history.current());
  history.start(module);
  pipeline::Versions versions(history);
  REQUIRE(run_pipeline(env, module, *parse_pipeline("ToNonDataflow,RemovePurityChecking"), {true, {&versions}}).ok());
  CHECK(history.size() == 3);
  CHECK(history.position() == 2);
  history.bookmark("lowered");
  CHECK(history.rewind(1));
  CHECK_FALSE(history.rewind(3));
  CHECK(history.current() == history.module_at(1));
  CHECK(history.size() == 3);
  history.push_edit(module);
  CHECK(history.size() == 3);
  CHECK(history.is_edit(2));
  CHECK(history.current() == pipeline::ModuleRef(module));
  CHECK(history.bookmarks().empty());
}

TEST_CASE("new nodes lead back to the binding they came from") {
  testing::Program p;
  const ir::Module* module = p.parse(R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((2,), "float32"))
        return y
)");
  INFO(p.errors());
  REQUIRE(module != nullptr);
  PassEnv env{p.ctx, p.diagnostics};
  auto result = run_pipeline(env, module, *parse_pipeline("CallTIRRewrite,LowerAllocTensor,LowerRuntimeBuiltin"));
  REQUIRE(result.ok());
  const auto* main = ir::as<ir::Function>((*result)->find("main"));
  REQUIRE(main != nullptr);
  REQUIRE(!main->body->blocks.empty());
  for (const ir::Binding* b : main->body->blocks[0]->bindings) {
    const source::Span span = p.ctx.span_of(b->value);
    const std::string_view text =
        span.file ? p.sources.get(span.file).text().substr(span.begin, span.end - span.begin) : "";
    CHECK_MESSAGE(text.find("call_tir") != std::string_view::npos, std::string(b->var->name));
  }
}

TEST_CASE("a pass that TVM has is either a row of pass.def or of absent_pass.def") {
#define RLDB_ABSENT_PASS(Name, Reason) CHECK_MESSAGE(find_pass(Name) == nullptr, Name);
#include "rldb/passes/absent_pass.def"
}

TEST_CASE("an error about the text of an option is told from one about the program") {
  CHECK(is_option_error(diag::PassOptionValue));
  CHECK(is_option_error(diag::PassOptionKind));
  CHECK(is_option_error(diag::PatternSyntax));
  CHECK_FALSE(is_option_error(diag::PassUnsupported));
}
