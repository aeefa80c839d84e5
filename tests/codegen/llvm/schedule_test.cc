// The steps of the default schedule by example: tests/schedule/*.txt. A file holds cases:
//
//   # CASE what the case is about
//   # VECTOR 16                   (bytes of the vectors that it is for)
//   # HAS float16 byte_dots       (instructions of the machine)
//   # DIM n=7 m=3                 (values of the symbolic dimensions; several lines: run with each)
//   <kernel>
//   # STEP tile of mm             (a result, once per step)
//   <kernel after it>
//
// Each step's function has to verify, to print as a text that reads back to itself, and to give the same values as the
// original kernel, bit for bit: on eval, and from machine code for both functions as written.
#include "rldb/schedule/schedule.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sstream>

#include "codegen/llvm/both_engines.h"
#include "codegen/llvm/engine/emitted.h"
#include "golden/golden.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/ir/walk.h"
#include "rldb/schedule/bounds.h"
#include "rldb/schedule/step_id.h"
#include "rldb/schedule/target.h"
#include "rldb/support/text.h"

using namespace rldb;
using namespace rldb::codegen::testing;

namespace {

struct StepText {
  std::string title;
  std::string text;
};

using Dims = std::map<std::string, std::int64_t>;

struct StepCase {
  std::string name;
  schedule::Target target;
  std::vector<Dims> dims;
  std::string kernel;
};

Dims read_dims(const std::string& text) {
  Dims out;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    const std::size_t at = word.find('=');
    REQUIRE(at != std::string::npos);
    out[word.substr(0, at)] = std::stoll(word.substr(at + 1));
  }
  return out;
}

// The kernel is below the last directive before the steps.
StepCase read_case(const golden::Case& c) {
  StepCase out{c.name, {}, {}, c.comment};
  for (const golden::Part& part : c.parts) {
    if (part.directive == "STEP") continue;
    if (part.directive == "VECTOR") out.target.vector_bytes = unsigned(std::stoul(part.argument));
    if (part.directive == "HAS") {
      out.target.float16 = part.argument.find("float16") != std::string::npos;
      out.target.byte_dots = part.argument.find("byte_dots") != std::string::npos;
    }
    if (part.directive == "DIM") out.dims.push_back(read_dims(part.argument));
    if (!part.text.empty()) out.kernel = part.text;
  }
  return out;
}

void check_text(const ir::PrimFunc* f, const std::string& text) {
  Text again("from tvm.script import tirx as T\n" + text);
  REQUIRE_MESSAGE(again.f, again.problem, "\n", text);
  const auto difference = ir::first_difference(f, again.f);
  const std::string where = difference ? difference->path + ": " + difference->left + " | " + difference->right : "";
  CHECK(where == "");
}

void check_verifies(ir::Context& ctx, const ir::PrimFunc* f) {
  ir::ModuleBuilder builder(ctx);
  builder.set("kernel", f);
  source::Diagnostics out;
  ir::verify(ctx, builder.build(), out);
  CHECK(out.all().empty());
}

// The current steps.
std::vector<StepText> check_case(const StepCase& c) {
  Text t(c.kernel);
  REQUIRE_MESSAGE(t.f, t.problem);
  schedule::Options options;
  options.record = true;
  const schedule::Result result = schedule::default_schedule(t.ctx, t.f, options, c.target);
  std::vector<StepText> out;
  for (const schedule::Step& step : result.steps) {
    const std::string title = fmt::format("{} of {}", schedule::info_of(step.id).name, step.block);
    const std::string name = c.name + ", " + title;
    CAPTURE(name);
    const std::string text = ir::print_function("kernel", step.after);
    check_verifies(t.ctx, step.after);
    check_text(step.after, text);
    for (const auto& dims : c.dims) {
      Case values;
      values.symbols = dims;
      check_same_values(t.ctx, t.f, codegen::with_begun(t.ctx, t.f, step.after), values);
    }
    out.push_back({title, text});
  }
  // The last one is compiled: nothing in it is tested that was not before, and it is not scheduled again.
  CHECK(schedule::is_scheduled(result.func));
  CHECK(schedule::default_schedule(t.ctx, result.func, options).func == result.func);
  if (schedule::prove_bounds(t.f).all_proved(t.f->body))
    CHECK(schedule::prove_bounds(result.func).all_proved(result.func->body));
  // Without a record the result is the same.
  options.record = false;
  CHECK(ir::structural_equal(schedule::default_schedule(t.ctx, t.f, options, c.target).func, result.func));
  return out;
}

}  // namespace

TEST_CASE("tests/schedule: the steps of the default schedule") {
  golden::check_cases("schedule", [](golden::Case& c) {
    const std::vector<StepText> steps = check_case(read_case(c));
    c.remove("STEP");
    for (const StepText& step : steps) c.parts.push_back({"STEP", step.title, std::string(support::trim(step.text))});
  });
}

TEST_CASE("a read that may be out of bounds stays, whatever it reads") {
  Text t(R"(
@T.prim_func(s_tir=True)
def kernel(I: T.Buffer((T.int64(8),), "int64"), B: T.Buffer((T.int64(8),), "float32")):
    T.func_attr({"tirx.noalias": True})
    W = T.sblock_alloc_buffer((T.int64(3),))
    for i in range(T.int64(3)):
        with T.sblock("full"):
            vi = T.axis.spatial(T.int64(3), i)
            W[vi] = T.float32(1)
    for i in range(T.int64(8)):
        with T.sblock("take"):
            vi = T.axis.spatial(T.int64(8), i)
            B[vi] = W[I[vi]]
)");
  REQUIRE_MESSAGE(t.f, t.problem);
  for (const bool checked : {true, false}) {
    schedule::Options options;
    options.require_proof = checked;
    bool reads = false;
    ir::walk(schedule::default_schedule(t.ctx, t.f, options).func->body, [&](const ir::Node* n) {
      const auto* load = ir::as<ir::BufferLoad>(n);
      reads = reads || (load && load->buffer->name == "W");
      return true;
    });
    CHECK(reads == checked);
  }
}

TEST_CASE("sizes of 32 bits that are not known") {
  Text t(R"(
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer(("m", "kk"), "float32"), B: T.Buffer(("kk", "n"), "float32"), C: T.Buffer(("m", "n"), "float32")):
    T.func_attr({"tirx.noalias": True})
    m = T.int32()
    kk = T.int32()
    n = T.int32()
    for i, j, k in T.grid(m, n, kk):
        with T.sblock("mm"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)");
  REQUIRE_MESSAGE(t.f, t.problem);
  schedule::Options options;
  options.record = true;
  const schedule::Result result = schedule::default_schedule(t.ctx, t.f, options);
  REQUIRE(result.steps.size() == 5);
  CHECK(schedule::prove_bounds(result.func).all_proved(result.func->body));
  check_verifies(t.ctx, result.func);
  check_text(result.func, ir::print_function("kernel", result.func));
  Case c;
  c.symbols = {{"m", 13}, {"n", 35}, {"kk", 260}};
  check_same_values(t.ctx, t.f, result.func, c);
}

TEST_CASE("the padded input of a convolution is not computed a block of rows at a time") {
  Text t(R"(
@T.prim_func(s_tir=True)
def kernel(X: T.Buffer(("n", 8, 8, 8), "float32"), W: T.Buffer((16, 8, 3, 3), "float32"), Y: T.Buffer(("n", 16, 8, 8), "float32")):
    T.func_attr({"tirx.noalias": True})
    n = T.int64()
    P = T.sblock_alloc_buffer((n, 8, 10, 10))
    for b, c, h, w in T.grid(n, 8, 10, 10):
        with T.sblock("pad"):
            vb, vc, vh, vw = T.axis.remap("SSSS", [b, c, h, w])
            P[vb, vc, vh, vw] = T.if_then_else(1 <= vh and vh < 9 and 1 <= vw and vw < 9, X[vb, vc, vh - 1, vw - 1], T.float32(0))
    for b, o, h, w, c, kh, kw in T.grid(n, 16, 8, 8, 8, 3, 3):
        with T.sblock("conv"):
            vb, vo, vh, vw, vc, vkh, vkw = T.axis.remap("SSSSRRR", [b, o, h, w, c, kh, kw])
            with T.init():
                Y[vb, vo, vh, vw] = T.float32(0)
            Y[vb, vo, vh, vw] = Y[vb, vo, vh, vw] + P[vb, vc, vh + vkh, vw + vkw] * W[vo, vc, vkh, vkw]
)");
  REQUIRE_MESSAGE(t.f, t.problem);
  schedule::Options options;
  options.record = true;
  const schedule::Result result = schedule::default_schedule(t.ctx, t.f, options);
  bool packs = false;
  for (const schedule::Step& step : result.steps) {
    CHECK(step.id != schedule::StepId::FuseRows);
    packs = packs || step.id == schedule::StepId::Pack;
  }
  CHECK(packs);
  Case c;
  c.symbols = {{"n", 3}};
  check_same_values(t.ctx, t.f, result.func, c);
}

TEST_CASE("outputs that no cache holds are the same, written past the caches or not") {
  for (const char* type : {"float32", "int16"}) {
    CAPTURE(type);
    Text t(fmt::format(R"(
@T.prim_func
def kernel(A: T.Buffer(("n", "m"), "{0}"), B: T.Buffer(("n", "m"), "{0}")):
    T.func_attr({{"tirx.noalias": True}})
    n = T.int64()
    m = T.int64()
    for i, j in T.grid(n, m):
        B[i, j] = A[i, j] + A[i, j]
)",
                       type));
    REQUIRE_MESSAGE(t.f, t.problem);
    Case c;
    c.symbols = {{"n", 4099}, {"m", 4101}};
    std::vector<runtime::Value> results;
    for (const bool schedule : {true, false}) {
      codegen::JitOptions options;
      options.schedule = schedule;
      auto jit = codegen::Jit::create(options).value();
      auto kernel = jit->add(t.ctx, t.f, "kernel").value();
      const std::string text = jit->llvm_ir(t.ctx, t.f, "kernel").value();
      CHECK((text.find("!nontemporal") != std::string::npos) == schedule);
      auto args = make_arguments(kernel->signature(), c);
      REQUIRE(runtime::call_kernel(*kernel, args).ok());
      results.push_back(args[1]);
    }
    CHECK(runtime::compare(results[0], results[1], {0, 0, true}) == "");
  }
}

TEST_CASE("lanes that meet are done one after the other") {
  // Each of these reads a value that an earlier iteration has written, or may have.
  for (const char* body :
       {"A[i + 1] = A[i]", "A[0] = A[0] + A[i + 1]", "A[i // 2] = B[i]", "B[T.max(I[i], 0) % 17] = A[i]"}) {
    CAPTURE(body);
    CHECK(both(fmt::format(R"(
@T.prim_func
def kernel(A: T.Buffer((17,), "float32"), B: T.Buffer((17,), "float32"), I: T.Buffer((17,), "int32")):
    for i in T.vectorized(16):
        {}
)",
                           body)) == "");
  }
}

TEST_CASE("conditions in lanes are lazy") {
  for (const char* body : {
           "if k > 2 and 8 // A[i] > 1:\n            B[i] = A[i]",
           "if A[i] == 0 or 8 % A[i] == 0:\n            B[i] = A[i]\n        else:\n            B[i] = k",
           "B[i] = T.if_then_else(k > 2, 8 // T.max(A[i], 1), A[i])",
           "B[i] = T.if_then_else(A[i] != 0, 8 // A[i], k)",
           "if k > 2:\n            B[i] = A[i] + 1\n        else:\n            B[i] = 8 // k",
       })
    for (const std::int64_t k : {0, 3}) {
      CAPTURE(body);
      CAPTURE(k);
      Case c;
      c.symbols = {{"k", k}};
      CHECK(both(fmt::format(R"(
@T.prim_func
def kernel(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), k: T.int32):
    T.func_attr({{"tirx.noalias": True}})
    for i in T.vectorized(16):
        {}
)",
                             body),
                 c) == "");
    }
}

TEST_CASE("vectorised and unrolled loops are made as they are written") {
  const auto text = [](const std::string& loops) {
    Text t(fmt::format(R"(
@T.prim_func
def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({{"tirx.noalias": True}})
{}
)",
                       loops));
    REQUIRE_MESSAGE(t.f, t.problem);
    codegen::JitOptions options;
    options.opt_level = 0;
    return codegen::Jit::create(options).value()->llvm_ir(t.ctx, t.f, "kernel", false).value();
  };
  const std::string lanes = text(R"(
    for i in range(8):
        for l in T.vectorized(8):
            if i * 8 + l < 50:
                B[i * 8 + l] = A[i * 8 + l] + T.float32(1))");
  CHECK(lanes.find("llvm.masked.load.v8f32") != std::string::npos);
  CHECK(lanes.find("llvm.masked.store.v8f32") != std::string::npos);
  const std::string copies = text(R"(
    for i in T.unroll(3):
        B[i] = A[i])");
  CHECK(copies.find("br i1") == std::string::npos);
}
