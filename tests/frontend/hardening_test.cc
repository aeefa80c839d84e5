// Texts that once broke the parser, and the kinds of damage that files have: cut anywhere, a byte changed anywhere.
#include <doctest/doctest.h>

#include "frontend/frontend_helper.h"
#include "rldb/frontend/entry_tree.h"
#include "rldb/frontend/parse.h"
#include "rldb/support/take_cancel.h"

using rldb::frontend::testing::Reading;

namespace {

const char* const kProgram = R"(
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, B: T.Buffer((4, 4), "float32")):
        n = T.int64()
        A = T.match_buffer(a, (n, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi, vj] = T.float32(0)
                B[vi, vj] = B[vi, vj] + A[vi, vj] * T.Cast("float32", vi)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4, 4), "float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.f, (x,), out_ty=R.Tensor((4, 4), "float32"))
            gv = R.add(R.exp(lv), R.const([[1.0, 2, 3, 4]], "float32"))
            R.output(gv)
        if c:
            y = R.exp(gv)
        else:
            y = R.match_cast(gv, R.Tensor((4, 4), "float32"))
        return y
)";

// Parses without an exception, and every span lies within the text.
void survives(const std::string& text) {
  Reading r(text);
  for (const auto& d : r.diagnostics.all()) {
    CHECK(d.span.begin <= d.span.end);
    CHECK(d.span.end <= text.size());
  }
}

}  // namespace

TEST_CASE("a text is read after a run that took the request to end it") {
  namespace support = rldb::support;
  support::request_cancel(support::CancelCause::Timeout);
  CHECK(support::take_cancel(support::cancel_flag()));
  CHECK(Reading(kProgram).result.ok);
  support::clear_cancel();
}

TEST_CASE("a program that is cut anywhere") {
  const std::string text = kProgram;
  for (std::size_t n = 1; n < text.size(); n += 7) survives(text.substr(0, n));
}

TEST_CASE("a program with one piece missing or doubled") {
  const std::string text = kProgram;
  for (std::size_t n = 0; n + 12 < text.size(); n += 11) {
    std::string without = text;
    without.erase(n, 5);
    survives(without);
    std::string twice = text;
    twice.insert(n, text.substr(n, 12));
    survives(twice);
  }
}

TEST_CASE("found by mutating real modules") {
  survives("class A:\n    pass\n");
  survives("class A\n");
  survives("@R.function\ndef f(x: f(x)):\n    return x\n");
  survives("@T.prim_func\ndef f(p: T.handle, A: T.Buffer((-p,), \"float32\")):\n    A[not p] = 1\n");
  survives("@T.prim_func\ndef f(p: T.evaluate(0)):\n    pass\n");
  survives("@T.prim_func\ndef f(A: T.Buffer((4,), \"float32x4\")):\n    A[0] = T.Broadcast(\"x\", 4)\n");
  survives(
      "@T.prim_func\ndef f(n: T.int32, A: T.Buffer((4,), \"int32\")):\n    A[T.Ramp(0, 1, n)] = T.Broadcast(1, n)\n");
  survives("@T.prim_func\ndef f(A: T.Buffer((4,), \"int32\")):\n    A[0] = T.Not(\"x\")\n");
  survives(
      "@R.function\ndef f(b: R.Tensor((1, 5, 4), \"float32\")):\n"
      "    y = R.vision.all_class_non_max_suppression(b, R.shape_of(b), b, b, \"onnx\")\n    return y\n");
  survives(
      "@R.function\ndef f(b: R.Tensor((1, 5), \"float32\"), k: R.Tensor((), \"int64\")):\n"
      "    y = R.vision.all_class_non_max_suppression(b, b, k, b, b, \"onnx\")\n    return y\n");
  survives("@\nclass :\n    x\n");
  // An operator that needs a binding of its own, where there are none.
  Reading r(
      "@T.prim_func\ndef f(A: R.Tensor, n: R.Prim(\"int64\")):\n    B = R.memory.view(A, relative_byte_offset=n)\n");
  CHECK(r.rendered().find("`R.memory.view(A, relative_byte_offset=n)` is not allowed here") != std::string::npos);
}

// A value whose field is asked for is read once: twice at each of forty levels would not end.
TEST_CASE("fields of fields of tensors") {
  std::string shapes = "x", bits = "x";
  for (int i = 0; i < 40; ++i) {
    shapes = "R.zeros((" + shapes + ".shape[0],), \"float32\")";
    bits = "R.zeros((" + bits + ".dtype.bits,), \"float32\")";
  }
  for (const std::string& deep : {shapes, bits})
    survives("@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor((4,), \"float32\")):\n        y = " +
             deep + "\n        return y\n");
}

TEST_CASE("thousands of headers without a block are one error, and no time is spent on them") {
  const std::string module =
      "@I.ir_module\nclass M:\n    @T.prim_func(s_tir=True)\n    def f(A: T.Buffer((4,), \"float32\")):\n        "
      "T.evaluate(0)\n";
  for (const char* line : {" if x:\n", "with R.dataflow()\n", "for i in\n", "        elif x:\n", "   class M:\n"}) {
    std::string text = module, lines;
    for (int i = 0; i < 20'000; ++i) lines += line;
    text.insert(module.find("    @T"), lines);
    const Reading r(text);
    CHECK(r.diagnostics.error_count() == 1);
    // (Quadratic recovery takes half a minute for each of these.)
    rldb::frontend::EntryTree tree;
    CHECK(tree.completeness(text) == rldb::frontend::Completeness::Complete);
    CHECK(tree.highlight(text, 0, text.size()).empty());
  }
  // In a bracket that is open.
  std::string open = module, lines;
  for (int i = 0; i < 8'000; ++i) lines += " if x:\n";
  open.insert(module.find("A: T.Buffer"), "\n" + lines);
  CHECK(Reading(open).diagnostics.error_count() == 1);
  // Not headers: in brackets and strings, or with their block on their line.
  std::string good =
      "@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor((4,), \"float32\")):\n        \"\"\"\n";
  for (int i = 0; i < 600; ++i) good += "for more\n";
  good += "\"\"\"\n        return x\n";
  CHECK(Reading(good).diagnostics.error_count() == 0);
  // Their own brackets, and the line that is joined to theirs, are no deeper than they are.
  std::string brackets = "@I.ir_module\nclass M:\n",
              joined = brackets + "    @R.function\n    def f(c: R.Prim(\"bool\")):\n";
  for (int i = 0; i < 600; ++i) {
    brackets +=
        "    @T.prim_func(s_tir=True)\n    def f" + std::to_string(i) +
        "(\n    A: T.Buffer((4,), \"float32\")):\n        for i in T.grid(\n        4):\n            A[i] = 0.0\n";
    joined += "        if \\\n        c:\n            x" + std::to_string(i) + " = c\n        else:\n            x" +
              std::to_string(i) + " = c\n";
  }
  CHECK(Reading(brackets).diagnostics.error_count() == 0);
  CHECK(Reading(joined + "        return c\n").diagnostics.error_count() == 0);
}

TEST_CASE("texts that the parser's runtime cannot hold are refused, not read") {
  for (const std::string& unit : {std::string("# x\n"), std::string("("), std::string("- ")}) {
    std::string text;
    for (int i = 0; i < 120'000; ++i) text += unit;
    const Reading r(text);
    CHECK(!r.result.ok);
    CHECK(r.diagnostics.has_errors());
    rldb::frontend::highlight(text);
    rldb::frontend::completeness(text);
  }
}
